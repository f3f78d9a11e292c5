package phases

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// Skip says whether the cluster can do without a node for now, and if so remembers to expect nothing of it: one that does nothing but
// run workloads. A control plane, an etcd member or a load balancer is waited for by the others.
func (r *Nodes) Skip(name string) bool {
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

// Expected are the nodes with a kubelet that the last checks look at: those that were left out are not among them.
func (r *Nodes) Expected() []config.Node {
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

// Skipped says whether the run goes on without a node.
func (r *Nodes) Skipped(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.without[name]
}

// SkippedCount is how many nodes are left out: so many pods of a DaemonSet are not waited for.
func (r *Nodes) SkippedCount() int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int32(len(r.without)) //nolint:gosec // a number of nodes
}

// judgeAway is the finding of a machine that could not be looked at. Others leave a cluster without it if it does nothing but run workloads;
// one that would have to learn who is left must be there, or leave too. A run that is limited to other machines does without it likewise.
func (r *run) judgeAway(n config.Node) event.Finding {
	why := r.Failure(n.Name, n.Name)
	outside := len(r.Limit) > 0 && !slices.Contains(r.Limit, n.Name)
	switch {
	case len(r.leaving) == 0 && !outside, why.Fault.Class == event.ClassLocked, why.Fault.Class == event.ClassAuth:
		return why
	case outside && !r.Skip(n.Name):
		return why
	case outside:
		return finding(event.Warning, n.Name, "limit-without", "cause", event.Clean(why.Fault.Error()))
	case r.Skip(n.Name):
		return finding(event.Warning, n.Name, "leave-without", "cause", event.Clean(why.Fault.Error()), "cluster", r.Cluster.Name)
	}
	return finding(event.Error, n.Name, "leave-needs", "cause", event.Clean(why.Fault.Error()), "cluster", r.Cluster.Name)
}
