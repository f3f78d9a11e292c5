package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkLeftoverNodes refuses to remove the cluster's CAs while machines of the cluster remain.
func checkLeftoverNodes() Check {
	return Check{
		Name: "leftover-nodes", Codes: []string{"preflight.node-forgotten"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			var out []event.Finding
			for was, is := range in.saved() {
				if is == nil {
					out = append(out, Finding(event.Error, was.Name, "preflight.node-forgotten", "ip", was.IP.String(),
						"cluster", in.Cluster.Name))
				}
			}
			return out
		},
	}
}
