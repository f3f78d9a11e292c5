package config

import (
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Cluster returns the cluster that the Spec describes, with defaults filled in, and all problems, by the rules that
// Load has for a file. Lines are those of YAML; the cluster is nil if one of the problems is an error. The filename is
// only for the problems.
func (s Spec) Cluster(filename string) (*Cluster, Problems) {
	l := theTable().newLoader(filename)
	l.list("", reflect.ValueOf(s))
	c, problems := l.cluster(s)
	if len(problems) == 0 {
		return c, nil
	}
	if same, placed := Load(s.YAML(), filename); (same == nil) == (c == nil) {
		return same, placed
	}
	return c, problems // not possible: file and Spec have the same values
}

// list records the paths of all keys that are set in a struct of a Spec.
func (l *loader) list(path string, of reflect.Value) {
	switch {
	case of.IsZero():
		return
	case path != "":
		l.given[path] = position{1, 1}
	}
	switch of.Kind() {
	case reflect.Struct:
		for name, index := range l.table.fields[of.Type()] {
			l.list(below(path, name), of.FieldByIndex(index))
		}
	case reflect.Slice:
		for i := range of.Len() {
			at := itemKey(path, i)
			l.given[at] = position{1, 1}
			l.list(at, of.Index(i))
		}
	case reflect.Map:
		for _, name := range of.MapKeys() {
			at := below(path, event.Clean(clip(name.String())))
			l.given[at] = position{1, 1}
			l.list(at, of.MapIndex(name))
		}
	}
}

// cluster compares all that a Spec says and makes the cluster of it.
func (l *loader) cluster(s Spec) (*Cluster, Problems) {
	l.values(s)
	l.layouts()
	l.defaults()
	l.merge()
	l.check()
	l.proposeNetworks()
	problems := l.sorted()
	if problems.HasErrors() {
		return nil, problems
	}
	l.c.given, l.c.file = l.given, l.file
	return l.c, problems
}

// values takes the values of a Spec into the cluster, each by the rule of its key.
func (l *loader) values(s Spec) {
	c, top := l.c, func(key, text string) string { return l.word(key, key, text) }
	c.Name = top("cluster-id", s.ClusterID)
	c.SSH = SSH{User: top("username", s.Username), Password: top("password", s.Password),
		PrivateKeyPath: top("private-key-path", s.PrivateKeyPath)}
	l.lists(s)

	l.externalCA, l.caPath = s.ExternalCA, top("external-ca-path", s.ExternalCAPath)
	c.ServiceCIDR = l.serviceCIDR(s.Service.CIDR)
	c.DNSAddr = l.addr("service.dnsaddr", s.Service.DNSAddr)
	c.ServiceGateway = l.addr("service.gateway", s.Service.Gateway)
	c.DNS = DNS{Type: top("service.dns.corednstype", s.Service.DNS.CoreDNSType),
		ImageVersion: top("service.dns.imageversion", s.Service.DNS.ImageVersion),
		Replicas:     l.number("service.dns.replicas", "service.dns.replicas", s.Service.DNS.Replicas)}
	c.PodCIDR = l.network("network.podcidr", s.Network.PodCIDR)
	c.NetworkPlugin = top("network.plugin", s.Network.Plugin)
	if at := top("network.plugin-args.NetworkYamlPath", s.Network.PluginArgs.NetworkYamlPath); at != "" {
		c.PluginArgs["NetworkYamlPath"] = at
	}
	c.Endpoint = top("apiserver-endpoint", s.APIServerEndpoint)
	const names, ips = "apiserver-cert-sans.dnsnames", "apiserver-cert-sans.ips"
	c.SANs = SANs{DNSNames: l.texts(names, names, s.APIServerCertSANs.DNSNames),
		IPs: l.addrs(ips, s.APIServerCertSANs.IPs)}
	c.APIServerTimeout = l.duration("apiserver-timeout", "apiserver-timeout", s.APIServerTimeout)
	c.EtcdExternal, c.EtcdToken = s.EtcdExternal, top("etcd-token", s.EtcdToken)
	l.dnsVIP = l.addr("dns-vip", s.DNSVIP)
	c.DNSDomain = top("dns-domain", s.DNSDomain)

	c.PauseImage = top("pause-image", s.PauseImage)
	top("network-plugin", s.NetworkPlugin) // nothing comes of it
	c.CNIBinDirs = l.cniBinDirs(s.CNIBinDir)
	c.Runtime, c.RuntimeEndpoint = top("runtime", s.Runtime), top("runtime-endpoint", s.RuntimeEndpoint)
	c.KubeletServing = s.EnableKubeletServing
	c.RegistryMirrors = l.texts("registry-mirrors", "registry-mirrors", s.RegistryMirrors)
	c.InsecureRegistries = l.texts("insecure-registries", "insecure-registries", s.InsecureRegistries)
	l.extraArgs(s.ConfigExtraArgs)

	l.addons(s.Addons)
	for _, r := range []struct {
		word  string
		role  bundle.Role
		ports []PortSpec
	}{{"master", bundle.ControlPlane, s.OpenPorts.Master}, {"node", bundle.Worker, s.OpenPorts.Node},
		{"etcd", bundle.Etcd, s.OpenPorts.Etcd}, {"loadbalance", bundle.LoadBalancer, s.OpenPorts.LoadBalance}} {
		l.openPorts("open-ports."+r.word, r.role, r.ports)
	}
	l.sources(s)
	l.packages(s)
	l.eggo(s.Eggo)
}

// lists takes the machines.
func (l *loader) lists(s Spec) {
	for _, x := range []struct {
		key  string
		role bundle.Role
		list []MachineSpec
	}{{"masters", bundle.ControlPlane, s.Masters}, {"nodes", bundle.Worker, s.Nodes}, {"etcds", bundle.Etcd, s.Etcds}} {
		for i, m := range x.list {
			if at := itemKey(x.key, i); !l.bad[at] {
				l.machine(at, "<machine>", m, m, x.role)
			}
		}
	}
	if at := "loadbalance"; l.maps[at] || s.LoadBalance != (BalancerSpec{}) {
		l.c.LBPort = l.number("<balancer>.bind-port", below(at, "bind-port"), s.LoadBalance.BindPort)
		l.machine(at, "<balancer>", s.LoadBalance.MachineSpec, s.LoadBalance, bundle.LoadBalancer)
	}
}

// sourceType is the key of the kind of source of the newer layout.
const sourceType = "install.package-source.type"

// sources takes the bundles of both layouts. A file has one of them; where it has both, the later one counts.
func (l *loader) sources(s Spec) {
	c := l.c
	c.Source = PackageSource{Type: l.table.byPath["package-src.type"].Default, Bundles: map[string]string{}}
	older := func() {
		c.Source.Bundles = map[string]string{}
		for arch, x := range map[string][2]string{"amd64": {"package-src.x86src", s.PackageSrc.X86Src},
			"arm64": {"package-src.armsrc", s.PackageSrc.ArmSrc}} {
			if p := l.word(x[0], x[0], x[1]); p != "" {
				c.Source.Bundles[arch] = p
			}
		}
		if s.PackageSrc.Type != "" {
			c.Source.Type = l.word("package-src.type", "package-src.type", s.PackageSrc.Type)
		}
		l.spool("package-src.distpath", s.PackageSrc.DistPath)
	}
	newer := func() {
		if said := s.Install.PackageSource.Type; said != "" {
			if said = l.word(sourceType, sourceType, said); said != "" {
				c.Source.Type = said
			}
		} else if l.blank[sourceType] { // nothing is the network
			c.Source.Type = ""
		}
		l.spool("install.package-source.dstpath", s.Install.PackageSource.DstPath)
		l.byArch("install.package-source.srcpath", s.Install.PackageSource.SrcPath)
	}
	steps := []func(){older, newer}
	if l.has("package-src") && l.has("install") && l.given["install"].compare(l.given["package-src"]) < 0 {
		slices.Reverse(steps)
	} else if !l.has("package-src") {
		steps = steps[1:]
	}
	for _, step := range steps {
		step()
	}
}

// spool takes the directory on the nodes that a bundle is put into.
func (l *loader) spool(key, text string) {
	if dir := l.dst(nodepath.Spool, key, key, text); dir != "" {
		l.c.Source.DstPath = dir
	}
}

// byArch takes bundles by architecture.
func (l *loader) byArch(path string, list map[string]string) {
	for _, name := range inOrder(l, path, list) {
		at, arch := below(path, event.Clean(clip(name))), strings.ToLower(name)
		if to, ok := archAliases[arch]; ok {
			arch = to
		}
		if !slices.Contains(arches, arch) {
			l.errAt(l.nameAt(path, name), l.written(at), "config.choice", "value", clip(name), "choices",
				strings.Join(arches, ", "))
			continue
		}
		if p := list[name]; p != "" && l.checked(l.spot(at), p, l.table.byPath[path].rule) {
			l.c.Source.Bundles[arch] = p
		}
	}
}

// eggo takes Eggo's own keys.
func (l *loader) eggo(s EggoSpec) {
	own := func(key, text string) string { return l.word("eggo."+key, "eggo."+key, text) }
	l.c.Eggo = Eggo{
		Driver: own("driver", s.Driver), Imported: s.Imported, Hostname: own("hostname", s.Hostname),
		EtcdUser: own("etcd-user", s.EtcdUser), SudoPassword: own("sudo-password", s.SudoPassword),
		PasswordFrom:     own("password-from", s.PasswordFrom),
		SudoPasswordFrom: own("sudo-password-from", s.SudoPasswordFrom),
		HostKeys:         own("host-keys", s.HostKeys), KnownHosts: own("known-hosts", s.KnownHosts),
		SSHLegacyAlgorithms: s.SSHLegacyAlgorithms,
		Bastions:            l.bastions("eggo.bastion", s.Bastion),
	}
	l.logins(s.Machines)
	l.registries(s.Registries)
	l.nodeSettings(s.Nodes)
	for i, p := range s.Bundles {
		at := l.spot(itemKey("eggo.bundles", i))
		switch {
		case p == "" || !l.checked(at, p, l.table.byPath["eggo.bundles"].rule):
		case slices.Contains(l.c.Source.More, p):
			l.warn(at, "config.twice-in-list", "value", p)
		default:
			l.c.Source.More = append(l.c.Source.More, p)
		}
	}
	l.dnsUpstreams(s.DNSUpstreams)
}

// addons takes manifests of the bundle, each once.
func (l *loader) addons(list []AddonSpec) {
	seen := map[string]bool{}
	for i, s := range list {
		path := itemKey("addons", i)
		if l.bad[path] {
			continue
		}
		a := Addon{Type: l.word("<addon>.type", below(path, "type"), s.Type),
			Filename: l.word("<addon>.filename", below(path, "filename"), s.Filename)}
		l.require(path, "<addon>", s)
		switch {
		case a.Filename == "":
		case seen[a.Filename]:
			l.warn(l.spot(path), "config.twice-in-list", "value", a.Filename)
		default:
			seen[a.Filename] = true
			l.c.Addons = append(l.c.Addons, a)
		}
	}
}

// machine takes an entry of a list of machines; whole contains all its keys.
func (l *loader) machine(path, shape string, m MachineSpec, whole any, role bundle.Role) {
	h := l.host(path, shape, m, role)
	l.require(path, shape, whole)
	switch a, err := netip.ParseAddr(h.name); {
	case err == nil && h.ip.IsValid() && a.Unmap() != h.ip:
		l.err(h.v, "config.name-address", "name", h.name, "ip", h.ip.String())
	case h.name == "localhost" || strings.HasPrefix(h.name, "localhost.") || strings.HasSuffix(h.name, ".localhost"):
		l.err(h.v, "config.name-local", "name", h.name)
	}
	if h.ip.IsLoopback() || h.ip.IsLinkLocalUnicast() {
		l.warn(h.v, "config.local-address", "value", h.ip.String())
	}
	if h.ip.IsValid() && h.name != "" {
		l.hosts = append(l.hosts, h)
	}
}

// host returns an entry by the rules of its values.
func (l *loader) host(path, shape string, m MachineSpec, role bundle.Role) host {
	return host{
		name: l.word(shape+".name", below(path, "name"), m.Name), ip: l.addr(below(path, "ip"), m.IP),
		port: l.number(shape+".port", below(path, "port"), m.Port),
		arch: l.word(shape+".arch", below(path, "arch"), m.Arch), role: role, v: l.spot(path),
	}
}

// openPorts takes ports of a role beside those of Kubernetes itself.
func (l *loader) openPorts(key string, role bundle.Role, list []PortSpec) {
	for i, s := range list {
		path := itemKey(key, i)
		if l.bad[path] {
			continue
		}
		p := Port{Port: l.number("<port>.port", below(path, "port"), s.Port),
			Protocol: l.word("<port>.protocol", below(path, "protocol"), s.Protocol)}
		if !l.require(path, "<port>", s) || p.Port == 0 {
			continue
		}
		if slices.Contains(l.c.OpenPorts[role], p) {
			l.err(l.spot(path), "config.port-twice", "value", strconv.Itoa(p.Port)+"/"+p.Protocol)
			continue
		}
		l.c.OpenPorts[role] = append(l.c.OpenPorts[role], p)
		l.ports = append(l.ports, askedPort{p, role, l.spot(path)})
	}
}
