package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// API is what the API server says of nodes.
type API struct {
	Ready map[string]bool // nodes that are
	Fault error           // why it is not known
}

// checkLeaveAPI: a node leaves a cluster that lives.
func checkLeaveAPI() Check {
	return Check{
		Name: "leave-api", Codes: []string{"preflight.leave-no-api"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			if in.API.Fault == nil {
				return nil
			}
			return []event.Finding{Finding(event.Error, "", "preflight.leave-no-api", "cause",
				event.Clean(in.API.Fault.Error()), "cluster", in.Cluster.Name)}
		},
	}
}
