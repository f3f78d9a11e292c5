package clusterspec

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// Balancer is the machine in front of the control planes: one by itself, or one of the nodes.
type Balancer struct {
	Name     string   `json:"name" doc:"Its name; that of the node if it is one." maxLength:"253"`
	Address  string   `json:"address" doc:"Its IP address." maxLength:"64"`
	Arch     string   `json:"arch,omitempty" doc:"amd64 (default) or arm64." maxLength:"16"`
	Port     int      `json:"port,omitempty" doc:"The SSH port, 22 unless given." minimum:"0" maximum:"65535"`
	BindPort int      `json:"bind_port,omitempty" doc:"The port that clients of the API server use, 8443 unless given." minimum:"0" maximum:"65535"`
	HostKeys []string `json:"host_keys,omitempty" doc:"Its public host keys, as for a node." maxItems:"16"`
}

const balancerAt = "body.load_balancer"

// node is the machine as a node without a role.
func (b Balancer) node() Node {
	return Node{Name: b.Name, Address: b.Address, Arch: b.Arch, Port: b.Port, HostKeys: b.HostKeys}
}

// BalancerOf is the load balancer of a deploy.yaml; nil: it has none.
func BalancerOf(c *config.Cluster) *Balancer {
	list := c.With(bundle.LoadBalancer)
	if len(list) == 0 {
		return nil
	}
	n := list[0]
	return &Balancer{Name: n.Name, Address: n.IP.String(), Arch: n.Arch, Port: n.Port, BindPort: c.LBPort}
}

// Same says whether two load balancers are the same; what is not said of one has its default.
func (b *Balancer) Same(o *Balancer) bool {
	if b == nil || o == nil {
		return b == o
	}
	return b.Name == o.Name && SameAddress(b.Address, o.Address) && cmp.Or(b.Port, 22) == cmp.Or(o.Port, 22) &&
		cmp.Or(b.Arch, "amd64") == cmp.Or(o.Arch, "amd64") && cmp.Or(b.BindPort, 8443) == cmp.Or(o.BindPort, 8443)
}

// Balancer says all that is wrong with a load balancer of a cluster with these nodes, by the rules of this package. The
// rules of deploy.yaml say what it may listen on.
func (r Rules) Balancer(b *Balancer, nodes []Node, server string) []Finding {
	if b == nil {
		return nil
	}
	var out []Finding
	for _, f := range []struct{ field, value string }{{"name", b.Name}, {"address", b.Address}} {
		if f.value == "" {
			out = append(out, wrong(balancerAt+"."+f.field, "node-empty", "field", f.field, "name", b.Name))
		}
	}
	out = append(out, hostKeys(balancerAt, b.node())...)
	if b.Address == "" {
		return out
	}
	a, err := netip.ParseAddr(b.Address)
	if err != nil || a.Zone() != "" {
		return append(out, wrong(balancerAt+".address", "address", "address", b.Address))
	}
	if is := taken(balancerAt+".address", r.own(), a, b.Name); len(is) > 0 { // C7
		out = append(out, is...)
	} else if said, ok := addressOf(server); ok && !r.Shared && said == a.Unmap() {
		out = append(out, wrong(balancerAt+".address", "server", "address", a.String(), "name", b.Name))
	}
	for _, n := range nodes { // C5
		switch here := SameAddress(n.Address, b.Address); {
		case here && n.Name != b.Name && b.Name != "":
			out = append(out, wrong(balancerAt+".address", "same-address", "address", a.String(), "name", b.Name,
				"other", n.Name))
		case !here && n.Name == b.Name && b.Name != "":
			out = append(out, wrong(balancerAt+".name", "same-name", "name", b.Name))
		}
	}
	return out
}

// Beside says what is wrong with other nodes beside the load balancer that a cluster has, and with one that is said to
// be its: an update does not change it.
func (r Rules) Beside(was, now []Node, has, said *Balancer) (out []Finding) {
	if said != nil && !said.Same(has) {
		out = append(out, wrong(balancerAt, "balancer-changed"))
	}
	if has == nil || slices.ContainsFunc(was, func(n Node) bool { return SameAddress(n.Address, has.Address) }) {
		return out
	}
	for i, n := range now {
		at := "body.nodes[" + strconv.Itoa(i) + "]"
		switch {
		case SameAddress(n.Address, has.Address):
			out = append(out, wrong(at+".address", "balancer-node", "name", n.Name, "other", has.Name))
		case n.Name == has.Name:
			out = append(out, wrong(at+".name", "same-name", "name", n.Name))
		}
	}
	return out
}

// balanced returns machines with their load balancer, after the nodes, and the port that it listens on.
func balanced(list []config.Machine, b *Balancer) ([]config.Machine, string) {
	if b == nil {
		return list, ""
	}
	for i, m := range list {
		if SameAddress(m.IP, b.Address) && m.Name == b.Name {
			list[i].Roles = append(slices.Clone(m.Roles), bundle.LoadBalancer)
			list[i].Port, list[i].Arch = cmp.Or(m.Port, port(b.Port)), cmp.Or(m.Arch, b.Arch)
			return list, port(b.BindPort)
		}
	}
	return append(list, config.Machine{Name: b.Name, IP: b.Address, Port: port(b.Port), Arch: b.Arch,
		Roles: []bundle.Role{bundle.LoadBalancer}}), port(b.BindPort)
}

func port(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
