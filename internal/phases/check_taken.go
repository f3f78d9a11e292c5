package phases

import (
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// judgeTaken finds another cluster, or something else on our ports and paths.
func (r *run) judgeTaken(n config.Node, f *facts.Facts) []event.Finding {
	switch f.Cluster {
	case r.Cluster.Name:
		return r.judgeOurs(n, f)
	case "":
	default:
		return []event.Finding{finding(event.Error, n.Name, "other-cluster", "cluster", f.Cluster)}
	}
	var out []event.Finding
	if len(f.Active) > 0 {
		out = append(out, finding(event.Error, n.Name, "foreign-cluster", "services", strings.Join(f.Active, ", ")))
	}
	if len(f.Runtimes) > 0 && nodes.IsKubelet(n) {
		out = append(out, finding(event.Error, n.Name, "foreign-runtime", "runtime", strings.Join(f.Runtimes, ", ")))
	}
	if len(f.Present) > 0 && !f.Recorded { // what a cleanup kept is recorded still
		out = append(out, finding(event.Error, n.Name, "leftovers", "paths", strings.Join(f.Present, ", ")))
	}
	for _, p := range r.ports(n) {
		if who, taken := f.Listening[p]; taken && len(f.Active) == 0 {
			out = append(out, finding(event.Error, n.Name, "port", "port", strconv.Itoa(p), "who", who))
		}
	}
	return out
}

// ports that the components of the node's roles listen on.
func (r *run) ports(n config.Node) []int {
	var p []int
	if n.Has(bundle.Etcd) {
		p = append(p, 2379, 2380)
	}
	if n.Has(bundle.ControlPlane) {
		p = append(p, 6443, 10257, 10259)
	}
	if n.Has(bundle.LoadBalancer) {
		p = append(p, r.Cluster.LBPort)
	}
	if nodes.IsKubelet(n) {
		p = append(p, 10248, 10249, 10250, 10256)
	}
	return p
}
