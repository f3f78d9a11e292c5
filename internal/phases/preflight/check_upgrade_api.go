package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeAPI: what runs in the cluster has to be known before it is moved.
func checkUpgradeAPI() Check {
	return Check{
		Name: "upgrade-api", Codes: []string{"upgrade.no-api"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			_, fault := in.living()
			if fault == nil {
				return nil
			}
			return []event.Finding{Finding(in.ill(), "", "upgrade.no-api", "cause", event.Clean(fault.Error()),
				"cluster", in.Cluster.Name)}
		},
	}
}
