// Package render makes the deploy.yaml of a Cluster of the operator from the objects that describe it. It reads no
// object and no file: the caller has read them, and compares and runs the result. Begin reading at Cluster.
//
// It imports no more than api, config and run/event beside the types of Kubernetes.
package render

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Input has the objects that describe a cluster.
type Input struct {
	Cluster *eggov1.Cluster
	// Infrastructure may be nil: then there are no packages and no ports.
	Infrastructure *eggov1.Infrastructure
	// Machines are those of the MachineBinding that do not leave, in its order.
	Machines []Machine
	// Login is the cluster's, for machines without one of their own; zero: all have their own.
	Login Login
	// Bundles are the files of the wanted version in the pod of a run.
	Bundles []Bundle
}

// Machine is a machine of the cluster.
type Machine struct {
	Object *eggov1.Machine
	Roles  []eggov1.Role
	// Login is the machine's own; zero: the cluster's.
	Login Login
	// Bastions are the logins of Object.Spec.Bastions, in their order; zero: that of the machine.
	Bastions []Login
}

// Bundle is a bundle in the pod of a run.
type Bundle struct {
	Arch string // amd64 or arm64
	Path string // absolute
}

// Result is a deploy.yaml.
type Result struct {
	// Text is the file. Files that it names are those of the pod of a run.
	Text []byte
	// Cluster is Text, decoded; nil if it is not valid.
	Cluster *config.Cluster
	// Accepted are the pinned host keys by host:port of machines and bastions, as request.Common takes them.
	Accepted map[string][]string
}

// Cluster returns the deploy.yaml of a cluster, and all that is wrong with it. The result is the same for the same
// objects.
func Cluster(in Input) (Result, config.Problems) {
	r := &renderer{in: in}
	r.machines()
	r.cluster()
	r.infrastructure()
	r.bundles()
	out := Result{Accepted: r.accepted()}
	spec, problems := r.withConfig()
	if r.problems = append(r.problems, problems...); r.problems.HasErrors() {
		return out, r.problems
	}
	out.Text = spec.YAML()
	var found config.Problems
	out.Cluster, found = config.Load(out.Text, "deploy.yaml")
	found = slices.DeleteFunc(found, func(p config.Problem) bool { return p.Code == "config.layouts-mixed" })
	return out, append(r.problems, found...) // that one is for readers of a file
}

// renderer fills a spec.
type renderer struct {
	in       Input
	spec     config.Spec
	problems config.Problems
}

func (r *renderer) problem(code, key string, kv ...string) {
	r.problems = append(r.problems, config.Problem{File: "deploy.yaml", Key: key, Code: code, Severity: event.Error,
		Args: event.NewFault(event.ClassUsage, code, nil, append(kv, "key", key)...).Args})
}

// Arch returns an architecture in Go's terms: upstream's samples have those of the kernel.
func Arch(name string) string {
	switch name {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return name
}

// arch returns the architecture of a machine in Go's terms; "" if it is not known.
func arch(m *eggov1.Machine) string {
	if m.Spec.Arch == "" && m.Status.Facts != nil {
		return m.Status.Facts.Arch
	}
	return Arch(m.Spec.Arch)
}

// port returns the port of SSH.
func port(p *int32) int {
	if p == nil || *p == 0 {
		return 22
	}
	return int(*p)
}

// machines fills the lists of machines and what is particular to each.
func (r *renderer) machines() {
	s := &r.spec
	logins, nodes := map[string]config.LoginSpec{}, map[string]config.NodeSpec{}
	for _, m := range r.in.Machines {
		o := m.Object
		if arch(o) == "" {
			r.problem("operator.no-arch", "spec.arch", "machine", o.Name)
			continue
		}
		if m.Login == (Login{}) && r.in.Login == (Login{}) {
			r.problem("operator.no-login", "spec.loginSecretRef", "machine", o.Name)
			continue
		}
		spec := config.MachineSpec{Name: o.Spec.HostName, IP: o.Spec.IP, Port: port(o.Spec.Port), Arch: arch(o)}
		for _, role := range m.Roles {
			switch role {
			case eggov1.RoleMaster:
				s.Masters = append(s.Masters, spec)
			case eggov1.RoleWorker:
				s.Nodes = append(s.Nodes, spec)
			case eggov1.RoleEtcd:
				s.Etcds = append(s.Etcds, spec)
			case eggov1.RoleLoadBalance:
				s.LoadBalance = config.BalancerSpec{MachineSpec: spec,
					BindPort: int(r.in.Cluster.Spec.LoadbalanceBindPort)}
			}
		}
		if login, own := r.login(m); own {
			logins[spec.Name] = login
		}
		node := config.NodeSpec{Labels: o.Spec.NodeLabels}
		for _, t := range o.Spec.NodeTaints {
			text := t.Key
			if t.Value != "" {
				text += "=" + t.Value
			}
			node.Taints = append(node.Taints, text+":"+t.Effect)
		}
		if len(node.Labels)+len(node.Taints) > 0 {
			nodes[spec.Name] = node
		}
	}
	if len(logins) > 0 {
		s.Eggo.Machines = logins
	}
	if len(nodes) > 0 {
		s.Eggo.Nodes = nodes
	}
}

// login returns how a machine is logged in to, and whether that differs from the cluster's login.
func (r *renderer) login(m Machine) (out config.LoginSpec, own bool) {
	if m.Login != (Login{}) && m.Login != r.in.Login {
		out, own = m.Login.spec(), true
	}
	for i, b := range m.Object.Spec.Bastions {
		login := cmp.Or(m.Login, r.in.Login)
		if i < len(m.Bastions) {
			login = cmp.Or(m.Bastions[i], login)
		}
		l := login.spec()
		out.Bastion = append(out.Bastion, config.HopSpec{Host: b.Host, Port: port(b.Port), User: l.User,
			PrivateKeyPath: l.PrivateKeyPath, PasswordFrom: l.PasswordFrom})
		own = true
	}
	return out, own
}

// cluster fills in the fields of the Cluster.
func (r *renderer) cluster() {
	s, c := &r.spec, &r.in.Cluster.Spec
	s.ClusterID = r.in.Cluster.Name
	l := r.in.Login.spec()
	s.Username, s.PrivateKeyPath = l.User, l.PrivateKeyPath
	s.Eggo.PasswordFrom, s.Eggo.SudoPasswordFrom = l.PasswordFrom, l.SudoPasswordFrom
	s.Eggo.HostKeys = "strict"
	s.Eggo.Driver = c.Driver
	if a := c.APIEndpoint; a.Advertise != "" || a.BindPort != nil {
		s.APIServerEndpoint = r.endpoint(a)
	}
	s.Runtime, s.RuntimeEndpoint = strings.ToLower(c.Runtime.Runtime), c.Runtime.RuntimeEndpoint
	s.EnableKubeletServing = c.EnableKubeletServing
	n := c.Network
	s.Service = config.ServiceSpec{CIDR: n.ServiceCIDR, DNSAddr: n.ServiceDNSIP, Gateway: n.ServiceGateway}
	s.Network = config.NetworkSpec{PodCIDR: n.PodCIDR, Plugin: n.PodPlugin}
	s.DNSDomain = n.Domain
	for _, key := range slices.Sorted(maps.Keys(n.PodPluginArgs)) {
		if key != "NetworkYamlPath" {
			r.problem("operator.plugin-arg", "spec.network.pod-plugin-args."+event.Clean(key))
			continue
		}
		s.Network.PluginArgs.NetworkYamlPath = n.PodPluginArgs[key]
	}
	for _, name := range c.Addons {
		s.Addons = append(s.Addons, config.AddonSpec{Type: "file", Filename: name})
	}
}

// endpoint returns the host:port of the API server. Upstream's samples have a scheme before the host.
func (r *renderer) endpoint(a eggov1.APIEndpointConfig) string {
	host := strings.TrimPrefix(strings.TrimPrefix(a.Advertise, "https://"), "http://")
	at := config.APIPort
	switch lb := r.spec.LoadBalance; {
	case a.BindPort != nil:
		at = strconv.Itoa(int(*a.BindPort))
	case lb.IP != "" && lb.BindPort != 0:
		at = strconv.Itoa(lb.BindPort)
	case lb.IP != "":
		at = config.BalancerPort
	}
	switch lb := r.spec.LoadBalance; {
	case host != "":
	case lb.IP != "":
		host = lb.IP
	case len(r.spec.Masters) > 0:
		host = r.spec.Masters[0].IP
	}
	return net.JoinHostPort(host, at)
}

// infrastructure fills in packages and ports.
func (r *renderer) infrastructure() {
	s := &r.spec
	if r.in.Infrastructure == nil {
		return
	}
	i := r.in.Infrastructure.Spec
	if i.InstallConfig.PackageSrc != nil {
		s.Install.PackageSource.DstPath = i.InstallConfig.PackageSrc.DstPath
	}
	for _, l := range []struct {
		to   *[]config.PackageSpec
		from []eggov1.PackageConfig
	}{
		{&s.Install.KubernetesMaster, i.InstallConfig.KubernetesMaster},
		{&s.Install.KubernetesWorker, i.InstallConfig.KubernetesWorker},
		{&s.Install.Network, i.InstallConfig.Network}, {&s.Install.Etcd, i.InstallConfig.ETCD},
		{&s.Install.LoadBalance, i.InstallConfig.LoadBalance}, {&s.Install.Container, i.InstallConfig.Container},
		{&s.Install.Image, i.InstallConfig.Image}, {&s.Install.DNS, i.InstallConfig.DNS},
		{&s.Install.Addition.Master, i.InstallConfig.Addition.Master},
		{&s.Install.Addition.Worker, i.InstallConfig.Addition.Worker},
		{&s.Install.Addition.Etcd, i.InstallConfig.Addition.ETCD},
		{&s.Install.Addition.LoadBalance, i.InstallConfig.Addition.LoadBalance},
	} {
		for _, p := range l.from {
			*l.to = append(*l.to, config.PackageSpec{Name: p.Name, Type: p.Type, DstPath: p.Dst, Schedule: p.Schedule,
				Timeout: p.TimeOut})
		}
	}
	s.OpenPorts = config.PortsSpec{Master: ports(i.OpenPorts.Master), Node: ports(i.OpenPorts.Worker),
		Etcd: ports(i.OpenPorts.ETCD), LoadBalance: ports(i.OpenPorts.LoadBalance)}
}

// bundles fills in the bundles: the first one of each architecture, and further ones, which are for other operating
// systems. The layout follows from the packages.
func (r *renderer) bundles() {
	has := map[string]bool{}
	for _, b := range r.in.Bundles {
		if has[b.Arch] {
			r.spec.Eggo.Bundles = append(r.spec.Eggo.Bundles, b.Path)
			continue
		}
		has[b.Arch] = true
		r.spec.SetBundle(b.Arch, b.Path)
	}
}

func ports(list []eggov1.OpenPorts) (out []config.PortSpec) {
	for _, p := range list {
		out = append(out, config.PortSpec{Port: int(p.Port), Protocol: strings.ToLower(p.Protocol)})
	}
	return out
}

// accepted returns the pinned host keys of machines and bastions, or those that were trusted on first use.
func (r *renderer) accepted() map[string][]string {
	out := map[string][]string{}
	add := func(host string, at *int32, keys []string) {
		address := net.JoinHostPort(host, strconv.Itoa(port(at)))
		for _, k := range keys {
			if f := strings.Fields(k); len(f) >= 2 { // without the comment
				k = f[0] + " " + f[1]
			}
			if !slices.Contains(out[address], k) {
				out[address] = append(out[address], k)
			}
		}
	}
	for _, m := range r.in.Machines {
		keys := m.Object.Spec.HostKeys
		if len(keys) == 0 && m.Object.Spec.HostKeyPolicy == eggov1.HostKeysOnFirst {
			keys = m.Object.Status.TrustedHostKeys
		}
		add(m.Object.Spec.IP, m.Object.Spec.Port, keys)
		for _, b := range m.Object.Spec.Bastions {
			add(b.Host, b.Port, b.HostKeys)
		}
	}
	return out
}
