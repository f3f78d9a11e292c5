package config

import (
	"math/bits"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// check compares keys with each other. Every value is valid in itself by now, or has its zero value and a problem.
func (l *loader) check() {
	l.checkSSH()
	l.checkLogins()
	l.checkNodeSettings()
	l.checkNetworks()
	l.checkEtcd()
	l.checkDriver()
	l.checkBalancer()
	l.checkEndpoint()
	l.checkPorts()
	l.checkBundles()
	l.checkPackages()
	l.checkAges()
	l.checkRegistries()
	l.checkPrivate()
	l.checkEngine()
	l.checkUpstreams()
	l.checkElection()
}

func (l *loader) where(key string) position { return nearest(l.given, key) }

// site is the first of the keys that stands in the file, and its place: a value may come from one of several. If none
// does, it is the place of the first.
func (l *loader) site(keys ...string) (string, position) {
	for _, key := range keys {
		if l.has(key) {
			return key, l.given[key]
		}
	}
	return keys[0], l.where(keys[0])
}

// What the DNS address is read from, and the key that says where the pods are or, if it is not said, who else is.
var (
	dnsKeys     = []string{"service.dnsaddr", "service.dns-address", "dns-vip"}
	networkKeys = []string{"network.podcidr", "service.cidr"}
)

// nearest is the place of a key, or of the nearest key above it that stands in the file.
func nearest(given map[string]position, key string) position {
	for key != "" {
		if at, ok := given[key]; ok {
			return at
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return position{1, 1}
}

func (l *loader) checkSSH() {
	c := l.c
	for _, s := range []struct{ key, value, fromKey, from string }{
		{"password", c.SSH.Password, "eggo.password-from", c.Eggo.PasswordFrom},
		{"eggo.sudo-password", c.Eggo.SudoPassword, "eggo.sudo-password-from", c.Eggo.SudoPasswordFrom},
	} {
		if s.value != "" && s.from != "" {
			l.errAt(l.where(s.fromKey), s.fromKey, "config.two-secrets", "other", s.key, "line",
				strconv.Itoa(l.where(s.key).line))
		}
		if s.value != "" && isWeak(s.value) {
			l.warnAt(l.where(s.key), s.key, "config.weak-password")
		}
	}
}

func (l *loader) checkNetworks() {
	c := l.c
	svc, pod := c.ServiceCIDR, c.PodCIDR
	l.checkFamilies()
	if svc.Overlaps(pod) {
		key, at := l.site(networkKeys...)
		l.errAt(at, key, "config.cidr-overlap", "value", pod.String(), "other", svc.String())
	}
	for i, n := range c.Nodes {
		for key, p := range map[string]netip.Prefix{"service.cidr": svc, "network.podcidr": pod} {
			if p.Contains(n.IP) {
				l.err(l.machines[i].v, "config.cidr-node", "ip", n.IP.String(), "other", p.String(), "name", key)
			}
		}
	}
	l.checkServiceAddrs()
	l.checkPodCapacity()
}

func (l *loader) checkServiceAddrs() {
	c := l.c
	svc, first := c.ServiceCIDR, c.ServiceCIDR.Addr().Next()
	switch {
	case svc.Addr().Is4() != c.ServiceGateway.Is4(): // is reported already
	case !svc.Contains(c.ServiceGateway):
		l.errAt(l.where("service.gateway"), "service.gateway", "config.not-in-cidr", "value", c.ServiceGateway.String(),
			"other", svc.String())
	case c.ServiceGateway != first:
		l.errAt(l.where("service.gateway"), "service.gateway", "config.gateway", "value", c.ServiceGateway.String(),
			"instead", first.String())
	}
	key, at := l.site(dnsKeys...)
	switch {
	case svc.Addr().Is4() != c.DNSAddr.Is4():
	case !svc.Contains(c.DNSAddr):
		l.errAt(at, key, "config.not-in-cidr", "value", c.DNSAddr.String(), "other", svc.String())
	case c.DNSAddr == c.ServiceGateway, c.DNSAddr == svc.Addr():
		l.errAt(at, key, "config.dns-taken", "value", c.DNSAddr.String())
	}
	if l.dnsVIP.IsValid() && l.dnsVIP != c.DNSAddr {
		l.errAt(l.where("dns-vip"), "dns-vip", "config.dns-vip", "value", l.dnsVIP.String(), "other",
			c.DNSAddr.String())
	}
}

// checkPodCapacity: every machine with a kubelet takes a /24 of the pods' network.
func (l *loader) checkPodCapacity() {
	pod, need := l.c.PodCIDR, l.kubelets()
	if !pod.Addr().Is4() {
		return // 2^40 machines
	}
	room := 0
	if pod.Bits() <= 24 {
		room = 1 << (24 - pod.Bits())
	}
	if need > room {
		_, at := l.site("network.podcidr", "network", "nodes", "workers", "masters")
		l.errAt(at, "network.podcidr", "config.pod-capacity", "value", pod.String(),
			"room", strconv.Itoa(room), "need", strconv.Itoa(need), "instead", roomFor(pod.Addr(), need).String())
	}
}

// roomFor is the smallest network around an address that has a /24 for so many machines.
func roomFor(a netip.Addr, machines int) netip.Prefix {
	return netip.PrefixFrom(a, 24-bits.Len(uint(machines-1))).Masked()
}

// checkFamilies refuses IPv6, for which nothing is proven, and a mixture with IPv4: nothing in the format says which
// address of a machine is meant for what.
func (l *loader) checkFamilies() {
	if len(l.c.Nodes) == 0 {
		return
	}
	// Only what can be installed counts: with one IPv4 address among them, those of IPv6 are wrong, whichever stands
	// first.
	four := slices.ContainsFunc(l.c.Nodes, func(n Node) bool { return n.IP.Is4() })
	for i, n := range l.c.Nodes {
		if four && !n.IP.Is4() {
			l.err(l.machines[i].v, "config.family", "value", n.IP.String())
		}
	}
	if !four {
		l.err(l.machines[0].v, "config.ipv6", "value", l.c.Nodes[0].IP.String())
	}
	host, _, _ := net.SplitHostPort(l.c.Endpoint)
	endpoint, _ := netip.ParseAddr(host)
	for _, one := range []struct {
		addr netip.Addr
		keys []string
	}{
		{l.c.ServiceCIDR.Addr(), []string{"service.cidr"}},
		{l.c.PodCIDR.Addr(), []string{"network.podcidr"}},
		{l.c.DNSAddr, dnsKeys},
		{l.c.ServiceGateway, []string{"service.gateway"}},
		{endpoint, []string{"apiserver-endpoint"}},
	} {
		key, at := l.site(one.keys...)
		switch {
		case !l.has(key) || !one.addr.IsValid(): // a default follows from the values that were written
		case one.addr.Is4() != four:
			l.errAt(at, key, "config.family", "value", one.addr.String())
		case !four:
			l.errAt(at, key, "config.ipv6", "value", one.addr.String())
		}
	}
}

func (l *loader) checkEtcd() {
	n := len(l.c.With(bundle.Etcd))
	key := "etcds"
	if !l.has(key) {
		key = "masters"
	}
	switch {
	case n > 7:
		l.warnAt(l.where(key), key, "config.etcd-many", "count", strconv.Itoa(n))
	case n > 0 && n%2 == 0:
		l.warnAt(l.where(key), key, "config.etcd-even", "count", strconv.Itoa(n))
	}
	if len(l.c.With(bundle.ControlPlane)) > 0 && len(l.c.With(bundle.Worker)) == 0 && !l.has("nodes[0]") &&
		!l.has("workers[0]") {
		key, at := l.site("nodes", "workers")
		l.warnAt(at, key, "config.no-workers")
	}
}

// balancer is the load balancer as it stands in the file, if there is one.
func (l *loader) balancer() (spot, bool) {
	for _, h := range l.hosts {
		if h.role == bundle.LoadBalancer {
			return h.v, true
		}
	}
	return spot{}, false
}

// ownPorts are the ports that a role's programs listen on.
func (l *loader) ownPorts(role bundle.Role) []int {
	ports := ownPorts[role]
	if role == bundle.ControlPlane && l.c.DNS.Type == "binary" {
		ports = append(slices.Clone(ports), dnsPorts...)
	}
	return ports
}

// checkSSHPorts: a role's program cannot listen where the machine's SSH does.
func (l *loader) checkSSHPorts() {
	for i, n := range l.c.Nodes {
		for _, role := range n.Roles {
			if slices.Contains(l.ownPorts(role), n.Port) {
				l.err(l.machines[i].v, "config.ssh-port", "value", strconv.Itoa(n.Port), "ip", n.IP.String(), "role",
					string(role))
				break
			}
		}
	}
}

func (l *loader) checkBalancer() {
	l.checkSSHPorts()
	v, ok := l.balancer()
	if !ok {
		l.c.LBPort = 0
		return
	}
	n := l.c.With(bundle.LoadBalancer)[0]
	key, port := v.path+".bind-port", strconv.Itoa(l.c.LBPort)
	at, ok := l.given[key]
	if !ok {
		at = v.pos
	}
	for _, role := range n.Roles {
		if slices.Contains(l.ownPorts(role), l.c.LBPort) || role != bundle.LoadBalancer && role != bundle.Etcd &&
			l.c.LBPort == kubeletHealthPort {
			l.errAt(at, key, "config.balancer-port", "value", port, "ip", n.IP.String(), "role", string(role))
			return
		}
	}
	switch {
	case l.c.LBPort == n.Port:
		l.errAt(at, key, "config.balancer-ssh", "value", port)
	case l.c.LBPort >= 30000 && l.c.LBPort <= 32767 && (n.Has(bundle.ControlPlane) || n.Has(bundle.Worker)):
		l.warnAt(at, key, "config.balancer-node-port", "value", port, "ip", n.IP.String())
	}
}

// checkEndpoint fills in the default and compares what was given with where the API server will be.
func (l *loader) checkEndpoint() {
	c := l.c
	var known []string
	for _, n := range c.With(bundle.LoadBalancer) {
		known = append(known, net.JoinHostPort(n.IP.String(), strconv.Itoa(c.LBPort)))
	}
	masters := c.With(bundle.ControlPlane)
	for _, n := range masters {
		known = append(known, net.JoinHostPort(n.IP.String(), APIPort))
	}
	if len(known) == 0 {
		return
	}
	if c.Endpoint == "" {
		c.Endpoint = known[0]
		return
	}
	host, port, err := net.SplitHostPort(c.Endpoint)
	if err != nil {
		return
	}
	if a, err := netip.ParseAddr(host); err == nil {
		for key, p := range map[string]netip.Prefix{"service.cidr": c.ServiceCIDR, "network.podcidr": c.PodCIDR} {
			if p.Contains(a) {
				l.errAt(l.where("apiserver-endpoint"), "apiserver-endpoint", "config.endpoint-cidr",
					"value", c.Endpoint, "name", key, "other", p.String(), "instead", known[0])
				return
			}
		}
	}
	matches := slices.Contains(known, c.Endpoint)
	for _, name := range c.SANs.DNSNames {
		matches = matches || name == host
	}
	for _, ip := range c.SANs.IPs {
		matches = matches || ip.String() == host
	}
	for _, n := range masters { // a name that is a control plane's own
		matches = matches || n.Name == host && port == APIPort
		if _, ok := l.balancer(); ok && port == APIPort && (n.Name == host || n.IP.String() == host) {
			l.warnAt(l.where("apiserver-endpoint"), "apiserver-endpoint", "config.endpoint-past-balancer", "value",
				c.Endpoint, "instead", known[0])
			return
		}
	}
	if !matches {
		l.warnAt(l.where("apiserver-endpoint"), "apiserver-endpoint", "config.endpoint-elsewhere", "value", c.Endpoint,
			"instead", known[0])
	}
}

func (l *loader) checkPorts() {
	for _, p := range l.ports {
		taken := p.Protocol == "tcp" && slices.Contains(ownPorts[p.role], p.Port.Port)
		if p.role == bundle.LoadBalancer && p.Protocol == "tcp" && p.Port.Port == l.c.LBPort {
			taken = true
		}
		if taken {
			l.err(p.v, "config.port-own", "value", strconv.Itoa(p.Port.Port))
		}
	}
}

// checkBundles: every machine's architecture needs its bundle.
func (l *loader) checkBundles() {
	c := l.c
	first := map[string]host{}
	for i, n := range c.Nodes {
		if _, ok := first[n.Arch]; !ok {
			first[n.Arch] = l.machines[i]
		}
	}
	if len(first) > 1 {
		odd := first[arches[0]]
		if c.Nodes[0].Arch == odd.arch {
			odd = first[arches[1]]
		}
		l.warn(odd.v, "config.arch-mixed", "value", odd.arch, "other", c.Nodes[0].Arch)
	}
	if c.Source.Type == "" {
		return // from repositories; deploy refuses them
	}
	for _, arch := range arches {
		h, needed := first[arch]
		if !needed || c.Source.Bundles[arch] != "" || len(c.Source.More) > 0 {
			// of what architecture those are, they say themselves
			continue
		}
		key := map[string]string{"amd64": "package-src.x86src", "arm64": "package-src.armsrc"}[arch]
		if l.has("install") {
			key = "install.package-source.srcpath." + arch
		}
		at := h.v.pos
		if l.has("package-src") || l.has("install") {
			at = l.where(key)
		}
		l.errAt(at, key, "config.bundle-missing", "value", arch, "name", h.name)
	}
}

// checkAges warns of what newer versions of Kubernetes no longer have.
func (l *loader) checkAges() {
	if l.c.Runtime == "docker" && l.has("runtime") {
		l.warnAt(l.where("runtime"), "runtime", "config.docker")
	}
	if strings.HasPrefix(l.c.PauseImage, "k8s.gcr.io/") {
		l.warnAt(l.where("pause-image"), "pause-image", "config.frozen-registry",
			"value", l.c.PauseImage, "instead", "registry.k8s.io/"+strings.TrimPrefix(l.c.PauseImage, "k8s.gcr.io/"))
	}
}
