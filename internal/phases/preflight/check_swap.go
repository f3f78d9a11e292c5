package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkSwap: the kubelet does not start where there is swap.
func checkSwap() Check {
	return Check{
		Name: "swap", Codes: []string{"preflight.swap"}, When: kubelets,
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.Swap {
				return nil
			}
			return one(event.Error, n, "preflight.swap")
		},
	}
}
