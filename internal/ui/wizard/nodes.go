package wizard

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// nodes is the table of the machines.
type nodes struct {
	p      *Page
	at     int // among those that are shown
	top    int
	marked map[string]bool // by address and port
	rows   []int           // the machine of each line as drawn last
	firstY int

	mode   mode
	line   widget.Field // what is added; it stays until it is taken
	field  widget.Field // of the filter
	area   widget.Area  // a block
	bad    []machines.Rejected
	told   []event.Msg // of what was taken last
	edited string      // the name that the machine had whose fields are open
	lookup lookup      // of host names that were typed
	edit   *form       // of one machine
	filter string

	followed  map[string]bool // by address and port: machines whose bastion was accepted just now
	shownKeys map[string]bool // fingerprints that a person has had before them
}

// mode is what is being typed.
type mode int

const (
	looking mode = iota
	adding       // a line with a machine or a range
	pasting      // a block
	filtering
	editing
)

func newNodes(p *Page) step {
	return &nodes{p: p, marked: map[string]bool{}, shownKeys: map[string]bool{},
		followed: map[string]bool{}}
}

func (n *nodes) typing() bool { return n.mode != looking && (n.mode != editing || n.edit.typing()) }

// helps: no machine has a question mark in its name or address.
func (n *nodes) helps() bool {
	return n.mode == adding || n.mode == filtering || n.mode == editing && n.edit.helps()
}

func (n *nodes) id() guide.Step { return guide.MachinesStep }

func (n *nodes) enter(e *frame.Env) tea.Cmd {
	n.edit = nil
	n.line.Narrow, n.field.Narrow = true, true
	if half := n.mode == adding && n.line.Value() != "" || n.mode == pasting && n.area.Value() != ""; !half {
		n.mode = looking
		if len(n.p.g.Fresh()) == 0 {
			n.mode = adding
		}
	}
	return n.p.probe(e, false)
}

// leave takes what was typed and not yet added, if it says machines; what does not stays where it was typed.
func (n *nodes) leave() {
	n.cancel()
	switch n.mode {
	case adding:
		if l := n.p.g.ReadMachines(n.line.Value()); guide.Whole(l) {
			n.put(l.Entries)
			n.line.Set("")
		}
	case pasting:
		if l := n.p.g.ReadMachines(n.area.Value()); guide.Whole(l) {
			n.put(l.Entries)
			n.area.Set("")
		}
	}
	n.p.snapshot()
}

// held implements holder.
func (n *nodes) held() map[string]string {
	return map[string]string{"machine": n.line.Value(), "machines": n.area.Value()}
}

func (n *nodes) hold(typed map[string]string) {
	n.line.Set(typed["machine"])
	n.area.Set(typed["machines"])
	switch {
	case n.area.Value() != "":
		n.mode = pasting
	case n.line.Value() != "":
		n.mode = adding
	}
}

// shown are the machines that the filter lets through.
func (n *nodes) shown() []int {
	var out []int
	for i, m := range n.p.g.Draft.Machines {
		if n.p.g.Matches(m, n.filter) {
			out = append(out, i)
		}
	}
	return out
}

// now is the machine under the cursor, -1 if there is none.
func (n *nodes) now() int {
	list := n.shown()
	n.at = min(max(n.at, 0), max(0, len(list)-1))
	if len(list) == 0 {
		return -1
	}
	return list[n.at]
}

// chosen are the machines that a key acts on: those that are marked, else the one under the cursor.
func (n *nodes) chosen() []int {
	var out []int
	for i, m := range n.p.g.Draft.Machines {
		if n.marked[draft.MachineKey(m)] {
			out = append(out, i)
		}
	}
	if i := n.now(); len(out) == 0 && i >= 0 {
		out = []int{i}
	}
	return out
}

func (n *nodes) typed(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	if m.String() == "?" && n.helps() {
		return nil, false
	}
	switch n.mode {
	case adding:
		return n.typedLine(m, e)
	case pasting:
		if m.String() == "ctrl+s" {
			return n.takeBlock(e), true
		}
		if !n.area.Key(m) {
			return nil, false
		}
		return n.p.changed(), true
	case filtering:
		switch m.String() {
		case "enter", "down", "up":
			n.mode = looking
			return nil, true
		}
		ok := n.field.Key(m)
		n.filter, n.at = n.field.Value(), 0
		return nil, ok
	case editing:
		if m.String() == "enter" && n.edit.at == len(n.edit.visible())-1 {
			return n.endEdit(e), true
		}
		return n.edit.typed(m, e)
	}
	return nil, false
}

func (n *nodes) typedLine(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	switch m.String() {
	case "enter":
		if strings.TrimSpace(n.line.Value()) == "" {
			if len(n.p.g.Draft.Machines) > 0 {
				n.mode = looking
			}
			return nil, true
		}
		return n.takeLine(e), true
	case "up", "down":
		if len(n.p.g.Draft.Machines) > 0 && n.line.Value() == "" {
			n.mode = looking
			return nil, true
		}
	}
	n.bad = nil
	if !n.line.Key(m) {
		return nil, false
	}
	return n.p.changed(), true // what is typed is kept before it is taken
}

// takeLine adds what the line says.
func (n *nodes) takeLine(e *frame.Env) tea.Cmd {
	text := n.line.Value()
	return n.read(text, func(l machines.List) tea.Cmd {
		if n.line.Value() == text { // else it was edited meanwhile, and stays
			if n.bad = l.Rejected; len(n.bad) > 0 {
				return nil
			}
			n.line.Set("")
		}
		return n.take(l, e)
	})
}

// takeBlock adds what the block says; machines that are rejected stay in it.
func (n *nodes) takeBlock(e *frame.Env) tea.Cmd {
	text := n.area.Value()
	return n.read(text, func(l machines.List) tea.Cmd {
		if n.area.Value() == text {
			n.bad = l.Rejected
			if !slices.ContainsFunc(l.Rejected, func(r machines.Rejected) bool { return r.Whole }) {
				n.area.Set(l.Rest())
			}
			if len(n.bad) == 0 && n.mode == pasting {
				n.mode = looking
			}
		}
		return n.take(l, e)
	})
}

// takeText adds what a text says that was pasted or read from a file; machines that are rejected stand where a block is
// typed.
func (n *nodes) takeText(text string, e *frame.Env) tea.Cmd {
	return n.read(text, func(l machines.List) tea.Cmd {
		n.mode, n.bad = looking, l.Rejected
		if len(n.bad) > 0 {
			n.mode = pasting
			n.area.Set(joined(n.area.Value(), l.Rest()))
		}
		return n.take(l, e)
	})
}

func (n *nodes) take(l machines.List, e *frame.Env) tea.Cmd {
	said := guide.AddedWords(e.P, n.put(l.Entries))
	n.told = draft.ImportRemarks(l)
	return tea.Batch(n.p.changed(), n.p.save(), n.p.probe(e, false), frame.Send(frame.Note{Text: e.P.List(said)}))
}

// put adds machines to the draft.
func (n *nodes) put(list []machines.Entry) draft.Added {
	x := n.p.g.AddMachines(list)
	n.at = len(n.shown()) - 1
	return x
}

func (n *nodes) paste(text string, e *frame.Env) tea.Cmd {
	switch {
	case n.mode == editing:
		return n.edit.paste(text, e)
	case n.mode == filtering:
		n.field.Insert(text)
		n.filter = n.field.Value()
	case n.mode == adding && !strings.Contains(strings.TrimSpace(text), "\n"):
		n.line.Insert(text)
		return n.p.changed()
	case n.mode == pasting && machines.Read(text).Format != machines.Lines: // it has a head that belongs to it alone
		return n.takeText(text, e)
	case n.mode == pasting:
		n.area.Insert(strings.ReplaceAll(text, "\t", "|")) // an empty cell of a table stays one
		return n.p.changed()
	default: // a block, wherever it is dropped; what stands in the line already belongs to it
		if n.mode == adding {
			before, after := n.line.Around()
			text = before + text + after
			n.line.Set("")
		}
		if draft.IsConfig(text) && !n.p.g.Joins() {
			return n.p.imported(importedMsg{path: e.P.T("wizard.import.pasted"), data: []byte(text)}, e)
		}
		return n.takeText(text, e)
	}
	return nil
}

// back leads out of what is open; what was typed there and not taken is there again when it is opened again.
func (n *nodes) back(*frame.Env) bool {
	n.cancel()
	switch {
	case n.mode == adding && len(n.p.g.Draft.Machines) == 0:
		return false
	case n.mode == editing:
		n.keepLogin()
		n.p.snapshot()
	case n.mode == filtering:
		n.filter = ""
	case n.mode == looking && n.filter != "":
		n.filter = ""
		return true
	case n.mode == looking:
		return false
	}
	n.mode, n.bad, n.told, n.edit = looking, nil, nil, nil
	n.field.Set("")
	if len(n.p.g.Draft.Machines) == 0 {
		n.mode = adding
	}
	return true
}

// move the cursor.
func (n *nodes) move(by int) tea.Cmd {
	n.at += by
	n.now()
	return nil
}

func (n *nodes) wheel(by int) { n.move(by) }

// scrolls: by PgUp and PgDn, whatever is open; steps are left by Ctrl+N and Ctrl+P.
func (n *nodes) scrolls() bool { return true }

func (n *nodes) click(_, y int, _ *frame.Env) tea.Cmd {
	if i := y - n.firstY; i >= 0 && i < len(n.rows) && n.mode != editing {
		n.at = n.top + i
		if n.mode == adding && n.line.Value() == "" {
			n.mode = looking
		}
	}
	return nil
}

// changed is called when machines were changed; etcd reports that the control planes got etcd.
func (n *nodes) changed(etcd bool) tea.Cmd {
	if !etcd {
		return n.p.changed()
	}
	return tea.Batch(n.p.changed(), func() tea.Msg { return etcdGivenMsg{} })
}

// etcdGivenMsg says that no machine was left for etcd.
type etcdGivenMsg struct{}

func (n *nodes) update(m tea.Msg, e *frame.Env) tea.Cmd {
	if found, is := m.(resolvedMsg); is && found.n == n.lookup.n {
		return n.resolved(found.list)
	}
	if _, is := m.(etcdGivenMsg); is {
		return frame.Send(frame.Note{Text: e.P.T("wizard.nodes.etcd-default")})
	}
	return nil
}

func (n *nodes) role(r bundle.Role) tea.Cmd { return n.changed(n.p.g.ToggleRole(n.chosen(), r)) }

func (n *nodes) remove() tea.Cmd {
	c := n.changed(n.p.g.RemoveMachines(n.chosen()))
	n.marked = map[string]bool{}
	if len(n.p.g.Draft.Machines) == 0 {
		n.mode = adding
	}
	return c
}

func (n *nodes) mark(all bool) tea.Cmd {
	if all {
		list := n.shown()
		unmarked := func(i int) bool { return !n.marked[draft.MachineKey(n.p.g.Draft.Machines[i])] }
		on := slices.ContainsFunc(list, unmarked)
		for _, i := range list {
			n.marked[draft.MachineKey(n.p.g.Draft.Machines[i])] = on
		}
		return nil
	}
	if i := n.now(); i >= 0 {
		key := draft.MachineKey(n.p.g.Draft.Machines[i])
		n.marked[key] = !n.marked[key]
		n.at++
		n.now()
	}
	return nil
}
