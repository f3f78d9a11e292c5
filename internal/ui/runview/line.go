package runview

import (
	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// line is one line that is typed at the foot of a page, after a "/".
type line struct {
	on   bool
	text string
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
	case "backspace":
		if r := []rune(l.text); len(r) > 0 {
			l.text = string(r[:len(r)-1])
		}
	case "ctrl+u":
		l.text = ""
	default:
		l.paste(m.Text)
	}
	return typing
}

func (l *line) paste(text string) {
	if r := []rune(l.text + event.Clean(text)); len(r) <= lineMost {
		l.text = string(r)
	}
}

// typedKeys are the keys while a line is typed: all others are letters.
func typedKeys(take, drop string) []frame.Binding {
	return []frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: take}, {Keys: []string{"esc"}, Show: "Esc", Word: drop}}
}

// render gives the line and where its cursor is; what is typed last stays in sight.
func (l *line) render(e *frame.Env, w int) (string, *tea.Cursor) {
	text := []rune(l.text)
	for widget.Width(string(text)) > w-6 {
		text = text[1:]
	}
	typed := new(widget.Line).Space(1).Add(e.Theme.Key, "/").Space(1).Add(e.Theme.Text, string(text))
	at := typed.Width()
	return typed.To(w).String(), tea.NewCursor(at, 0)
}
