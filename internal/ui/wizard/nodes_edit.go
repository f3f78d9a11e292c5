package wizard

import (
	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// openEdit shows the fields of the machine under the cursor.
func (n *nodes) openEdit() tea.Cmd {
	i := n.now()
	if i < 0 || n.p.members[draft.MachineKey(n.p.draft.Machines[i])] {
		return nil
	}
	n.p.snapshot()
	n.edited = n.p.draft.Machines[i].Name
	field := func(name string, at func(m *config.Machine) *string, def string, choices ...string) *item {
		it := &item{key: "machine." + name, choices: choices, def: func() string { return def }}
		it.field.Narrow = true
		it.get = func() string {
			if i >= len(n.p.draft.Machines) {
				return ""
			}
			return *at(&n.p.draft.Machines[i])
		}
		it.set = func(v string) {
			if i < len(n.p.draft.Machines) {
				if v == def {
					v = ""
				}
				*at(&n.p.draft.Machines[i]) = v
			}
		}
		it.check = func(v string) (config.Problem, bool) {
			if v == "" {
				return config.Problem{}, false
			}
			return config.CheckMachine(name, v)
		}
		return it
	}
	n.edit = &form{p: n.p, name: "nodes", items: []*item{
		field("name", func(m *config.Machine) *string { return &m.Name }, ""),
		field("ip", func(m *config.Machine) *string { return &m.IP }, ""),
		field("port", func(m *config.Machine) *string { return &m.Port }, "22"),
		field("arch", func(m *config.Machine) *string { return &m.Arch }, "amd64", "amd64", "arm64"),
	}}
	n.mode = editing
	return n.edit.enter(nil)
}

// keepLogin keeps a login of its own with a machine that was renamed.
func (n *nodes) keepLogin() {
	if i := n.now(); i >= 0 && n.p.draft.Machines[i].Name != "" && n.p.draft.Machines[i].Name != n.edited {
		draft.RenameLogin(&n.p.draft, n.edited, n.p.draft.Machines[i].Name)
	}
}

func (n *nodes) endEdit(e *frame.Env) tea.Cmd {
	n.keepLogin()
	n.p.snapshot()
	n.mode, n.edit = looking, nil
	return tea.Batch(n.p.changed(), n.p.save(), n.p.probe(e, false))
}
