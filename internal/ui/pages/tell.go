package pages

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Tell shows what a query has to say: status, a plan.
type Tell struct {
	quiet
	task
	d     *Deps
	title string // of i18n
	name  string // cluster
	query backend.Query
	text  []string
	lang  i18n.Lang // of what was asked for last
	said  map[i18n.Lang][]string
	wrap  bool // lines that are too long go on below; else they are moved to the left and right, as those of a table
	top   int
	left  int    // cells that are out of sight at the left
	n, h  int    // lines in all, and those in sight, as drawn last
	over  int    // cells of the text that are out of sight at the right when left is 0
	word  string // of i18n: what Enter leads to; "" nothing
	do    func() tea.Cmd
	even  bool // Enter leads there though the text could not be had
}

// NewTell makes the page of a query.
func NewTell(d *Deps, title, name string, q backend.Query) *Tell {
	return &Tell{d: d, title: title, name: name, query: q}
}

// then says what Enter leads to when the text has been shown.
func (p *Tell) then(word string, do func() tea.Cmd) { p.word, p.do = word, do }

// Init implements frame.Page.
func (p *Tell) Init(e *frame.Env) tea.Cmd { return p.begin(e) }

// begin asks anew.
func (p *Tell) begin(e *frame.Env) tea.Cmd {
	p.said, p.text, p.top, p.left = map[i18n.Lang][]string{}, nil, 0, 0
	return p.ask(e)
}

func (p *Tell) ask(e *frame.Env) tea.Cmd {
	get, q, lang := p.d.S.Read, p.query, e.P.Lang()
	p.lang = lang
	return p.task.start(event.M("tell.asking"), func(ctx context.Context, ask backend.Asker) (any, error) {
		return get(ctx, lang, q, ask)
	})
}

// Spoken implements frame.Speaker: what is said stays until it is there in the other language.
func (p *Tell) Spoken(e *frame.Env) tea.Cmd {
	if text, ok := p.said[e.P.Lang()]; ok {
		p.task.Close()
		p.text, p.lang, p.busy, p.fault = text, e.P.Lang(), false, nil
		return nil
	}
	return p.ask(e)
}

// Update implements frame.Page.
func (p *Tell) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	if text, ok := result.([]string); ok && done {
		p.text, p.said[p.lang] = text, text
	}
	return c
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
	out = append(out, indent(p.lines(e, w-6), 3)...)
	p.over = 0
	for _, l := range p.text {
		if !p.wrap {
			p.over = max(p.over, widget.Width(event.Clean(l))-(w-4))
		}
	}
	p.left = min(p.left, p.over)
	var body []string
	head, table := true, false
	for i, l := range p.text {
		style := t.Text
		switch {
		case strings.TrimSpace(l) == "":
			head, table = true, false
		case head && strings.ToUpper(l) == l && strings.Contains(l, "  "): // the head of a table
			style, head, table = t.Dim, false, true
		case i+1 < len(p.text) && deep(p.text[i+1]) > deep(l): // the head of what is told below it
			style, head = t.Strong, false
		default:
			head = false
		}
		switch l {
		case e.P.T("status.all-well", "cluster", p.name):
			l, style = t.Glyphs.OK+" "+l, t.Good
		case e.P.T("status.unwell", "cluster", p.name):
			l, style = t.Glyphs.Failed+" "+l, t.Bad
		}
		rows := []string{widget.Cut(widget.From(event.Clean(l), p.left, t.Glyphs.Cut), w-4, t.Glyphs.Cut)}
		if p.wrap {
			rows = hanging(event.Clean(l), w-4)
		}
		for _, r := range rows {
			if table && style == t.Text && p.left == 0 {
				body = append(body, "   "+cells(e, r))
				continue
			}
			body = append(body, "   "+style.Render(r))
		}
	}
	p.n, p.h = len(body), h-len(out)
	p.top = max(0, min(p.top, p.n-p.h))
	return append(out, body[p.top:min(p.n, p.top+max(0, p.h))]...), nil
}

// deep is how many blanks a line begins with.
func deep(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// cells draws the row of a table: its name, and the words that say whether all is well.
func cells(e *frame.Env, row string) string {
	t := e.Theme
	name, rest, _ := strings.Cut(row, "  ")
	out := new(strings.Builder)
	out.WriteString(t.Strong.Render(name))
	for gap := "  "; rest != ""; {
		text := strings.TrimLeft(rest, " ")
		gap += rest[:len(rest)-len(text)]
		cell, more, any := strings.Cut(text, "  ")
		style := t.Text
		switch word, _, _ := strings.Cut(cell, e.P.T("ui.list")); word {
		case "Ready", e.P.T("status.well"):
			style = t.Good
		case "NotReady", e.P.T("status.ill"), e.P.T("status.unreached"):
			style = t.Bad
		}
		out.WriteString(gap)
		out.WriteString(style.Render(cell))
		gap, rest = "", more
		if any {
			gap = "  "
		}
	}
	return out.String()
}

// hanging breaks a line that is too long; what goes on below stands under the line's last column, or under its
// beginning.
func hanging(l string, w int) []string {
	text := strings.TrimLeft(l, " ")
	at := len(l) - len(text)
	if i := strings.LastIndex(text, "  "); i >= 0 {
		if under := at + widget.Width(text[:i+2]); under < w/2 {
			at, text = under, text[i+2:]
		}
	}
	lines := widget.Lines(text, w-at)
	out := []string{strings.TrimSuffix(l, text) + lines[0]}
	for _, more := range lines[1:] {
		out = append(out, widget.Spaces(at)+more)
	}
	return out
}

// Aside implements frame.Asider.
func (p *Tell) Aside(e *frame.Env) string { return below(e, p.n-p.h-p.top) }

// Title implements frame.Page.
func (p *Tell) Title(e *frame.Env) string { return e.P.T(p.title) }
