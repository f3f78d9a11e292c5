package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeUnclaimed finds a machine that deploy.yaml names and that is no node yet: an upgrade installs none.
func checkUpgradeUnclaimed() Check {
	return Check{
		Name: "upgrade-unclaimed", Codes: []string{"upgrade.unclaimed"}, Needs: Unclaimed,
		Node: func(in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			return one(event.Error, n, "upgrade.unclaimed", "cluster", in.Cluster.Name)
		},
	}
}
