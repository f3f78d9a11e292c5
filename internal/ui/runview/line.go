package runview

import (
	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// line is one line that is typed at the foot of a page, after a "/".
type line struct {
	on    bool
	text  string
	field widget.Field // that text with the cursor
}

type lineEnd int

const (
	typing lineEnd = iota
	taken
	gone
)

// lineMost bounds what is typed, in characters.
const lineMost = 200

func (l *line) key(m tea.KeyPressMsg) lineEnd {
	switch m.String() {
	case "enter":
		l.on = false
		return taken
	case "esc", "ctrl+c":
		*l = line{}
		return gone
	default:
		l.change(func() { l.field.Key(m) })
	}
	return typing
}

func (l *line) paste(text string) { l.change(func() { l.field.Insert(text) }) }

// change changes the text, unless there is too much of it then.
func (l *line) change(how func()) {
	l.field.Set(l.text)
	if how(); len([]rune(l.field.Value())) <= lineMost {
		l.text = l.field.Value()
	}
}

// typedKeys are the keys while a line is typed: all others are letters.
func typedKeys(take, drop string) []frame.Binding {
	return []frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: take},
		{Keys: []string{"esc"}, Show: "Esc", Word: drop}}
}

// render gives the line and where its cursor is; what is typed last stays in sight.
func (l *line) render(e *frame.Env, w int) (string, *tea.Cursor) {
	l.field.Set(l.text)
	text, x := l.field.Shown(w - 5)
	typed := new(widget.Line).Space(1).Add(e.Theme.Key, "/").Space(1).Add(e.Theme.Text, text)
	return typed.To(w).String(), tea.NewCursor(3+x, 0)
}
