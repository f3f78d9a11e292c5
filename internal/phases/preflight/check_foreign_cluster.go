package preflight

import (
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkForeignCluster finds another cluster, or anything else on our ports and paths, on a node whose record belongs to
// no cluster.
func checkForeignCluster() Check {
	return Check{
		Name: "foreign-cluster", Needs: Unclaimed,
		Codes: []string{"preflight.foreign-cluster", "preflight.foreign-runtime", "preflight.leftovers",
			"preflight.port"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			var out []event.Finding
			add := func(f event.Finding) { out = append(out, f) }
			if len(f.Active) > 0 {
				add(Finding(event.Error, n.Name, "preflight.foreign-cluster", "services",
					strings.Join(f.Active, ", ")))
			}
			if len(f.Runtimes) > 0 && inventory.IsKubelet(n) {
				add(Finding(event.Error, n.Name, "preflight.foreign-runtime", "runtime",
					strings.Join(f.Runtimes, ", ")))
			}
			if len(f.Present) > 0 && !f.Recorded { // what a cleanup kept is recorded still
				add(Finding(event.Error, n.Name, "preflight.leftovers", "paths", strings.Join(f.Present, ", ")))
			}
			for _, p := range ports(in, n) {
				if who, taken := f.Listening[p]; taken && len(f.Active) == 0 {
					add(Finding(event.Error, n.Name, "preflight.port", "port", strconv.Itoa(p), "who", who))
				}
			}
			return out
		},
	}
}

// ports that the components of the node's roles listen on.
func ports(in *Input, n config.Node) []int {
	var p []int
	if n.Has(bundle.Etcd) {
		p = append(p, 2379, 2380)
	}
	if n.Has(bundle.ControlPlane) {
		p = append(p, 6443, 10257, 10259)
	}
	if n.Has(bundle.LoadBalancer) {
		p = append(p, in.Cluster.LBPort)
	}
	if inventory.IsKubelet(n) {
		p = append(p, 10248, 10249, 10250, 10256)
	}
	return p
}
