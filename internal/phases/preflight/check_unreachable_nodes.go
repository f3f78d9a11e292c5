package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUnreachableNodes reports nodes that could not be inspected. Other nodes can leave the cluster without a node
// that only runs workloads; a node whose configuration lists the members must be reachable, or leave as well. A run
// that is limited to other nodes continues without it, and so does a reverted upgrade that has not touched the worker.
func checkUnreachableNodes() Check {
	return Check{
		Name: "unreachable-nodes", Needs: Unseen,
		Codes: []string{"preflight.limit-without", "preflight.leave-without", "preflight.leave-needs",
			"preflight.back-without"},
		Node: func(in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			why := in.Failure(n.Name, n.Name)
			outside := len(in.Limit) > 0 && !slices.Contains(in.Limit, n.Name)
			cause := event.Clean(why.Fault.Error())
			untouched := in.Upgrade != nil && in.Upgrade.Untouched != nil && in.Upgrade.Untouched(n)
			switch {
			case len(in.Removing) == 0 && !outside && !untouched, why.Fault.Class == event.ClassLocked,
				why.Fault.Class == event.ClassAuth, outside && !in.Skip(n.Name):
				return []event.Finding{why}
			case outside:
				return one(event.Warning, n, "preflight.limit-without", "cause", cause)
			case untouched && in.Skip(n.Name):
				return one(event.Warning, n, "preflight.back-without", "cause", cause)
			case untouched:
				return []event.Finding{why}
			case in.Skip(n.Name):
				return one(event.Warning, n, "preflight.leave-without", "cause", cause, "cluster", in.Cluster.Name)
			}
			return one(event.Error, n, "preflight.leave-needs", "cause", cause, "cluster", in.Cluster.Name)
		},
	}
}
