package machines

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// inventory holds the machines of an Ansible inventory: names with variables, in groups, in groups.
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
	hops, gate := v.bastion(rolesSaid)
	shared := v.shared()
	for _, name := range v.order {
		m := v.hosts[name]
		vars, roles, arch := v.known(name)
		where := addressIn(vars)
		switch {
		case name == gate:
			continue
		case strings.HasPrefix(vars["ansible_connection"], "local"):
			out.Skipped = append(out.Skipped, Rejected{Line: m.at, Why: *because("machines.no-machine", "ip", name)})
			continue
		case rolesSaid && len(roles) == 0:
			out.Skipped = append(out.Skipped, Rejected{Line: m.at, Why: *because("machines.no-role", "name", name)})
			continue
		}
		l := &line{at: m.at, e: Entry{Machine: config.Machine{Roles: inOrder(roles), Arch: arch}}}
		if others := shared[where]; addressIn(m.vars) != where && others > 1 {
			l.why = oneAddress(where, others)
		}
		if l.inventoried(name, vars) {
			out.dropJump(name)
		}
		l.through(hops)
		out.add(l)
	}
	return out
}

// shared counts the machines that have their address from their groups, by address.
func (v *inventory) shared() map[string]int {
	out := map[string]int{}
	for _, name := range v.order {
		vars, _, _ := v.known(name)
		if where := addressIn(vars); where != addressIn(v.hosts[name].vars) {
			out[where]++
		}
	}
	return out
}

// addressKeys returns the variables that have the address of a machine; the first that has one counts.
func addressKeys() []string { return []string{"ansible_host", "ansible_ssh_host", "ip", "access_ip"} }

// addressIn returns the address in variables, "" if there is none or only Ansible can fill it in.
func addressIn(vars map[string]string) string {
	for _, key := range addressKeys() {
		if value := vars[key]; value != "" && !strings.Contains(value, "{{") {
			return value
		}
	}
	return ""
}

// each returns the variables of each machine of a pattern: an address that is a range of as many is one for each.
func each(names []string, vars map[string]string) ([]map[string]string, *event.Msg) {
	out := make([]map[string]string, len(names))
	for i := range names {
		out[i] = maps.Clone(vars)
	}
	where := addressIn(vars)
	if len(names) < 2 || where == "" {
		return out, nil
	}
	for _, key := range addressKeys() {
		if vars[key] == "" || strings.Contains(vars[key], "{{") {
			continue
		}
		list, why := expand(vars[key])
		switch {
		case why != nil:
			return nil, why
		case len(list) == len(names):
			for i := range out {
				out[i][key] = list[i]
			}
		case vars[key] != where: // of another network, and not used
		case len(list) == 1:
			return nil, oneAddress(where, len(names))
		default:
			return nil, because("machines.names", "names", strconv.Itoa(len(names)), "count", strconv.Itoa(len(list)))
		}
	}
	return out, nil
}

func oneAddress(where string, machines int) *event.Msg {
	return because("machines.one-address", "word", where, "count", strconv.Itoa(machines))
}

// known returns the variables of a machine, from its groups and from itself.
func (v *inventory) known(name string) (vars map[string]string, roles []bundle.Role, arch string) {
	vars = map[string]string{}
	for _, g := range v.above(name) {
		if v.groups[g] != nil {
			maps.Copy(vars, v.groups[g].vars)
		}
		if r, is := RoleOf(g); is {
			roles = with(roles, r)
		}
		if a, is := ArchOf(g); is {
			arch = a
		}
	}
	maps.Copy(vars, v.hosts[name].vars)
	return vars, roles, arch
}

// bastion is the host that Kubespray reaches the others through: one without a role that is called bastion, or is in
// the group of that name.
func (v *inventory) bastion(rolesSaid bool) (hops []config.Bastion, gate string) {
	for _, name := range v.order {
		g := v.groups["bastion"]
		if name != "bastion" && (g == nil || !slices.Contains(g.hosts, name)) {
			continue
		}
		vars, roles, _ := v.known(name)
		if !rolesSaid || len(roles) > 0 {
			continue
		}
		var l line
		l.inventoried(name, vars)
		if b, ok := l.addressOfHop(); ok {
			return []config.Bastion{b}, name
		}
	}
	return nil, ""
}

// inventoried takes a name and the variables that hold for it. dropped: its way through other hosts is not understood.
func (l *line) inventoried(name string, vars map[string]string) (dropped bool) {
	t := targetOf(name)
	where := addressIn(vars)
	if where == "" {
		l.set("host", name, name)
		l.set("name", vars[nameVar], name)
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
		case sshArgs.MatchString(key):
			j, not := jumpIn(value)
			if not || strings.Contains(value, "{{") && strings.Contains(strings.ToLower(value), "proxy") {
				dropped = true
				continue
			}
			l.takeJump(j)
		case strings.Contains(value, "{{"): // a template, which only Ansible can fill
		case strings.HasPrefix(columnOf(strings.TrimPrefix(key, "ansible_")), "bastion"):
			l.set(columnOf(strings.TrimPrefix(key, "ansible_")), value, key+"="+value)
		case column == "arch" && known,
			strings.HasPrefix(key, "ansible_") && slices.Contains([]string{"port", "user", "key", "secret"}, column):
			l.set(column, value, key+"="+value)
		}
	}
	return dropped
}

var (
	template = regexp.MustCompile(`\{\{[^{}]*\}\}`) // what only Ansible can fill in
	sshArgs  = regexp.MustCompile(`\Aansible_ssh_(?:common_|extra_)?args\z`)
	section  = regexp.MustCompile(`\A\[([^\[\]:\s,"'{}@/]+)(?::(vars|children|hosts))?\]\s*(?:[#;].*)?\z`)
	variable = regexp.MustCompile(`\A([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)\z`)
)

// isINI reports whether a line names a group.
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
				v.group(name).vars[m[1]] = unquoted(m[2])
			}
		default:
			text = withoutBullet(text)
			list := append(words(template.ReplaceAllString(text, "{{}}"), " \t"), "")
			names, why := namesOf(list[0])
			if why != nil {
				clean, _ := withoutSecrets(text)
				out.Rejected = append(out.Rejected, Rejected{Line: i + 1, Text: clean, Why: *why})
				continue
			}
			vars := map[string]string{}
			var extra []string
			for _, w := range list[1:] {
				if strings.HasPrefix(w, "#") {
					break
				}
				if key, value, is := strings.Cut(w, "="); is {
					vars[key] = value
				} else if w != "" {
					extra = append(extra, w)
				}
			}
			why = settle(names, vars, extra)
			var of []map[string]string
			if why == nil {
				of, why = each(names, vars)
			}
			if why != nil {
				clean, _ := withoutSecrets(text)
				out.Rejected = append(out.Rejected, Rejected{Line: i + 1, Text: clean, Why: *why})
				continue
			}
			for k, n := range names {
				v.host(name, n, i+1, of[k])
			}
		}
	}
	return v.list(out)
}

// unquoted is a value without the quotes around it.
func unquoted(s string) string {
	if s = strings.TrimSpace(s); len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// nameVar is a variable for the name of a host that is listed by its address.
const nameVar = "eggo name"

// settle takes words of a host that Ansible does not know, as people write them below its groups: the address of a
// name, the name of an address.
func settle(names []string, vars map[string]string, extra []string) *event.Msg {
	if len(extra) == 0 {
		return nil
	}
	_, role := RoleOf(extra[0])
	switch {
	case len(extra) > 1 || len(names) != 1 || role:
	case isAddress(extra[0]) && !isAddress(names[0]) && vars["ansible_host"] == "":
		vars["ansible_host"] = extra[0]
		return nil
	case isAddress(names[0]) && config.IsHostName(strings.ToLower(extra[0])):
		vars[nameVar] = extra[0]
		return nil
	}
	return because("machines.ini-word", "word", extra[len(extra)-1])
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
