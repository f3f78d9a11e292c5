package wizard

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

func itoa(n int) string { return strconv.Itoa(n) }

// railSpot is where a step stands in the list of steps.
type railSpot struct{ step, y, from, to int }

const (
	sideFrom = 110 // cells of the screen from which the steps stand at its left
	sideWide = 26
)

// state is a step's glyph, style and word.
func (p *Page) state(e *frame.Env, i int) (glyph string, st widget.Ink, word string) {
	t, g := e.Theme, e.Theme.Glyphs
	s := p.steps[i]
	errors, _ := p.problemsOf(s).Count()
	switch {
	case i == p.at:
		return g.Running, t.Yolk, "wizard.state.now"
	case errors > 0 && p.been[s.id()], p.been[s.id()] && unfit(s):
		return g.Ignored, t.Warn, "wizard.state.look"
	case !done(s):
		return g.Waiting, t.Idle, "wizard.state.todo"
	case p.been[s.id()]:
		return g.OK, t.Good, "wizard.state.done"
	}
	return g.Waiting, t.Idle, "wizard.state.todo"
}

// unfit says whether a step has found by itself that something is not as it has to be.
func unfit(s step) bool {
	f, is := s.(*preflight)
	return is && f.ended && !f.passed()
}

// done says whether a step can be behind one: preflight is when it has passed for what the draft is now, the review never is.
func done(s step) bool {
	switch s := s.(type) {
	case *preflight:
		return s.passed()
	case *review:
		return false
	}
	return true
}

// Render implements frame.Page.
func (p *Page) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	p.rail = p.rail[:0]
	if w >= sideFrom {
		return p.beside(e, w, h)
	}
	head := []string{p.top(e, w), e.Theme.Border.Render(strings.Repeat(e.Theme.Glyphs.Rule, w))}
	p.body.x, p.body.y = 1, len(head)
	body, c := p.step(e, w-2, h-len(head))
	for _, l := range body {
		head = append(head, " "+widget.Fit(l, w-2, e.Theme.Glyphs.Cut)+" ")
	}
	if c != nil {
		c.X, c.Y = c.X+1, c.Y+2
	}
	return head, c
}

// beside draws the steps at the left.
func (p *Page) beside(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	side := []string{""}
	for i, s := range p.steps {
		glyph, st, word := p.state(e, i)
		name, style := e.P.T("wizard.step."+s.id()), t.Dim
		if i == p.at {
			style = t.Strong
		}
		mark := " "
		if i == p.at {
			mark = t.Chosen.Render(t.Glyphs.Pointer)
		}
		said := e.P.T(word)
		l := new(widget.Line).Space(1).Add(st, glyph).Space(1).Add(style, widget.Cut(name, sideWide-8-widget.Width(said), t.Glyphs.Cut))
		l.To(sideWide-3-widget.Width(said)).Add(st, said)
		p.rail = append(p.rail, railSpot{i, len(side), 0, sideWide})
		side = append(side, mark+l.String())
		if h > 2*len(p.steps)+4 {
			side = append(side, "")
		}
	}
	p.body.x, p.body.y = sideWide+1, 1
	inner := min(w-sideWide-3, 150)
	body, c := p.step(e, inner, h-1)
	out := make([]string, 0, h)
	edge := t.Border.Render(t.Glyphs.Vertical)
	for i := range h {
		l, r := "", ""
		if i < len(side) {
			l = side[i]
		}
		if i > 0 && i-1 < len(body) {
			r = body[i-1]
		}
		out = append(out, widget.Fit(l, sideWide-1, "")+edge+" "+widget.Fit(r, w-sideWide-1, t.Glyphs.Cut))
	}
	if c != nil {
		c.X, c.Y = c.X+sideWide+1, c.Y+1
	}
	return out, c
}

// top draws the steps in one line: as many as fit, the one that is shown among them.
func (p *Page) top(e *frame.Env, w int) string {
	t := e.Theme
	count := itoa(p.at+1) + "/" + itoa(len(p.steps))
	room := w - widget.Width(count) - 3
	wide := func(i int) int { return 2 + widget.Width(e.P.T("wizard.step."+p.steps[i].id())) + 2 }
	from := p.at
	used := wide(p.at)
	to := p.at + 1
	for grown := true; grown; {
		grown = false
		if to < len(p.steps) && used+wide(to) <= room {
			used, to, grown = used+wide(to), to+1, true
		}
		if from > 0 && used+wide(from-1) <= room {
			used, from, grown = used+wide(from-1), from-1, true
		}
	}
	l := new(widget.Line).Space(1)
	for i := from; i < to; i++ {
		glyph, st, _ := p.state(e, i)
		style := t.Dim
		if i == p.at {
			style = t.Strong
		}
		at := l.Width()
		l.Add(st, glyph).Space(1).Add(style, e.P.T("wizard.step."+p.steps[i].id())).Space(2)
		p.rail = append(p.rail, railSpot{i, 0, at, l.Width()})
	}
	return l.To(w-widget.Width(count)-1).Add(t.Yolk, count).Space(1).String()
}

// step draws the heading of a step and the step below it.
func (p *Page) step(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	s := p.steps[p.at]
	head := []string{t.Title.Render(e.P.T("wizard.head." + s.id()))}
	if h > 14 {
		about := e.P.T("wizard.about." + s.id())
		if p.joins() && s.id() == "nodes" {
			about = e.P.T("wizard.add.about")
		}
		if t.Mono && s.id() == "cluster" {
			about = e.P.T("wizard.about.cluster.mono")
		}
		for _, l := range wrapped(about, w) {
			head = append(head, t.Dim.Render(l))
		}
		head = append(head, "")
	}
	p.body.y += len(head)
	body, c := s.render(e, w, max(0, h-len(head)))
	if c != nil {
		c.Y += len(head)
	}
	return append(head, body...), c
}

// complaint are the lines of a problem: what is wrong, and what to write instead.
func complaint(e *frame.Env, sev event.Severity, text, next string, w int) []string {
	t := e.Theme
	glyph, st := t.Glyphs.Failed, t.Bad
	if sev == event.Warning {
		glyph, st = t.Glyphs.Ignored, t.Warn
	}
	var out []string
	for i, l := range wrapped(text, w-2) {
		lead := glyph + " "
		if i > 0 {
			lead = "  "
		}
		out = append(out, st.Render(lead+l))
	}
	for i, l := range wrapped(next, w-4) {
		lead := "  " + t.Glyphs.Arrow + " "
		if i > 0 {
			lead = "    "
		}
		out = append(out, t.Text.Render(lead+l))
	}
	return out
}
