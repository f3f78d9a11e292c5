package pages

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Render implements frame.Page.
func (p *Menu) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := p.head(e, w, h >= 30)
	list := p.entries()
	at := p.index(list)
	left := 0
	for _, x := range list {
		wide := widget.Width(e.P.T("menu." + x.id))
		if x.why != "" && e.Theme.NoGrey {
			wide += 4 + widget.Width(e.P.T("plain.not-now"))
		}
		left = max(left, wide)
	}
	left = min(left+8, w-6)
	beside := w >= 100
	if beside {
		left = max(left, 40)
	}
	gap := 0 // between entries, where there is room
	if h-len(out) > 2*len(list)+12 || beside && h-len(out) > 2*len(list)+4 {
		gap = 1
	}
	tight := h-len(out)-len(list) < 10 // what the panel says needs the room
	var rows []string
	p.rows = p.rows[:0]
	for i, x := range list {
		p.rows = append(p.rows, spot{len(out) + len(rows), x.id})
		rows = append(rows, p.entry(e, x, i == at, left))
		if i == 0 && !tight || gap > 0 {
			rows = append(rows, "")
		}
	}
	if beside {
		room := h - len(out)
		panel := p.panel(e, list[at], w-left-8, room)
		panel = p.known(e, panel, w-left-8, room)
		panel, rows = widget.Block(panel, w-left-8, room, t.Glyphs.Cut), widget.Block(rows, left, room, t.Glyphs.Cut)
		for i := range rows {
			bar := t.Border.Render(t.Glyphs.Vertical)
			if i >= room-1 {
				bar = " "
			}
			out = append(out, rows[i]+"  "+bar+"   "+panel[i])
		}
		return out, nil
	}
	out = append(out, rows...)
	out = append(out, t.Border.Render(strings.Repeat(t.Glyphs.Rule, w)))
	return append(out, indent(p.panel(e, list[at], w-6, h-len(out)), 3)...), nil
}

// known puts the clusters of this machine below what an entry says, as many as there is room for.
func (p *Menu) known(e *frame.Env, panel []string, w, h int) []string {
	room := h - len(panel) - 4
	if len(p.clusters) == 0 || room < 3 {
		return panel
	}
	n := min(len(p.clusters), room)
	if n < len(p.clusters) {
		n--
	}
	panel = append(panel, "", "", e.Theme.Dim.Render(e.P.T("menu.here")))
	for _, c := range p.clusters[:n] {
		panel = append(panel, clusterLine(e, c, w, p.names(w)))
	}
	if n < len(p.clusters) {
		panel = append(panel, e.Theme.Dim.Render(e.P.T("menu.more", "count", fmt.Sprint(len(p.clusters)-n))))
	}
	return panel
}

// names is how wide the names of clusters are.
func (p *Menu) names(w int) int {
	n := 8
	for _, c := range p.clusters {
		n = max(n, widget.Width(event.Clean(c.Name)))
	}
	return min(n, w/3)
}

// head is the name of the program, with an egg.
func (p *Menu) head(e *frame.Env, w int, tall bool) []string {
	t, g := e.Theme, e.Theme.Glyphs
	right := event.Clean(p.d.Version)
	words := e.P.T("menu.slogan")
	known := ""
	switch n := len(p.clusters); {
	case !p.loaded:
		known = e.P.T("menu.reading")
	case n == 0:
		known = e.P.T("menu.knows-none")
	case n == 1:
		known = e.P.T("menu.knows-one", "name", p.clusters[0].Name)
	default:
		known = e.P.T("menu.knows", "count", fmt.Sprint(n))
	}
	one := new(widget.Line).Space(3).Add(t.Strong, g.TopLeft+g.Horizontal+g.Horizontal+g.Horizontal+g.TopRight)
	two := new(widget.Line).Space(3).Add(t.Strong, g.Vertical).Space(1).Add(t.Brand, g.Yolk).Space(1).Add(t.Strong,
		g.Vertical).Space(2).Add(t.Strong, "egg").Add(t.Brand, "o").Space(3)
	two.Add(t.Text, widget.Cut(words, w-two.Width()-widget.Width(right)-4, g.Cut))
	two.To(w-widget.Width(right)-3).Add(t.Dim, right)
	three := new(widget.Line).Space(3).Add(t.Strong,
		g.BottomLeft+g.Horizontal+g.Horizontal+g.Horizontal+g.BottomRight).Space(2)
	three.Add(t.Dim, widget.Cut(known, w-three.Width()-3, g.Cut))
	out := []string{one.String(), two.String(), three.String(), t.Border.Render(strings.Repeat(g.Rule, w))}
	if tall {
		out = append(append([]string{""}, out...), "")
	}
	return out
}

// entry draws a row of the list.
func (p *Menu) entry(e *frame.Env, x entry, on bool, w int) string {
	t := e.Theme
	l := new(widget.Line).Space(1)
	if on {
		l.Add(t.Chosen, t.Glyphs.Pointer)
	} else {
		l.Space(1)
	}
	number := t.Key
	style := t.Text
	switch {
	case x.why != "":
		number, style = t.Faint, t.Idle
	case on:
		style = t.Strong
	}
	l.Space(2).Add(number, x.key).Space(2).Add(style, e.P.T("menu."+x.id))
	if x.why != "" && t.NoGrey { // where there are no colours, what cannot be done now is told by a word
		l.Space(2).Add(t.Idle, "("+e.P.T("plain.not-now")+")")
	}
	return widget.Fit(l.String(), w, t.Glyphs.Cut)
}

// panel says what an entry would do, and on what, in h lines: with what became of the newest run where there is room.
func (p *Menu) panel(e *frame.Env, x entry, w, h int) []string {
	out := p.says(e, x, w, len(x.of), true)
	if x.why != "" && len(out) > h { // why it cannot be done now comes before what it is
		why := wrapped(e.Theme.Warn, e.Theme.Glyphs.Blocked+" "+e.P.T(x.why), w)
		return append(out[:1], why...)
	}
	for n := len(x.of); len(out) > h && n > 0; n-- {
		out = p.says(e, x, w, n, false)
	}
	return out
}

// says is the panel with so many of the clusters.
func (p *Menu) says(e *frame.Env, x entry, w, most int, whole bool) []string {
	t := e.Theme
	out := []string{t.Title.Render(widget.Cut(e.P.T("menu."+x.id), w, t.Glyphs.Cut))}
	out = append(out, wrapped(t.Text, e.P.T("menu."+x.id+".what"), w)...)
	if x.why != "" {
		return append(append(out, ""), wrapped(t.Warn, t.Glyphs.Blocked+" "+e.P.T(x.why), w)...)
	}
	if len(x.of) > 0 {
		out = append(out, "")
	}
	for i, c := range x.of {
		if i == most || i == 4 && len(x.of) > 5 {
			out = append(out, t.Dim.Render(e.P.T("menu.more", "count", fmt.Sprint(len(x.of)-i))))
			break
		}
		out = append(out, clusterLine(e, c, w, p.names(w)))
		if r := last(c); i == 0 && r.Run != "" {
			out = append(out, indent(waits(e, r, w-2), 2)...)
			if !whole {
				continue
			}
			line := verb(e, r.Verb) + "  " + ago(e, r.At)
			if r.Took > 0 {
				line += "  " + took(r.Took)
			}
			out = append(out, "  "+t.Dim.Render(widget.Cut(line, w-2, t.Glyphs.Cut)))
			if r.Fault != nil && c.Broken() {
				text, _ := e.P.Fault(r.Fault)
				out = append(out, indent(wrapped(t.Dim, text, w-2), 2)...)
			}
			if x.id == "resume" && c.Leaves() {
				out = append(out, indent(wrapped(t.Text, t.Glyphs.Arrow+" "+e.P.T("menu.resume."+r.Verb), w-2), 2)...)
			}
			if c.File == "" && c.Tried != "" {
				out = append(out, indent(wrapped(t.Text, t.Glyphs.Arrow+" "+e.P.T("menu.tried", "file", c.Tried), w-2),
					2)...)
			}
		}
	}
	if x.id == "build" && p.net.asked {
		out = append(append(out, ""), p.net.says(e, w)...)
	}
	if p.fault != nil {
		out = append(append(out, ""), told(e, p.fault, w)...)
	}
	return out
}

// waits says which steps of a run wait for a decision, and why: the first two, and how many more.
func waits(e *frame.Env, r request.Run, w int) []string {
	if r.Said() != request.Waiting {
		return nil
	}
	var out []string
	for i, x := range r.Waits {
		if i == 2 {
			return append(out, e.Theme.Dim.Render(e.P.T("menu.more", "count", fmt.Sprint(len(r.Waits)-i))))
		}
		node := event.Clean(x.Node)
		if node == "" {
			node = e.P.T("report.jump-host")
		}
		out = append(out, wrapped(e.Theme.Bad, e.Theme.Glyphs.Ignored+" "+e.P.T("menu.waits", "node", node, "step",
			e.P.Msg(x.Title), "ago", ago(e, x.Since)), w)...)
		if x.Fault != nil {
			text, _ := e.P.Fault(x.Fault)
			out = append(out, indent(wrapped(e.Theme.Dim, text, w-2), 2)...)
		}
	}
	return out
}

// clusterLine is a cluster in one line: how it is, its name, of what it is made.
func clusterLine(e *frame.Env, c request.ClusterRuns, w, name int) string {
	t := e.Theme
	word, style := status(e, c.Said())
	wide := 0
	for _, s := range []string{request.Running, request.Waiting, request.Installed, request.Failed, request.Interrupted,
		request.Removed, request.Moved, request.Unknown} {
		said, _ := status(e, s)
		wide = max(wide, widget.Width(said))
	}
	l := new(widget.Line).Add(t.Strong, widget.Fit(event.Clean(c.Name), name, t.Glyphs.Cut)).Space(2).Add(style,
		widget.Fit(word, wide, ""))
	if m := members(e, c); m != "" {
		l.Space(2).Add(t.Dim, m)
	}
	return widget.Cut(l.String(), w, t.Glyphs.Cut)
}
