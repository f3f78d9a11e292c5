package pages

import (
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Render implements frame.Page.
func (p *Upgrade) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	head := append(p.head(e, w-6), "")
	if !p.have {
		return indent(append(head, p.task.lines(e, w-6)...), 3), nil
	}
	head = indent(head, 3)
	body, cursor := p.form(e, w)
	if foot := p.foot(e, w-6); len(head)+len(body)+len(foot)+1 <= h {
		body = append(append(body, ""), indent(foot, 3)...)
	}
	room := max(1, h-len(head))
	first, last := p.lines()
	p.top = max(0, min(p.top, first, len(body)-room), last-room+1)
	if cursor != nil {
		cursor.Y += len(head) - p.top
	}
	p.top -= len(head) // a click counts from the page's first line
	return append(head, body[p.top+len(head):]...), cursor
}

// lines are the first and the last that the row under the cursor has.
func (p *Upgrade) lines() (first, last int) {
	first = -1
	for y, row := range p.spots {
		if row == p.at {
			if last = y; first < 0 {
				first = y
			}
		}
	}
	return max(0, first), last
}

// head is the cluster, and over which versions it comes to which.
func (p *Upgrade) head(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	l := new(widget.Line).Add(t.Title, event.Clean(p.c.Name)).Space(2).Add(t.Dim, members(e, p.c))
	out := []string{widget.Cut(l.String(), w, g.Cut)}
	if p.found.From == "" {
		return out
	}
	l = new(widget.Line).Add(t.Strong, "Kubernetes "+event.Clean(p.found.From))
	for _, hop := range p.way.Hops {
		l.Space(1).Add(t.Accent, g.Arrow).Space(1).Add(t.Strong, event.Clean(hop.Version)).Space(1).Add(t.Dim,
			"("+e.P.List(hop.Arches)+")")
	}
	out = append(out, widget.Cut(l.String(), w, g.Cut))
	for _, m := range p.way.Lacks(p.found.Arches) {
		out = append(out, wrapped(t.Warn, g.Ignored+" "+e.P.Msg(m), w)...)
	}
	if p.leads.fault != nil {
		text, next := e.P.FaultIn("form", p.leads.fault)
		out = append(out, toldIn(e, text, next, w)...)
	}
	return out
}

// foot is in which order things happen.
func (p *Upgrade) foot(e *frame.Env, w int) []string {
	q, err := p.options().Request(p.c.Name, nil)
	if err != nil {
		text, next := e.P.FaultIn("form", event.AsFault(err))
		return toldIn(e, text, next, w)
	}
	if len(p.way.Hops) == 0 {
		return nil
	}
	return ahead(e, p.c, p.way, q, w)
}

// form are the rows.
func (p *Upgrade) form(e *frame.Env, w int) ([]string, *tea.Cursor) {
	t := e.Theme
	var out []string
	var cursor *tea.Cursor
	p.spots = p.spots[:0]
	put := func(row int, lines ...string) {
		for _, l := range lines {
			out, p.spots = append(out, l), append(p.spots, row)
		}
	}
	label := widget.Width(e.P.T("upgrade.path"))
	for _, id := range upgradeTexts() {
		label = max(label, widget.Width(e.P.T("upgrade."+id)))
	}
	if len(p.found.Bundles) == 0 {
		put(-1, indent(wrapped(t.Warn, e.P.T("upgrade.none"), w-6), 3)...)
	}
	for row := range p.rows() {
		g, i := p.where(row)
		if i == 0 && (g == ofTexts || g == ofCheck) {
			put(-1, "")
		}
		l := new(widget.Line).Space(1)
		if row == p.at {
			l.Add(t.Chosen, t.Glyphs.Pointer).Space(1)
		} else {
			l.Space(2)
		}
		if g == ofPath || g == ofTexts {
			c, text := p.typed(e, l, g, i, label, w)
			if put(row, text); row == p.at {
				cursor = tea.NewCursor(c, len(out)-1)
			}
			continue
		}
		put(row, widget.Cut(l.Raw(p.row(e, g, i, row == p.at, w-l.Width()-1)).String(), w-1, t.Glyphs.Cut))
		if g == ofBundles && p.found.Bundles[i].Fault != nil {
			put(row, indent(told(e, p.found.Bundles[i].Fault, w-13), 7)...)
		}
	}
	return out, cursor
}

// typed is a row with a field, and the cell of its cursor.
func (p *Upgrade) typed(e *frame.Env, l *widget.Line, g upgradeGroup, i, label, w int) (int, string) {
	t, name, f := e.Theme, "path", &p.path
	if g == ofTexts {
		name, f = upgradeTexts()[i], &p.texts[i]
	}
	l.Add(t.Strong, widget.Fit(e.P.T("upgrade."+name), label, "")).Space(2)
	at := l.Width()
	text, x := f.Shown(w - at - 2)
	l.Add(t.Text, text)
	hint := e.P.T("upgrade." + name + ".hint")
	if room := max(at+12, l.Width()+3); room+widget.Width(hint) < w-1 {
		l.To(room).Add(t.Dim, hint)
	}
	return at + x, l.String()
}

// row is a row that is chosen.
func (p *Upgrade) row(e *frame.Env, g upgradeGroup, i int, on bool, w int) string {
	t := e.Theme
	style := t.Text
	if on {
		style = t.Strong
	}
	box := func(is bool) *widget.Line {
		mark := "[ ]"
		if is {
			mark = "[" + t.Glyphs.Bullet + "]"
		}
		return new(widget.Line).Add(t.Accent, mark).Space(1)
	}
	switch g {
	case ofBundles:
		return p.bundle(e, box, style, p.found.Bundles[i], w)
	case ofBoxes:
		return box(p.boxes[i]).Add(style, e.P.T("upgrade."+upgradeBoxes()[i])).String()
	}
	return new(widget.Line).Add(t.Brand, t.Glyphs.Arrow).Space(1).Add(style, e.P.T("upgrade.check-row")).String()
}

// bundle is the row of one: of which version it is, for what, and its file.
func (p *Upgrade) bundle(e *frame.Env, box func(bool) *widget.Line, style widget.Ink, b backend.Found, w int) string {
	t, version, os := e.Theme, 7, 0
	for _, x := range p.found.Bundles {
		version, os = max(version, widget.Width(x.Kubernetes)), max(os, widget.Width(x.OS))
	}
	l := box(p.chosen[b.Path])
	if b.Fault != nil {
		return l.Add(t.Bad, event.Clean(b.Path)).String()
	}
	l.Add(style, widget.Fit(event.Clean(b.Kubernetes), version, "")).Space(2).Add(t.Text,
		widget.Fit(event.Clean(b.Arch), 5, "")).Space(2).Add(t.Dim, widget.Fit(event.Clean(b.OS), min(os, 20),
		t.Glyphs.Cut)).Space(2)
	size := report.Size(b.Size)
	name := event.Clean(b.Path)
	if room := w - l.Width() - widget.Width(size) - 2; widget.Width(name) > room {
		name = event.Clean(filepath.Base(b.Path))
	}
	return l.Add(t.Text, widget.Cut(name, w-l.Width()-widget.Width(size)-2, t.Glyphs.Cut)).Space(2).Add(t.Dim,
		size).String()
}
