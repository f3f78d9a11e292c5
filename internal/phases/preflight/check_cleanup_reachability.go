package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkCleanupReachability: a node that is gone does not stop the cleanup of the others; one that does not let us in,
// and one where another run is at work, does.
func checkCleanupReachability() Check {
	return Check{
		Name: "cleanup-reachability", Codes: []string{"preflight.gone"}, Needs: Unseen,
		Node: func(in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			why := in.Failure(n.Name, n.Name)
			if why.Fault.Class == event.ClassLocked || why.Fault.Class == event.ClassAuth {
				return []event.Finding{why}
			}
			return one(event.Warning, n, "preflight.gone")
		},
	}
}
