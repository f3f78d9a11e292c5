package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDriver refuses a deploy.yaml with another driver than the cluster's own: nothing moves components that run as
// services into pods, or back.
func checkDriver() Check {
	return Check{
		Name: "driver", Codes: []string{"preflight.driver-change"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			if in.Saved == nil || in.Saved.Eggo.Driver == in.Cluster.Eggo.Driver {
				return nil
			}
			return []event.Finding{Finding(event.Error, "", "preflight.driver-change", "is", in.Saved.Eggo.Driver,
				"want", in.Cluster.Eggo.Driver, "cluster", in.Cluster.Name)}
		},
	}
}
