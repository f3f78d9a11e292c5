package pages

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Tell shows the answer to a query: status, a plan.
type Tell struct {
	quiet
	task
	d      *Deps
	title  string // of i18n
	name   string // cluster
	query  backend.Query
	answer backend.Answer // nil: none yet
	lines  []document.Line
	wrap   bool // lines that are too long go on below; else they are moved to the left and right, as those of a table
	top    int
	left   int    // cells that are out of sight at the left
	n, h   int    // lines in all, and those in sight, as drawn last
	over   int    // cells of the text that are out of sight at the right when left is 0
	word   string // of i18n: what Enter leads to; "" nothing
	do     func() tea.Cmd
	even   bool                               // Enter leads there though the text could not be had
	above  func(e *frame.Env, w int) []string // lines before the text, also while it is waited for; nil: none
}

// NewTell makes the page of a query.
func NewTell(d *Deps, title, name string, q backend.Query) *Tell {
	return &Tell{d: d, title: title, name: name, query: q}
}

// then says what Enter leads to when the text has been shown.
func (p *Tell) then(word string, do func() tea.Cmd) { p.word, p.do = word, do }

// Init implements frame.Page.
func (p *Tell) Init(e *frame.Env) tea.Cmd { return p.begin(e) }

// begin asks, once more if it has before.
func (p *Tell) begin(*frame.Env) tea.Cmd {
	p.answer, p.lines, p.top, p.left = nil, nil, 0, 0
	get, q := p.d.S.Read, p.query
	return p.task.show(event.M("tell.asking"), func(ctx context.Context, to *teller) (any, error) {
		answer, err := get(ctx, q, to)
		if err != nil && answer != nil { // what was found all the same
			to.moved(answer)
		}
		return answer, err
	})
}

// Update implements frame.Page.
func (p *Tell) Update(m tea.Msg, e *frame.Env) tea.Cmd {
	c, result, _ := p.take(m)
	if answer, ok := result.(backend.Answer); ok {
		p.answer = answer
		p.say(e)
	}
	return c
}

// Spoken implements frame.Speaker.
func (p *Tell) Spoken(e *frame.Env) tea.Cmd {
	p.say(e)
	return nil
}

// say has the answer said in the language of the screen.
func (p *Tell) say(e *frame.Env) {
	if p.answer != nil {
		p.lines = p.answer(e.P).Lines()
	}
}

func (p *Tell) move(n int) func() tea.Cmd {
	return func() tea.Cmd { p.top = max(0, min(p.top+n, p.n-p.h)); return nil }
}

func (p *Tell) shift(n int) func() tea.Cmd {
	return func() tea.Cmd { p.left = max(0, min(p.left+n, p.over)); return nil }
}

// Keys implements frame.Page.
func (p *Tell) Keys(e *frame.Env) []frame.Binding {
	keys := []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: p.move(-1)},
		{Keys: []string{"down", "j"}, Do: p.move(1), Help: true},
		{Keys: []string{"pgup", "b"}, Show: "PgUp PgDn", Word: "ui.key.page", Do: p.move(1 - p.h), Help: true},
		{Keys: []string{"pgdown", "space"}, Do: p.move(p.h - 1), Help: true},
		{Keys: []string{"home", "g"}, Do: p.move(-1 << 30), Help: true},
		{Keys: []string{"end", "G"}, Do: p.move(1 << 30), Help: true},
		{Keys: []string{"left", "h"}, Show: "← →", Word: "ui.key.sideways", Do: p.shift(-sideways), Help: p.over == 0},
		{Keys: []string{"right", "l"}, Do: p.shift(sideways), Help: true},
		{Keys: []string{"r"}, Word: "ui.key.again", Do: func() tea.Cmd { return p.begin(e) }},
	}
	if p.do != nil && !p.busy && (p.fault == nil || p.even) {
		keys = append([]frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: p.word, Do: p.do, Now: true}},
			keys...)
	}
	return keys
}

// sideways is how many cells a key moves text that is wider than the screen.
const sideways = 16

// Wheel implements frame.Wheeler.
func (p *Tell) Wheel(n int, _ *frame.Env) tea.Cmd { return p.move(n)() }

// Render implements frame.Page.
func (p *Tell) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := []string{"   " + t.Title.Render(event.Clean(p.name)), ""}
	out = append(out, indent(p.task.lines(e, w-6), 3)...)
	var body []string
	if p.above != nil {
		body = indent(p.above(e, w-6), 3)
	}
	p.over = 0
	lines := make([]document.Line, len(p.lines))
	for i, l := range p.lines {
		lines[i] = signed(e, l)
		if wide := widget.Width(lines[i].Text()) - (w - 4); !p.wrap && wide > 0 {
			p.over = max(p.over, wide+1) // one more, for the sign of what is cut off at the left
		}
	}
	p.left = min(p.left, p.over)
	for _, l := range lines {
		if p.wrap {
			for _, row := range hanging(l, w-4) {
				body = append(body, "   "+drawn(e, row))
			}
			continue
		}
		row := widget.From(drawn(e, l), p.left, t.Glyphs.Cut)
		body = append(body, "   "+widget.Cut(row, w-4, t.Glyphs.Cut))
	}
	p.n, p.h = len(body), h-len(out)
	p.top = max(0, min(p.top, p.n-p.h))
	return append(out, body[p.top:min(p.n, p.top+max(0, p.h))]...), nil
}

// signed is a line with a sign before it if it is good or bad as a whole. It is measured and broken with it.
func signed(e *frame.Env, l document.Line) document.Line {
	if len(l.Cells) != 1 {
		return l
	}
	sign, c := "", l.Cells[0]
	switch c.Emphasis {
	case document.Good:
		sign = e.Theme.Glyphs.OK + " "
	case document.Bad:
		sign = e.Theme.Glyphs.Failed + " "
	default:
		return l
	}
	return document.Line{Cells: []document.Cell{{Text: sign, Emphasis: c.Emphasis}, c}, Under: widget.Width(sign)}
}

// drawn is a line with the colours of what it means.
func drawn(e *frame.Env, l document.Line) string {
	t := e.Theme
	var b strings.Builder
	for _, c := range l.Cells {
		style := t.Text
		switch c.Emphasis {
		case document.Head:
			style = t.Dim
		case document.Title, document.Name:
			style = t.Strong
		case document.Good:
			style = t.Good
		case document.Bad:
			style = t.Bad
		}
		if c.Emphasis == "" && strings.TrimSpace(c.Text) == "" {
			b.WriteString(c.Text)
			continue
		}
		b.WriteString(style.Render(c.Text))
	}
	return b.String()
}

// hanging breaks a line that is too long; what goes on below stands under the line's last column, or under its
// beginning where that is far to the right.
func hanging(l document.Line, w int) []document.Line {
	if len(l.Cells) == 0 || widget.Width(l.Text()) <= w {
		return []document.Line{l}
	}
	if l.Under >= w/2 {
		text := strings.TrimLeft(l.Text(), " ")
		at := len(l.Text()) - len(text)
		l = document.Line{Cells: []document.Cell{{Text: widget.Spaces(at)}, {Text: text}}, Under: at}
	}
	cells, last := l.Cells[:len(l.Cells)-1], l.Cells[len(l.Cells)-1]
	var out []document.Line
	for _, text := range widget.Lines(last.Text, w-l.Under) {
		row := append(slices.Clone(cells), document.Cell{Text: text, Emphasis: last.Emphasis})
		out, cells = append(out, document.Line{Cells: row}), []document.Cell{{Text: widget.Spaces(l.Under)}}
	}
	return out
}

// Aside implements frame.Asider.
func (p *Tell) Aside(e *frame.Env) string { return below(e, p.n-p.h-p.top) }

// Title implements frame.Page.
func (p *Tell) Title(e *frame.Env) string { return e.P.T(p.title) }
