package clusterspec

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Files are where the secrets of a cluster are kept; "" where there is none.
type Files struct {
	Key, Password, SudoPassword, KnownHosts string
	Registries                              []RegistryFiles // in the order of the cluster's
}

// RegistryFiles are those of a registry.
type RegistryFiles struct{ Password, CA string }

// entry is the path of a machine of a draft.
var entry = regexp.MustCompile(`\Amachines(\[[0-9]+\])(?:\.(.*))?\z`)

// Deploy returns the deploy.yaml that a cluster comes to, which will be the file of that name, and what is wrong with
// it by the rules of deploy.yaml and of the server about bastions. It holds no secret, but names the files that do.
func (r Rules) Deploy(c Cluster, files Files, name string) ([]byte, []Finding, error) {
	var s config.Spec
	var out []Finding
	var problems config.Problems
	for _, key := range slices.Sorted(maps.Keys(c.Settings)) {
		if config.Settable(key) {
			problems = append(problems, s.Set(key, c.Settings[key])...)
		} else {
			out = append(out, refused(key))
		}
	}
	registries, more := registriesOf(c.Registries, files.Registries)
	out = append(out, more...)
	s.ClusterID, s.Username, s.DNSDomain = c.Name, c.SSH.User, cmp.Or(c.Domain, s.DNSDomain)
	s.PrivateKeyPath, s.Eggo.PasswordFrom, s.Eggo.SudoPasswordFrom = files.Key, from(files.Password),
		from(files.SudoPassword)
	s.Eggo.KnownHosts, s.Eggo.HostKeys = files.KnownHosts, cmp.Or(c.SSH.HostKeys, "strict")
	s.Eggo.Registries = registries
	out = append(out, bundles(&s, c.Bundles)...)
	text, out, err := r.finish(s, problems, c.Nodes, c.LoadBalancer, name, out)
	for i := range out {
		out[i].Location = registryAt(out[i].Location, c.Registries)
	}
	return text, out, err
}

// Machines are what a deploy.yaml gets in place of its own.
type Machines struct {
	Nodes      []Node
	Balancer   *Balancer         // nil: it stays
	Unbalanced bool              // there is none any more
	Bundles    map[string]string // by architecture; those that are not here stay
	KnownHosts string            // the path of a file; "": it stays
	SSH        *SSH              // how they are logged in to; nil: it stays
	Files      Files             // of SSH
	New        bool              // none of them was imported, whatever the ones before were
}

// Replaced returns a deploy.yaml with other machines. Labels and taints of a node that keeps its name stay, unless
// others are said. A file that holds a secret, or has its packages from the network, is refused.
func (r Rules) Replaced(text []byte, m Machines, name string) ([]byte, []Finding, error) {
	s, was, problems := config.LoadSpec(text, name)
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	if s.Password != "" || s.Eggo.SudoPassword != "" || was.Source.Type == "" {
		return nil, nil, event.NewFault(event.ClassUsage, "profile.not-kept", nil, "cluster", was.Name)
	}
	old := Of(was)
	nodes := slices.Clone(m.Nodes)
	for i, n := range nodes {
		at := slices.IndexFunc(old, func(o Node) bool { return o.Name == n.Name })
		if at < 0 {
			continue
		}
		if n.Labels == nil {
			nodes[i].Labels = old[at].Labels
		}
		if n.Taints == nil {
			nodes[i].Taints = old[at].Taints
		}
	}
	s.Eggo.KnownHosts = cmp.Or(m.KnownHosts, s.Eggo.KnownHosts)
	m.login(&s)
	s.Eggo.Nodes = nil
	s.Eggo.Imported = s.Eggo.Imported && !m.New
	lb := cmp.Or(m.Balancer, BalancerOf(was))
	if m.Unbalanced {
		lb = nil
	}
	more := bundles(&s, m.Bundles)
	return r.finish(s, nil, nodes, lb, name, more)
}

// login sets how the machines are logged in to. What is not said of it stays; a key or a password is in place of both.
func (m Machines) login(s *config.Spec) {
	if m.SSH == nil {
		return
	}
	f := m.Files
	if f.Key != "" || f.Password != "" {
		s.PrivateKeyPath, s.Eggo.PasswordFrom = f.Key, from(f.Password)
	}
	s.Username = cmp.Or(m.SSH.User, s.Username)
	s.Eggo.SudoPasswordFrom = cmp.Or(from(f.SudoPassword), s.Eggo.SudoPasswordFrom)
	s.Eggo.KnownHosts = cmp.Or(f.KnownHosts, s.Eggo.KnownHosts)
	s.Eggo.HostKeys = cmp.Or(m.SSH.HostKeys, s.Eggo.HostKeys)
}

// from is a file as the source of a password; "" if there is none.
func from(file string) string {
	if file == "" {
		return ""
	}
	return "file:" + file
}

// bundles sets the paths of bundles, where the file has them.
func bundles(s *config.Spec, paths map[string]string) (out []Finding) {
	for arch, path := range paths {
		switch {
		case arch != "amd64" && arch != "arm64":
			out = append(out, wrong("body.bundles."+arch, "arch", "arch", arch))
		case path != "":
			s.SetBundle(arch, path)
		}
	}
	return out
}

// finish gives a Spec its machines, and returns what it comes to, beside what was found wrong before.
func (r Rules) finish(
	s config.Spec, problems config.Problems, nodes []Node, lb *Balancer, name string, out []Finding,
) ([]byte, []Finding, error) {
	var list []config.Machine
	for _, n := range nodes {
		list = append(list, config.Machine{Name: n.Name, IP: n.Address, Port: port(n.Port), Arch: n.Arch,
			Roles: roles(n)})
	}
	list, bindPort := balanced(list, lb)
	own := "machines[" + strconv.Itoa(len(nodes)) + "]" // of the load balancer, if it is a machine by itself
	problems = append(problems, s.SetMachines(list, bindPort)...)
	cluster, more := s.Cluster(name)
	if cluster != nil && len(problems) == 0 {
		more = append(more, config.Unsupported(cluster)...)
		out = append(append(out, foreign(cluster)...), r.bastions(cluster)...)
	}
	for _, p := range problems.With(more.OfMachines(list)) {
		if p.Severity == event.Error {
			out = append(out, Finding{location(p.Key, own), p.Fault()})
		}
	}
	if len(out) > 0 {
		return s.YAML(), out, nil
	}
	labeled(&s, nodes)
	_, more = s.Cluster(name)
	for _, p := range more {
		if p.Severity == event.Error {
			out = append(out, Finding{labelAt(p.Key, nodes), p.Fault()})
		}
	}
	return s.YAML(), out, nil
}

// location is the part of the request that a key of the draft comes from. balancer is the entry of the load balancer.
func location(key, balancer string) string {
	field, its := strings.CutPrefix(key, balancer)
	switch {
	case strings.HasSuffix(key, ".bind-port"):
		return balancerAt + ".bind_port"
	case key == "loadbalance" || its && field == "":
		return balancerAt
	case its:
		return balancerAt + "." + strings.TrimPrefix(strings.ReplaceAll(field, ".ip", ".address"), ".")
	}
	if m := entry.FindStringSubmatch(key); m != nil {
		field := map[string]string{"": "", "ip": ".address", "name": ".name", "port": ".port", "arch": ".arch"}[m[2]]
		return "body.nodes" + m[1] + field
	}
	if own, is := strings.CutPrefix(key, "eggo.registries"); is {
		return "body.registries" + own
	}
	own := map[string]string{"cluster-id": "name", "username": "ssh.user", "private-key-path": "ssh.key",
		"dns-domain": "domain", "eggo.host-keys": "ssh.host_keys", "eggo.known-hosts": "ssh.known_hosts",
		"package-src.x86src": "bundles.amd64", "package-src.armsrc": "bundles.arm64", "masters": "nodes",
		"nodes": "nodes", "etcds": "nodes", "": ""}
	if at, is := own[key]; is {
		return "body." + at
	}
	return "body.settings." + key
}
