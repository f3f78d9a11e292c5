package preflight

import (
	"cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkLeaveGone is about a node that leaves and could not be inspected: while the cluster sees it alive it would
// continue working for a cluster that has forgotten it.
func checkLeaveGone() Check {
	return Check{
		Name: "leave-gone", Codes: []string{"preflight.leave-alive", "preflight.leave-gone"}, Needs: Unseen,
		Node: func(in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			why := in.Failure(n.Name, n.Name)
			switch {
			case why.Fault.Class == event.ClassLocked, why.Fault.Class == event.ClassAuth && !in.Force:
				return []event.Finding{why}
			case in.API.Ready[n.Name] && !in.Force:
				return one(event.Error, n, "preflight.leave-alive", "cause",
					event.Clean(cmp.Or(why.Fault.Cause, why.Fault.Code)))
			}
			return one(event.Warning, n, "preflight.leave-gone", "ip", n.IP.String(), "cluster", in.Cluster.Name)
		},
	}
}
