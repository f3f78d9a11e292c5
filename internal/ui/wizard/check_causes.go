package wizard

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// What preflight found, by cause: one row for what is wrong, with the nodes beneath it, and what can be done about all
// of them at once.

// causeRow is a cause, or a finding of one that is open.
type causeRow struct {
	cause   report.Cause
	finding int // -1: the cause
	number  int // of the cause, from 0
}

// findings of the row.
func (r causeRow) findings() []event.Finding {
	if r.finding >= 0 {
		return r.cause.Findings[r.finding : r.finding+1]
	}
	return r.cause.Findings
}

func (r causeRow) hosts() []string { return report.Cause{Findings: r.findings()}.Hosts() }

func (f *preflight) list() []causeRow {
	var out []causeRow
	for n, c := range f.p.g.Preflight.Causes {
		out = append(out, causeRow{c, -1, n})
		if f.open[c.Key] && len(c.Findings) > 1 {
			for i := range c.Findings {
				out = append(out, causeRow{c, i, n})
			}
		}
	}
	f.at = min(max(f.at, 0), max(0, len(out)-1))
	return out
}

func (f *preflight) chosen() (causeRow, bool) {
	list := f.list()
	if len(list) == 0 {
		return causeRow{}, false
	}
	return list[f.at], true
}

// place is which cause it is, of how many.
func (f *preflight) place(e *frame.Env) string {
	r, ok := f.chosen()
	if !ok || len(f.p.g.Preflight.Causes) < 2 {
		return ""
	}
	return e.P.T("wizard.cause.place", "at", itoa(r.number+1), "of", itoa(len(f.p.g.Preflight.Causes)))
}

func (f *preflight) click(_, y int, _ *frame.Env) tea.Cmd {
	if y >= 0 && y < len(f.rows) && f.rows[y] >= 0 {
		if f.at == f.rows[y] {
			return f.fold()
		}
		f.at = f.rows[y]
	}
	return nil
}

// fold shows the nodes of a cause one by one, or does not.
func (f *preflight) fold() tea.Cmd {
	if r, ok := f.chosen(); ok && len(r.cause.Findings) > 1 {
		f.open[r.cause.Key] = !f.open[r.cause.Key]
		for i, x := range f.list() { // one stays at the cause
			if x.finding < 0 && x.cause.Key == r.cause.Key {
				f.at = i
			}
		}
	}
	return nil
}

// fix is what the wizard can do about what is chosen, on all nodes that it was found on: the word for it, and the
// doing.
func (f *preflight) fix(r causeRow, e *frame.Env) (fix guide.Fix, do func() tea.Cmd) {
	p, list := f.p, r.findings()
	fix = p.g.FixOf(list)
	switch {
	case fix.Changes():
		do = func() tea.Cmd {
			p.g.Apply(fix)
			return tea.Batch(p.changed(), p.save(), f.look())
		}
	case list[0].Fault.Code == "ssh.hostkey-unknown":
		fix.Word, do = "wizard.key.keys", func() tea.Cmd { return p.toKeys(e) }
	case fix.To != "":
		do = func() tea.Cmd { return p.toStep(fix.To, e) }
	}
	return fix, do
}

// without leaves out the machines of what is chosen.
func (f *preflight) without(names []string) tea.Cmd {
	p := f.p
	p.g.RemoveNamed(names)
	return tea.Batch(p.changed(), p.save(), f.look())
}

func (f *preflight) keys(e *frame.Env) []frame.Binding {
	var list []frame.Binding
	add := func(b frame.Binding) { list = append(list, b) }
	enter := func(word string, do func() tea.Cmd) {
		add(frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: word, Do: do})
	}
	r, some := f.chosen()
	failed := f.p.g.Preflight.Fault
	switch {
	case f.p.g.Problems.HasErrors():
		enter("wizard.key.to-problem", func() tea.Cmd { return f.p.toProblem(e) })
	case failed != nil && (failed.Class == event.ClassAuth || failed.Code == "usage.secret"):
		enter("wizard.fix.login", func() tea.Cmd { return f.p.toStep(guide.LoginStep, e) })
	case f.p.g.Preflight.Busy: // what there is to do shows when all is known
	case some && !f.p.g.Passed():
		fix, do := f.fix(r, e)
		if do == nil { // it is fixed on the machine itself
			fix.Word, do = "wizard.key.again", f.look
		}
		enter(fix.Word, do)
		if names := f.p.g.Removable(r.hosts()); len(names) > 0 {
			add(frame.Binding{Keys: []string{"x"}, Word: "wizard.fix.without", Do: func() tea.Cmd {
				return f.without(names)
			}})
		}
	default:
		enter("wizard.key.on", func() tea.Cmd { return f.p.next(e) })
	}
	if some && len(r.cause.Findings) > 1 {
		add(frame.Binding{Keys: []string{"space", "right", "left"}, Show: "Space", Word: "wizard.key.fold", Do: f.fold})
	}
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { f.at += n; return nil } }
	return append(list,
		frame.Binding{Keys: []string{"r"}, Word: "wizard.key.again", Do: f.look},
		frame.Binding{Keys: []string{"u"}, Word: "wizard.key.undo",
			Do: func() tea.Cmd { return tea.Batch(f.p.undo(e), f.look()) }},
		frame.Binding{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "wizard.key.move", Do: move(-1), Help: true},
		frame.Binding{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		frame.Binding{Keys: []string{"pgup"}, Do: func() tea.Cmd { f.at -= max(1, f.page); return nil }, Help: true},
		frame.Binding{Keys: []string{"pgdown"}, Do: func() tea.Cmd { f.at += max(1, f.page); return nil }, Help: true},
		frame.Binding{Keys: []string{"home", "g"}, Do: move(-1 << 20), Help: true},
		frame.Binding{Keys: []string{"end", "G"}, Do: move(1 << 20), Help: true})
}

func (f *preflight) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := f.head(e, w)
	f.rows = nil
	for range out {
		f.rows = append(f.rows, -1)
	}
	list := f.list()
	var body []string
	var rows []int
	first, last := 0, 0
	apart := 4*len(list) <= h-len(out) // there is room for a blank line between them
	for i, r := range list {
		if apart && i > 0 && r.finding < 0 {
			body, rows = append(body, ""), append(rows, -1)
		}
		if i == f.at {
			first = len(body)
		}
		for _, l := range f.row(e, r, i == f.at, w) {
			body, rows = append(body, l), append(rows, i)
		}
		if i == f.at {
			last = len(body)
		}
	}
	room, more := h-len(out), false
	if len(body) > room {
		room, more = max(1, room-1), true
	}
	top := 0
	if last > room {
		top = min(first, last-room)
	}
	to := min(len(body), top+room)
	f.page = 0
	for i := top; i < to; i++ {
		if i == top || rows[i] != rows[i-1] {
			f.page++
		}
	}
	out, f.rows = append(out, body[top:to]...), append(f.rows, rows[top:to]...)
	if more {
		word := e.P.T("ui.ask.more", "count", itoa(len(body)-to))
		if to == len(body) {
			word = e.P.T("ui.ask.above", "count", itoa(top))
		}
		out = append(out, t.Faint.Render("  "+word))
	}
	return out, nil
}

// causeWords are a finding's. Host keys are shown in the wizard.
func causeWords(e *frame.Env, f *event.Fault) (text, next string) {
	text, next = guide.CauseWords(e.P, "", f)
	if f.Code == "ssh.hostkey-unknown" {
		next = e.P.T("wizard.keys.check.next")
	}
	return text, next
}

// row are the lines of a cause, or of a node beneath it.
func (f *preflight) row(e *frame.Env, r causeRow, chosen bool, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	pointer := " "
	if chosen {
		pointer = t.Chosen.Render(g.Pointer)
	}
	x := r.findings()[0]
	text, next := causeWords(e, &x.Fault)
	if r.finding >= 0 {
		line := new(widget.Line).Space(4).Add(t.Text, text)
		return []string{pointer + " " + widget.Cut(line.String(), w-2, g.Cut)}
	}
	names := r.hosts()
	if n := len(names); n > 1 {
		text = e.P.T("wizard.cause", "count", itoa(n), "text", text)
	}
	if !chosen && len(names) > 1 {
		next = "" // what to do is told of the one that is chosen: the list stays short
	}
	lines := complaint(e, x.Severity, text, next, w-2)
	if n := len(names); n > 1 && !f.open[r.cause.Key] {
		lines = append(lines, "  "+t.Dim.Render(widget.Cut(strings.Join(report.Ranges(names), ", "), w-4, g.Cut)))
	}
	if fix, do := f.fix(r, e); chosen && do != nil && !f.p.g.Passed() {
		lines = append(lines, "    "+new(widget.Line).Add(t.Key, "Enter").Space(1).Add(t.KeyWord,
			fix.Label(e.P)).String())
	}
	for i := range lines {
		lead := " "
		if i == 0 || chosen {
			lead = pointer
		}
		lines[i] = lead + " " + lines[i]
	}
	return lines
}
