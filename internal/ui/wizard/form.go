package wizard

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// item is one field of a form: a setting, or what get and set say.
type item struct {
	key     string // of the setting; also of its words
	kind    config.Kind
	choices []string
	field   widget.Field
	get     func() string
	set     func(string)
	def     func() string // what holds when nothing is typed
	hidden  func() bool
	check   func(string) (config.Problem, bool)
	wrong   *config.Problem // of the value by itself
}

// setting makes the item of a key of deploy.yaml.
func (p *Page) setting(key string) *item {
	s, _ := config.SettingOf(key)
	it := &item{key: key, kind: s.Kind, choices: s.Choices}
	it.get = func() string { return p.draft.Value(key) }
	it.set = func(v string) { p.draft.Set(key, v) }
	it.def = func() string { return s.Default }
	it.check = func(v string) (config.Problem, bool) { return config.CheckValue(key, v) }
	if s.Applies != nil {
		it.hidden = func() bool { return !s.Applies(p.draft.Get) }
	}
	it.field.Narrow = s.Kind != config.Secret && s.Kind != config.Path && s.Kind != config.Block
	it.field.Secret = s.Kind == config.Secret
	if s.Kind == config.YesNo {
		it.choices = []string{"false", "true"}
	}
	return it
}

// settings makes the items of a step.
func (p *Page) settings(step string) []*item {
	var out []*item
	for _, s := range config.SettingsOf(step) {
		out = append(out, p.setting(s.Key))
	}
	return out
}

// itemOf is the item of a key, which has to be there.
func itemOf(items []*item, key string) *item {
	return items[slices.IndexFunc(items, func(it *item) bool { return it.key == key })]
}

// putBefore puts an item before that of a key.
func putBefore(items []*item, key string, it *item) []*item {
	return slices.Insert(items, slices.Index(items, itemOf(items, key)), it)
}

// picks says whether the item is chosen, not typed.
func (it *item) picks() bool { return len(it.choices) > 0 }

// form is a step that is a list of items.
type form struct {
	p     *Page
	name  string
	items []*item
	at    int
	top   int
	rows  []int // the item of each line as drawn last, -1 for none
	tight bool  // no blank lines between items
	more  func(e *frame.Env) []frame.Binding
	tail  func(e *frame.Env, w int) []string
}

func (f *form) id() string { return f.name }

func (f *form) typing() bool { return !f.now().picks() }

// helps: names, addresses and numbers have no question mark.
func (f *form) helps() bool { return f.now().asks() }

func (it *item) asks() bool { return !it.picks() && it.field.Narrow }

func (f *form) visible() []*item {
	return slices.DeleteFunc(slices.Clone(f.items), func(it *item) bool { return it.hidden != nil && it.hidden() })
}

func (f *form) now() *item {
	list := f.visible()
	f.at = min(max(f.at, 0), len(list)-1)
	return list[f.at]
}

func (f *form) enter(*frame.Env) tea.Cmd {
	for _, it := range f.items {
		it.field.Set(it.get())
		it.validate()
	}
	return nil
}

func (f *form) leave() {}

func (it *item) validate() {
	it.wrong = nil
	if it.check == nil {
		return
	}
	if bad, is := it.check(it.get()); is {
		it.wrong = &bad
	}
}

// put takes a value.
func (f *form) put(it *item, v string) tea.Cmd {
	if it.kind != config.Secret {
		v = strings.TrimSpace(v)
	}
	f.p.shrink(it.get(), v)
	it.set(v)
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
		if it.kind == config.Path {
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
	if it.picks() {
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
	v := it.get()
	if v == "" {
		v = it.def()
	}
	i := slices.Index(it.choices, v)
	c := f.put(it, it.choices[(i+n+len(it.choices))%len(it.choices)])
	f.p.snapshot()
	return c
}

func (f *form) paste(text string, _ *frame.Env) tea.Cmd {
	it := f.now()
	if it.picks() {
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
	if it := f.now(); again && it.picks() {
		return f.cycle(it, 1)
	}
	return nil
}

func (f *form) wheel(n int) { f.move(min(1, max(-1, n))) }

func (f *form) back(*frame.Env) bool { return false }

func (f *form) owns(key string) bool {
	return slices.ContainsFunc(f.items, func(it *item) bool { return under(key, it.key) })
}

// under says whether a problem's key is the setting's or one below it.
func under(key, setting string) bool {
	return key == setting || strings.HasPrefix(key, setting+"[") || strings.HasPrefix(key, setting+".")
}

func (f *form) keys(e *frame.Env) []frame.Binding {
	list := []frame.Binding{
		{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.field", Do: func() tea.Cmd { return nil }},
		{Keys: []string{"up"}, Show: "↑ ↓", Word: "wizard.key.move", Do: func() tea.Cmd { return nil }},
	}
	if f.now().kind == config.Path {
		list = append(list, frame.Binding{Keys: []string{"tab"}, Show: "Tab", Word: "ui.key.complete", Help: true})
	}
	if f.now().picks() {
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

// label of an item.
func (it *item) label(e *frame.Env) string { return e.P.T("wizard.field." + it.key) }

// shown is an item's value as it is read when it is not typed.
func (it *item) shown(e *frame.Env, v string) string {
	if it.picks() && e.P.Has("wizard.value."+v) {
		return e.P.T("wizard.value." + v)
	}
	return v
}

func (f *form) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	list := f.visible()
	f.now()
	wide := 0
	for _, it := range list {
		wide = max(wide, widget.Width(it.label(e)))
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
		out, rows = append(out, mark+style.Render(widget.Fit(it.label(e), wide, g.Cut))+"  "+value), append(rows, i)
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
	v := it.get()
	switch {
	case it.picks():
		if v == "" {
			v = it.def()
		}
		l := new(widget.Line)
		list, used := it.choices, 0
		for i, c := range it.choices { // the one that holds is in sight
			if used += widget.Width(it.shown(e, c)) + 4; c == v && used > w {
				list = it.choices[i:]
			}
		}
		for _, c := range list {
			word, st, dot := it.shown(e, c), t.Dim, "  "
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
		if s == "" && it.def != nil && it.def() != "" {
			return widget.Paint(t.Cursor, t.Dim.Render(widget.Cut(stands(e, it.def()), w-1, g.Cut)), w, ""), 0
		}
		return widget.Paint(t.Cursor, s, w, ""), x
	case v == "":
		d := ""
		if it.def != nil {
			d = it.def()
		}
		if d == "" {
			d = e.P.T("wizard.unset")
		}
		return t.Faint.Render(widget.Cut(stands(e, d), w, g.Cut)), -1
	case it.kind == config.Secret:
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
		for _, x := range f.p.problems { // the same, said beside all else that is typed: what it proposes fits there
			if x.Key == bad.Key && x.Code == bad.Code && x.Args["value"] == bad.Args["value"] {
				bad = x
			}
		}
		text, next := words(e, bad)
		return complaint(e, event.Error, text, next, w)
	}
	var out []string
	wrong := false
	for _, x := range f.p.problems {
		if !under(x.Key, it.key) || x.Code == "config.bundle-missing" {
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
	for _, l := range wrapped(hint(e, it.key), w) {
		said = append(said, e.Theme.Dim.Render(l))
	}
	return append(said, out...)
}

// hint says what a key is: in the wizard's own words, or in those that the template writes beside it.
func hint(e *frame.Env, key string) string {
	for _, k := range []string{"wizard.hint." + key, "template." + key} {
		if e.P.Has(k) {
			return e.P.T(k)
		}
	}
	return ""
}
