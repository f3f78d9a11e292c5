package preflight

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkTargets finds places that are not safe for our files, as the run would when it comes to them.
func checkTargets() Check {
	return Check{
		Name: "targets", Needs: Served,
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if in.othersNode(f) {
				return nil // told already
			}
			list := slices.DeleteFunc(in.Members(n, in.BundleFor(n, f).Manifest()),
				func(p payload.Placed) bool { return payload.PlaceFault(p) != nil }) // told already
			if inventory.IsKubelet(n) {
				list = append(list, in.PluginPlace())
			}
			faults, err := in.TargetFaults(ctx, in.Nodes.Node(n.Name), list)
			if err != nil {
				faults = append(faults, event.AsFault(err).On(n.Name))
			}
			var out []event.Finding
			for _, f := range faults {
				out = append(out, event.Finding{Host: n.Name, Severity: event.Error, Fault: *f})
			}
			return out
		},
	}
}
