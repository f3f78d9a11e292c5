package config

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// maxUpstreams is how many servers CoreDNS forwards to.
const maxUpstreams = 15

// dnsUpstreams reads the servers that CoreDNS asks for names outside of the cluster.
func (l *loader) dnsUpstreams(v val) {
	l.items(v, func(v val) {
		var a netip.Addr
		l.addr(&a)(v)
		switch {
		case !a.IsValid():
		case !a.Is4():
			l.err(v, "config.family", "value", a.String())
		case slices.Contains(l.c.Eggo.DNSUpstreams, a):
			l.warn(v, "config.twice-in-list", "value", a.String())
		default:
			l.c.Eggo.DNSUpstreams = append(l.c.Eggo.DNSUpstreams, a)
		}
	})
	if n := len(l.c.Eggo.DNSUpstreams); n > maxUpstreams {
		l.err(v, "config.dns-upstreams-many", "count", strconv.Itoa(n), "max", strconv.Itoa(maxUpstreams))
	}
}

// checkUpstreams refuses servers that lead back to CoreDNS: it would ask itself without end.
func (l *loader) checkUpstreams() {
	for _, a := range l.c.Eggo.DNSUpstreams {
		itself := a.IsLoopback() || l.c.ServiceCIDR.Contains(a) || l.c.PodCIDR.Contains(a)
		for _, n := range l.c.With(bundle.ControlPlane) {
			itself = itself || l.c.DNS.IsBinary() && n.IP == a
		}
		if itself {
			l.errAt(l.where("eggo.dns-upstreams"), "eggo.dns-upstreams", "config.dns-upstream-loop", "value",
				a.String())
		}
	}
}
