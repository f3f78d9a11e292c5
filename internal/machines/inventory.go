package machines

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// inventory is what Ansible knows of machines: names with variables, in groups, in groups.
type inventory struct {
	order  []string // of the names
	hosts  map[string]*member
	groups map[string]*group
}

type member struct {
	at   int
	vars map[string]string
}

type group struct {
	hosts, children []string
	vars            map[string]string
}

func newInventory() *inventory {
	return &inventory{hosts: map[string]*member{}, groups: map[string]*group{}}
}

func (v *inventory) group(name string) *group {
	if v.groups[name] == nil {
		v.groups[name] = &group{vars: map[string]string{}}
	}
	return v.groups[name]
}

// host names a machine in a group; what is said of it in several places is put together.
func (v *inventory) host(in, name string, at int, vars map[string]string) {
	if len(v.hosts) > Most {
		return
	}
	m := v.hosts[name]
	if m == nil {
		m = &member{at: at, vars: map[string]string{}}
		v.hosts[name] = m
		v.order = append(v.order, name)
	}
	maps.Copy(m.vars, vars)
	if g := v.group(in); !slices.Contains(g.hosts, name) {
		g.hosts = append(g.hosts, name)
	}
}

// above lists the groups that a machine is in, the widest first.
func (v *inventory) above(host string) []string {
	var out []string
	seen := map[string]bool{}
	var up func(name string)
	up = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, parent := range slices.Sorted(maps.Keys(v.groups)) {
			if slices.Contains(v.groups[parent].children, name) {
				up(parent)
			}
		}
		out = append(out, name)
	}
	up("all")
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		if slices.Contains(v.groups[name].hosts, host) {
			up(name)
		}
	}
	return out
}

// list are the machines. In an inventory whose groups say roles, one that is in none of them is skipped: it is a
// bastion, a database, a registry.
func (v *inventory) list(out List) List {
	rolesSaid := false
	for name := range v.groups {
		_, is := RoleOf(name)
		rolesSaid = rolesSaid || is
	}
	for _, name := range v.order {
		m := v.hosts[name]
		vars := map[string]string{}
		var roles []bundle.Role
		for _, g := range v.above(name) {
			if v.groups[g] != nil {
				maps.Copy(vars, v.groups[g].vars)
			}
			if r, is := RoleOf(g); is {
				roles = with(roles, r)
			}
		}
		maps.Copy(vars, m.vars)
		if rolesSaid && len(roles) == 0 {
			out.Skipped = append(out.Skipped, Rejected{Line: m.at, Why: *because("machines.no-role", "name", name)})
			continue
		}
		l := &line{at: m.at, e: Entry{Machine: config.Machine{Roles: inOrder(roles)}}}
		l.inventoried(name, vars)
		out.add(l)
	}
	return out
}

// inventoried takes a name and the variables that hold for it.
func (l *line) inventoried(name string, vars map[string]string) {
	t := targetOf(name)
	where := ""
	for _, key := range []string{"ansible_host", "ansible_ssh_host", "ip", "access_ip"} {
		if where == "" && !strings.Contains(vars[key], "{{") {
			where = vars[key]
		}
	}
	if where == "" {
		l.set("host", name, name)
	} else {
		l.set("host", where, where)
		if all, _ := addresses([]string{t.host}); !all {
			l.set("name", t.host, name)
		}
		if l.e.Port == "" && t.port != "" && l.why == nil {
			l.set("port", t.port, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(vars)) {
		value := vars[key]
		column := columnOf(key)
		_, known := ArchOf(value)
		switch {
		case strings.Contains(value, "{{"): // a template, which only Ansible can fill
		case column == "arch" && known,
			strings.HasPrefix(key, "ansible_") && slices.Contains([]string{"port", "user", "key", "secret"}, column):
			l.set(column, value, key+"="+value)
		}
	}
}

var (
	section  = regexp.MustCompile(`\A\[([^\[\]:\s]+)(?::(vars|children|hosts))?\]\s*(?:[#;].*)?\z`)
	variable = regexp.MustCompile(`\A([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)\z`)
)

// isINI says whether a line names a group.
func isINI(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		m := section.FindStringSubmatch(strings.TrimSpace(l))
		return m != nil && strings.Trim(m[1], "0123456789,-") != ""
	})
}

func readINI(lines []string) List {
	out := List{Format: AnsibleINI}
	v := newInventory()
	name, kind := "ungrouped", "hosts"
	for i, raw := range lines {
		text := narrow(raw)
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if m := section.FindStringSubmatch(text); m != nil {
			name, kind = m[1], m[2]
			v.group(name)
			continue
		}
		switch kind {
		case "children":
			v.group(name).children = append(v.group(name).children, strings.Fields(text)[0])
			v.group(strings.Fields(text)[0])
		case "vars":
			if m := variable.FindStringSubmatch(text); m != nil {
				v.group(name).vars[m[1]] = strings.Trim(m[2], `"'`)
			}
		default:
			list := append(words(text, " \t"), "")
			names, why := namesOf(list[0])
			if why != nil {
				clean, _ := withoutSecrets(text)
				out.Rejected = append(out.Rejected, Rejected{Line: i + 1, Text: clean, Why: *why})
				continue
			}
			vars := map[string]string{}
			for _, w := range list[1:] {
				if strings.HasPrefix(w, "#") {
					break
				}
				if key, value, is := strings.Cut(w, "="); is {
					vars[key] = value
				}
			}
			for _, n := range names {
				v.host(name, n, i+1, vars)
			}
		}
	}
	return v.list(out)
}

// namesOf are the names that a pattern of an inventory stands for: www[01:12].example.com, with a port or without.
func namesOf(pattern string) ([]string, *event.Msg) {
	t := targetOf(pattern)
	names, why := expand(t.host)
	if why != nil || t.port == "" {
		return names, why
	}
	for i := range names {
		names[i] += ":" + t.port
	}
	return names, nil
}
