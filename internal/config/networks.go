package config

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// What a problem of a network proposes instead has to be one that can be written: of a size that is allowed, apart from
// the machines, from the other network and from the addresses that the file names.

// proposeNetworks puts such a network into every problem that proposes one.
func (l *loader) proposeNetworks() {
	for i := range l.problems {
		p := &l.problems[i]
		key := p.Key
		switch p.Code {
		case "config.cidr-node":
			key = p.Args["name"]
		case "config.cidr", "config.cidr-host-bits", "config.service-size", "config.cidr-overlap",
			"config.pod-capacity":
		default:
			continue
		}
		want, _ := netip.ParsePrefix(p.Args["instead"])
		args := map[string]string{}
		for k, v := range p.Args {
			args[k] = v
		}
		args["instead"] = l.freeNetwork(strings.Contains(key, "pod"), want).String()
		p.Args = args
	}
}

// freeNetwork is one for the pods, or for the services: the one that is wanted, if it can be.
func (l *loader) freeNetwork(pods bool, want netip.Prefix) netip.Prefix {
	list := []netip.Prefix{want}
	bits := 16
	if pods {
		bits = min(bits, roomFor(netip.IPv4Unspecified(), max(1, l.kubelets())).Bits())
	} else if key, _ := l.site(dnsKeys...); l.has(key) && l.c.DNSAddr.Is4() {
		list = append(list, netip.PrefixFrom(l.c.DNSAddr, bits).Masked())
	}
	usual := []string{"10.32.0.0", "10.96.0.0", "10.244.0.0", "10.128.0.0", "10.192.0.0", "172.20.0.0", "172.28.0.0",
		"192.168.0.0", "100.64.0.0"}
	if pods {
		usual[0], usual[2] = usual[2], usual[0]
	}
	for _, a := range usual {
		list = append(list, netip.PrefixFrom(netip.MustParseAddr(a), bits).Masked())
	}
	for _, p := range list {
		if l.fits(p, pods) {
			return p
		}
	}
	return list[1]
}

// kubelets is how many machines take a part of the pods' network.
func (l *loader) kubelets() int {
	n := 0
	for _, x := range l.c.Nodes {
		if x.Has(bundle.ControlPlane) || x.Has(bundle.Worker) {
			n++
		}
	}
	return n
}

// fits reports whether a network can be the pod network, or the service network, of the loaded cluster.
func (l *loader) fits(p netip.Prefix, pods bool) bool {
	if !p.IsValid() || !p.Addr().Is4() || p.Addr().IsUnspecified() || p.Addr().IsMulticast() || p.Addr().IsLoopback() {
		return false
	}
	other := l.c.PodCIDR
	if pods {
		other = l.c.ServiceCIDR
		if p.Bits() > 24 || 1<<(24-p.Bits()) < l.kubelets() {
			return false
		}
	} else if p.Bits() < 12 || p.Bits() > 28 {
		return false
	}
	if other.IsValid() && p.Overlaps(other) {
		return false
	}
	return !slices.ContainsFunc(l.c.Nodes, func(n Node) bool { return p.Contains(n.IP) })
}
