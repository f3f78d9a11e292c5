package pages

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// network is whether there is one to build from, as far as it was asked.
type network struct {
	task
	asked bool
	there bool
}

type reached struct{}

// ask asks the servers of a build.
func (n *network) ask(s backend.Builds, b backend.Build) tea.Cmd {
	c := n.task.start(event.M("make.probing"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return reached{}, s.Reach(ctx, b)
	})
	n.asked, n.there = true, false
	return c
}

func (n *network) take(m tea.Msg) tea.Cmd {
	c, result, done := n.task.take(m)
	if _, ok := result.(reached); ok && done {
		n.there = true
	}
	return c
}

// says is what is known of it.
func (n *network) says(e *frame.Env, w int) []string {
	t := e.Theme
	switch {
	case n.there:
		return wrapped(t.Good, t.Glyphs.OK+" "+e.P.T("make.network"), w)
	case n.fault != nil:
		text, next := e.P.Fault(n.fault)
		return append(wrapped(t.Warn, t.Glyphs.Ignored+" "+e.P.T("make.no-network")+" "+text, w),
			wrapped(t.Text, t.Glyphs.Arrow+" "+next, w)...)
	}
	return n.lines(e, w)
}

// scrolled are lines of which h are in sight.
type scrolled struct{ top, n, h int }

func (s *scrolled) by(n int) func() tea.Cmd {
	return func() tea.Cmd { s.top = max(0, min(s.top+n, s.n-s.h)); return nil }
}

// sight are the lines that are drawn.
func (s *scrolled) sight(lines []string, h int) []string {
	s.n, s.h = len(lines), max(1, h)
	s.top = max(0, min(s.top, s.n-s.h))
	return lines[s.top:min(s.n, s.top+s.h)]
}

func (s *scrolled) keys() []frame.Binding {
	if s.n <= s.h {
		return nil
	}
	return []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: s.by(-1)},
		{Keys: []string{"down", "j"}, Do: s.by(1), Help: true},
		{Keys: []string{"pgup", "b"}, Show: "PgUp PgDn", Word: "ui.key.page", Do: s.by(1 - s.h), Help: true},
		{Keys: []string{"pgdown", "space"}, Do: s.by(s.h - 1), Help: true},
	}
}
