package preflight

import (
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkSELinuxBalancer: the policies of distributions know neither our port nor our place of the configuration.
func checkSELinuxBalancer() Check {
	return Check{
		Name: "selinux-balancer", Codes: []string{"preflight.selinux-balancer"},
		When: func(_ *Input, n config.Node) bool { return n.Has(bundle.LoadBalancer) },
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.SELinux {
				return nil
			}
			return one(event.Warning, n, "preflight.selinux-balancer", "port", strconv.Itoa(in.Cluster.LBPort))
		},
	}
}
