package preflight

import (
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkPackages finds that a bundle lacks what deploy.yaml lists for roles of machines that it serves.
func checkPackages() Check {
	return Check{
		Name: "packages", Codes: []string{"bundle.no-package"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			m := s.Manifest()
			var out []event.Finding
			for _, role := range slices.Sorted(maps.Keys(in.Cluster.Packages)) {
				if !slices.Contains(s.Roles, role) {
					continue
				}
				for _, p := range in.Cluster.Packages[role] {
					if p.Type != "yaml" && !p.In(m) {
						out = append(out, bundleFault(event.Error, "bundle.no-package", "package", p.Name, "role",
							string(role), "arch", m.Arch)...)
					}
				}
			}
			return out
		},
	}
}
