package phases

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/runtimes"
)

// judgeRuntime finds a bundle from which no node gets the runtime that deploy.yaml names, or not all that belongs to
// it.
func (r *run) judgeRuntime(arch string, m *bundle.Manifest) []event.Finding {
	var out []event.Finding
	packages, told := config.RuntimePackages(runtimes.Name(r.Cluster)), map[string]bool{}
	miss := func(what string) {
		if !told[what] {
			told[what] = true
			f := event.NewFault(event.ClassBundle, "bundle.no-runtime", nil, "runtime", runtimes.Name(r.Cluster),
				"what", what,
				"arch", arch)
			out = append(out, event.Finding{Severity: event.Error, Fault: *f})
		}
	}
	for _, n := range nodes.Kubelets(r.Cluster) {
		if b := r.BundleOf(n); n.Arch != arch || b != nil && b.Manifest() != m { // another bundle's machine
			continue
		}
		own := config.RuntimeProgram(runtimes.Name(r.Cluster))
		if (own == "" || r.Program(n, own) == "") &&
			!slices.ContainsFunc(r.Packages(n, m), func(p string) bool { return slices.Contains(packages, p) }) {
			miss(strings.Join(packages, " / "))
		}
		for _, extra := range config.RuntimeExtras(runtimes.Name(r.Cluster)) {
			if r.Program(n, extra) == "" {
				miss(extra)
			}
		}
	}
	return out
}
