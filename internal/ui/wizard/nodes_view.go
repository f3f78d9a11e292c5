package wizard

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// facts are a machine's, in a line of w cells: what has no room is left out, the last first.
func facts(e *frame.Env, l *draft.Probe, w int) string {
	out := ""
	for _, x := range guide.Facts(e.P, l) {
		if out != "" {
			x = "  " + x
		}
		if out != "" && widget.Width(out)+widget.Width(x) > w {
			break
		}
		out += x
	}
	return out
}

// columns of the table in w cells.
type columns struct {
	name, ip, roles, state int
	words                  bool // roles are written out
}

func (n *nodes) columns(e *frame.Env, w int) columns {
	c := columns{name: 8, ip: 13, roles: 7, state: 0}
	for _, m := range n.p.g.Draft.Machines {
		c.name, c.ip = max(c.name, widget.Width(m.Name)), max(c.ip, widget.Width(address(m)))
	}
	if n.p.g.Joins() {
		c.state = widget.Width(e.P.T("wizard.look.member")) + 2
	}
	for _, s := range []string{"none", "reaching", "login", "looking", "asking", "failed", "refused", "key-refused",
		"no-sudo", "password", "seen"} {
		c.state = max(c.state, widget.Width(e.P.T("wizard.look."+s))+2)
	}
	c.state = max(c.state, widget.Width(e.P.T("wizard.errors", "count", "99"))+2)
	c.name, c.ip = min(c.name, max(12, w/5)), min(c.ip, 22)
	if c.words = w >= 118; c.words {
		c.roles = 12
		for _, m := range n.p.g.Draft.Machines {
			c.roles = max(c.roles, widget.Width(roleWords(e, m)))
		}
		c.roles = min(c.roles, 44)
	}
	return c
}

func address(m config.Machine) string {
	if m.Port != "" {
		return m.IP + ":" + m.Port
	}
	return m.IP
}

func roleWords(e *frame.Env, m config.Machine) string {
	var out []string
	for _, r := range guide.Roles() {
		if m.Has(r) {
			out = append(out, e.P.T("ui.role."+string(r)))
		}
	}
	return e.P.List(out)
}

// tableHead is what the table has besides its rows: the names of its columns, and how many rows are not in sight.
const tableHead = 2

func (n *nodes) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	foot, cursor := n.foot(e, w, h)
	list := n.shown()
	at := n.now()
	room := max(1, h-len(foot)-tableHead)
	n.top = min(max(n.top, n.at-room+1), n.at)
	n.top = max(0, min(n.top, len(list)-room))
	c := n.columns(e, w)
	out := []string{n.header(e, c, w)}
	n.rows, n.firstY = nil, 1
	for _, i := range list[n.top:min(len(list), n.top+room)] {
		line := n.row(e, i, c, w)
		if i == at && n.mode != adding && n.mode != pasting {
			line = widget.Paint(t.Cursor, line, w, "")
		}
		out, n.rows = append(out, line), append(n.rows, i)
	}
	switch {
	case len(n.p.g.Draft.Machines) == 0:
		out = n.ways(e, w, h-len(foot))
	case len(list) == 0:
		out = append(out, "  "+t.Dim.Render(e.P.T("wizard.nodes.filtered", "filter", n.filter)))
	case len(list) > room:
		out = append(out, t.Faint.Render("  "+report.More(e.P, n.top, max(0, len(list)-n.top-room))))
	}
	if cursor != nil {
		cursor.Y += len(out)
	}
	return append(out, foot...), cursor
}

// ways are told while there is no machine: how one gets there.
func (n *nodes) ways(e *frame.Env, w, h int) []string {
	t := e.Theme
	var out []string
	for _, l := range wrapped(e.P.T("wizard.nodes.empty"), w) {
		out = append(out, t.Text.Render(l))
	}
	type way struct {
		like  string
		style widget.Ink
		what  string
	}
	list := []way{{"192.168.0.11", t.Text, "wizard.nodes.way.one"},
		{"192.168.0.[11-13]", t.Text, "wizard.nodes.way.range"},
		{"web-1 192.168.0.20 worker", t.Text, "wizard.nodes.way.named"},
		{e.P.T("wizard.nodes.way.paste"), t.Key, "wizard.nodes.way.paste.is"},
		{"Ctrl+V", t.Key, "wizard.nodes.way.block"}}
	if !n.p.g.Joins() {
		list = append(list, way{"Ctrl+O", t.Key, "wizard.nodes.way.file"})
	}
	if h < len(out)+len(list)+2 {
		return out
	}
	out = append(out, "")
	for _, x := range list {
		l := new(widget.Line).Space(2).Add(x.style, x.like).To(30)
		out = append(out, l.Add(t.Dim, widget.Cut(e.P.T(x.what), w-l.Width(), t.Glyphs.Cut)).String())
	}
	return out
}

func (n *nodes) header(e *frame.Env, c columns, w int) string {
	t := e.Theme
	roles := e.P.T("wizard.col.roles")
	if !c.words {
		roles = "M W E L"
	}
	l := new(widget.Line).Space(4)
	for _, x := range []struct {
		word string
		wide int
	}{{e.P.T("wizard.col.name"), c.name}, {e.P.T("wizard.col.address"), c.ip}, {roles, c.roles},
		{e.P.T("wizard.col.state"), c.state}, {e.P.T("wizard.col.facts"), 20}} {
		l.Add(t.Dim, widget.Fit(x.word, x.wide, "")).Space(2)
	}
	return widget.Cut(l.String(), w, "")
}

func (n *nodes) row(e *frame.Env, i int, c columns, w int) string {
	t, g := e.Theme, e.Theme.Glyphs
	m := n.p.g.Draft.Machines[i]
	look := n.p.g.Probe(m)
	wrong := n.p.g.WrongMachine(i)
	mark := " "
	if n.marked[draft.MachineKey(m)] {
		mark = g.Bullet
	}
	pointer := " "
	if i == n.now() && n.mode != adding {
		pointer = g.Pointer
	}
	l := new(widget.Line).Add(t.Chosen, pointer).Space(1).Add(t.Accent, mark).Space(1)
	l.Add(t.Strong, widget.Fit(event.Clean(m.Name), c.name, g.Cut)).Space(2).Add(t.Text,
		widget.Fit(event.Clean(address(m)), c.ip, g.Cut)).Space(2)
	if c.words {
		l.Add(t.Text, widget.Fit(roleWords(e, m), c.roles, g.Cut))
	} else {
		for k, r := range guide.Roles() {
			if k > 0 {
				l.Space(1)
			}
			if m.Has(r) {
				l.Add(t.Accent, guide.RoleLetter(r))
			} else {
				l.Add(t.Faint, ".")
			}
		}
	}
	state, word := n.p.g.MachineState(e.P, i)
	glyph, st := tone(e, state)
	if n.p.g.Member(m) {
		glyph = g.OK
	}
	l.Space(2).Add(st, glyph).Space(1).Add(st, widget.Fit(word, c.state-2, g.Cut)).Space(2)
	said := facts(e, look, w-l.Width())
	switch {
	case wrong.HasErrors():
		for _, p := range wrong {
			if p.Severity == event.Error {
				said, _ = words(e, p)
				break
			}
		}
	case look != nil && look.Fault != nil:
		said, _ = faultWords(e, look.Fault)
		said = strings.TrimLeft(strings.TrimPrefix(said, m.Name), ": ：")
	}
	return l.Add(t.Dim, widget.Cut(said, w-l.Width(), g.Cut)).String()
}

// foot is what stands below the table: how many there are, what is said of the one under the cursor, and what is typed.
func (n *nodes) foot(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	if i := n.now(); n.mode == editing && i >= 0 {
		body, c := n.edit.render(e, w-2, max(4, min(12, h-8)))
		if c != nil {
			c.Y += 2
		}
		return append([]string{"", e.Theme.Strong.Render(e.P.T("wizard.nodes.edit", "name",
			n.p.g.Draft.Machines[i].Name))}, body...), c
	}
	out := []string{""}
	if len(n.p.g.Draft.Machines) > 0 {
		out = append(out, n.summary(e, w))
	}
	rest, cursor := n.input(e, w, h)
	// All rows that the table leaves, so that the advice stands with what is wrong.
	room := max(2, h/3, h-tableHead-len(n.shown())-len(out)-len(rest))
	out = append(out, some(e, n.said(e, w, h), w, room)...)
	if cursor != nil {
		cursor.Y += len(out)
	}
	return append(out, rest...), cursor
}

// some are at most so many of the lines; the last says where lines are missing.
func some(e *frame.Env, lines []string, w, most int) []string {
	if len(lines) <= most {
		return lines
	}
	cut := e.Theme.Glyphs.Cut
	last := widget.Cut(lines[most-1], w-1-widget.Width(cut), "") + " " + e.Theme.Text.Render(cut)
	return append(lines[:most-1:most-1], last)
}

// said is what is wrong, and what is known of the machine under the cursor.
func (n *nodes) said(e *frame.Env, w, h int) []string {
	var said []string
	for _, p := range n.p.g.ProblemsOf(n.id()) {
		if !strings.HasPrefix(p.Key, "machines[") && len(n.p.g.Draft.Machines) > 0 {
			// without machines it is plain what is missing
			text, next := words(e, p)
			said = append(said, complaint(e, p.Severity, text, next, w)...)
		}
	}
	i := n.now()
	if asks := n.p.g.Asking(); len(asks) > 0 && (n.mode == adding || n.mode == looking &&
		(i < 0 || !guide.AsksKey(n.probeOf(i)))) {
		said = append(said, complaint(e, event.Warning,
			e.P.T("wizard.keys.open", "count", itoa(countKeys(asks)), "key",
				map[bool]string{true: "Ctrl+F", false: "f"}[n.mode == adding]), "", w)...)
	}
	if i >= 0 && (n.mode == looking || n.mode == filtering) {
		said = append(said, n.about(e, i, w, h >= asideHigh && h >= 18+len(n.p.g.Draft.Machines))...)
	}
	return said
}

// input is what was taken last, and what is typed.
func (n *nodes) input(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	var out []string
	for _, m := range n.told[:min(len(n.told), max(1, h/8))] {
		out = append(out, t.Dim.Render(widget.Cut(e.P.Msg(m), w, g.Cut)))
	}
	if names := n.lookup.names; len(names) > 0 {
		text := e.P.T("wizard.nodes.lookup", "count", itoa(len(names)), "host", names[0])
		out = append(out, t.Busy.Render(g.Running)+" "+t.Text.Render(widget.Cut(text, w-2, g.Cut)))
	}
	switch n.mode {
	case adding:
		label := e.P.T("wizard.nodes.line") + " "
		s, x := n.line.Shown(w - widget.Width(label) - 3)
		line := t.Strong.Render(label) + t.Chosen.Render(g.Prompt) + " "
		if n.line.Value() == "" && len(n.p.g.Draft.Machines) > 0 {
			line += t.Faint.Render(widget.Cut(stands(e, e.P.T("wizard.nodes.line.example")), w-widget.Width(label)-3,
				g.Cut))
		} else {
			line += s
		}
		for _, b := range n.bad[:min(len(n.bad), max(1, h/8))] {
			out = append(out, complaint(e, event.Error, e.P.Msg(b.Why), guide.UnreadNext(e.P, b.Why), w)...)
		}
		out = append(out, line)
		return out, tea.NewCursor(widget.Width(label)+2+x, len(out)-1)
	case filtering:
		s, x := n.field.Shown(w - 4)
		out = append(out, t.Key.Render("/")+" "+s)
		return out, tea.NewCursor(2+x, len(out)-1)
	case pasting:
		return n.block(e, out, w, h)
	case looking:
		if n.filter != "" {
			out = append(out, t.Key.Render("/")+" "+t.Accent.Render(widget.Cut(n.filter, w-4, g.Cut)))
		}
	}
	return out, nil
}

// block draws the place for a block of machines.
func (n *nodes) block(e *frame.Env, out []string, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out = append(out, t.Strong.Render(e.P.T("wizard.nodes.block")))
	for _, l := range wrapped(e.P.T("wizard.nodes.block.example"), w) {
		out = append(out, t.Dim.Render(l))
	}
	if len(n.bad) > 0 {
		out = append(out, complaint(e, event.Error, e.P.T("wizard.nodes.unread-count", "count", itoa(len(n.bad))), "",
			w)...)
		for _, b := range n.bad[:min(len(n.bad), max(1, h/6))] {
			out = append(out, "  "+t.Text.Render(widget.Cut(e.P.Msg(b.Why), w-2, t.Glyphs.Cut)))
		}
	}
	rows := max(3, min(12, h/3))
	lines, x, y := n.area.Shown(w-2, rows)
	at := len(out)
	for i := range rows {
		l := ""
		if i < len(lines) {
			l = lines[i]
		}
		out = append(out, t.Chosen.Render(t.Glyphs.Vertical)+widget.Paint(t.Cursor, l, w-1, ""))
	}
	return out, tea.NewCursor(1+x, at+y)
}

// probeOf returns what is known of the machine; nil if nothing is known.
func (n *nodes) probeOf(i int) *draft.Probe {
	return n.p.g.Probe(n.p.g.Draft.Machines[i])
}

// countKeys returns the number of keys to confirm; the key of a bastion counts once for all machines behind it.
func countKeys(asks []*draft.Probe) int {
	var keys []ask.HostKey
	for _, l := range asks {
		keys = append(keys, backend.KeyOf(l))
	}
	groups, _ := ask.GroupKeys(keys)
	return len(groups)
}

// about is what is known of a machine and what is wrong with it: once, errors first, and what it is when the table has
// no room for it and it is not said elsewhere.
func (n *nodes) about(e *frame.Env, i, w int, elsewhere bool) []string {
	type said struct {
		sev        event.Severity
		text, next string
	}
	var list []said
	add := func(sev event.Severity, text, next string) {
		if !slices.ContainsFunc(list, func(s said) bool { return s.text == text }) {
			list = append(list, said{sev, text, next})
		}
	}
	l := n.probeOf(i)
	if l != nil && l.Fault != nil {
		text, next := faultWords(e, l.Fault)
		add(event.Error, text, next)
	}
	if guide.AsksKey(l) {
		key, args := "wizard.keys.one", []string{"type", l.Key.Type, "fingerprint", l.Key.Fingerprint}
		if l.Key.Serves > 0 {
			key, args = "wizard.keys.bastion", append(args, "addr", l.Key.Addr)
		}
		add(event.Warning, e.P.T(key, args...), e.P.T("wizard.keys.one.next"))
	}
	for _, p := range n.p.g.WrongMachine(i) {
		text, next := words(e, p)
		add(p.Severity, text, next)
	}
	if l != nil {
		for _, f := range l.Findings {
			text, next := e.P.Fault(&f.Fault)
			add(f.Severity, event.Clean(text), event.Clean(next))
		}
	}
	slices.SortStableFunc(list, func(a, b said) int { return strings.Compare(string(a.sev), string(b.sev)) })
	var out []string
	if f := facts(e, l, 1<<20); f != "" && !elsewhere && widget.Width(f) > w-n.factsFrom(e, w) {
		for _, line := range wrapped(n.p.g.Draft.Machines[i].Name+": "+f, w) {
			out = append(out, e.Theme.Dim.Render(line))
		}
	}
	for _, s := range list {
		out = append(out, complaint(e, s.sev, s.text, s.next, w)...)
	}
	return out
}

// factsFrom is the cell from which on a row says what a machine is.
func (n *nodes) factsFrom(e *frame.Env, w int) int {
	c := n.columns(e, w)
	return 4 + c.name + 2 + c.ip + 2 + c.roles + 2 + c.state + 2
}
