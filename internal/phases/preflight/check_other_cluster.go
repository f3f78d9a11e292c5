package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkOtherCluster: a node has one cluster.
func checkOtherCluster() Check {
	return Check{
		Name: "other-cluster", Codes: []string{"preflight.other-cluster"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !in.othersNode(f) {
				return nil
			}
			return one(event.Error, n, "preflight.other-cluster", "cluster", f.Cluster)
		},
	}
}
