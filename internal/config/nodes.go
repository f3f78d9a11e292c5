package config

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// LoadNodes reads a file that has nothing but lists of machines, in the words of either layout (masters, workers,
// nodes, etcds), and labels and taints of these by name, in eggo.nodes. What an entry does not say is zero: name, port,
// arch. A whole deploy.yaml is refused, for its other keys would have no effect.
func LoadNodes(data []byte, file string) ([]Node, map[string]NodeSettings, error) {
	l := theTable().newLoader(file)
	l.lines = 1
	root := l.parse(data)
	if root != nil && l.kind(valueAt("", "", nil, root), yaml.MappingNode) {
		read := func(role bundle.Role) reader { return func(v val) { l.joining(v, role) } }
		l.fields(valueAt("", "", nil, root), map[string]reader{
			"masters": read(bundle.ControlPlane), "nodes": read(bundle.Worker), "workers": read(bundle.Worker),
			"etcds": read(bundle.Etcd),
			"eggo": func(v val) {
				l.fields(v, map[string]reader{"nodes": func(v val) {
					var of map[string]NodeSpec
					l.named(v, l.table.byPath["eggo.nodes"], reflect.ValueOf(&of).Elem())
					l.nodeSettings(of)
				}})
			},
		})
		for _, h := range l.hosts {
			l.c.Nodes = append(l.c.Nodes, Node{Name: h.name, Roles: []bundle.Role{bundle.Worker}})
		}
		l.checkNodeSettings()
	}
	if f := l.problems.Sorted().Err(); f != nil {
		p := l.problems.Sorted()[0]
		for _, x := range l.problems.Sorted() {
			if x.Severity == event.Error {
				p = x
				break
			}
		}
		return nil, nil, p.Fault()
	}
	var out []Node
	for _, h := range l.hosts {
		i := slices.IndexFunc(out, func(n Node) bool { return n.IP == h.ip })
		if i < 0 {
			out = append(out, Node{Name: h.name, IP: h.ip, Port: h.port, Arch: h.arch, Roles: []bundle.Role{h.role}})
		} else if !out[i].Has(h.role) {
			out[i].Roles = append(out[i].Roles, h.role)
		}
	}
	if len(out) == 0 {
		return nil, nil, event.NewFault(event.ClassUsage, "join.nobody", nil)
	}
	return out, l.c.Eggo.Nodes, nil
}

// joining reads machines of which only the address has to be known.
func (l *loader) joining(v val, role bundle.Role) {
	var list []MachineSpec
	l.structs(v, Key{Kind: Block, Of: "<machine>"}, reflect.ValueOf(&list).Elem())
	for i, m := range list {
		path := itemKey(v.canon, i)
		if l.bad[path] {
			continue
		}
		h := l.host(path, "<machine>", m, role)
		if m.Port == 0 {
			h.port = 0
		}
		if m.Arch == "" {
			h.arch = ""
		}
		if m.IP == "" && !l.bad[below(path, "ip")] {
			l.err(h.v, "config.missing", "name", "ip")
		}
		if h.ip.IsValid() {
			l.hosts = append(l.hosts, h)
		}
	}
}
