package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkEndpoint: nodes reach the API by its endpoint. Where they cannot resolve its name they are told an address,
// if deploy.yaml says enough to know one.
func checkEndpoint() Check {
	return Check{
		Name: "endpoint", Codes: []string{"preflight.endpoint-told", "preflight.endpoint-unknown"}, When: kubelets,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.Resolves != "no" {
				return nil
			}
			if addr := in.EndpointAddress(); addr != "" {
				return one(event.Warning, n, "preflight.endpoint-told", "name", in.EndpointName(), "addr", addr)
			}
			return one(event.Error, n, "preflight.endpoint-unknown", "name", in.EndpointName())
		},
	}
}
