package rpm

import (
	"slices"
	"strings"
)

// Unmet are the capabilities that some of these packages require and none of these provides, sorted. Versions do not
// count, of a library that is required in several versions its name is listed once, and rich dependencies are skipped.
func Unmet(list []*Package) []string {
	have := map[string]bool{}
	for _, p := range list {
		have[p.Name] = true
		for _, d := range p.provides {
			have[d.Name] = true
		}
		for _, f := range p.files {
			have[f.path] = true
		}
	}
	var out []string
	for _, p := range list {
		for _, d := range p.requires {
			if have[d.Name] || d.ignored() || d.rich() {
				continue
			}
			name, _, _ := strings.Cut(d.Name, "(")
			if name == "" {
				name = d.Name
			}
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
