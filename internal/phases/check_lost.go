package phases

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// judgeLost finds machines, and roles of machines, that the cluster has and deploy.yaml no longer names: to leave them
// where they are would be two truths, and to take them away is not what deploy is asked for.
func (r *run) judgeLost() []event.Finding {
	if r.Saved == nil {
		return nil
	}
	var out []event.Finding
	// The other one would run on beside it, and both would answer for the Service.
	if was, is := r.Saved.DNS.Type, r.Cluster.DNS.Type; was != is {
		out = append(out, finding(event.Error, "", "dns-change", "is", was, "want", is, "cluster", r.Cluster.Name))
	}
	for _, was := range r.Saved.Nodes {
		i := slices.IndexFunc(r.Cluster.Nodes, func(n config.Node) bool { return n.IP == was.IP })
		if i < 0 {
			out = append(out, finding(event.Error, was.Name, "node-lost", "ip", was.IP.String(), "cluster",
				r.Cluster.Name))
			continue
		}
		if was.Has(bundle.LoadBalancer) && !r.Cluster.Nodes[i].Has(bundle.LoadBalancer) {
			out = append(out, finding(event.Warning, was.Name, "balancer-left", "cluster", r.Cluster.Name))
		}
		var roles []string
		for _, role := range was.Roles {
			// A worker that is a control plane stays a node: its taints follow. A load balancer that moves is told
			// below.
			gone := role == bundle.ControlPlane || role == bundle.Etcd || role == bundle.Worker &&
				!nodes.IsKubelet(r.Cluster.Nodes[i])
			if gone && !r.Cluster.Nodes[i].Has(role) {
				roles = append(roles, string(role))
			}
		}
		if len(roles) > 0 {
			out = append(out, finding(event.Error, was.Name, "role-lost", "roles", strings.Join(roles, ", "), "cluster",
				r.Cluster.Name))
		}
	}
	return out
}

// judgeForgotten is judgeLost for a cleanup: whoever forgets the cluster's authorities has to forget all of its
// machines.
func (r *run) judgeForgotten() []event.Finding {
	var out []event.Finding
	for _, f := range r.judgeLost() {
		if f.Fault.Code == "preflight.node-lost" {
			_ = f.Fault.Recode("preflight.node-forgotten")
			out = append(out, f)
		}
	}
	return out
}
