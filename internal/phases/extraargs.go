package phases

import (
	"maps"
	"strings"
)

// override lays config-extra-args over a component's own flags (for etcd: environment variables), key by key. The keys of flags carry no
// dashes.
func (r *run) override(component string, flags map[string]string) map[string]string {
	out := maps.Clone(flags)
	for _, e := range r.Cluster.ExtraArgs {
		if e.Component != component {
			continue
		}
		for k, v := range e.Args {
			out[strings.TrimPrefix(k, "--")] = v
		}
	}
	return out
}
