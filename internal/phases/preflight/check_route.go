package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRoute: without a route for the addresses of Services a packet for one never gets to the rules of kube-proxy.
func checkRoute() Check {
	return Check{
		Name: "route", Codes: []string{"preflight.no-route"}, When: kubelets,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.NoRoute {
				return nil
			}
			return one(event.Error, n, "preflight.no-route", "service", in.Cluster.ServiceGateway.String())
		},
	}
}
