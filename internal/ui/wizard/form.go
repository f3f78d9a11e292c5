package wizard

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// item is a field of the guide with what is typed into it.
type item struct {
	*guide.Field
	field widget.Field
	wrong *config.Problem // of the value by itself
}

// items returns fields as a form has them.
func items(list ...*guide.Field) []*item {
	var out []*item
	for _, f := range list {
		it := &item{Field: f}
		it.field.Narrow, it.field.Secret = f.Narrow(), f.Kind == config.Secret
		out = append(out, it)
	}
	return out
}

// form is a step that is a list of items.
type form struct {
	p     *Page
	name  guide.Step
	items []*item
	at    int
	top   int
	rows  []int // the item of each line as drawn last, -1 for none
	tight bool  // no blank lines between items
	more  func(e *frame.Env) []frame.Binding
	tail  func(e *frame.Env, w int) []string
}

// newForm returns the step that asks for the fields of the guide.
func newForm(p *Page, t guide.Step) *form {
	return &form{p: p, name: t, items: items(p.g.Fields(t)...)}
}

func (f *form) id() guide.Step { return f.name }

func (f *form) typing() bool { return !f.now().Picks() }

// helps: names, addresses and numbers have no question mark.
func (f *form) helps() bool { return f.now().asks() }

func (it *item) asks() bool { return !it.Picks() && it.field.Narrow }

func (f *form) visible() []*item {
	return slices.DeleteFunc(slices.Clone(f.items), func(it *item) bool { return !it.Applies() })
}

func (f *form) now() *item {
	list := f.visible()
	f.at = min(max(f.at, 0), len(list)-1)
	return list[f.at]
}

func (f *form) enter(*frame.Env) tea.Cmd {
	for _, it := range f.items {
		it.field.Set(it.Value())
		it.validate()
	}
	return nil
}

func (f *form) leave() {}

func (it *item) validate() {
	it.wrong = nil
	if bad, is := it.Check(it.Value()); is {
		it.wrong = &bad
	}
}

// put takes a value.
func (f *form) put(it *item, v string) tea.Cmd {
	if it.Kind != config.Secret {
		v = strings.TrimSpace(v)
	}
	f.p.shrink(it.Value(), v)
	it.Set(v)
	it.validate()
	return f.p.changed()
}

func (f *form) move(n int) {
	f.p.snapshot()
	f.at = min(max(f.at+n, 0), len(f.visible())-1)
}

func (f *form) typed(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	it := f.now()
	switch m.String() {
	case "up", "shift+tab":
		f.move(-1)
		return nil, true
	case "down":
		f.move(1)
		return nil, true
	case "tab":
		on := func() tea.Cmd { f.move(1); return nil }
		if it.Kind == config.Path {
			return frame.CompletePath(e, &it.field, func() tea.Cmd { return f.put(it, it.field.Value()) }, on), true
		}
		return on(), true
	case "enter":
		if f.at == len(f.visible())-1 {
			return f.p.next(e), true
		}
		f.move(1)
		return nil, true
	}
	if it.Picks() {
		switch m.String() {
		case "right", "space", "l":
			return f.cycle(it, 1), true
		case "left", "h":
			return f.cycle(it, -1), true
		}
		return nil, false
	}
	if m.String() == "ctrl+r" || m.String() == "?" && it.asks() || !it.field.Key(m) {
		return nil, false
	}
	return f.put(it, it.field.Value()), true
}

func (f *form) cycle(it *item, n int) tea.Cmd {
	f.p.snapshot()
	c := f.put(it, it.Turn(n))
	f.p.snapshot()
	return c
}

func (f *form) paste(text string, _ *frame.Env) tea.Cmd {
	it := f.now()
	if it.Picks() {
		return nil
	}
	it.field.Insert(text)
	return f.put(it, it.field.Value())
}

func (f *form) click(_, y int, _ *frame.Env) tea.Cmd {
	if y < 0 || y >= len(f.rows) || f.rows[y] < 0 {
		return nil
	}
	again := f.at == f.rows[y]
	f.p.snapshot()
	f.at = f.rows[y]
	if it := f.now(); again && it.Picks() {
		return f.cycle(it, 1)
	}
	return nil
}

func (f *form) wheel(n int) { f.move(min(1, max(-1, n))) }

func (f *form) back(*frame.Env) bool { return false }

func (f *form) keys(e *frame.Env) []frame.Binding {
	list := []frame.Binding{
		{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.field", Do: func() tea.Cmd { return nil }},
		{Keys: []string{"up"}, Show: "↑ ↓", Word: "wizard.key.move", Do: func() tea.Cmd { return nil }},
	}
	if f.now().Kind == config.Path {
		list = append(list, frame.Binding{Keys: []string{"tab"}, Show: "Tab", Word: "ui.key.complete", Help: true})
	}
	if f.now().Picks() {
		list = append(list, frame.Binding{Keys: []string{"space"}, Show: "Space", Word: "wizard.key.choose",
			Do: func() tea.Cmd {
				return nil
			}})
	}
	if f.more != nil {
		list = append(list, f.more(e)...)
	}
	return list
}

func (f *form) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	list := f.visible()
	f.now()
	wide := 0
	for _, it := range list {
		wide = max(wide, widget.Width(it.Label(e.P)))
	}
	wide = min(wide, w*2/5)
	box := min(w-wide-5, 60)
	var out []string
	var rows []int
	var cursor *tea.Cursor
	first, last := 0, 0
	for i, it := range list {
		chosen := i == f.at
		mark, style := "  ", t.Dim
		if chosen {
			mark, style, first = t.Chosen.Render(g.Pointer)+" ", t.Strong, len(out)
		}
		value, c := f.value(e, it, box, chosen)
		if c >= 0 {
			cursor = tea.NewCursor(wide+4+c, len(out))
		}
		out, rows = append(out, mark+style.Render(widget.Fit(it.Label(e.P), wide, g.Cut))+"  "+value), append(rows, i)
		for _, l := range f.below(e, it, chosen, w-wide-4) {
			out, rows = append(out, widget.Spaces(wide+4)+l), append(rows, i)
		}
		if chosen {
			last = len(out)
		}
		if h > 2*len(list)+4 && !f.tight {
			out, rows = append(out, ""), append(rows, -1)
		}
	}
	if f.tail != nil {
		out = append(out, f.tail(e, w)...)
	}
	for len(rows) < len(out) {
		rows = append(rows, -1)
	}
	// What is chosen stays in sight, with what is said of it.
	f.top = min(max(f.top, last-h), first)
	f.top = max(0, min(f.top, len(out)-h))
	if cursor != nil {
		cursor.Y -= f.top
	}
	f.rows = rows[f.top:]
	return out[f.top:], cursor
}

// value draws an item's value in w cells; cursor is its cell when it is typed.
func (f *form) value(e *frame.Env, it *item, w int, chosen bool) (text string, cursor int) {
	t, g := e.Theme, e.Theme.Glyphs
	v := it.Value()
	switch {
	case it.Picks():
		v = it.Effective()
		l := new(widget.Line)
		list, used := it.Choices, 0
		for i, c := range it.Choices { // the one that holds is in sight
			if used += widget.Width(it.Word(e.P, c)) + 4; c == v && used > w {
				list = it.Choices[i:]
			}
		}
		for _, c := range list {
			word, st, dot := it.Word(e.P, c), t.Dim, "  "
			if c == v {
				st, dot = t.Strong, t.Chosen.Render(g.Bullet)+" "
			}
			if l.Width()+widget.Width(word)+4 > w {
				break
			}
			l.Add(t.Text, "").Raw(dot).Add(st, word).Space(2)
		}
		if chosen {
			return widget.Paint(t.Cursor, l.String(), w, ""), -1
		}
		return widget.Fit(l.String(), w, ""), -1
	case chosen:
		s, x := it.field.Shown(w - 1)
		if usual := it.Default(); s == "" && usual != "" {
			return widget.Paint(t.Cursor, t.Dim.Render(widget.Cut(stands(e, usual), w-1, g.Cut)), w, ""), 0
		}
		return widget.Paint(t.Cursor, s, w, ""), x
	case v == "":
		return t.Faint.Render(widget.Cut(stands(e, cmp.Or(it.Default(), e.P.T("wizard.unset"))), w, g.Cut)), -1
	case it.Kind == config.Secret:
		return t.Text.Render(strings.Repeat("*", min(len([]rune(v)), w))), -1
	}
	return t.Text.Render(widget.Cut(event.Clean(v), w, g.Cut)), -1
}

// stands is what holds when nothing is typed: in grey, and in brackets where there is none.
func stands(e *frame.Env, v string) string {
	if e.Theme.NoGrey {
		return "[" + v + "]"
	}
	return v
}

// below is what stands under an item: what is wrong with it, and, of the one that is chosen, what it is.
func (f *form) below(e *frame.Env, it *item, chosen bool, w int) []string {
	if it.wrong != nil { // which says what to type
		bad := *it.wrong
		for _, x := range f.p.g.Problems { // the same, said beside all else that is typed: what it proposes fits there
			if x.Key == bad.Key && x.Code == bad.Code && x.Args["value"] == bad.Args["value"] {
				bad = x
			}
		}
		text, next := words(e, bad)
		return complaint(e, event.Error, text, next, w)
	}
	var out []string
	wrong := false
	for _, x := range f.p.g.Wrong(it.Key) {
		if x.Code == "config.bundle-missing" {
			continue
		}
		text, next := words(e, x)
		wrong = wrong || x.Severity == event.Error && next != ""
		if !chosen {
			next = ""
		}
		out = append(out, complaint(e, x.Severity, text, next, w)...)
	}
	if !chosen || wrong {
		return out
	}
	var said []string
	for _, l := range wrapped(guide.Hint(e.P, it.Key), w) {
		said = append(said, e.Theme.Dim.Render(l))
	}
	return append(said, out...)
}
