package binary

import (
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
)

// overrideProxy lays kube-proxy's arguments over its configuration, field by field, and returns the flags that it reads
// beside it.
func (r *Binary) overrideProxy(doc map[string]any) map[string]string {
	flags := map[string]string{}
	given := r.Override("kube-proxy", nil)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		path := config.ProxyField("--" + name)
		if path == nil {
			flags[name] = given[name]
			continue
		}
		at := doc
		for _, p := range path[:len(path)-1] {
			inner, ok := at[p].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[p] = inner
			}
			at = inner
		}
		at[path[len(path)-1]] = config.ProxyValue("--"+name, given[name])
	}
	return flags
}
