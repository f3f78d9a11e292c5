package wizard

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

func itoa(n int) string { return strconv.Itoa(n) }

// railSpot is where a step stands in the list of steps.
type railSpot struct{ step, y, from, to int }

const (
	sideFrom = 110 // cells of the screen from which the steps stand at its left
	sideWide = 29
)

// railState is a step's glyph, style and words.
type railState struct {
	glyph  string
	st     widget.Ink
	word   string
	errors int
}

func (p *Page) states(e *frame.Env) []railState {
	out := make([]railState, len(p.steps))
	for i := range p.steps {
		state, word, errors := p.g.StepState(e.P, i)
		glyph, st := tone(e, state)
		out[i] = railState{glyph, st, word, errors}
	}
	return out
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
	for i, x := range p.states(e) {
		s, said := p.steps[i], x.word
		name, style := s.id().Title(e.P), t.Dim
		if i == p.g.At {
			style = t.Strong
		}
		mark := " "
		if i == p.g.At {
			mark = t.Chosen.Render(t.Glyphs.Pointer)
		}
		l := new(widget.Line).Space(1).Add(x.st, x.glyph).Space(1).Add(style,
			widget.Cut(name, sideWide-8-widget.Width(said), t.Glyphs.Cut))
		l.To(sideWide-3-widget.Width(said)).Add(x.st, said)
		p.rail = append(p.rail, railSpot{i, len(side), 0, sideWide})
		side = append(side, mark+l.String())
		if h > 2*len(p.steps)+4 {
			side = append(side, "")
		}
	}
	p.body.x, p.body.y = sideWide+1, 1
	inner := min(w-sideWide-3, 170)
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
	count := itoa(p.g.At+1) + "/" + itoa(len(p.steps))
	room := w - widget.Width(count) - 3 - 4 // for the signs that there are more
	states := p.states(e)
	name := func(i int) string { // with the number of its errors, for there is no room for the word
		name := p.steps[i].id().Title(e.P)
		if n := states[i].errors; n > 0 {
			name += " " + itoa(n)
		}
		return name
	}
	wide := func(i int) int { return 2 + widget.Width(name(i)) + 2 }
	from := p.g.At
	used := wide(p.g.At)
	to := p.g.At + 1
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
	if from > 0 {
		l.Add(t.Dim, t.Glyphs.Cut).Space(1)
	}
	for i := from; i < to; i++ {
		x, style := states[i], t.Dim
		if x.errors > 0 {
			style = x.st
		}
		if i == p.g.At {
			style = t.Strong
		}
		at := l.Width()
		l.Add(x.st, x.glyph).Space(1).Add(style, name(i)).Space(2)
		p.rail = append(p.rail, railSpot{i, 0, at, l.Width()})
	}
	if to < len(p.steps) {
		l.Add(t.Dim, t.Glyphs.Cut)
	}
	return l.To(w-widget.Width(count)-1).Add(t.Accent, count).Space(1).String()
}

// step draws the heading of a step and the step below it.
func (p *Page) step(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	s := p.steps[p.g.At]
	head := []string{t.Title.Render(s.id().Heading(e.P))}
	if h > 14 && (s.id() != "review" || h > 20) { // there the preview needs the lines
		about := p.g.About(e.P, s.id(), !t.NoGrey)
		for _, l := range wrapped(about, w) {
			head = append(head, t.Dim.Render(l))
		}
		head = append(head, "")
	}
	p.body.y += len(head)
	body, c := p.withAside(e, s, w, max(0, h-len(head)))
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
