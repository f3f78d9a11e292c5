package board

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Failure is a step that failed, as the panel shows it: with choices while somebody is to decide, else to be read only.
type Failure struct {
	Step    *state.Step
	Fault   event.Fault
	Lines   []state.Line
	Try     int
	At, Of  int // which of how many, from 1
	Choices []Choice
	Open    bool // somebody is to decide
	Story   bool // in a recording, which waits for the decision
}

// Choice of what becomes of a failure.
type Choice struct {
	Key  string
	Text event.Msg
}

// Asked is the question as the panel shows it.
func Asked(q *state.Question, at, of int) Failure {
	return Failure{Step: q.Step, Fault: q.Fault, Lines: q.Lines, Try: q.Try, At: at, Of: of, Open: true}
}

// Past is a failure that was decided long ago.
func Past(f *state.Failure, at, of int) Failure {
	return Failure{Step: f.Step, Fault: f.Fault, Lines: f.Lines, Try: f.Step.Try, At: at, Of: of}
}

// panel lays a failure out in lines of w cells.
type panel struct {
	p     *i18n.Printer
	t     *theme.Theme
	w     int
	label int // width of the labels
	out   []string
}

const (
	commandLines = 4 // lines of a command that the panel shows
	errorLines   = 3 // of the error, on a low screen
	outputLines  = 3 // of what the step printed, for which an error and a command make room
)

// room is what a panel has no room for.
type room struct{ noCommand, shortError bool }

// Render draws the panel as a box of w cells and at most h lines. What does not fit goes from its last lines first, the
// oldest ahead.
func (f Failure) Render(p *i18n.Printer, t *theme.Theme, w, h int) []string {
	in := w - 4
	c := &panel{p: p, t: t, w: in}
	for _, key := range []string{"ui.fail.step", "ui.fail.likely", "ui.fail.do", "ui.fail.what", "ui.fail.exit",
		"ui.fail.command"} {
		c.label = max(c.label, widget.Width(p.T(key))+2)
	}
	foot := c.choices(f)
	left := 0
	for _, r := range []room{{}, {noCommand: true}, {noCommand: true, shortError: true}} {
		c.out = nil
		f.fields(c, r)
		if left = h - 2 - len(c.out) - len(foot) - 2; left > min(outputLines, max(1, len(f.Lines))) {
			break
		}
	}
	body := append(c.out, "")
	if left >= 2 {
		body = append(append(body, t.Dim.Render(p.T("ui.fail.lines"))), c.lines(f.Lines, left)...)
	}
	if len(foot) > 0 {
		body = append(append(body, ""), foot...)
	}
	if most := h - 2; len(body) > most { // a small screen: the choices stay
		keep := max(0, most-len(foot)-1)
		body = append(append([]string{}, body[:min(keep, len(body))]...),
			append([]string{t.Dim.Render(t.Glyphs.Cut)}, foot...)...)
		body = body[:min(len(body), most)]
	}
	return f.box(c, body)
}

// fields are what helps first: a person who reads no further knows what to do.
func (f Failure) fields(c *panel, r room) {
	p, t := c.p, c.t
	c.field("ui.fail.step", t.Strong, report.StepTitle(p, f.Step, f.Try), 0)
	text, next := p.Fault(&f.Fault)
	if cause, do, ok := report.Likely(&f.Fault, f.Lines); ok {
		c.field("ui.fail.likely", t.Text, p.Msg(cause), 0)
		next = p.Msg(do)
	}
	if next != "" {
		c.field("ui.fail.do", t.Strong, next, 0)
	}
	most := 0
	if r.shortError {
		most = errorLines
	}
	c.field("ui.fail.what", t.Bad, text, most)
	if code := f.Fault.Args["status"]; code != "" {
		c.field("ui.fail.exit", t.Text, event.Clean(code), 0)
	}
	if cmd := strings.TrimSpace(f.Fault.Args["command"]); cmd != "" && !r.noCommand {
		c.command(cmd)
	}
}

func (c *panel) command(cmd string) {
	lines := strings.Split(cmd, "\n")
	if len(lines) > commandLines {
		lines = append(lines[:commandLines-1:commandLines-1], c.t.Glyphs.Cut)
	}
	var shown []string
	for _, l := range lines {
		shown = append(shown, c.fold(l, c.w-c.label, 2)...)
	}
	key := "ui.fail.command"
	for _, l := range shown[:min(len(shown), commandLines)] {
		c.line(key, c.t.Text, l)
		key = ""
	}
}

// field is a label and its text, which is wrapped, into at most so many lines; 0: as many as it takes.
func (c *panel) field(key string, st widget.Ink, text string, most int) {
	w := max(8, c.w-c.label)
	lines := strings.Split(widget.Wrap(text, w), "\n")
	if most > 0 && len(lines) > most {
		cut := c.t.Glyphs.Cut
		lines[most-1] = widget.Cut(lines[most-1], w-1-widget.Width(cut), "") + " " + cut
		lines = lines[:most]
	}
	for i, l := range lines {
		if i > 0 {
			key = ""
		}
		c.line(key, st, l)
	}
}

func (c *panel) line(key string, st widget.Ink, text string) {
	l := new(widget.Line)
	if key != "" {
		l.Add(c.t.Dim, c.p.T(key))
	}
	c.out = append(c.out, l.To(c.label).Add(st, text).String())
}

// lines are the newest of what the step printed.
func (c *panel) lines(list []state.Line, room int) []string {
	if len(list) == 0 {
		return []string{"  " + c.t.Faint.Render(c.p.T("ui.fail.silent"))}
	}
	room--
	var rows [][]string
	for _, l := range slices.Backward(list[max(0, len(list)-state.FailLines):]) {
		st, most := c.t.Dim, 1
		if l.Stream == "stderr" { // what went wrong mostly stands at the end of such a line
			st, most = c.t.Warn, 3
		}
		part := c.fold(l.Text, c.w-2, most)
		if room -= len(part); room < 0 {
			break
		}
		for i, p := range part {
			part[i] = "  " + st.Render(p)
		}
		rows = append(rows, part)
	}
	slices.Reverse(rows)
	return slices.Concat(rows...)
}

// fold breaks a text of a machine into at most so many lines of w cells; what is left over is cut off.
func (c *panel) fold(text string, w, most int) []string {
	w = max(8, w)
	text = widget.Cut(event.Clean(text), w*most, c.t.Glyphs.Cut)
	out := widget.Lines(text, w)
	if len(out) > most {
		out[most-1] = widget.Cut(out[most-1], w-1, "") + c.t.Glyphs.Cut
		out = out[:most]
	}
	return out
}

// choices in as many lines as they take.
func (c *panel) choices(f Failure) []string {
	var out []string
	l := new(widget.Line)
	for _, ch := range f.Choices {
		word := c.p.Msg(ch.Text)
		if l.Width() > 0 && l.Width()+3+widget.Width(ch.Key)+1+widget.Width(word) > c.w {
			out = append(out, l.String())
			l = new(widget.Line)
		}
		if l.Width() > 0 {
			l.Space(3)
		}
		l.Add(c.t.Key, ch.Key).Space(1).Add(c.t.Text, word)
	}
	if l.Width() > 0 {
		out = append(out, l.String())
	}
	others := "ui.fail.others"
	if f.Story {
		others = "demo.others"
	}
	if f.Open {
		out = append(out, c.t.Faint.Render(c.p.T(others)))
	}
	return out
}

func where(p *i18n.Printer, host string) string {
	if host == "" {
		return p.T("report.jump-host")
	}
	return event.Clean(host)
}

func (f Failure) box(c *panel, body []string) []string {
	t, g, edge := c.t, c.t.Glyphs, c.t.Bad
	title, mark := "ui.fail.past", g.Failed
	if f.Open {
		title, mark = "ui.fail.title", g.Ignored
	}
	right := ""
	if f.Of > 1 {
		right = " " + c.p.T("ui.fail.count", "at", fmt.Sprint(f.At), "of", fmt.Sprint(f.Of)) + " "
	}
	head := widget.Cut(" "+mark+" "+c.p.T(title, "node", where(c.p, f.Step.Host))+" ", c.w-widget.Width(right), g.Cut)
	top := edge.Render(g.TopLeft+g.Horizontal) + t.Bad.Render(head) +
		edge.Render(strings.Repeat(g.Horizontal, max(0, c.w-widget.Width(head)-widget.Width(right)))) +
		t.Strong.Render(right) + edge.Render(g.Horizontal+g.TopRight)
	out := []string{top}
	for _, l := range body {
		out = append(out, edge.Render(g.Vertical)+" "+widget.Fit(l, c.w, g.Cut)+" "+edge.Render(g.Vertical))
	}
	return append(out, edge.Render(g.BottomLeft+strings.Repeat(g.Horizontal, c.w+2)+g.BottomRight))
}

// PanelWidth is how wide a panel is on a screen of w cells: all of a narrow one, where a few cells of what is behind it
// would tell nothing.
func PanelWidth(w int) int {
	if w < 96 {
		return w
	}
	return min(120, w*7/8)
}

// Over lays a box over the middle of a screen of w cells.
func Over(screen, box []string, w int) []string {
	out := append([]string{}, screen...)
	top := max(0, (len(out)-len(box))/2)
	for i, l := range box {
		if top+i < len(out) {
			out[top+i] = widget.Over(out[top+i], l, max(0, (w-widget.Width(l))/2), w)
		}
	}
	return out
}
