package wizard

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

func (n *nodes) keys(e *frame.Env) []frame.Binding {
	bind := func(word, show string, do func() tea.Cmd, keys ...string) frame.Binding {
		return frame.Binding{Keys: keys, Show: show, Word: word, Do: do}
	}
	none := func() tea.Cmd { return nil }
	now := func(b frame.Binding) frame.Binding { b.Now = true; return b }
	help := func(b frame.Binding) frame.Binding { b.Help = true; return b }
	pages := []frame.Binding{help(bind("ui.key.page", "PgUp PgDn", func() tea.Cmd { return n.move(-10) }, "pgup")),
		help(bind("", "", func() tea.Cmd { return n.move(10) }, "pgdown"))}
	switch n.mode {
	case adding:
		list := []frame.Binding{bind("wizard.key.add-this", "Enter", none, "enter")}
		if asks := n.p.g.Asking(); len(asks) > 0 {
			list = append(list, now(bind("wizard.key.keys", "Ctrl+F", func() tea.Cmd {
				return n.askKeys(asks)
			}, "ctrl+f")))
			list[1].Keep = true
		}
		list = append(list, bind("wizard.key.block", "Ctrl+V", func() tea.Cmd { return n.openBlock() }, "ctrl+v"))
		if !n.p.g.Joins() {
			list = append(list, now(bind("wizard.key.import", "Ctrl+O", n.p.askImport, "ctrl+o")))
		}
		return append(list, pages...)
	case pasting:
		return []frame.Binding{bind("wizard.key.take", "Ctrl+S", none, "ctrl+s")}
	case filtering:
		return append(pages, bind("wizard.key.filter-this", "Enter", none, "enter"))
	case editing:
		return n.edit.keys(e)
	}
	list := []frame.Binding{
		bind("wizard.key.add", "a", func() tea.Cmd { n.mode = adding; return nil }, "a", "insert"),
		bind("wizard.key.roles", "m w e l", func() tea.Cmd { return n.role(bundle.ControlPlane) }, "m"),
		help(bind("", "", func() tea.Cmd { return n.role(bundle.Worker) }, "w")),
		help(bind("", "", func() tea.Cmd { return n.role(bundle.Etcd) }, "e")),
		help(bind("", "", func() tea.Cmd { return n.role(bundle.LoadBalancer) }, "l")),
		bind("wizard.key.edit", "Enter", n.openEdit, "enter"),
		bind("wizard.key.delete", "d", n.remove, "d", "delete"),
		help(bind("wizard.key.move", "↑ ↓", func() tea.Cmd { return n.move(-1) }, "up", "k")),
		help(bind("", "", func() tea.Cmd { return n.move(1) }, "down", "j")),
		help(bind("", "", func() tea.Cmd { return n.move(-1 << 20) }, "home", "g")),
		help(bind("", "", func() tea.Cmd { return n.move(1 << 20) }, "end", "G")),
	}
	list = append(list, pages...)
	if asks := n.p.g.Asking(); len(asks) > 0 {
		list = slices.Insert(list, 0, now(bind("wizard.key.keys", "f", func() tea.Cmd {
			return n.askKeys(asks)
		}, "f", "ctrl+f")))
	}
	list = append(list,
		help(bind("wizard.key.mark", "Space", func() tea.Cmd { return n.mark(false) }, "space")),
		help(bind("wizard.key.mark-all", "*", func() tea.Cmd { return n.mark(true) }, "*")),
		bind("wizard.key.filter", "/", func() tea.Cmd { n.mode = filtering; n.field.Set(n.filter); return nil }, "/"),
		help(bind("wizard.key.block", "p", n.openBlock, "p", "ctrl+v")))
	if !n.p.g.Joins() {
		list = append(list, help(now(bind("wizard.key.import", "i", n.p.askImport, "i", "ctrl+o"))))
	}
	list = append(list, help(bind("wizard.key.probe", "r", func() tea.Cmd { return n.p.probe(e, true) }, "r")))
	return append(list, bind("wizard.key.undo", "u", func() tea.Cmd { return n.p.undo(e) }, "u"))
}

func (n *nodes) openBlock() tea.Cmd {
	n.mode, n.bad = pasting, nil
	return nil
}
