package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Set reads the value of a setting as a person types it: a text, items with commas between them, or YAML. What cannot
// be read is a problem, and missing in the Spec. Whether a value is right is found by Cluster.
func (s *Spec) Set(key, value string) Problems {
	l := theTable().newLoader("")
	l.set(s, key, value)
	return l.sorted()
}

func (l *loader) set(s *Spec, key, value string) {
	one, known := l.table.byPath[key]
	setting, is := l.table.setting(one)
	if !known || !is {
		l.errAt(position{}, key, "config.unknown-key", "name", clip(key), "like", "")
		return
	}
	k, to := l.table.at(reflect.ValueOf(s).Elem(), key)
	to.SetZero()
	node, bad := setting.node(value)
	switch {
	case bad != nil:
		l.problems = append(l.problems, *bad)
	case node != nil && value != "":
		before := len(l.problems)
		if l.shape(node, strings.Count(key, ".")+1); len(l.problems) > before {
			for i := range l.problems[before:] { // a shape has no key by itself
				l.problems[before+i].Key, l.problems[before+i].Args["key"] = key, key
			}
			return
		}
		v := valueAt(l.written(key), key, nil, node)
		l.given[v.path] = v.pos
		l.decode(v, k, to)
		for _, x := range l.again {
			l.errAt(v.pos, x.path, "config.twice-in-list", "value", x.name)
		}
		l.unsaid()
	}
}

// at returns the row of a key of settings, and its field.
func (t *table) at(of reflect.Value, key string) (k Key, field reflect.Value) {
	field = of
	for end := 0; end < len(key); {
		end++
		if next := strings.IndexByte(key[end:], '.'); next >= 0 {
			end += next
		} else {
			end = len(key)
		}
		k = t.byPath[key[:end]]
		field = t.field(field, k)
	}
	return k, field
}

// SetMachines puts machines into the lists of their roles, in the place of those that are there; bindPort is that of
// the load balancer. The problems report what the lists cannot say; their keys, and those of Problems.OfMachines, are
// machines[0].ip and so on.
func (s *Spec) SetMachines(list []Machine, bindPort string) Problems {
	l := theTable().newLoader("")
	s.Masters, s.Nodes, s.Etcds, s.LoadBalance = nil, nil, nil, BalancerSpec{}
	specs := make([]MachineSpec, len(list))
	for i, m := range list {
		port := l.typed("<machine>.port", below(machineKey(i), "port"), m.Port)
		specs[i] = MachineSpec{Name: m.Name, IP: m.IP, Port: port, Arch: m.Arch}
	}
	for key, at := range listsOf(list) {
		for _, i := range at {
			switch key {
			case "masters":
				s.Masters = append(s.Masters, specs[i])
			case "nodes":
				s.Nodes = append(s.Nodes, specs[i])
			case "etcds":
				s.Etcds = append(s.Etcds, specs[i])
			}
		}
		if key == "loadbalance" {
			s.LoadBalance = BalancerSpec{MachineSpec: specs[at[0]],
				BindPort: l.typed("<balancer>.bind-port", below(machineKey(at[0]), "bind-port"), bindPort)}
			for _, i := range at[1:] { // there is one
				l.problem(event.Error, position{}, machineKey(i), "config.loadbalance-many")
				l.problems[len(l.problems)-1].Args["key"] = key
			}
		}
	}
	seen := map[string]int{}
	for i, m := range list {
		if first, is := seen[m.IP]; is && m.IP != "" {
			// what the lists would say depends on the roles
			l.errAt(position{}, machineKey(i)+".ip", "config.shared-address", "ip", m.IP, "name", m.Name,
				"other", list[first].Name)
		} else {
			seen[m.IP] = i
		}
		if len(m.Roles) == 0 {
			l.errAt(position{}, machineKey(i), "config.no-role", "name", m.Name)
		}
	}
	return l.sorted()
}

// typed reads a number that was typed.
func (l *loader) typed(row, path, text string) int {
	at := spot{path: path}
	if _, ok := l.line(at, text); !ok {
		return 0
	}
	return l.integer(at, l.table.byPath[row], text)
}

// listsOf returns the machines of each list, by their places; a list that says nothing is not there.
func listsOf(list []Machine) map[string][]int {
	out := map[string][]int{}
	for i, m := range list {
		for key, role := range map[string]bundle.Role{"masters": bundle.ControlPlane, "nodes": bundle.Worker,
			"etcds": bundle.Etcd, "loadbalance": bundle.LoadBalancer} {
			if m.Has(role) {
				out[key] = append(out[key], i)
			}
		}
	}
	if slices.Equal(out["etcds"], out["masters"]) { // as by default
		delete(out, "etcds")
	}
	return out
}

// With returns the problems of what could not be read together with those of the rest, without those that follow from
// them: something is missing in an item that is none, and lists of two machines with the same address contradict each
// other.
func (ps Problems) With(rest Problems) Problems {
	return append(ps, slices.DeleteFunc(rest, func(p Problem) bool {
		return slices.ContainsFunc(ps, func(b Problem) bool {
			switch p.Code {
			case "config.missing":
				return b.Key == p.Key
			case "config.host-twice", "config.host-differs":
				return b.Code == "config.shared-address" &&
					(p.Args["ip"] == b.Args["ip"] || p.Args["value"] == b.Args["ip"])
			}
			return false
		})
	})...)
}

// OfMachines returns the problems of a Spec with such machines, as those of the machines: machines[2].ip in the place
// of nodes[0].ip.
func (ps Problems) OfMachines(list []Machine) Problems {
	lists := listsOf(list)
	for i := range ps {
		m := entryKey.FindStringSubmatch(ps[i].Key)
		if m == nil {
			continue
		}
		at, _ := strconv.Atoi(m[2]) // the load balancer has no number
		if places := lists[m[1]+m[3]]; at < len(places) {
			ps[i].Key = machineKey(places[at]) + m[4]
		}
	}
	return ps
}

// SetBundle sets the path of the bundle of an architecture, in the layout of the Spec.
func (s *Spec) SetBundle(arch, path string) {
	src := &s.Install.PackageSource.SrcPath
	switch {
	case !reflect.ValueOf(s.Install).IsZero():
		for name := range *src {
			if archOf(name) == arch {
				delete(*src, name)
			}
		}
		if *src == nil {
			*src = map[string]string{}
		}
		(*src)[arch] = path
	case arch == "arm64":
		s.PackageSrc.ArmSrc = path
	default:
		s.PackageSrc.X86Src = path
	}
}
