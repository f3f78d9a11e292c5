// Package clusterspec defines the cluster that the REST API accepts: its fields, the rules of the design for them, and
// the deploy.yaml made from them. The codes of its findings keep the prefix "profile." of its old name, because codes
// are an interface.
//
// It may import config, bundle, run/event and output/spelling.
package clusterspec

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The roles of a node, in the design's words.
const (
	ControlPlane = "controlplane"
	Etcd         = "etcd"
	Worker       = "worker"
	Edge         = "edge"
)

// Node of a cluster.
type Node struct {
	Name    string   `json:"name" doc:"The name of the node." maxLength:"253"`
	Address string   `json:"address" doc:"Its IP address." maxLength:"64"`
	Roles   []string `json:"roles" doc:"controlplane, etcd, worker, and edge, a label for a worker." maxItems:"8" nullable:"false"`
	Arch    string   `json:"arch,omitempty" doc:"amd64 (default) or arm64." maxLength:"16"`
	Port    int      `json:"port,omitempty" doc:"The SSH port, 22 unless given." minimum:"0" maximum:"65535"`
	// Labels and taints of its Node. What is not said of a node that is there stays as it is.
	Labels map[string]string `json:"labels,omitempty" doc:"Labels of a new node."`
	Taints []string          `json:"taints,omitempty" doc:"Taints of a new node: KEY=VALUE:EFFECT." maxItems:"64"`
	// HostKeys are not kept: a run adds them to the known hosts when the node shows one of them.
	HostKeys []string `json:"host_keys,omitempty" doc:"Public host keys of a new node that are accepted, as in its /etc/ssh/ssh_host_ed25519_key.pub; in place of known_hosts." maxItems:"16"`
}

// Has says whether the node has a role.
func (n Node) Has(role string) bool { return slices.Contains(n.Roles, role) }

// SSH is how the nodes are logged in to. Secrets and keys are kept in files that only root can read; no answer has
// them.
type SSH struct {
	User         string `json:"user" doc:"The user." maxLength:"64"`
	Key          string `json:"key,omitempty" doc:"The private key, PEM or OpenSSH, without a passphrase." maxLength:"65536"`
	Password     string `json:"password,omitempty" doc:"The password, where there is no key." maxLength:"1024"`
	SudoPassword string `json:"sudo_password,omitempty" doc:"The password of sudo, if it differs." maxLength:"1024"`
	KnownHosts   string `json:"known_hosts,omitempty" doc:"The host keys of the nodes, as in known_hosts." maxLength:"262144"`
	HostKeys     string `json:"host_keys,omitempty" enum:"strict,accept-new" doc:"What is done about an unknown host key. strict unless given."`
}

// Cluster that is to be created.
type Cluster struct {
	Name          string            `json:"name" doc:"The name of the cluster." maxLength:"64"`
	ServerAddress string            `json:"server_address" doc:"The IP address of the machine that eggo-server runs on, as the nodes see it; not that of a node, the API server or the load balancer." maxLength:"253"`
	Domain        string            `json:"domain" doc:"The suffix of the cluster's DNS names, such as cluster.local." maxLength:"253"`
	SSH           SSH               `json:"ssh"`
	Nodes         []Node            `json:"nodes" maxItems:"1000" nullable:"false"`
	LoadBalancer  *Balancer         `json:"load_balancer,omitempty" doc:"In front of the control planes; none: the first of them is the endpoint."`
	Bundles       map[string]string `json:"bundles,omitempty" doc:"The path of the bundle on this host, by architecture."`
	Registries    []Registry        `json:"registries,omitempty" maxItems:"64" doc:"Private registries that the nodes pull images from."`
	Settings      map[string]string `json:"settings,omitempty" doc:"More keys of deploy.yaml, such as network.podcidr; none that names a file or a password."`
}

// Registry that needs a login or has a CA of its own. Both are kept in files that only root can read; no answer has
// them.
type Registry struct {
	Host     string `json:"host" doc:"The host, or host:port." maxLength:"260"`
	Username string `json:"username,omitempty" maxLength:"128"`
	Password string `json:"password,omitempty" maxLength:"1024"`
	CA       string `json:"ca,omitempty" doc:"Certificates in PEM." maxLength:"65536"`
}

// Finding is something wrong in a part of a request.
type Finding struct {
	Location string
	Fault    *event.Fault
}

// Rules are those of a server.
type Rules struct {
	// Shared allows the roles that deploy.yaml allows: a node that is control plane and worker, etcd by itself, a
	// cluster without workers, and that control planes and etcd members are removed.
	Shared bool
	// Own returns the addresses of the server and those that belong to no machine in a network, for each request. None
	// of them is a node, a load balancer or a bastion. nil: there are none.
	Own func() config.Addresses
}

// own returns the addresses of the server now.
func (r Rules) own() config.Addresses {
	if r.Own == nil {
		return nil
	}
	return r.Own()
}

// taken returns what is wrong with the address of a machine: it is one of the server's, or belongs to no machine in a
// network.
func taken(at string, own config.Addresses, a netip.Addr, name string) []Finding {
	code := "server"
	switch a = a.Unmap(); {
	case !own.Has(a):
		return nil
	case !a.IsGlobalUnicast():
		code = "special-address"
	}
	return []Finding{wrong(at, code, "address", a.String(), "name", name)}
}

func wrong(at, code string, kv ...string) Finding {
	return Finding{at, event.NewFault(event.ClassUsage, "profile."+code, nil, kv...)}
}

// Create says all that is wrong with a new cluster.
func (r Rules) Create(c Cluster) []Finding {
	var out []Finding
	for _, f := range []struct{ at, value string }{ // C1
		{"name", c.Name}, {"ssh.user", c.SSH.User}, {"ssh.key", cmp.Or(c.SSH.Key, c.SSH.Password)},
		{"server_address", c.ServerAddress}, {"domain", c.Domain},
	} {
		if f.value == "" {
			out = append(out, wrong("body."+f.at, "empty", "field", f.at))
		}
	}
	out = append(append(out, logins(c.SSH)...), r.serverAddress(c)...)
	out = append(out, r.nodes(c.Nodes, "")...)
	return append(out, r.Balancer(c.LoadBalancer, c.Nodes, "")...)
}

// serverAddress is C7, where the address that a request says is the server's is that of one of its machines: one of the
// two is wrong. That a machine has one of the addresses that the server does have is said of the machine.
func (r Rules) serverAddress(c Cluster) []Finding {
	a, ok := addressOf(c.ServerAddress)
	if !ok || r.Shared || r.own().Has(a) {
		return nil
	}
	machines := slices.Clone(c.Nodes)
	if c.LoadBalancer != nil {
		machines = append(machines, c.LoadBalancer.node())
	}
	i := slices.IndexFunc(machines, func(n Node) bool { return SameAddress(n.Address, a.String()) })
	if i < 0 {
		return nil
	}
	return []Finding{wrong("body.server_address", "server-address", "address", a.String(), "name", machines[i].Name)}
}

// addressOf is the address in host or host:port. A name is not looked up: what it means may change.
func addressOf(s string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err == nil
}

// nodes are the rules of create and update about nodes. server is the address of the server, as the request that
// created the cluster said.
func (r Rules) nodes(nodes []Node, server string) []Finding {
	var out []Finding
	own := r.own()
	said, _ := addressOf(server)
	addrs, names, count := map[netip.Addr]string{}, map[string]bool{}, map[string]int{}
	for i, n := range nodes {
		at := "body.nodes[" + strconv.Itoa(i) + "]"
		out = append(out, r.node(at, n)...)
		for _, role := range n.Roles {
			count[role]++
		}
		if n.Name != "" && names[n.Name] { // C5
			out = append(out, wrong(at+".name", "same-name", "name", n.Name))
		}
		names[n.Name] = true
		a, err := netip.ParseAddr(n.Address)
		if n.Address == "" {
			continue
		}
		if err != nil || a.Zone() != "" {
			out = append(out, wrong(at+".address", "address", "address", n.Address))
			continue
		}
		a = a.Unmap()
		if other, twice := addrs[a]; twice { // C5
			out = append(out, wrong(at+".address", "same-address", "address", a.String(), "name", n.Name,
				"other", other))
		}
		addrs[a] = n.Name
		if is := taken(at+".address", own, a, n.Name); len(is) > 0 { // C7
			out = append(out, is...)
		} else if !r.Shared && a == said {
			out = append(out, wrong(at+".address", "server", "address", a.String(), "name", n.Name))
		}
	}
	need := []string{ControlPlane, Etcd, Worker} // C6
	if r.Shared {
		need = need[:1]
	}
	for _, role := range need {
		if count[role] == 0 {
			out = append(out, wrong("body.nodes", "too-few", "role", role))
		}
	}
	return out
}

// node are the rules about one node.
func (r Rules) node(at string, n Node) []Finding {
	var out []Finding
	for _, f := range []struct {
		field string
		empty bool
	}{{"name", n.Name == ""}, {"address", n.Address == ""}, {"roles", len(n.Roles) == 0}} { // C2
		if f.empty {
			out = append(out, wrong(at+"."+f.field, "node-empty", "field", f.field, "name", n.Name))
		}
	}
	_, more := n.settings(at)
	out = append(append(out, more...), hostKeys(at, n)...)
	seen := map[string]bool{}
	for _, role := range n.Roles {
		switch {
		case !slices.Contains([]string{ControlPlane, Etcd, Worker, Edge}, role):
			out = append(out, wrong(at+".roles", "role-unknown", "role", role))
		case seen[role]:
			out = append(out, wrong(at+".roles", "role-twice", "role", role, "name", n.Name))
		case role == Edge && n.Has(ControlPlane) && !n.Has(Worker):
			out = append(out, wrong(at+".roles", "edge", "name", n.Name))
		}
		seen[role] = true
	}
	switch {
	case n.Has(ControlPlane) && n.Has(Worker) && !r.Shared: // C3
		out = append(out, wrong(at+".roles", "exclusive", "name", n.Name))
	case !n.Has(ControlPlane) && !n.Has(Worker) && (n.Has(Edge) || n.Has(Etcd) && !r.Shared): // C4
		role := Etcd
		if !n.Has(Etcd) {
			role = Edge
		}
		out = append(out, wrong(at+".roles", "alone", "name", n.Name, "role", role))
	}
	return out
}

// Update says all that is wrong with other nodes for a cluster.
func (r Rules) Update(was, now []Node, server string) []Finding {
	out := r.nodes(now, server)
	for _, o := range was {
		i := slices.IndexFunc(now, func(n Node) bool { return SameAddress(n.Address, o.Address) })
		if i < 0 {
			out = append(out, r.gone(o, now)...)
		} else {
			out = append(out, r.stays("body.nodes["+strconv.Itoa(i)+"]", o.plain(), now[i])...)
		}
	}
	return out
}

// gone says what is wrong with an update that does not list a node by its address.
func (r Rules) gone(o Node, now []Node) (out []Finding) {
	for _, role := range []string{ControlPlane, Etcd} { // U4
		if o.Has(role) && !r.Shared {
			out = append(out, wrong("body.nodes", "kept", "name", o.Name, "role", role))
		}
	}
	i := slices.IndexFunc(now, func(n Node) bool { return n.Name == o.Name })
	if i < 0 || len(out) > 0 {
		return out
	}
	return []Finding{wrong("body.nodes["+strconv.Itoa(i)+"].address", "moved", "name", o.Name, "address", o.Address,
		"new", now[i].Address)}
}

// stays says what is wrong with how an update lists a node that the cluster has: nothing of it changes. What is not
// said of it stays as it is.
func (r Rules) stays(at string, o, n Node) (out []Finding) {
	if n.relabels(o) {
		out = append(out, wrong(at+".labels", "labels-changed", "name", o.Name))
	}
	n = n.plain()
	if n.Name != o.Name && n.Name != "" {
		out = append(out, wrong(at+".name", "renamed", "name", o.Name, "new", n.Name))
	}
	for _, f := range []struct{ field, is, was string }{
		{"port", port(n.Port), cmp.Or(port(o.Port), "22")}, {"arch", n.Arch, cmp.Or(o.Arch, "amd64")},
	} {
		if f.is != "" && f.is != f.was {
			out = append(out, wrong(at+"."+f.field, "fixed", "field", f.field, "name", o.Name, "value", f.was))
		}
	}
	if sameRoles(o.Roles, n.Roles) || len(n.Roles) == 0 {
		return out
	}
	for _, role := range []string{ControlPlane, Etcd} {
		if o.Has(role) && !n.Has(role) && !r.Shared { // U4
			out = append(out, wrong(at+".roles", "kept", "name", o.Name, "role", role))
		}
	}
	lost := func(x string) bool { return o.Has(x) && !n.Has(x) }
	if r.Shared || !slices.ContainsFunc([]string{ControlPlane, Etcd}, lost) { // else it is U4's
		out = append(out, wrong(at+".roles", "roles-changed", "name", o.Name))
	}
	return out
}

// SameAddress says whether two texts are the same address.
func SameAddress(a, b string) bool {
	x, err := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err == nil && err2 == nil && x.Unmap() == y.Unmap()
}

func sameRoles(a, b []string) bool {
	x, y := slices.Clone(a), slices.Clone(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(slices.Compact(x), slices.Compact(y))
}

// Of are the nodes of a deploy.yaml, in this package's words.
func Of(c *config.Cluster) []Node {
	var out []Node
	for _, n := range c.Nodes {
		x := Node{Name: n.Name, Address: n.IP.String(), Arch: n.Arch, Port: n.Port, Roles: []string{}}
		if s := c.Eggo.Nodes[n.Name]; len(s.Labels)+len(s.Taints) > 0 {
			x.Labels = s.Labels
			for _, t := range s.Taints {
				x.Taints = append(x.Taints, t.String())
			}
		}
		for _, r := range n.Roles {
			if word := word(r); word != "" {
				x.Roles = append(x.Roles, word)
			}
		}
		if len(x.Roles) > 0 { // a load balancer by itself is none of the API's nodes
			out = append(out, x.plain())
		}
	}
	return out
}

func word(r bundle.Role) string {
	return map[bundle.Role]string{bundle.ControlPlane: ControlPlane, bundle.Etcd: Etcd, bundle.Worker: Worker}[r]
}

func roles(n Node) []bundle.Role {
	var out []bundle.Role
	for _, r := range []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd} {
		if n.Has(word(r)) {
			out = append(out, r)
		}
	}
	return out
}

// Config is a node as deploy.yaml has it.
func (n Node) Config() (config.Node, error) {
	a, err := netip.ParseAddr(n.Address)
	if err != nil {
		return config.Node{}, event.NewFault(event.ClassUsage, "profile.address", nil, "address", n.Address)
	}
	return config.Node{Name: n.Name, IP: a.Unmap(), Port: cmp.Or(n.Port, 22), Arch: cmp.Or(n.Arch, "amd64"),
		Roles: roles(n)}, nil
}
