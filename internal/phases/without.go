package phases

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// spare says whether the cluster can do without a node for now, and if so remembers to expect nothing of it: one that does nothing but
// run workloads. A control plane, an etcd member or a load balancer is waited for by the others.
func (r *run) spare(name string) bool {
	for _, n := range r.Cluster.Nodes {
		if n.Name == name {
			if n.Has(bundle.ControlPlane) || n.Has(bundle.Etcd) || n.Has(bundle.LoadBalancer) {
				return false
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.without[name] = true
			return true
		}
	}
	return false
}

// expected are the nodes with a kubelet that the last checks look at: those that were left out are not among them.
func (r *run) expected() []config.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []config.Node
	for _, n := range kubelets(r.Cluster) {
		if !r.without[n.Name] {
			out = append(out, n)
		}
	}
	return out
}

// leftOut says whether the run goes on without a node.
func (r *run) leftOut(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.without[name]
}

// missing is how many nodes are left out: so many pods of a DaemonSet are not waited for.
func (r *run) missing() int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int32(len(r.without)) //nolint:gosec // a number of nodes
}
