package runview

import (
	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/ui/board"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// summary is the page that stays when the run has ended.
type summary struct {
	on, shown bool
	top, most int
}

// finish shows the summary when the run has ended before the person's eyes, once, and rings the bell.
func (p *Page) finish() tea.Cmd {
	if p.sum.shown || !p.drawn || p.state.Ended == nil || p.again {
		return nil
	}
	p.sum.on, p.sum.shown, p.panel.on = true, true, false
	if p.opt.Replay != nil {
		return nil
	}
	return tea.Batch(tea.Raw("\a"), frame.Send(frame.Note{})) // what the footer told of the run's end has come to pass
}

func (p *Page) summary(e *frame.Env) board.Summary {
	return board.Summary{P: e.P, Theme: e.Theme, LogPath: p.opt.LogPath}
}

func (p *Page) renderSummary(e *frame.Env, w, h int) []string {
	lines := append([]string{""}, p.summary(e).Screen(p.state, w, h-1)...)
	p.sum.most = max(0, len(lines)-h)
	p.sum.top = min(p.sum.top, p.sum.most)
	lines = lines[p.sum.top:]
	if len(lines) > h {
		lines = append(lines[:h-1:h-1], "   "+e.Theme.Dim.Render(e.Theme.Glyphs.Cut+" "+e.P.T("ui.sum.more")))
	}
	return widget.Block(lines, w, h, e.Theme.Glyphs.Cut)
}

func (p *Page) summaryKeys() []frame.Binding {
	scroll := func(n int) func() tea.Cmd {
		return func() tea.Cmd { p.sum.top = max(0, min(p.sum.most, p.sum.top+n)); return nil }
	}
	list := []frame.Binding{
		{Keys: []string{"s", "b"}, Show: "s", Word: "ui.key.board",
			Do: func() tea.Cmd { p.sum.on = false; return nil }},
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: scroll(-1), Help: p.sum.most == 0},
		{Keys: []string{"down", "j"}, Do: scroll(1), Help: true},
		{Keys: []string{"pgup"}, Do: scroll(-10), Help: true},
		{Keys: []string{"pgdown", "space"}, Do: scroll(10), Help: true},
	}
	if len(p.failures()) > 0 {
		list = append(list, frame.Binding{Keys: []string{"d"}, Word: "ui.key.failures", Do: func() tea.Cmd {
			return p.openPanel(nil)
		}})
	}
	if p.opt.Support != nil {
		list = append(list, frame.Binding{Keys: []string{"B"}, Word: "ui.key.support", Do: p.support})
	}
	return list
}

// Farewell implements frame.Farewell: the summary goes to the scrollback of the terminal.
func (p *Page) Farewell(e *frame.Env, w int) []string {
	if p.state.Ended == nil || !p.sum.shown {
		return nil
	}
	return p.summary(e).Lines(p.state, w)
}
