package draft

import (
	"cmp"
	"net"
	"regexp"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func portText(p string) string {
	if p == "22" {
		return ""
	}
	return p
}

// ofConfig are keys that a deploy.yaml has and no list of machines of another tool.
var ofConfig = regexp.MustCompile(`(?m)^["']?(cluster-id|masters|username|private-key-path|package-src|install|` +
	`service|network|apiserver-endpoint|dns-domain|eggo)["']?[ \t]*:`)

// IsConfig reports whether a text is meant as a deploy.yaml, whatever is wrong with it.
func IsConfig(text string) bool { return ofConfig.MatchString(text) }

// ListIn reads a file or a text that was pasted as a list of machines; ok is false for a deploy.yaml, and where nothing
// is said. A text of which no line is a machine is any text: it is rejected as a whole, for the reason of the first
// line.
func ListIn(data []byte) (l machines.List, ok bool) {
	text := string(data)
	if IsConfig(text) {
		return l, false
	}
	l = machines.Read(text)
	if n := len(l.Rejected); n > 1 && len(l.Entries) == 0 && l.Format == machines.Lines {
		first := l.Rejected[0]
		l.Rejected = []machines.Rejected{{Line: first.Line, Text: l.Rest(), Why: first.Why}}
		l.Notes = append(l.Notes, event.M("machines.all-wrong", "count", strconv.Itoa(n),
			"line", strconv.Itoa(first.Line)))
	}
	return l, l.Format != machines.Lines || len(l.Entries)+len(l.Rejected) > 0
}

// ImportRemarks returns remarks about an imported list: addresses found for host names, skipped machines, bastions,
// passwords that were not imported.
func ImportRemarks(l machines.List) (out []event.Msg) {
	for _, e := range l.Entries {
		if e.Host != "" && e.IP != "" && len(out) < 5 {
			out = append(out, event.M("machines.found", "host", e.Host, "ip", e.IP))
		}
	}
	for _, x := range []struct{ why, arg, told string }{{"machines.no-role", "name", "machines.skipped"},
		{"machines.no-machine", "ip", "machines.skipped-address"}} {
		n, first := 0, ""
		for _, s := range l.Skipped {
			if s.Why.Key == x.why {
				n, first = n+1, cmp.Or(first, s.Why.Args[x.arg])
			}
		}
		if n > 0 {
			out = append(out, event.M(x.told, "count", strconv.Itoa(n), "name", first))
		}
	}
	counts, ways := map[string]int{}, []string{}
	for _, e := range l.Entries {
		if way := machines.HopsText(e.Bastions); way != "" {
			if counts[way]++; counts[way] == 1 {
				ways = append(ways, way)
			}
		}
	}
	for _, way := range ways {
		out = append(out, event.M("machines.bastion", "count", strconv.Itoa(counts[way]), "bastion", way))
	}
	out = append(out, l.Notes...)
	if l.Secrets > 0 {
		out = append(out, event.M("machines.secrets", "count", strconv.Itoa(l.Secrets)))
	}
	return out
}

// Added is the result of adding machines to a draft.
type Added struct {
	Fresh, Changed int
	Same           []string // addresses that were there, with all that was said of them
}

// AddMachines gives the draft machines. One with the address and the port of another is that machine, and gets what
// was said of it and it did not have; one with the address and another port is another machine, which is wrong and
// told where it stands. What was not said is filled in: a name, and the role. The first machine of a cluster is its
// control plane, the others are workers. Machines that are fixed stay as they are. The list gets the names that were
// given.
func AddMachines(d *config.Draft, list []machines.Entry, fixed map[string]bool) (out Added) {
	first := len(d.Machines) == 0
	for i := range list {
		m := list[i].Machine
		if i := Listed(*d, m); i >= 0 {
			have := &d.Machines[i]
			if !fixed[MachineKey(*have)] && gain(have, m) {
				out.Changed++
				continue
			}
			out.Same = append(out.Same, m.IP)
			continue
		}
		m.Port = portText(m.Port)
		if len(m.Roles) == 0 {
			m.Roles = []bundle.Role{bundle.Worker}
			if len(d.With(bundle.ControlPlane)) == 0 {
				m.Roles = []bundle.Role{bundle.ControlPlane, bundle.Etcd}
			}
		} else if m.Has(bundle.ControlPlane) && !m.Has(bundle.Etcd) && ownEtcd(d) {
			m.Roles = append(m.Roles, bundle.Etcd)
		}
		if m.Name == "" {
			m.Name = freeName(d)
		}
		d.Machines = append(d.Machines, m)
		list[i].Name = m.Name
		out.Fresh++
	}
	addLogins(d, list, first)
	return out
}

// gain gives a machine what was said of it and it did not have; false: there was nothing of that kind.
func gain(have *config.Machine, m config.Machine) bool {
	some := false
	for _, r := range m.Roles {
		if !have.Has(r) {
			have.Roles, some = append(slices.Clone(have.Roles), r), true
		}
	}
	for _, x := range []struct {
		to   *string
		said string
	}{{&have.Name, m.Name}, {&have.Arch, m.Arch}} {
		if x.said != "" && *x.to != x.said {
			*x.to, some = x.said, true
		}
	}
	return some
}

// Listed is the machine of the draft that is meant, -1 if it is none: by address and port, by address alone if no
// port was said and one machine has it.
func Listed(d config.Draft, m config.Machine) int {
	at := -1
	for i, have := range d.Machines {
		switch {
		case have.IP != m.IP:
		case MachineKey(have) == MachineKey(m):
			return i
		case m.Port == "" && at < 0:
			at = i
		}
	}
	return at
}

// ownEtcd reports whether etcd runs where the control plane does, as it does by default.
func ownEtcd(d *config.Draft) bool {
	for _, m := range d.Machines {
		if m.Has(bundle.Etcd) != m.Has(bundle.ControlPlane) {
			return false
		}
	}
	return true
}

// freeName is the next name that no machine has.
func freeName(d *config.Draft) string {
	taken := map[string]bool{}
	for _, m := range d.Machines {
		taken[m.Name] = true
	}
	for i := 1; ; i++ {
		if name := "node-" + strconv.Itoa(i); !taken[name] {
			return name
		}
	}
}

// Toggle gives the machine a role or takes it away. Etcd goes with the control plane as long as it does so everywhere.
func Toggle(d *config.Draft, i int, r bundle.Role) {
	together := r == bundle.ControlPlane && ownEtcd(d)
	had := d.Machines[i].Has(r)
	set := func(r bundle.Role) {
		m := &d.Machines[i]
		var roles []bundle.Role
		for _, x := range []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd, bundle.LoadBalancer} {
			if x == r && !had || x != r && m.Has(x) {
				roles = append(roles, x)
			}
		}
		m.Roles = roles
	}
	set(r)
	if together {
		set(bundle.Etcd)
	}
	if r == bundle.LoadBalancer && !had { // there is one
		for j := range d.Machines {
			if j != i && d.Machines[j].Has(r) {
				Toggle(d, j, r)
			}
		}
	}
}

// MachineKey tells machines of a draft apart: by address and port.
func MachineKey(m config.Machine) string {
	port := m.Port
	if port == "" {
		port = "22"
	}
	return net.JoinHostPort(m.IP, port)
}
