package config

import (
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// maxUpstreams is how many servers CoreDNS forwards to.
const maxUpstreams = 15

// dnsUpstreams takes the servers that CoreDNS asks for names outside of the cluster.
func (l *loader) dnsUpstreams(list []string) {
	const key = "eggo.dns-upstreams"
	for i, text := range list {
		at := itemKey(key, i)
		switch a := l.addr(at, text); {
		case !a.IsValid():
		case !a.Is4():
			l.err(l.spot(at), "config.family", "value", a.String())
		case slices.Contains(l.c.Eggo.DNSUpstreams, a):
			l.warn(l.spot(at), "config.twice-in-list", "value", a.String())
		default:
			l.c.Eggo.DNSUpstreams = append(l.c.Eggo.DNSUpstreams, a)
		}
	}
	if n := len(l.c.Eggo.DNSUpstreams); n > maxUpstreams {
		l.err(l.spot(key), "config.dns-upstreams-many", "count", strconv.Itoa(n), "max", strconv.Itoa(maxUpstreams))
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
