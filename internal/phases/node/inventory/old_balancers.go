package inventory

import (
	"net"
	"net/netip"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
)

// SetFormer tells which load balancers and endpoints nodes may still use that deploy.yaml no longer has.
func (r *Nodes) SetFormer(f input.Former) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.former = f
}

// Former are the load balancers and endpoints that nodes may still use.
func (r *Nodes) Former() input.Former {
	r.mu.Lock()
	defer r.mu.Unlock()
	return input.Former{Endpoints: slices.Clone(r.former.Endpoints), Balancers: slices.Clone(r.former.Balancers)}
}

// FormerLiving is Former without load balancers that did not let us in, and endpoints on their machines.
func (r *Nodes) FormerLiving() input.Former {
	f := r.Former()
	dead := func(ip string) bool {
		return slices.ContainsFunc(f.Balancers, func(b input.Balancer) bool {
			return b.IP.String() == ip && r.Node(r.FormerNode(b).Name) == nil
		})
	}
	f.Endpoints = slices.DeleteFunc(f.Endpoints, func(e string) bool {
		host, _, _ := net.SplitHostPort(e)
		return dead(host)
	})
	f.Balancers = slices.DeleteFunc(slices.Clone(f.Balancers),
		func(b input.Balancer) bool { return dead(b.IP.String()) })
	return f
}

// DropFormer forgets a load balancer that no longer runs.
func (r *Nodes) DropFormer(b input.Balancer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.former.Balancers = slices.DeleteFunc(slices.Clone(r.former.Balancers),
		func(x input.Balancer) bool { return x == b })
}

// FormerPorts are the ports of load balancers that clients may still come to on a machine.
func (r *Nodes) FormerPorts(ip netip.Addr) []int {
	var out []int
	for _, b := range r.Former().Balancers {
		if b.IP == ip {
			out = append(out, b.Bind)
		}
	}
	return out
}

// FormerNode is the machine of a load balancer that deploy.yaml no longer has: a node of the cluster, or one that has
// no role any more. Its name may be another machine's by now.
func (r *Nodes) FormerNode(b input.Balancer) config.Node {
	if i := slices.IndexFunc(r.Cluster.Nodes, func(n config.Node) bool { return n.IP == b.IP }); i >= 0 {
		return r.Cluster.Nodes[i]
	}
	n := config.Node{Name: b.Name, IP: b.IP, Port: b.Port, Arch: b.Arch, Roles: []bundle.Role{bundle.LoadBalancer}}
	if slices.ContainsFunc(r.Cluster.Nodes, func(o config.Node) bool { return o.Name == b.Name }) {
		n.Name = b.Name + "-" + b.IP.String()
	}
	return n
}

// FormerMachines are those of them that have no role any more.
func (r *Nodes) FormerMachines() []config.Node {
	var out []config.Node
	for _, b := range r.Former().Balancers {
		n := r.FormerNode(b)
		if !slices.ContainsFunc(slices.Concat(r.Cluster.Nodes, out),
			func(o config.Node) bool { return o.IP == n.IP }) {
			out = append(out, n)
		}
	}
	return out
}
