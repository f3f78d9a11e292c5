package preflight

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRestoreAway: every member of etcd and every control plane takes part in a restore, else it would be half a one.
func checkRestoreAway() Check {
	return Check{
		Name: "restore-away", Codes: []string{"preflight.restore-without"}, Needs: Unseen,
		Node: func(in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			if n.Has(bundle.Etcd) || n.Has(bundle.ControlPlane) {
				return []event.Finding{in.Failure(n.Name, n.Name)}
			}
			return one(event.Warning, n, "preflight.restore-without")
		},
	}
}
