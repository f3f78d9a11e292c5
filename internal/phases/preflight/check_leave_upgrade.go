package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkLeaveUpgrade is about control planes and members of etcd that leave while an upgrade is under way: only one that
// is lost may. One that runs is of one of the two versions, and others count on it.
func checkLeaveUpgrade() Check {
	return Check{
		Name: "leave-upgrade", Codes: []string{"preflight.leave-upgrading"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			var out []event.Finding
			for _, n := range in.Removing {
				runs := in.Fact(n.Name) != nil || in.API.Ready[n.Name]
				if runs && (n.Has(bundle.ControlPlane) || n.Has(bundle.Etcd)) {
					out = append(out, Finding(event.Error, n.Name, "preflight.leave-upgrading", "cluster",
						in.Cluster.Name))
				}
			}
			return out
		},
	}
}
