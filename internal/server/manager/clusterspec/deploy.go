package clusterspec

import (
	"cmp"
	"maps"
	"reflect"
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

// Deploy is the deploy.yaml that a cluster comes to, which will be the file of that name, and what is wrong with it by
// the rules of deploy.yaml and of the server about bastions. It holds no secret, but names the files that do.
func (r Rules) Deploy(c Cluster, files Files, name string) ([]byte, []Finding, error) {
	d := config.Draft{Values: maps.Clone(c.Settings)}
	if d.Values == nil {
		d.Values = map[string]string{}
	}
	var out []Finding
	for key := range c.Settings {
		if !Settable(key) {
			out = append(out, refused(key))
			delete(d.Values, key)
		}
	}
	registries, more := registriesOf(c.Registries, files.Registries)
	out = append(out, more...)
	set := func(key, value string) {
		if value != "" {
			d.Values[key] = value
		}
	}
	set("cluster-id", c.Name)
	set("username", c.SSH.User)
	set("dns-domain", c.Domain)
	set("private-key-path", files.Key)
	set("eggo.password-from", from(files.Password))
	set("eggo.sudo-password-from", from(files.SudoPassword))
	set("eggo.known-hosts", files.KnownHosts)
	set("eggo.registries", registries)
	if c.SSH.HostKeys == "" {
		c.SSH.HostKeys = "strict"
	}
	set("eggo.host-keys", c.SSH.HostKeys)
	out = append(out, bundles(d, c.Bundles)...)
	text, out, err := r.finish(d, c.Nodes, c.LoadBalancer, name, out)
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

// Replaced is a deploy.yaml with other machines. Labels and taints of a node that keeps its name stay, unless others
// are said. A file that says what a draft cannot, or holds a secret, is refused.
func (r Rules) Replaced(text []byte, m Machines, name string) ([]byte, []Finding, error) {
	d, problems := config.ReadDraft(text, name)
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	was, _ := config.Load(text, name)
	same, _ := config.Load(d.YAML(), name)
	if d.KeepSecrets || !alike(was, same) {
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
	if m.KnownHosts != "" {
		d.Values["eggo.known-hosts"] = m.KnownHosts
	}
	m.login(d.Values)
	delete(d.Values, "eggo.nodes")
	if m.New {
		delete(d.Values, "eggo.imported")
	}
	d.Machines = nil
	lb := cmp.Or(m.Balancer, BalancerOf(was))
	if m.Unbalanced {
		lb = nil
	}
	return r.finish(d, nodes, lb, name, bundles(d, m.Bundles))
}

// login sets how the machines are logged in to. What is not said of it stays; a key or a password is in place of both.
func (m Machines) login(values map[string]string) {
	if m.SSH == nil {
		return
	}
	f := m.Files
	if f.Key != "" || f.Password != "" {
		delete(values, "private-key-path")
		delete(values, "eggo.password-from")
	}
	for key, value := range map[string]string{"username": m.SSH.User, "private-key-path": f.Key,
		"eggo.password-from": from(f.Password), "eggo.sudo-password-from": from(f.SudoPassword),
		"eggo.known-hosts": f.KnownHosts, "eggo.host-keys": m.SSH.HostKeys} {
		if value != "" {
			values[key] = value
		}
	}
}

// from is a file as the source of a password; "" if there is none.
func from(file string) string {
	if file == "" {
		return ""
	}
	return "file:" + file
}

// alike says whether two files mean the same, wherever their keys stand.
func alike(a, b *config.Cluster) bool {
	if a == nil || b == nil {
		return false
	}
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		if x.Type().Field(i).IsExported() && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// bundles sets the paths of bundles.
func bundles(d config.Draft, paths map[string]string) (out []Finding) {
	for arch, path := range paths {
		if arch != "amd64" && arch != "arm64" {
			out = append(out, wrong("body.bundles."+arch, "arch", "arch", arch))
		} else if path != "" {
			d.Values[config.BundleKey(arch)] = path
		}
	}
	return out
}

// finish gives a draft its machines, and is what it comes to, beside what was found wrong before.
func (r Rules) finish(
	d config.Draft, nodes []Node, lb *Balancer, name string, out []Finding,
) ([]byte, []Finding, error) {
	for _, n := range nodes {
		d.Machines = append(d.Machines, config.Machine{Name: n.Name, IP: n.Address, Port: port(n.Port), Arch: n.Arch,
			Roles: roles(n)})
	}
	balanced(&d, lb)
	own := "machines[" + strconv.Itoa(len(nodes)) + "]" // of the load balancer, if it is a machine by itself
	cluster, problems, err := d.Cluster(name)
	if err != nil {
		return nil, nil, err
	}
	if cluster != nil {
		problems = append(problems, config.Unsupported(cluster)...)
		out = append(append(out, foreign(cluster)...), r.bastions(cluster)...)
	}
	for _, p := range problems {
		if p.Severity == event.Error {
			out = append(out, Finding{location(p.Key, own), p.Fault()})
		}
	}
	text := d.YAML()
	if len(out) > 0 {
		return text, out, nil
	}
	text, problems, err = labeled(text, name, nodes)
	if text == nil {
		for _, p := range problems {
			out = append(out, Finding{location(p.Key, own), p.Fault()})
		}
	}
	return text, out, err
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
