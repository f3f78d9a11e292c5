package inventory

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// Skip says whether the cluster can do without a node for now, and if so remembers to expect nothing of it: one that
// does nothing but run workloads. A control plane, an etcd member or a load balancer is waited for by the others.
func (r *Nodes) Skip(name string) bool {
	for _, n := range r.Cluster.Nodes {
		if n.Name == name {
			if n.Has(bundle.ControlPlane) || n.Has(bundle.Etcd) || n.Has(bundle.LoadBalancer) {
				return false
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.skipped[name] = true
			return true
		}
	}
	return false
}

// Expected are the nodes with a kubelet that the last checks inspect: those that were skipped are not among them.
func (r *Nodes) Expected() []config.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []config.Node
	for _, n := range Kubelets(r.Cluster) {
		if !r.skipped[n.Name] {
			out = append(out, n)
		}
	}
	return out
}

// Skipped says whether the run continues without a node.
func (r *Nodes) Skipped(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped[name]
}

// SkippedCount is how many nodes are left out: so many pods of a DaemonSet are not waited for.
func (r *Nodes) SkippedCount() int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int32(len(r.skipped)) //nolint:gosec // a number of nodes
}
