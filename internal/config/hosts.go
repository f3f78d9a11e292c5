package config

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// host is one entry of one list; machines that stand in several lists are merged later.
type host struct {
	name string
	ip   netip.Addr
	port int
	arch string
	role bundle.Role
	v    val

	bindPort int // of a load balancer
}

// hostFields reads one machine, by the keys of its shape.
func (l *loader) hostFields(v val, role bundle.Role, shape string) (bindPort int) {
	h := host{role: role, v: v}
	l.fill(shape, &h)
	l.object(v, shape, &h)
	if v.node.Kind != yaml.MappingNode {
		return h.bindPort
	}
	l.require(v, l.table.needed(shape)...)
	switch a, err := netip.ParseAddr(h.name); {
	case err == nil && h.ip.IsValid() && a.Unmap() != h.ip:
		l.err(v, "config.name-address", "name", h.name, "ip", h.ip.String())
	case h.name == "localhost" || strings.HasPrefix(h.name, "localhost.") || strings.HasSuffix(h.name, ".localhost"):
		l.err(v, "config.name-local", "name", h.name)
	}
	if h.ip.IsLoopback() || h.ip.IsLinkLocalUnicast() {
		l.warn(v, "config.local-address", "value", h.ip.String())
	}
	if h.ip.IsValid() && h.name != "" {
		l.hosts = append(l.hosts, h)
	}
	return h.bindPort
}

func (l *loader) hostList(list string, role bundle.Role) reader {
	return func(v val) {
		l.items(v, func(v val) {
			if l.kind(v, yaml.MappingNode) {
				l.hostFields(v, role, "<machine>")
			} else if isNull(v.node) {
				l.err(v, "config.want-map")
			}
		})
		if list == "masters" && v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
			delete(l.given, list)
		}
	}
}

// loadbalance is one map; a list with one entry is understood.
func (l *loader) loadbalance(v val) {
	if v.node.Kind == yaml.SequenceNode {
		switch len(v.node.Content) {
		case 0:
			return
		case 1:
			l.warn(v, "config.loadbalance-list")
			v = v.item(0)
		default:
			l.err(v, "config.loadbalance-many")
			return
		}
	}
	if !l.kind(v, yaml.MappingNode) {
		return
	}
	l.c.LBPort = l.hostFields(v, bundle.LoadBalancer, "<balancer>")
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
				"line", strconv.Itoa(first.v.at().line))
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
			l.err(h.v, "config.host-twice", "value", value, "line", strconv.Itoa(first.v.at().line))
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
				"line", strconv.Itoa(first.v.at().line))
		}
	}
}
