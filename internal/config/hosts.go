package config

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// host is one entry of one list; machines that stand in several lists are merged later.
type host struct {
	name string
	ip   netip.Addr
	port int
	arch string
	role bundle.Role
	v    spot
}

// layouts reports keys of both layouts in one file. Two places for the same packages would need a guess which one
// counts, so that is an error; a mixture that says nothing twice is understood.
func (l *loader) layouts() {
	both := false
	if install, ok := l.given["install"]; ok {
		for _, key := range []string{"package-src", "pacakges", "packages"} {
			if at, ok := l.given[key]; ok {
				l.errAt(at, key, "config.layouts-conflict", "name", key, "line", strconv.Itoa(install.line))
				both = true
			}
		}
	}
	older := l.present("nodes", "addons", "package-src", "pacakges", "packages", "open-ports.node")
	newer := l.present("workers", "install", "open-ports.worker")
	if both || len(older) == 0 || len(newer) == 0 || l.has("nodes") && l.has("workers") {
		return
	}
	l.warnAt(l.given[newer[0]], newer[0], "config.layouts-mixed", "older", strings.Join(older, ", "), "newer",
		strings.Join(newer, ", "))
}

func (l *loader) has(key string) bool { _, ok := l.given[key]; return ok }

func (l *loader) present(keys ...string) []string {
	return slices.DeleteFunc(keys, func(k string) bool { return !l.has(k) })
}

// merge makes one node of every address and reports lists that disagree about it.
func (l *loader) merge() {
	if !slices.ContainsFunc(l.hosts, func(h host) bool { return h.role == bundle.ControlPlane }) &&
		!l.has("masters[0]") {
		at := position{1, 1}
		if pos, ok := l.given["masters"]; ok {
			at = pos
		}
		l.errAt(at, "masters", "config.no-masters")
	}
	if !slices.ContainsFunc(l.hosts, func(h host) bool { return h.role == bundle.Etcd }) {
		for _, h := range l.hosts {
			if h.role == bundle.ControlPlane {
				h.role = bundle.Etcd
				l.hosts = append(l.hosts, h)
			}
		}
	}
	order := []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd, bundle.LoadBalancer}
	slices.SortStableFunc(l.hosts, func(a, b host) int {
		return slices.Index(order, a.role) - slices.Index(order, b.role)
	})

	byIP, byName, inList := map[netip.Addr]int{}, map[string]host{}, map[string]host{}
	for _, h := range l.hosts {
		if l.twice(inList, h) {
			continue
		}
		if first, ok := byName[h.name]; ok && first.ip != h.ip {
			l.err(h.v, "config.name-conflict", "name", h.name, "ip", h.ip.String(), "other", first.ip.String(),
				"line", strconv.Itoa(first.v.pos.line))
		} else if !ok {
			byName[h.name] = h
		}
		i, ok := byIP[h.ip]
		if !ok {
			byIP[h.ip] = len(l.c.Nodes)
			l.c.Nodes = append(l.c.Nodes, Node{Name: h.name, IP: h.ip, Port: h.port, Arch: h.arch,
				Roles: []bundle.Role{h.role}})
			l.machines = append(l.machines, h)
			continue
		}
		l.differs(h, l.machines[i])
		l.c.Nodes[i].Roles = append(l.c.Nodes[i].Roles, h.role)
	}
}

// twice reports an address or a name that stands in one list two times.
func (l *loader) twice(seen map[string]host, h host) bool {
	for _, id := range []string{string(h.role) + " ip " + h.ip.String(), string(h.role) + " name " + h.name} {
		if first, ok := seen[id]; ok {
			_, value, _ := strings.Cut(strings.TrimPrefix(id, string(h.role)+" "), " ")
			l.err(h.v, "config.host-twice", "value", value, "line", strconv.Itoa(first.v.pos.line))
			return true
		}
		seen[id] = h
	}
	return false
}

// differs reports what two entries of one machine do not agree on.
func (l *loader) differs(h, first host) {
	for _, d := range []struct{ key, a, b string }{
		{"name", h.name, first.name},
		{"port", strconv.Itoa(h.port), strconv.Itoa(first.port)},
		{"arch", h.arch, first.arch},
	} {
		if d.a != d.b {
			l.err(h.v, "config.host-differs", "ip", h.ip.String(), "name", d.key, "value", d.a, "other", d.b,
				"line", strconv.Itoa(first.v.pos.line))
		}
	}
}
