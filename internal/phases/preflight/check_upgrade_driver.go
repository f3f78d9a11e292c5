package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/event"
)

// checkUpgradeDriver refuses the upgrade of a cluster whose control plane is static pods: none was shown to work.
func checkUpgradeDriver() Check {
	return Check{
		Name: "upgrade-driver", Codes: []string{"preflight.upgrade-driver"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			if !in.Cluster.ByKubeadm() {
				return nil
			}
			return []event.Finding{Finding(event.Error, "", "preflight.upgrade-driver", "cluster", in.Cluster.Name)}
		},
	}
}
