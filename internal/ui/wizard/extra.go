package wizard

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// extra is the list of every key of deploy.yaml.
type extra struct {
	p      *Page
	at     int
	top    int
	rows   []int
	filter widget.Field
	finds  bool // the filter is typed

	open *item // that is edited, nil for none
	area widget.Area
}

func newExtra(p *Page) step { return &extra{p: p} }

func (x *extra) typing() bool             { return x.open != nil || x.finds }
func (x *extra) id() guide.Step           { return guide.ExtraStep }
func (x *extra) enter(*frame.Env) tea.Cmd { x.open = nil; return nil }
func (x *extra) leave()                   { x.open = nil }
func (x *extra) wheel(n int)              { x.at += n }
func (x *extra) scrolls() bool            { return x.open == nil }

// shown are the settings that the filter lets through. One that does not apply is shown only if it has a value.
func (x *extra) shown(e *frame.Env) []config.Setting {
	var out []config.Setting
	want := strings.ToLower(strings.TrimSpace(x.filter.Value()))
	for _, s := range config.Settings() {
		v := x.p.g.Draft.Value(s.Key)
		if v == "" && s.Applies != nil && !s.Applies(x.p.g.Draft.Get) {
			continue
		}
		if want == "" || strings.Contains(s.Label(), want) ||
			strings.Contains(strings.ToLower(guide.Hint(e.P, s.Key)), want) ||
			s.Kind != config.Secret && strings.Contains(strings.ToLower(v), want) {
			out = append(out, s)
		}
	}
	x.at = min(max(x.at, 0), max(0, len(out)-1))
	return out
}

func (x *extra) typed(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	switch {
	case x.open != nil && x.open.Kind == config.Block:
		if m.String() == "ctrl+s" {
			x.p.snapshot()
			x.open = nil
			return x.p.save(), true
		}
		if !x.area.Key(m) {
			return nil, false
		}
		return x.put(x.area.Value()), true
	case x.open != nil:
		if m.String() == "enter" {
			x.p.snapshot()
			x.open = nil
			return x.p.save(), true
		}
		if open := x.open; m.String() == "tab" && open.Kind == config.Path {
			return frame.CompletePath(e, &open.field, func() tea.Cmd { return x.put(open.field.Value()) }, nil), true
		}
		if !x.open.field.Key(m) {
			return nil, false
		}
		return x.put(x.open.field.Value()), true
	case x.finds:
		switch m.String() {
		case "enter", "up", "down":
			x.finds = false
			return nil, true
		}
		x.at = 0
		return nil, x.filter.Key(m)
	}
	return nil, false
}

func (x *extra) put(v string) tea.Cmd {
	if strings.TrimSpace(v) == "" {
		v = ""
	}
	x.p.shrink(x.open.Value(), v)
	x.open.Set(v)
	x.open.validate()
	return x.p.changed()
}

func (x *extra) paste(text string, _ *frame.Env) tea.Cmd {
	switch {
	case x.open != nil && x.open.Kind == config.Block:
		x.area.Insert(text)
		return x.put(x.area.Value())
	case x.open != nil:
		x.open.field.Insert(text)
		return x.put(x.open.field.Value())
	case x.finds:
		x.filter.Insert(text)
	}
	return nil
}

func (x *extra) back(*frame.Env) bool {
	switch {
	case x.open != nil:
		x.p.snapshot()
		x.open = nil
	case x.finds || x.filter.Value() != "":
		x.finds = false
		x.filter.Set("")
	default:
		return false
	}
	return true
}

func (x *extra) click(_, y int, e *frame.Env) tea.Cmd {
	if x.open == nil && y >= 0 && y < len(x.rows) {
		if x.at == x.rows[y] {
			return x.edit(e)
		}
		x.at = x.rows[y]
	}
	return nil
}

// edit opens the setting under the cursor, or turns it, if it is a choice.
func (x *extra) edit(e *frame.Env) tea.Cmd {
	list := x.shown(e)
	if len(list) == 0 {
		return nil
	}
	it := items(x.p.g.Field(list[x.at].Key))[0]
	it.validate()
	x.p.snapshot()
	if it.Picks() {
		f := &form{p: x.p, items: []*item{it}}
		return f.cycle(it, 1)
	}
	x.open = it
	it.field.Set(it.Value())
	x.area.Set(it.Value())
	return nil
}

func (x *extra) keys(e *frame.Env) []frame.Binding {
	none := func() tea.Cmd { return nil }
	switch {
	case x.open != nil && x.open.Kind == config.Block:
		return []frame.Binding{{Keys: []string{"ctrl+s"}, Show: "Ctrl+S", Word: "wizard.key.take", Do: none}}
	case x.open != nil:
		return []frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.take", Do: none}}
	case x.finds:
		return []frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.filter-this", Do: none}}
	}
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { x.at += n; x.shown(e); return nil } }
	return []frame.Binding{
		{Keys: []string{"enter", "space"}, Show: "Enter", Word: "wizard.key.change",
			Do: func() tea.Cmd { return x.edit(e) }},
		{Keys: []string{"/"}, Word: "wizard.key.filter", Do: func() tea.Cmd { x.finds = true; return nil }},
		{Keys: []string{"d", "delete"}, Show: "d", Word: "wizard.key.default",
			Do: func() tea.Cmd { return x.reset(e) }},
		{Keys: []string{"u"}, Word: "wizard.key.undo", Do: func() tea.Cmd { return x.p.undo(e) }},
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "wizard.key.move", Do: move(-1), Help: true},
		{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		{Keys: []string{"pgup"}, Do: move(-10), Help: true}, {Keys: []string{"pgdown"}, Do: move(10), Help: true},
		{Keys: []string{"home", "g"}, Do: move(-1 << 20), Help: true},
		{Keys: []string{"end", "G"}, Do: move(1 << 20), Help: true},
	}
}

// reset gives a setting its default back.
func (x *extra) reset(e *frame.Env) tea.Cmd {
	list := x.shown(e)
	if len(list) == 0 {
		return nil
	}
	x.p.snapshot()
	x.p.g.Draft.Set(list[x.at].Key, "")
	x.p.snapshot()
	return x.p.changed()
}

func (x *extra) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	list := x.shown(e)
	foot, cursor := x.foot(e, list, w, h)
	wide := 0
	for _, s := range config.Settings() {
		wide = max(wide, widget.Width(s.Label()))
	}
	wide = min(wide, w/2)
	room := max(1, h-len(foot))
	x.top = min(max(x.top, x.at-room+1), x.at)
	x.top = max(0, min(x.top, len(list)-room))
	var out []string
	x.rows = nil
	for i := x.top; i < len(list) && i < x.top+room; i++ {
		s := list[i]
		pointer, style := " ", t.Dim
		if i == x.at {
			pointer, style = g.Pointer, t.Strong
		}
		l := new(widget.Line).Add(t.Chosen, pointer).Space(1)
		if x.wrong(s.Key) {
			l.Add(t.Bad, g.Failed)
		} else if x.p.g.Draft.Value(s.Key) != "" {
			l.Add(t.Accent, g.Bullet)
		} else {
			l.Space(1)
		}
		l.Space(1).Add(style, widget.Fit(s.Label(), wide, g.Cut)).Space(2)
		v := x.p.g.Draft.Value(s.Key)
		switch {
		case v == "" && s.Default == "":
			l.Add(t.Faint, e.P.T("wizard.unset"))
		case v == "":
			l.Add(t.Faint, widget.Cut(s.Default, w-l.Width(), g.Cut))
		case s.Kind == config.Secret:
			l.Add(t.Text, "********")
		default:
			l.Add(t.Text, widget.Cut(event.Clean(v), w-l.Width(), g.Cut))
		}
		if at := wide + 40; w >= at+40 && l.Width() < at && i != x.at {
			l.To(at).Add(t.Faint, widget.Cut(strings.Join(wrapped(guide.Hint(e.P, s.Key), w), " "), w-at, g.Cut))
		}
		line := l.String()
		if i == x.at {
			line = widget.Paint(t.Cursor, line, w, "")
		}
		out, x.rows = append(out, line), append(x.rows, i)
	}
	if len(list) == 0 {
		out = append(out, "  "+t.Dim.Render(e.P.T("wizard.extra.none")))
	}
	for len(out) < h-len(foot) {
		out = append(out, "")
	}
	if cursor != nil {
		cursor.Y += len(out)
	}
	return append(out, foot...), cursor
}

func (x *extra) wrong(key string) bool {
	return x.p.g.Wrong(key).HasErrors()
}

// foot says what the setting under the cursor is, and is where it is typed.
func (x *extra) foot(e *frame.Env, list []config.Setting, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	out := []string{""}
	if x.finds || x.filter.Value() != "" {
		s, at := x.filter.Shown(w - 4)
		line := t.Key.Render("/") + " " + s
		if x.finds {
			return append(out, line), tea.NewCursor(2+at, 1)
		}
		out = append(out, line)
	}
	if len(list) == 0 {
		return out, nil
	}
	s := list[x.at]
	for _, l := range wrapped(guide.Hint(e.P, s.Key), w) {
		out = append(out, t.Dim.Render(l))
	}
	if len(s.Choices) > 0 {
		out = append(out, t.Dim.Render(widget.Cut(strings.Join(s.Choices, "  "), w, g.Cut)))
	}
	var said []string
	if x.open != nil && x.open.wrong != nil {
		text, next := words(e, *x.open.wrong)
		said = complaint(e, event.Error, text, next, w)
	} else {
		for _, p := range x.p.g.Wrong(s.Key) {
			text, next := words(e, p)
			said = append(said, complaint(e, p.Severity, text, next, w)...)
		}
	}
	out = append(out, said[:min(len(said), max(2, h/4))]...)
	switch {
	case x.open == nil:
		return out, nil
	case x.open.Kind == config.Block:
		rows := max(3, min(14, h/3))
		lines, cx, cy := x.area.Shown(w-2, rows)
		at := len(out)
		for i := range rows {
			l := ""
			if i < len(lines) {
				l = lines[i]
			}
			out = append(out, t.Chosen.Render(g.Vertical)+widget.Paint(t.Cursor, l, w-1, ""))
		}
		return out, tea.NewCursor(1+cx, at+cy)
	}
	label := s.Label() + " " + g.Prompt + " "
	v, cx := x.open.field.Shown(w - widget.Width(label) - 1)
	out = append(out, t.Strong.Render(s.Label())+" "+t.Chosen.Render(g.Prompt)+" "+v)
	return out, tea.NewCursor(widget.Width(label)+cx, len(out)-1)
}
