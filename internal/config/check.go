package config

import (
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
	l.checkNetworks()
	l.checkEtcd()
	l.checkBalancer()
	l.checkEndpoint()
	l.checkPorts()
	l.checkBundles()
	l.checkPackages()
	l.checkAges()
	l.checkRegistries()
}

func (l *loader) where(key string) position { return nearest(l.given, key) }

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
			l.errAt(l.where(s.fromKey), s.fromKey, "config.two-secrets", "other", s.key, "line", strconv.Itoa(l.where(s.key).line))
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
		l.errAt(l.where("network.podcidr"), "network.podcidr", "config.cidr-overlap", "value", pod.String(), "other", svc.String())
	}
	for i, n := range c.Nodes {
		for key, p := range map[string]netip.Prefix{"service.cidr": svc, "network.podcidr": pod} {
			if p.Contains(n.IP) {
				l.err(l.machines[i].v, "config.cidr-node", "ip", n.IP.String(), "other", p.String(), "name", key)
			}
		}
	}
	// The API server refuses ranges of more than 2^20 addresses.
	if size := svc.Addr().BitLen() - svc.Bits(); size > 20 || size < 4 {
		l.errAt(l.where("service.cidr"), "service.cidr", "config.service-size", "value", svc.String())
	}
	l.checkServiceAddrs()
	l.checkPodCapacity()
}

func (l *loader) checkServiceAddrs() {
	c := l.c
	svc, first := c.ServiceCIDR, c.ServiceCIDR.Addr().Next()
	switch {
	case !svc.Contains(c.ServiceGateway):
		l.errAt(l.where("service.gateway"), "service.gateway", "config.not-in-cidr", "value", c.ServiceGateway.String(), "other", svc.String())
	case c.ServiceGateway != first:
		l.errAt(l.where("service.gateway"), "service.gateway", "config.gateway", "value", c.ServiceGateway.String(), "instead", first.String())
	}
	switch {
	case !svc.Contains(c.DNSAddr):
		l.errAt(l.where("service.dnsaddr"), "service.dnsaddr", "config.not-in-cidr", "value", c.DNSAddr.String(), "other", svc.String())
	case c.DNSAddr == c.ServiceGateway, c.DNSAddr == svc.Addr():
		l.errAt(l.where("service.dnsaddr"), "service.dnsaddr", "config.dns-taken", "value", c.DNSAddr.String())
	}
	if l.dnsVIP.IsValid() && l.dnsVIP != c.DNSAddr {
		l.errAt(l.where("dns-vip"), "dns-vip", "config.dns-vip", "value", l.dnsVIP.String(), "other", c.DNSAddr.String())
	}
}

// checkPodCapacity: every machine with a kubelet takes a /24 of the pods' network.
func (l *loader) checkPodCapacity() {
	pod, need := l.c.PodCIDR, 0
	if !pod.Addr().Is4() {
		return // 2^40 machines
	}
	for _, n := range l.c.Nodes {
		if n.Has(bundle.ControlPlane) || n.Has(bundle.Worker) {
			need++
		}
	}
	room := 0
	if pod.Bits() <= 24 {
		room = 1 << (24 - pod.Bits())
	}
	if need > room {
		l.errAt(l.where("network.podcidr"), "network.podcidr", "config.pod-capacity", "value", pod.String(),
			"room", strconv.Itoa(room), "need", strconv.Itoa(need))
	}
}

// checkFamilies refuses a mixture of IPv4 and IPv6: nothing in the format says which address of a machine is meant for what.
func (l *loader) checkFamilies() {
	if len(l.c.Nodes) == 0 {
		return
	}
	four := l.c.Nodes[0].IP.Is4()
	for i, n := range l.c.Nodes {
		if n.IP.Is4() != four {
			l.err(l.machines[i].v, "config.family", "value", n.IP.String())
		}
	}
	for key, a := range map[string]netip.Addr{
		"service.cidr": l.c.ServiceCIDR.Addr(), "network.podcidr": l.c.PodCIDR.Addr(), "service.dnsaddr": l.c.DNSAddr,
		"service.gateway": l.c.ServiceGateway,
	} {
		if a.Is4() != four {
			l.errAt(l.where(key), key, "config.family", "value", a.String())
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
	if len(l.c.With(bundle.ControlPlane)) > 0 && len(l.c.With(bundle.Worker)) == 0 {
		l.warnAt(l.where("nodes"), "nodes", "config.no-workers")
	}
}

// balancerAt is where the load balancer stands in the file, if there is one.
func (l *loader) balancerAt() (position, bool) {
	for _, h := range l.hosts {
		if h.role == bundle.LoadBalancer {
			return h.v.at(), true
		}
	}
	return position{}, false
}

func (l *loader) checkBalancer() {
	at, ok := l.balancerAt()
	if !ok {
		l.c.LBPort = 0
		return
	}
	n := l.c.With(bundle.LoadBalancer)[0]
	for _, role := range n.Roles {
		if slices.Contains(ownPorts[role], l.c.LBPort) {
			l.errAt(at, "loadbalance.bind-port", "config.balancer-port", "value", strconv.Itoa(l.c.LBPort), "ip", n.IP.String(), "role", string(role))
			return
		}
	}
	if l.c.LBPort == n.Port {
		l.errAt(at, "loadbalance.bind-port", "config.balancer-ssh", "value", strconv.Itoa(l.c.LBPort))
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
		known = append(known, net.JoinHostPort(n.IP.String(), "6443"))
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
	matches := slices.Contains(known, c.Endpoint)
	for _, name := range c.SANs.DNSNames {
		matches = matches || name == host
	}
	for _, ip := range c.SANs.IPs {
		matches = matches || ip.String() == host
	}
	for _, n := range masters { // a name that is a control plane's own
		matches = matches || n.Name == host && port == "6443"
	}
	if !matches {
		l.warnAt(l.where("apiserver-endpoint"), "apiserver-endpoint", "config.endpoint-elsewhere", "value", c.Endpoint, "instead", known[0])
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
		return // from repositories; deploy says that it cannot yet
	}
	for _, arch := range arches {
		h, needed := first[arch]
		if !needed || c.Source.Bundles[arch] != "" || len(c.Source.More) > 0 { // of what architecture those are, they say themselves
			continue
		}
		key := map[string]string{"amd64": "package-src.x86src", "arm64": "package-src.armsrc"}[arch]
		if l.has("install") {
			key = "install.package-source.srcpath." + arch
		}
		at := h.v.at()
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
