package preflight

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUndoObjects finds Nodes of the cluster that have the name of a node that is added: to remove the node again
// would remove them too, though somebody else made them.
func checkUndoObjects() Check {
	return Check{
		Name: "undo-objects", Codes: []string{"preflight.undo-known", "preflight.undo-no-api"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			if !in.Undo || in.Saved == nil {
				return nil
			}
			names, err := in.Objects(ctx)
			if err != nil {
				return []event.Finding{Finding(event.Error, "", "preflight.undo-no-api", "cause",
					event.Clean(event.AsFault(err).Error()), "cluster", in.Cluster.Name)}
			}
			var out []event.Finding
			for _, n := range in.Cluster.Nodes {
				if !in.saves(n) && slices.Contains(names, n.Name) {
					out = append(out, one(event.Error, n, "preflight.undo-known")...)
				}
			}
			return out
		},
	}
}
