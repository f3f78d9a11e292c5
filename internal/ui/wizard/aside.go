package wizard

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// What helps at a step stands beside it on wide screens and below it on high ones. Where there is no room, the help
// has it.

const (
	asideWide  = 46  // cells that what stands at the right takes at least
	asideMost  = 66  // and at most
	asideHigh  = 24  // lines of a step from which on something stands below it
	formWide   = 86  // cells that a step needs beside it
	tableWide  = 118 // that a table needs
	asideInset = 3   // cells between the two
)

// adviser is a step that has advice.
type adviser interface {
	// advice returns topics, the most important first, and the width that the step needs to have some at its right.
	advice(e *frame.Env) (list []guide.Topic, wide int)
}

// withAside draws a step with what helps at it.
func (p *Page) withAside(e *frame.Env, s step, w, h int) ([]string, *tea.Cursor) {
	p.body.w = w
	a, is := s.(adviser)
	if !is {
		return s.render(e, w, h)
	}
	list, wide := a.advice(e)
	if len(list) > 0 && w >= wide+asideInset+asideWide {
		room := min(asideMost, w-wide-asideInset)
		p.body.w = w - asideInset - room
		if f, is := s.(*form); is {
			f.tight = false
		}
		body, c := s.render(e, p.body.w, h)
		return beside(e, body, topicLines(e, list, room, h), p.body.w, h), c
	}
	if f, is := s.(*form); is { // decided by what does not change while a person types
		all := len(topicLines(e, list, w, 1<<20))
		f.tight = h >= asideHigh && 2*len(f.visible())+5+all > h
	}
	body, c := s.render(e, w, h)
	if h < asideHigh {
		return body, c
	}
	used := len(body)
	for used > 0 && strings.TrimSpace(body[used-1]) == "" {
		used--
	}
	below := topicLines(e, list, w, h-used-2)
	if len(below) == 0 {
		return body, c
	}
	out := body[:used:used]
	for len(out) < h-len(below)-1 {
		out = append(out, "")
	}
	return append(out, below...), c
}

// beside puts lines at the right of a step.
func beside(e *frame.Env, left, right []string, w, h int) []string {
	edge := " " + e.Theme.Border.Render(e.Theme.Glyphs.Vertical) + " "
	out := make([]string, 0, h)
	for i := range min(h, max(len(left), len(right))) {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		out = append(out, widget.Fit(l, w, e.Theme.Glyphs.Cut)+edge+r)
	}
	return out
}

// topicLines returns as many of the topics as fit, each whole.
func topicLines(e *frame.Env, list []guide.Topic, w, h int) []string {
	var out []string
	for _, x := range list {
		lines := topicBlock(e, x, w)
		if len(out) > 0 {
			lines = append([]string{""}, lines...)
		}
		if len(out)+len(lines) <= h {
			out = append(out, lines...)
		}
	}
	return out
}

// topicBlock returns the lines of a topic: its title in a rule, then its tips with labels in a column of their own.
func topicBlock(e *frame.Env, x guide.Topic, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	title := widget.Cut(x.Title, w-6, g.Cut)
	head := new(widget.Line).Add(t.Border, strings.Repeat(g.Rule, 2)).Space(1).Add(t.Title, title).Space(1)
	head.Add(t.Border, strings.Repeat(g.Rule, max(0, w-head.Width())))
	out := []string{head.String()}
	wide := 0
	for _, y := range x.Tips {
		wide = max(wide, widget.Width(tipLabel(e, y)))
	}
	wide = min(wide, w/3)
	for _, y := range x.Tips {
		mark := "  "
		_, style := tone(e, y.Tone)
		if y.On {
			mark, style = t.Chosen.Render(g.Bullet)+" ", t.Strong
		}
		text := wrapped(y.Text, max(1, w-wide-4))
		if len(text) == 0 {
			text = []string{""}
		}
		for i, l := range text {
			label := ""
			if i > 0 {
				mark = "  "
			} else {
				label = widget.Cut(tipLabel(e, y), wide, g.Cut)
			}
			out = append(out, mark+new(widget.Line).Add(style, label).To(wide+2).Add(t.Dim, l).String())
		}
	}
	return out
}

// tipLabel returns the label of a tip, with the sign of its state.
func tipLabel(e *frame.Env, x guide.Tip) string {
	if glyph, _ := tone(e, x.Tone); glyph != "" {
		return glyph + " " + x.Label
	}
	return x.Label
}

// Explain implements frame.Explainer: what has no room beside the step.
func (p *Page) Explain(e *frame.Env, w int) []string {
	a, is := p.steps[p.g.At].(adviser)
	if !is {
		return nil
	}
	var out []string
	list, _ := a.advice(e)
	for _, x := range list {
		out = append(append(out, ""), topicBlock(e, x, w)...)
	}
	return out
}
