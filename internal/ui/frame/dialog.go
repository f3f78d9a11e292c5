package frame

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Choice of a dialog.
type Choice struct {
	Key  string // that takes it at once; "" none
	Word string // of i18n
	Hint string // of i18n: what comes of it; "" none
	Do   func() tea.Cmd
}

// Ask is a message: it puts a question over the page. Esc closes it and does Cancel.
type Ask struct {
	Title   event.Msg
	Lines   []event.Msg
	Body    func(e *Env, w int) []string // instead of Lines: drawn in w cells
	Choices []Choice
	Default int // index of Choices; for what destroys something that of leaving it alone
	Danger  bool
	Whole   bool // a choice but the default is taken only once all lines have been in sight
	Cancel  func() tea.Cmd
}

// Prompt is a message: it asks for a line. With Must set, what Do does can only be done once that word is typed: for
// what destroys something.
type Prompt struct {
	Title  event.Msg
	Lines  []event.Msg
	Body   func(e *Env, w int) []string
	Label  event.Msg
	Value  string
	Secret bool   // shown as stars
	Path   bool   // a path of this machine: Tab completes it
	Must   string // the word to be typed
	Danger bool
	Word   string                              // of i18n: what Enter does
	Check  func(text string) (event.Msg, bool) // false: the text is not good, and why
	Do     func(text string) tea.Cmd
	Cancel func() tea.Cmd
}

// Dialog is an Ask, a Prompt or an AskKeys that is open.
type Dialog interface {
	// Key takes a key; done says that the dialog is over.
	Key(m tea.KeyPressMsg, e *Env) (c tea.Cmd, done bool)
	// Paste takes what is pasted, its lines with LF between them; false: it takes no text.
	Paste(text string) bool
	// Bindings are for the footer, which has none of the page's meanwhile; nil: the box says them.
	Bindings() []Binding
	// Wheel moves the lines down, or up when negative.
	Wheel(lines int)
	// Click takes a click at a cell of the box as it was drawn last.
	Click(x, y int) (c tea.Cmd, done bool)
	// Render draws the box, at most w×h cells.
	Render(e *Env, w, h int) ([]string, *tea.Cursor)
}

// Open gives the dialog of a message that asks for one.
func Open(m tea.Msg) (Dialog, bool) {
	switch m := m.(type) {
	case Ask:
		return &question{Ask: m, at: m.Default}, true
	case Prompt:
		p := &prompt{Prompt: m, field: widget.Field{Secret: m.Secret}}
		p.field.Insert(m.Value)
		return p, true
	case AskKeys:
		return newKeyTable(m), true
	}
	return nil, false
}

func do(f func() tea.Cmd) tea.Cmd {
	if f == nil {
		return nil
	}
	return f()
}

type question struct {
	Ask
	at    int
	first int // line of the box with the first choice
	scroll
}

// scroll is which of a dialog's lines are in sight.
type scroll struct {
	top  int
	page int // that are in sight, as drawn last
	more int // below them
}

// Wheel implements Dialog.
func (s *scroll) Wheel(n int) { s.top = max(0, min(s.top+n, s.top+s.more)) }

// cut leaves as many lines as there is room for, with a word on those below.
func (s *scroll) cut(e *Env, lines []string, room int) []string {
	if room = max(1, room); len(lines) <= room {
		s.top, s.more, s.page = 0, 0, room
		return lines
	}
	s.page = max(1, room-1)
	s.top = max(0, min(s.top, len(lines)-s.page))
	s.more = len(lines) - s.page - s.top
	out := append([]string{}, lines[s.top:s.top+s.page]...)
	word := e.P.T("ui.ask.more", "count", strconv.Itoa(s.more))
	if s.more == 0 {
		word = e.P.T("ui.ask.above", "count", strconv.Itoa(s.top))
	}
	return append(out, new(widget.Line).Add(e.Theme.Key, "PgUp PgDn").Space(1).Add(e.Theme.Warn, word).String())[max(0,
		s.page+1-room):]
}

// take does a choice, unless there is more to be read before.
func (q *question) take(i int) (tea.Cmd, bool) {
	if q.Whole && i != q.Default && q.more > 0 {
		q.at = i
		q.Wheel(q.page)
		return nil, false
	}
	return do(q.Choices[i].Do), true
}

func (q *question) Key(m tea.KeyPressMsg, _ *Env) (tea.Cmd, bool) {
	key := m.String()
	for i, c := range q.Choices {
		if c.Key != "" && c.Key == key {
			return q.take(i)
		}
	}
	switch key {
	case "pgdown", "space":
		q.Wheel(q.page)
	case "pgup":
		q.Wheel(-q.page)
	case "esc", "ctrl+c":
		return do(q.Cancel), true
	case "up", "k", "left", "shift+tab":
		q.at = (q.at + len(q.Choices) - 1) % max(1, len(q.Choices))
	case "down", "j", "right", "tab":
		q.at = (q.at + 1) % max(1, len(q.Choices))
	case "enter":
		if len(q.Choices) == 0 {
			return do(q.Cancel), true
		}
		return q.take(q.at)
	}
	return nil, false
}

// Bindings implements Dialog.
func (q *question) Bindings() []Binding {
	var list []Binding
	for _, c := range q.Choices {
		if c.Key != "" {
			list = append(list, Binding{Keys: []string{c.Key}, Word: c.Word})
		}
	}
	if len(q.Choices) > 1 {
		list = append(list, Binding{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.choose", Keep: true})
	}
	return append(list, Binding{Keys: []string{"esc"}, Show: "Esc", Word: "ui.ask.cancel", Keep: true})
}

func (q *question) Paste(string) bool { return false }

func (q *question) Click(_, y int) (tea.Cmd, bool) {
	if i := y - q.first; i >= 0 && i < len(q.Choices) {
		return q.take(i)
	}
	return nil, false
}

func (q *question) Render(e *Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	keys, words := 0, 0
	for _, c := range q.Choices {
		keys, words = max(keys, widget.Width(c.Key)), max(words, widget.Width(e.P.T(c.Word)))
	}
	var list []string
	for i, c := range q.Choices {
		style, mark := t.Text, "  "
		if i == q.at {
			style, mark = t.Strong, t.Glyphs.Pointer+" "
		}
		l := new(widget.Line).Add(t.Chosen, mark).Add(t.Key, widget.Fit(c.Key, keys, "")).Space(2).Add(style,
			widget.Fit(e.P.T(c.Word), words, ""))
		if c.Hint != "" {
			l.Space(2).Add(t.Dim, e.P.T(c.Hint))
		}
		list = append(list, l.String())
	}
	edge := t.Chosen
	if q.Danger {
		edge = t.Bad
	}
	in := inside(e, w, q.Title, list)
	body := q.cut(e, text(e, in, q.Lines, q.Body), h-2-len(list)-1)
	if len(body) > 0 {
		body = append(body, "")
	}
	q.first = 1 + len(body)
	return Box(e, edge, e.P.Msg(q.Title), append(body, list...), in), nil
}

type prompt struct {
	Prompt
	field widget.Field
	wrong event.Msg
	scroll
}

func (p *prompt) Key(m tea.KeyPressMsg, e *Env) (tea.Cmd, bool) {
	p.wrong = event.Msg{}
	switch m.String() {
	case "tab":
		if p.Path {
			return CompletePath(e, &p.field, nil, nil), false
		}
	case "esc", "ctrl+c":
		return do(p.Cancel), true
	case "enter":
		value := p.field.Value()
		if p.Must != "" && value != p.Must {
			p.wrong = event.M("ui.ask.other-word", "word", p.Must)
			return nil, false
		}
		if p.Check != nil {
			if why, ok := p.Check(value); !ok {
				p.wrong = why
				return nil, false
			}
		}
		if p.Do == nil {
			return nil, true
		}
		return p.Do(value), true
	}
	p.field.Key(m)
	return nil, false
}

// Bindings implements Dialog.
func (p *prompt) Bindings() []Binding { return nil }

func (p *prompt) Paste(text string) bool { p.field.Insert(text); return true }

func (p *prompt) Click(int, int) (tea.Cmd, bool) { return nil, false }

func (p *prompt) Render(e *Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	label := e.P.Msg(p.Label)
	hint := new(widget.Line).Add(t.Key, "Enter").Space(1).Add(t.KeyWord, e.P.T(p.Word)).Space(3)
	if p.Path {
		hint.Add(t.Key, "Tab").Space(1).Add(t.KeyWord, e.P.T("ui.key.complete")).Space(3)
	}
	hint.Add(t.Key, "Esc").Space(1).Add(t.KeyWord, e.P.T("ui.ask.cancel"))
	edge := t.Chosen
	if p.Danger {
		edge = t.Bad
	}
	in := inside(e, w, p.Title, []string{label, hint.String(), widget.Spaces(40)})
	body := p.cut(e, text(e, in, p.Lines, p.Body), h-2-5)
	if len(body) > 0 {
		body = append(body, "")
	}
	if label != "" {
		body = append(body, t.Strong.Render(widget.Cut(label, in, t.Glyphs.Cut)))
	}
	shown, x := p.field.Shown(in - 3)
	cursor := tea.NewCursor(2+2+x, 1+len(body))
	body = append(body, t.Chosen.Render(t.Glyphs.Prompt)+" "+t.Text.Render(shown))
	wrong := ""
	if p.wrong.Key != "" {
		wrong = t.Bad.Render(widget.Cut(t.Glyphs.Failed+" "+e.P.Msg(p.wrong), in, t.Glyphs.Cut))
	}
	return Box(e, edge, e.P.Msg(p.Title), append(body, wrong, hint.String()), in), cursor
}

// inside is how many cells the inside of a box takes, of w for the whole: as much as its lines need, never less than a
// third of the screen.
func inside(e *Env, w int, title event.Msg, lines []string) int {
	in := max(widget.Width(e.P.Msg(title))+2, min(64, w*2/3))
	for _, l := range lines {
		in = max(in, widget.Width(l))
	}
	return min(in, w-8)
}

func text(e *Env, w int, lines []event.Msg, body func(*Env, int) []string) []string {
	if body != nil {
		return body(e, w)
	}
	var out []string
	for _, m := range lines {
		out = append(out, strings.Split(widget.Wrap(e.P.Msg(m), w), "\n")...)
	}
	return out
}

// Box puts a border with a title around lines, each of which takes w cells inside of it.
func Box(e *Env, edge widget.Ink, title string, lines []string, w int) []string {
	g := e.Theme.Glyphs
	title = widget.Cut(" "+title+" ", w, g.Cut)
	out := []string{edge.Render(g.TopLeft+g.Horizontal) + e.Theme.Title.Render(title) +
		edge.Render(strings.Repeat(g.Horizontal, max(0, w+1-widget.Width(title)))+g.TopRight)}
	for _, l := range lines {
		out = append(out, edge.Render(g.Vertical)+" "+widget.Fit(l, w, g.Cut)+" "+edge.Render(g.Vertical))
	}
	return append(out, edge.Render(g.BottomLeft+strings.Repeat(g.Horizontal, w+2)+g.BottomRight))
}
