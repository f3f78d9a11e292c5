package wizard

import (
	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// openEdit shows the fields of the machine under the cursor.
func (n *nodes) openEdit() tea.Cmd {
	i := n.now()
	if i < 0 || n.p.g.Members[draft.MachineKey(n.p.g.Draft.Machines[i])] {
		return nil
	}
	n.p.snapshot()
	n.edited = n.p.g.Draft.Machines[i].Name
	n.edit = &form{p: n.p, name: guide.MachinesStep, items: items(n.p.g.MachineFields(i)...)}
	n.mode = editing
	return n.edit.enter(nil)
}

// keepLogin keeps a login of its own with a machine that was renamed.
func (n *nodes) keepLogin() {
	if i := n.now(); i >= 0 {
		n.p.g.Renamed(i, n.edited)
	}
}

func (n *nodes) endEdit(e *frame.Env) tea.Cmd {
	n.keepLogin()
	n.p.snapshot()
	n.mode, n.edit = looking, nil
	return tea.Batch(n.p.changed(), n.p.save(), n.p.probe(e, false))
}
