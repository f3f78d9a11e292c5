package runview

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/board"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// timeline is the page of one machine's steps, above the board whose run it shows.
type timeline struct {
	of   *Page
	line board.Timeline
}

// openTimeline opens the steps of the machine under the cursor.
func (p *Page) openTimeline(e *frame.Env) tea.Cmd {
	p.board.P, p.board.Theme = e.P, e.Theme
	host, ok := p.board.Host(p.state, p.now(e))
	if !ok {
		return nil
	}
	return frame.Send(frame.Push{Page: &timeline{of: p, line: board.Timeline{Host: host}}})
}

// Init implements frame.Page.
func (t *timeline) Init(*frame.Env) tea.Cmd { return nil }

// Update implements frame.Page.
func (t *timeline) Update(msg tea.Msg, e *frame.Env) tea.Cmd {
	switch m := msg.(type) {
	case openMsg:
		return t.of.opened(m, e)
	case frame.Back:
		t.of.log = nil
	case doneMsg:
		return t.of.done(m, e)
	}
	return nil
}

// Type implements frame.Page.
func (t *timeline) Type(tea.KeyPressMsg, *frame.Env) (tea.Cmd, bool) { return nil, false }

// Keys implements frame.Page.
func (t *timeline) Keys(*frame.Env) []frame.Binding {
	move := func(n int) func() tea.Cmd {
		return func() tea.Cmd { t.line.Cursor = max(0, t.line.Cursor+n); return nil } // Render keeps it among the steps
	}
	list := []frame.Binding{
		{Keys: []string{"esc", "backspace"}, Show: "Esc", Word: "ui.key.back",
			Do: func() tea.Cmd { return frame.Send(frame.Pop{}) }},
	}
	if t.of.opt.NodeLog != nil {
		list = append(list, frame.Binding{Keys: []string{"enter", "o"}, Show: "Enter", Word: "ui.key.open", Do: t.open})
	}
	list = append(list,
		frame.Binding{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: move(-1)},
		frame.Binding{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		frame.Binding{Keys: []string{"pgup", "b"}, Show: "PgUp PgDn", Word: "ui.key.page", Do: move(-10), Help: true},
		frame.Binding{Keys: []string{"pgdown", "space"}, Do: move(10), Help: true},
		frame.Binding{Keys: []string{"home", "g"}, Show: "g G", Word: "ui.key.top", Do: move(-1 << 20), Help: true},
		frame.Binding{Keys: []string{"end", "G"}, Do: move(1 << 20), Help: true})
	if t.of.opt.Shell != nil && t.line.Host != "" {
		list = append(list, frame.Binding{Keys: []string{"x"}, Word: "ui.key.shell",
			Do: func() tea.Cmd { return t.of.shell(t.line.Host) }})
	}
	return list
}

// open opens the log of the machine where the chosen step begins in it, or at its end if the step runs or is to come.
func (t *timeline) open() tea.Cmd {
	step := ""
	if st := t.line.Step(t.of.state); st != nil && st.Outcome != "" {
		step = st.ID
	}
	return t.of.openAt(t.line.Host, step)
}

// Wheel implements frame.Wheeler.
func (t *timeline) Wheel(n int, _ *frame.Env) tea.Cmd {
	t.line.Cursor = max(0, t.line.Cursor+n)
	return nil
}

// Click implements frame.Clicker: the first click chooses a step, the next opens the log.
func (t *timeline) Click(_, y int, _ *frame.Env) tea.Cmd {
	if t.line.Click(y) && t.of.opt.NodeLog != nil {
		return t.open()
	}
	return nil
}

// Render implements frame.Page.
func (t *timeline) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	b := &t.of.board
	b.P, b.Theme = e.P, e.Theme
	t.of.still()
	return b.Timeline(&t.line, t.of.state, t.of.now(e), w, h), nil
}

// Title implements frame.Page.
func (t *timeline) Title(e *frame.Env) string {
	name := event.Clean(t.line.Host)
	if name == "" {
		name = e.P.T("report.jump-host")
	}
	return e.P.T("ui.line", "host", name)
}

// Aside implements frame.Asider.
func (t *timeline) Aside(e *frame.Env) string {
	h := t.of.state.Host(t.line.Host)
	if h == nil {
		h = &state.Host{}
	}
	return e.P.T("ui.steps", "ended", fmt.Sprint(h.Ended), "total", fmt.Sprint(h.Total))
}
