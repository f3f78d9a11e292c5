package desired

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Removable refuses to remove nodes from a cluster that cannot be without them: the load balancer, the last control
// plane and the last etcd member. Others stay in the cluster.
func Removable(cluster string, nodes, others []config.Node) error {
	usage := func(code string, kv ...string) error {
		return event.NewFault(event.ClassUsage, "delete."+code, nil, append(kv, "cluster", cluster)...)
	}
	for _, n := range nodes {
		if n.Has(bundle.LoadBalancer) {
			return usage("balancer", "name", n.Name)
		}
	}
	for _, last := range []struct {
		role bundle.Role
		code string
	}{{bundle.ControlPlane, "last-control-plane"}, {bundle.Etcd, "last-etcd"}} {
		has := func(n config.Node) bool { return n.Has(last.role) }
		if slices.ContainsFunc(nodes, has) && !slices.ContainsFunc(others, has) {
			names := mapped(nodes, func(n config.Node) string { return n.Name })
			return usage(last.code, "names", strings.Join(names, ", "))
		}
	}
	return nil
}

// Joining returns a node as it joins a cluster: a worker unless it has roles. A control plane becomes an etcd member
// where every control plane is one.
func Joining(c *config.Cluster, n config.Node) config.Node {
	if len(n.Roles) == 0 {
		n.Roles = []bundle.Role{bundle.Worker}
	}
	apart := func(o config.Node) bool { return !o.Has(bundle.Etcd) }
	stacked := !slices.ContainsFunc(c.With(bundle.ControlPlane), apart)
	if stacked && n.Has(bundle.ControlPlane) && !n.Has(bundle.Etcd) {
		n.Roles = append(slices.Clone(n.Roles), bundle.Etcd)
	}
	return n
}

// lostRoles lists the roles that a node has and that now does not; the load balancer may leave a node.
func lostRoles(was, now config.Node) string {
	var out []string
	for _, r := range was.Roles {
		if r != bundle.LoadBalancer && !now.Has(r) {
			out = append(out, string(r))
		}
	}
	return strings.Join(out, ", ")
}
