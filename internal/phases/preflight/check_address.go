package preflight

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkAddress: certificates and configurations have the address that deploy.yaml says.
func checkAddress() Check {
	return Check{
		Name: "address", Codes: []string{"preflight.address"},
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.HasAddress(n) {
				return nil
			}
			return one(event.Error, n, "preflight.address", "ip", n.IP.String(), "has", strings.Join(f.Addresses, ", "))
		},
	}
}
