package preflight

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRuntime finds a bundle from which no node gets the runtime that deploy.yaml names, or not all that belongs to
// it.
func checkRuntime() Check {
	return Check{
		Name: "runtime", Codes: []string{"bundle.no-runtime"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			var out []event.Finding
			m := s.Manifest()
			packages, told := config.RuntimePackages(in.Runtime), map[string]bool{}
			miss := func(what string) {
				if !told[what] {
					told[what] = true
					out = append(out, bundleFault(event.Error, "bundle.no-runtime", "runtime", in.Runtime, "what", what,
						"arch", m.Arch)...)
				}
			}
			for _, n := range inventory.Kubelets(in.Cluster) {
				if b := in.BundleOf(n); n.Arch != m.Arch || b != nil && b.Manifest() != m { // another bundle's machine
					continue
				}
				if in.Equipped(n) { // it keeps the runtime that it has
					continue
				}
				own := config.RuntimeProgram(in.Runtime)
				if (own == "" || in.Program(n, own) == "") &&
					!slices.ContainsFunc(in.Packages(n, m), func(p string) bool {
						return slices.Contains(packages, p)
					}) {
					miss(strings.Join(packages, " / "))
				}
				for _, extra := range config.RuntimeExtras(in.Runtime) {
					if in.Program(n, extra) == "" {
						miss(extra)
					}
				}
			}
			return out
		},
	}
}
