package preflight

import (
	"fmt"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDNSPort finds another DNS server on the address that CoreDNS will listen on.
func checkDNSPort() Check {
	return Check{
		Name: "dns-port", Codes: []string{"preflight.port"},
		When: func(in *Input, n config.Node) bool { return in.Cluster.DNS.IsBinary() && n.Has(bundle.ControlPlane) },
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.DNSTaken == "" || f.DNSTaken == "coredns" && f.Cluster == in.Cluster.Name {
				return nil
			}
			return one(event.Error, n, "preflight.port", "port", fmt.Sprint(layout.DNSPort), "who",
				event.Clean(f.DNSTaken))
		},
	}
}
