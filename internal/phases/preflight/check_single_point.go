package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkSinglePoint warns about several control planes whose endpoint is one of them.
func checkSinglePoint() Check {
	return Check{
		Name: "single-point", Codes: []string{"preflight.endpoint-single"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			n, ok := in.Cluster.SinglePoint()
			if !ok {
				return nil
			}
			return []event.Finding{Finding(event.Warning, "", "preflight.endpoint-single",
				in.Cluster.SinglePointArgs(n)...)}
		},
	}
}
