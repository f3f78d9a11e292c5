package preflight

import (
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// slow is how many times longer than usual a machine takes for its work when it is worth a warning.
const slow = 4

// checkSlow warns of a machine that is slow: an emulated or overloaded one, or a small board. Limits follow from it.
func checkSlow() Check {
	return Check{
		Name: "slow", Codes: []string{"preflight.slow", "preflight.slow-leases"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.Slowness() < slow {
				return nil
			}
			times := strconv.FormatFloat(f.Slowness(), 'f', 1, 64)
			out := one(event.Warning, n, "preflight.slow", "took", f.Took.String(), "usual",
				facts.UsualTook.String(), "times", times)
			if n.Has(bundle.ControlPlane) && in.Leases {
				out = append(out, one(event.Warning, n, "preflight.slow-leases", "times", times)...)
			}
			return out
		},
	}
}
