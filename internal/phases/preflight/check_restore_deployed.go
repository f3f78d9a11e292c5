package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRestoreDeployed: a restore puts data back and installs nothing.
func checkRestoreDeployed() Check {
	return Check{
		Name: "restore-deployed", Codes: []string{"preflight.restore-not-deployed"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.Cluster == in.Cluster.Name {
				return nil
			}
			return one(event.Error, n, "preflight.restore-not-deployed", "cluster", in.Cluster.Name)
		},
	}
}
