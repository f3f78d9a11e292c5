package config

import (
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// Keys are all keys of deploy.yaml, in the order of the manual. After them come the shapes of what stands in lists.
func Keys() []Key {
	return slices.Concat(
		loginKeys(), machineLists(), addressKeys(), runtimeKeys(), payloadKeys(), installKeys(), ownKeys(), shapes(),
	)
}

func loginKeys() []Key {
	return []Key{
		{Path: "cluster-id", Kind: Text, Default: "k8s-cluster", rule: ruleClusterID, Wizard: Place{"cluster", 1},
			to: inCluster(func(c *Cluster) any { return &c.Name })},
		{Path: "username", Kind: Text, Default: "root", rule: ruleUser, Wizard: Place{"login", 1},
			to: inCluster(func(c *Cluster) any { return &c.SSH.User })},
		{Path: "password", Kind: Secret, Example: "# ", Wizard: Place{"login", 3},
			to: inCluster(func(c *Cluster) any { return &c.SSH.Password })},
		{Path: "private-key-path", Kind: Path, Example: "# ~/.ssh/id_ed25519", rule: ruleLocalBase,
			Wizard: Place{"login", 2},
			to:     inCluster(func(c *Cluster) any { return &c.SSH.PrivateKeyPath })},
	}
}

func machineLists() []Key {
	list := func(name string, role bundle.Role) func(*loader, any) reader {
		return func(l *loader, _ any) reader { return l.hostList(name, role) }
	}
	return []Key{
		{Path: "masters", Kind: Machines, Of: "<machine>", Needed: true,
			read: list("masters", bundle.ControlPlane)},
		{Path: "nodes", Also: []string{"workers"}, Kind: Machines, Of: "<machine>",
			read: list("nodes", bundle.Worker)},
		{Path: "etcds", Kind: Machines, Of: "<machine>", read: list("etcds", bundle.Etcd)},
		{Path: "loadbalance", Alias: []string{"loadbalancer", "loadbalances"}, Kind: Machines, Of: "<balancer>",
			read: by((*loader).loadbalance), schema: oneOrList},
	}
}

func addressKeys() []Key {
	return []Key{
		{Path: "external-ca", Kind: YesNo, Default: "false",
			to: func(l *loader, _ any) any { return &l.externalCA }},
		{Path: "external-ca-path", Kind: Path, Example: "# =", Default: "/opt/externalca", rule: ruleLocalBase,
			to: func(l *loader, _ any) any { return &l.caPath }},
		{Path: "service", Kind: Map},
		{Path: "service.cidr", Kind: Network, Default: "10.32.0.0/16", Wizard: Place{"networks", 2},
			read: by((*loader).serviceCIDR)},
		{Path: "service.dnsaddr", Also: []string{"dns-address"}, Kind: Address, Example: "10.32.0.10",
			Wizard: Place{"networks", 3},
			to:     inCluster(func(c *Cluster) any { return &c.DNSAddr })},
		{Path: "service.gateway", Kind: Address, Example: "10.32.0.1",
			to: inCluster(func(c *Cluster) any { return &c.ServiceGateway })},
		{Path: "service.dns", Kind: Map},
		{Path: "service.dns.corednstype", Kind: Choice, Choices: []string{"pod", "binary"}, Default: "pod",
			Wizard: Place{"runtime", 2}, to: inCluster(func(c *Cluster) any { return &c.DNS.Type })},
		{Path: "service.dns.imageversion", Kind: Text, Example: "# v1.12.1", rule: ruleTag,
			to: inCluster(func(c *Cluster) any { return &c.DNS.ImageVersion })},
		{Path: "service.dns.replicas", Kind: Number, Default: "2", Low: 1, High: 100, Wizard: Place{"runtime", 3},
			Applies: func(get func(string) string) bool { return get("service.dns.corednstype") == "pod" },
			to:      inCluster(func(c *Cluster) any { return &c.DNS.Replicas })},
		{Path: "network", Kind: Map},
		{Path: "network.podcidr", Kind: Network, Default: "10.244.0.0/16", Wizard: Place{"networks", 1},
			to: inCluster(func(c *Cluster) any { return &c.PodCIDR })},
		{Path: "network.plugin", Kind: Choice, Choices: networkPlugins, Default: "flannel",
			Wizard: Place{"networks", 5},
			to:     inCluster(func(c *Cluster) any { return &c.NetworkPlugin })},
		// The program of the manual read only pluginargs, its manual says plugin-args.
		{Path: "network.plugin-args", Also: []string{"pluginargs"}, Kind: Block, read: by((*loader).pluginArgs)},
		{Path: "network.plugin-args.NetworkYamlPath", Kind: Text, rule: ruleNodePath,
			to: in(func(s *string) any { return s })},
		{Path: "apiserver-endpoint", Kind: Text, Example: "192.168.0.1:6443", rule: ruleEndpoint,
			Wizard: Place{"networks", 6},
			to:     inCluster(func(c *Cluster) any { return &c.Endpoint })},
		{Path: "apiserver-cert-sans", Kind: Map},
		{Path: "apiserver-cert-sans.dnsnames", Kind: List, Example: "[]", rule: ruleSANName,
			Wizard: Place{"networks", 7},
			to:     inCluster(func(c *Cluster) any { return &c.SANs.DNSNames })},
		{Path: "apiserver-cert-sans.ips", Kind: List, Example: "[]", Of: string(Address),
			Wizard: Place{"networks", 8},
			to:     inCluster(func(c *Cluster) any { return &c.SANs.IPs })},
		{Path: "apiserver-timeout", Kind: Duration, Default: "120s", Most: 24 * time.Hour,
			to: inCluster(func(c *Cluster) any { return &c.APIServerTimeout })},
		{Path: "etcd-external", Kind: YesNo, Default: "false", Effect: Later,
			to: inCluster(func(c *Cluster) any { return &c.EtcdExternal })},
		{Path: "etcd-token", Kind: Text, Default: "etcd-cluster", rule: ruleToken,
			to: inCluster(func(c *Cluster) any { return &c.EtcdToken })},
		{Path: "dns-vip", Kind: Address, Example: "10.32.0.10",
			to: func(l *loader, _ any) any { return &l.dnsVIP }},
		{Path: "dns-domain", Kind: Text, Default: "cluster.local", rule: ruleDomain, Wizard: Place{"networks", 4},
			to: inCluster(func(c *Cluster) any { return &c.DNSDomain })},
	}
}

func runtimeKeys() []Key {
	return []Key{
		{Path: "pause-image", Kind: Text, Example: "# registry.k8s.io/pause:3.10.1", rule: ruleImage,
			to: inCluster(func(c *Cluster) any { return &c.PauseImage })},
		{Path: "network-plugin", Kind: Choice, Choices: []string{"cni"}, Default: "cni", Effect: None,
			to: func(*loader, any) any { return new(string) }},
		{Path: "cni-bin-dir", Kind: Text, Default: "/usr/libexec/cni,/opt/cni/bin", read: by((*loader).cniBinDirs)},
		{Path: "runtime", Kind: Choice, Choices: []string{"containerd", "docker", "isulad"}, Default: "containerd",
			Wizard: Place{"runtime", 1}, to: inCluster(func(c *Cluster) any { return &c.Runtime })},
		{Path: "runtime-endpoint", Kind: Text, rule: ruleSocket,
			to: inCluster(func(c *Cluster) any { return &c.RuntimeEndpoint })},
		{Path: "enable-kubelet-serving", Kind: YesNo, Example: "-", Default: "false",
			to: inCluster(func(c *Cluster) any { return &c.KubeletServing })},
		{Path: "registry-mirrors", Kind: List, Example: "[]", rule: ruleMirror, Wizard: Place{"runtime", 5},
			to: inCluster(func(c *Cluster) any { return &c.RegistryMirrors })},
		{Path: "insecure-registries", Kind: List, Example: "[]", rule: ruleRegistry, Wizard: Place{"runtime", 6},
			to: inCluster(func(c *Cluster) any { return &c.InsecureRegistries })},
		{Path: "config-extra-args", Kind: Block, Example: "[]", Of: "<component>", read: by((*loader).extraArgs)},
	}
}

// roleKeys are keys that are the words for the roles.
func roleKeys(above, of string, also bool, read func(role bundle.Role) func(*loader, any) reader) []Key {
	worker := Key{Path: above + ".worker"}
	if also {
		worker = Key{Path: above + ".node", Also: []string{"worker"}}
	}
	out := []Key{{Path: above + ".master"}, worker, {Path: above + ".etcd"}, {Path: above + ".loadbalance"}}
	if above == "pacakges" {
		out[2].Example = "#"
	}
	for i, role := range []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd, bundle.LoadBalancer} {
		out[i].Kind, out[i].Of, out[i].read = Block, of, read(role)
	}
	return out
}

func packagesFor(addition bool, roles ...bundle.Role) func(*loader, any) reader {
	return func(l *loader, _ any) reader { return l.packagesOf(addition, roles...) }
}

func payloadKeys() []Key {
	bundlePath := func(arch string) func(*loader, any) reader {
		return func(l *loader, at any) reader { return l.bundlePath(arch, at.(map[string]string)) }
	}
	return slices.Concat([]Key{
		{Path: "addons", Kind: List, Example: "[]", Of: "<addon>", Layout: Older, Wizard: Place{"runtime", 4},
			read: by((*loader).addons)},
		{Path: "open-ports", Kind: Block, Example: "{}"},
	}, roleKeys("open-ports", "<port>", true, func(role bundle.Role) func(*loader, any) reader {
		return func(l *loader, _ any) reader { return l.openPortsOf(role) }
	}), []Key{
		{Path: "package-src", Kind: Map, Layout: Older, read: by((*loader).packageSrc)},
		{Path: "package-src.type", Kind: Choice, Choices: []string{"tar.gz"}, Default: "tar.gz",
			Wizard: Place{"bundle", 0},
			to:     inCluster(func(c *Cluster) any { return &c.Source.Type })},
		{Path: "package-src.x86src", Kind: Path, Example: "# ./eggo-amd64.tar.gz", rule: ruleLocalPath,
			Wizard: Place{"bundle", 0}, read: bundlePath("amd64")},
		{Path: "package-src.armsrc", Kind: Path, Example: "# ./eggo-arm64.tar.gz", rule: ruleLocalPath,
			Wizard: Place{"bundle", 0}, read: bundlePath("arm64")},
		{Path: "package-src.distpath", Also: []string{"dstpath"}, Kind: Text, rule: ruleNodePath,
			Wizard: Place{"bundle", 0},
			read:   func(l *loader, _ any) reader { return l.dst(nodepath.Spool, &l.c.Source.DstPath) }},
		{Path: "pacakges", Also: []string{"packages"}, Written: "packages", Kind: Block, Example: "{}",
			Layout: Older},
	}, roleKeys("pacakges", "<package>", true, func(role bundle.Role) func(*loader, any) reader {
		return packagesFor(false, role)
	}))
}

// installKeys are the later layout's words for package-src, pacakges and addons.
func installKeys() []Key {
	// A control plane runs a kubelet and pods as a worker does, so what pods need goes to both.
	everywhere := packagesFor(false, bundle.ControlPlane, bundle.Worker)
	out := []Key{
		{Path: "install", Kind: Block, Layout: Newer},
		{Path: "install.package-source", Kind: Map},
		{Path: "install.package-source.type", Kind: Choice, Choices: []string{"tar.gz"}, Effect: Later,
			read: by((*loader).sourceType)},
		{Path: "install.package-source.dstpath", Kind: Text, rule: ruleNodePath,
			read: func(l *loader, _ any) reader { return l.dst(nodepath.Spool, &l.c.Source.DstPath) }},
		{Path: "install.package-source.srcpath", Kind: Block, rule: ruleLocalPath, read: by((*loader).srcPath),
			schema: byArch},
		{Path: "install.etcd", read: packagesFor(false, bundle.Etcd)},
		{Path: "install.kubernetes-master", read: packagesFor(false, bundle.ControlPlane)},
		{Path: "install.kubernetes-worker", read: packagesFor(false, bundle.Worker)},
		{Path: "install.network", read: everywhere},
		{Path: "install.container", read: everywhere},
		{Path: "install.image", read: everywhere},
		{Path: "install.loadbalance", read: packagesFor(false, bundle.LoadBalancer)},
		{Path: "install.dns", read: packagesFor(false, bundle.ControlPlane)},
	}
	for i := range out {
		if out[i].Kind == "" {
			out[i].Kind, out[i].Of = Block, "<package>"
		}
	}
	out = append(out, Key{Path: "install.addition", Kind: Map})
	return append(out, roleKeys("install.addition", "<package>", false,
		func(role bundle.Role) func(*loader, any) reader {
			return packagesFor(true, role)
		})...)
}

func ownKeys() []Key {
	eggo := func(f func(*Eggo) any) func(*loader, any) any {
		return func(l *loader, _ any) any { return f(&l.c.Eggo) }
	}
	return []Key{
		{Path: "eggo", Kind: Map, Example: "#"},
		{Path: "eggo.driver", Kind: Choice, Choices: []string{DriverBinary, DriverKubeadm}, Default: DriverBinary,
			to: eggo(func(e *Eggo) any { return &e.Driver })},
		{Path: "eggo.imported", Kind: YesNo, Default: "false", Example: "-",
			Applies: func(get func(string) string) bool { return get("eggo.imported") == "true" }, // import writes it
			to:      eggo(func(e *Eggo) any { return &e.Imported })},
		{Path: "eggo.hostname", Kind: Choice, Choices: []string{"keep", "set"}, Default: "keep",
			to: eggo(func(e *Eggo) any { return &e.Hostname })},
		{Path: "eggo.etcd-user", Kind: Choice, Choices: []string{"etcd", "root"}, Default: "etcd",
			to: eggo(func(e *Eggo) any { return &e.EtcdUser })},
		{Path: "eggo.sudo-password", Kind: Secret, Wizard: Place{"login", 4},
			Applies: func(get func(string) string) bool { return get("username") != "root" },
			to:      eggo(func(e *Eggo) any { return &e.SudoPassword })},
		{Path: "eggo.password-from", Kind: Text, Example: "prompt", rule: ruleSource,
			to: eggo(func(e *Eggo) any { return &e.PasswordFrom })},
		{Path: "eggo.sudo-password-from", Kind: Text, Example: "prompt", rule: ruleSource,
			to: eggo(func(e *Eggo) any { return &e.SudoPasswordFrom })},
		{Path: "eggo.host-keys", Kind: Choice, Example: "strict", Choices: []string{"ask", "strict", "accept-new"},
			Default: "ask", Depends: true,
			to: eggo(func(e *Eggo) any { return &e.HostKeys })},
		{Path: "eggo.known-hosts", Kind: Path, Example: "~/.ssh/known_hosts", rule: ruleLocalBase,
			to: eggo(func(e *Eggo) any { return &e.KnownHosts })},
		{Path: "eggo.ssh-legacy-algorithms", Kind: YesNo, Example: "true", Default: "false",
			to: eggo(func(e *Eggo) any { return &e.SSHLegacyAlgorithms })},
		{Path: "eggo.bastion", Kind: Block, Example: "ops@bastion.example.com:22", Of: "<hop>",
			Wizard: Place{"login", 5}, read: by((*loader).bastion), schema: hops},
		{Path: "eggo.machines", Kind: Block, Example: "{ worker1: { user: ops, private-key-path: ~/.ssh/other } }",
			Of: "<login>", read: by((*loader).logins), schema: byName},
		{Path: "eggo.registries", Kind: Block,
			Example: "{ 'registry.example.com:5000': { username: eggo, password-from: prompt, ca-path: ~/ca.crt } }",
			Of:      "<registry>", read: by((*loader).registries), schema: byName},
		{Path: "eggo.nodes", Kind: Block,
			Example: "{ worker1: { labels: { disk: ssd }, taints: ['dedicated=edge:NoSchedule'] } }",
			Of:      "<node>", read: by((*loader).nodeSettings), schema: byName},
		{Path: "eggo.bundles", Kind: List, rule: ruleLocalPath, Wizard: Place{"bundle", 0},
			read: by((*loader).moreBundles)},
		{Path: "eggo.dns-upstreams", Kind: List, Example: "[192.0.2.53]", Of: string(Address),
			read: by((*loader).dnsUpstreams)},
	}
}

// shapes are the keys of what stands in lists, and in maps whose keys are names.
func shapes() []Key {
	return slices.Concat(machineKeys("<machine>"), machineKeys("<balancer>"), []Key{
		{Path: "<balancer>.bind-port", Kind: Number, Default: "8443", Low: 1, High: 65535,
			to: in(func(h *host) any { return &h.bindPort })},
	}, packageKeys(), []Key{
		{Path: "<component>.name", Kind: Choice, Choices: components, Needed: true,
			to: in(func(a *askedArgs) any { return &a.Component })},
		{Path: "<component>.extra-args", Kind: Block, schema: flagValues,
			read: func(_ *loader, at any) reader { return func(v val) { at.(*askedArgs).v = v } }},
		{Path: "<addon>.type", Kind: Choice, Choices: []string{"file"}, Default: "file",
			to: in(func(a *Addon) any { return &a.Type })},
		{Path: "<addon>.filename", Kind: Text, Example: "xxx.yaml", rule: ruleAddon, Needed: true,
			to: in(func(a *Addon) any { return &a.Filename })},
		{Path: "<port>.port", Kind: Number, Low: 1, High: 65535, Needed: true,
			to: in(func(p *Port) any { return &p.Port })},
		{Path: "<port>.protocol", Kind: Choice, Choices: []string{"tcp", "udp"}, Default: "tcp",
			to: in(func(p *Port) any { return &p.Protocol })},
	}, hopKeys(), ownLoginKeys(), registryKeys(), nodeKeys())
}

func machineKeys(shape string) []Key {
	return []Key{
		{Path: shape + ".name", Kind: Text, rule: ruleHostName, Needed: true,
			to: in(func(h *host) any { return &h.name })},
		{Path: shape + ".ip", Kind: Address, Needed: true, to: in(func(h *host) any { return &h.ip })},
		{Path: shape + ".port", Kind: Number, Default: "22", Low: 1, High: 65535,
			to: in(func(h *host) any { return &h.port })},
		{Path: shape + ".arch", Kind: Choice, Choices: arches, Words: archAliases, Default: "amd64",
			to: in(func(h *host) any { return &h.arch })},
	}
}

func packageKeys() []Key {
	return []Key{
		{Path: "<package>.name", Kind: Text, Example: "etcd", rule: ruleLine, Needed: true,
			to: in(func(p *Package) any { return &p.Name })},
		{Path: "<package>.type", Kind: Choice, Example: "binary", Choices: allTypes,
			Words:  map[string]string{"bin": "binary"},
			Needed: true, to: in(func(p *Package) any { return &p.Type })},
		{Path: "<package>.dstpath", Also: []string{"dst"}, Kind: Text, Example: "/usr/local/bin",
			rule: ruleNodePath,
			read: func(l *loader, at any) reader { return l.dst(nodepath.Listed, &at.(*Package).Dst) }},
		{Path: "<package>.schedule", Kind: Choice, Choices: schedules,
			to: in(func(p *Package) any { return &p.Schedule })},
		{Path: "<package>.timeout", Kind: Duration, Example: "-", Default: "30s", Most: time.Hour,
			to: in(func(p *Package) any { return &p.Timeout })},
	}
}

func hopKeys() []Key {
	return []Key{
		{Path: "<hop>.host", Kind: Text, rule: ruleHost, Needed: true,
			to: in(func(b *Bastion) any { return &b.Host })},
		{Path: "<hop>.port", Kind: Number, Default: "22", Low: 1, High: 65535,
			to: in(func(b *Bastion) any { return &b.Port })},
		{Path: "<hop>.user", Kind: Text, rule: ruleUser, to: in(func(b *Bastion) any { return &b.User })},
		{Path: "<hop>.private-key-path", Kind: Path, rule: ruleLocalBase,
			to: in(func(b *Bastion) any { return &b.PrivateKeyPath })},
		{Path: "<hop>.password", Kind: Secret, to: in(func(b *Bastion) any { return &b.Password })},
		{Path: "<hop>.password-from", Kind: Text, rule: ruleSource,
			to: in(func(b *Bastion) any { return &b.PasswordFrom })},
	}
}

func ownLoginKeys() []Key {
	return []Key{
		{Path: "<login>.user", Kind: Text, rule: ruleUser, to: in(func(o *Login) any { return &o.User })},
		{Path: "<login>.private-key-path", Kind: Path, rule: ruleLocalBase,
			to: in(func(o *Login) any { return &o.PrivateKeyPath })},
		{Path: "<login>.password", Kind: Secret, to: in(func(o *Login) any { return &o.Password })},
		{Path: "<login>.password-from", Kind: Text, rule: ruleSource,
			to: in(func(o *Login) any { return &o.PasswordFrom })},
		{Path: "<login>.sudo-password", Kind: Secret, to: in(func(o *Login) any { return &o.SudoPassword })},
		{Path: "<login>.sudo-password-from", Kind: Text, rule: ruleSource,
			to: in(func(o *Login) any { return &o.SudoPasswordFrom })},
		{Path: "<login>.bastion", Kind: Block, Of: "<hop>", schema: hops, read: func(l *loader, at any) reader {
			return func(v val) { o := at.(*Login); o.Bastions, o.OwnBastions = l.bastions(v), true }
		}},
	}
}

func registryKeys() []Key {
	return []Key{
		{Path: "<registry>.username", Kind: Text, rule: ruleAccount,
			to: in(func(r *Registry) any { return &r.Username })},
		{Path: "<registry>.password", Kind: Secret, to: in(func(r *Registry) any { return &r.Password })},
		{Path: "<registry>.password-from", Kind: Text, rule: ruleSource,
			to: in(func(r *Registry) any { return &r.PasswordFrom })},
		{Path: "<registry>.ca-path", Kind: Path, rule: ruleLocalBase,
			to: in(func(r *Registry) any { return &r.CAPath })},
	}
}

func nodeKeys() []Key {
	return []Key{
		{Path: "<node>.labels", Kind: Block, schema: labelValues, read: func(l *loader, at any) reader {
			return l.labels(at.(*NodeSettings).Labels)
		}},
		{Path: "<node>.taints", Kind: List, rule: ruleTaint, read: func(l *loader, at any) reader {
			return l.taints(&at.(*NodeSettings).Taints)
		}},
	}
}

// The words of the format.
var (
	networkPlugins = []string{"flannel", "calico", "canal", "cilium", "kube-router", "weave"}
	arches         = []string{"amd64", "arm64"}
	archAliases    = map[string]string{
		"x86_64": "amd64", "x86-64": "amd64", "x86": "amd64", "x64": "amd64", "aarch64": "arm64", "arm": "arm64",
		"armv8": "arm64",
	}
	allTypes  = []string{"pkg", "repo", "binary", "file", "dir", "image", "yaml", "shell"}
	schedules = []string{"prejoin", "postjoin", "precleanup", "postcleanup"}
	// components that config-extra-args may name.
	components = []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet",
		"container-engine",
	}
)
