package frame

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Completed is a message: a path was looked up. The program calls Take, and nothing that Take does is slow.
type Completed struct{ Take func() tea.Cmd }

// CompletePath completes the path before a field's cursor: its command reads the directory. What it finds is put in
// unless something was typed since, and done is called; where several go on, their names are noted. Nothing that can be
// completed, as where nothing is typed, is what otherwise is for.
func CompletePath(e *Env, f *widget.Field, done, otherwise func() tea.Cmd) tea.Cmd {
	before, _ := f.Around()
	if e.Complete == nil || strings.TrimSpace(before) == "" {
		return do(otherwise)
	}
	look := e.Complete
	return func() tea.Msg {
		text, names := look(before)
		return Completed{func() tea.Cmd {
			if now, _ := f.Around(); now != before {
				return nil
			}
			more, ok := strings.CutPrefix(text, before)
			switch {
			case ok && more != "":
				f.Insert(more)
				return tea.Batch(do(done), note(names))
			case len(names) > 1:
				return note(names)
			}
			return do(otherwise)
		}}
	}
}

// note shows the names where there are several.
func note(names []string) tea.Cmd {
	if len(names) < 2 {
		return nil
	}
	return Send(Note{Text: event.Clean(strings.Join(names, "  "))})
}
