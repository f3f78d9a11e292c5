package guide

import (
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Roles returns the roles of machines, in the order in which they are shown.
func Roles() []bundle.Role {
	return []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd, bundle.LoadBalancer}
}

// ReadMachines reads a text of machines. Those that join a running cluster cannot have a login of their own.
func (s *Session) ReadMachines(text string) machines.List { return s.Joinable(machines.Read(text)) }

// Joinable rejects machines of a list that cannot join the running cluster.
func (s *Session) Joinable(l machines.List) machines.List {
	if s.Joins() {
		return draft.OneLogin(s.Draft, l)
	}
	return l
}

// Whole reports whether all of a text can be taken as it is.
func Whole(l machines.List) bool {
	return len(l.Entries) > 0 && len(l.Rejected) == 0 && len(l.Names()) == 0
}

// UnreadNext returns what to enter instead of a line that is no machine.
func UnreadNext(p *i18n.Printer, why event.Msg) string {
	if next, ok := p.Under(why, "next"); ok {
		return next
	}
	return p.T("wizard.nodes.unread.next")
}

// AddMachines adds machines as one change. Members of a running cluster stay as they are.
func (s *Session) AddMachines(list []machines.Entry) (added draft.Added) {
	s.Change(func() { added = draft.AddMachines(&s.Draft, list, s.Members) })
	return added
}

// AddedWords returns what was added and changed, and what was there already.
func AddedWords(p *i18n.Printer, x draft.Added) []string {
	var out []string
	if x.Fresh > 0 {
		out = append(out, p.T("wizard.nodes.added", "count", itoa(x.Fresh)))
	}
	if x.Changed > 0 {
		out = append(out, p.T("wizard.nodes.changed", "count", itoa(x.Changed)))
	}
	if n := len(x.Same); n > 0 {
		out = append(out, p.T("wizard.nodes.same", "count", itoa(n), "ip", x.Same[0]))
	}
	return out
}

// edit changes machines as one change, members of a running cluster excepted. If no machine is left for etcd, the
// control planes get it, as in deploy.yaml; edit reports whether they did.
func (s *Session) edit(list []int, do func(i int)) (etcd bool) {
	s.Change(func() {
		for _, i := range slices.Backward(list) {
			if !s.Member(s.Draft.Machines[i]) {
				do(i)
			}
		}
		masters := s.Draft.With(bundle.ControlPlane)
		if s.Joins() || len(masters) == 0 || len(s.Draft.With(bundle.Etcd)) > 0 {
			return
		}
		for _, i := range masters {
			draft.Toggle(&s.Draft, i, bundle.Etcd)
		}
		etcd = true
	})
	return etcd
}

// ToggleRole gives machines a role, or takes it away if all of them have it. It reports whether the control planes got
// etcd, because no other machine has it any more.
func (s *Session) ToggleRole(list []int, r bundle.Role) (etcd bool) {
	all := len(list) > 0
	for _, i := range list {
		all = all && s.Draft.Machines[i].Has(r)
	}
	return s.edit(list, func(i int) {
		if s.Draft.Machines[i].Has(r) == all {
			draft.Toggle(&s.Draft, i, r)
		}
	})
}

// RemoveMachines removes machines, with their logins. It reports the same as ToggleRole.
func (s *Session) RemoveMachines(list []int) (etcd bool) {
	return s.edit(list, func(i int) {
		draft.RenameLogin(&s.Draft, s.Draft.Machines[i].Name, "")
		s.Draft.Machines = slices.Delete(s.Draft.Machines, i, i+1)
	})
}

// RemoveNamed removes the machines with the names.
func (s *Session) RemoveNamed(names []string) {
	var list []int
	for i, m := range s.Draft.Machines {
		if slices.Contains(names, m.Name) {
			list = append(list, i)
		}
	}
	s.RemoveMachines(list)
}

// Renamed keeps the login of a machine whose name was another one.
func (s *Session) Renamed(i int, was string) {
	if name := s.Draft.Machines[i].Name; name != "" && name != was {
		draft.RenameLogin(&s.Draft, was, name)
	}
}

// FindMachine returns the machine of a name or address, -1 if there is none.
func (s *Session) FindMachine(name string) int {
	return slices.IndexFunc(s.Draft.Machines, func(m config.Machine) bool { return m.Name == name || m.IP == name })
}

// Edits reports whether all words are roles or settings of a machine, for EditMachine.
func Edits(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		_, role := machines.RoleOf(strings.Trim(word, ","))
		key, _, set := strings.Cut(word, "=")
		return !role && !(set && slices.Contains([]string{"name", "ip", "port", "arch"}, key))
	})
}

// EditMachine changes a machine by words: roles, which replace those that it has, and settings such as port=2222. If
// one is invalid, it changes nothing and returns what is wrong.
func (s *Session) EditMachine(i int, words []string) (bad config.Problem, ok bool) {
	var roles []bundle.Role
	values := map[string]string{}
	for _, word := range words {
		if r, is := machines.RoleOf(strings.Trim(word, ",")); is {
			if !slices.Contains(roles, r) {
				roles = append(roles, r)
			}
			continue
		}
		key, value, _ := strings.Cut(word, "=")
		if bad, is := config.CheckMachine(key, value); is {
			return bad, false
		}
		values["machine."+key] = value
	}
	was := s.Draft.Machines[i].Name
	s.Change(func() {
		for _, f := range s.MachineFields(i) {
			if v, set := values[f.Key]; set {
				f.Set(v)
			}
		}
		if len(roles) > 0 {
			s.Draft.Machines[i].Roles = roles
		}
		s.Renamed(i, was)
	})
	return bad, true
}

// Matches reports whether a machine passes a filter: words of its name, address or system, role:ROLE and state:STATE;
// a ! before a word inverts it.
func (s *Session) Matches(m config.Machine, filter string) bool {
	look := s.Probe(m)
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		rest, not := strings.CutPrefix(word, "!")
		is := false
		switch kind, value, has := strings.Cut(rest, ":"); {
		case has && kind == "role":
			r, ok := machines.RoleOf(value)
			is = ok && m.Has(r)
		case has && kind == "state":
			is = look != nil && strings.HasPrefix(string(look.Stage), value)
		default:
			is = strings.Contains(m.Name+" "+m.IP+" "+m.Arch, rest) || look != nil &&
				strings.Contains(strings.ToLower(look.OS), rest)
		}
		if is == not {
			return false
		}
	}
	return true
}

// machineOf returns the index of the machine that the key of a problem belongs to, -1 if it belongs to none.
func machineOf(key string) int {
	rest, is := strings.CutPrefix(key, "machines[")
	number, _, end := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if !is || !end || err != nil {
		return -1
	}
	return i
}

// WrongMachine returns the problems of a machine.
func (s *Session) WrongMachine(i int) config.Problems {
	return s.Wrong("machines[" + itoa(i) + "]")
}
