// Package runview has the screens of one run: the board, and the log of a machine. They show what the event log says and nothing else; what they
// can do to the run goes through a Controller, to the process that does it.
package runview

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/runstate"
	"github.com/eggo-k8s/eggo/internal/ui/board"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/logview"
)

// Controller speaks to the process that does a run. Its methods take their time and are called in commands. To detach needs none of them: the
// run is another process, and goes on when the board is left.
type Controller interface {
	// Decide says what becomes of a step that failed and was asked about (event.StepAsked).
	Decide(step string, d event.Decision) error
	// Stop lets the running steps end and starts no new ones.
	Stop() error
	// Abort breaks off.
	Abort() error
}

// Options of a board.
type Options struct {
	Feed Feed
	// Replay is Feed when the run is over and plays again; its keys are shown then.
	Replay *Replay
	// NodeLog opens what a machine has printed; nil: the board keeps to the last lines. The caller closes what it opened in Close.
	NodeLog func(host string) (logview.Source, error)
	// Control is nil when the run is over, or cannot be reached.
	Control Controller
	// Close gives back what the feed and the logs hold.
	Close func()
}

const (
	beat = 100 * time.Millisecond // between two looks at the feed: more than ten screens a second nobody reads
	gulp = 20000                  // records of one look
)

// Page is the board of a run.
type Page struct {
	opt   Options
	tick  func() tea.Cmd // waits until the next look at the feed
	state *runstate.State
	over  bool // the feed has ended
	board board.Board
	log   *logPage // that is open above, nil if none
}

// New makes the board of a run.
func New(o Options) *Page {
	p := &Page{opt: o, state: runstate.New()}
	p.tick = func() tea.Cmd { return tea.Tick(beat, func(time.Time) tea.Msg { return tickMsg{} }) }
	return p
}

// Still makes the page look at its feed only when it is told to: for tests.
func (p *Page) Still() *Page {
	p.tick = func() tea.Cmd { return nil }
	return p
}

// State of the run as far as it was read; not to be changed.
func (p *Page) State() *runstate.State { return p.state }

// Over says whether the feed has ended.
func (p *Page) Over() bool { return p.over }

type (
	tickMsg struct{}
	newsMsg struct {
		list []event.Record
		err  error
	}
	openMsg struct {
		host string
		src  logview.Source
		err  error
	}
)

// Init implements frame.Page.
func (p *Page) Init(*frame.Env) tea.Cmd { return p.look() }

// look takes what has come.
func (p *Page) look() tea.Cmd {
	feed := p.opt.Feed
	return func() tea.Msg {
		list, err := feed.Take(gulp)
		return newsMsg{list, err}
	}
}

// Update implements frame.Page.
func (p *Page) Update(msg tea.Msg, e *frame.Env) tea.Cmd {
	switch m := msg.(type) {
	case newsMsg:
		return p.news(m)
	case frame.Back:
		p.log = nil
	case tickMsg:
		return p.look()
	case openMsg:
		if m.err != nil {
			return frame.Send(frame.Note{Text: event.Clean(m.err.Error())})
		}
		p.log = newLogPage(m.host, m.src)
		return frame.Send(frame.Push{Page: p.log})
	}
	return nil
}

func (p *Page) news(m newsMsg) tea.Cmd {
	for _, r := range m.list {
		p.state.Apply(r)
	}
	next := p.tick()
	switch {
	case len(m.list) == gulp: // there is more already
		next = p.look()
	case errors.Is(m.err, io.EOF):
		p.over = true
		next = nil
	case m.err != nil:
		p.over = true
		return frame.Send(frame.Quit{Err: m.err})
	}
	if p.log != nil && len(m.list) > 0 {
		return tea.Batch(next, p.log.grown())
	}
	return next
}

// now is the clock that ages are told by.
func (p *Page) now(e *frame.Env) time.Time {
	switch {
	case p.opt.Replay != nil && !p.over:
		if c := p.opt.Replay.Clock(); c.After(p.state.Now) {
			return c
		}
		return p.state.Now
	case p.over, p.state.Ended != nil:
		return p.state.Now
	}
	return e.Now()
}

// Type implements frame.Page: nothing is typed on a board.
func (p *Page) Type(tea.KeyPressMsg, *frame.Env) (tea.Cmd, bool) { return nil, false }

// Keys implements frame.Page.
func (p *Page) Keys(e *frame.Env) []frame.Binding {
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { return p.Wheel(n, e) } }
	list := []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: move(-1)},
		{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		{Keys: []string{"left", "h"}, Do: move(-1), Help: true},
		{Keys: []string{"right", "l", "tab"}, Do: move(1), Help: true},
		{Keys: []string{"pgup"}, Do: move(-10), Help: true},
		{Keys: []string{"pgdown"}, Do: move(10), Help: true},
		{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.open", Do: func() tea.Cmd { return p.openLog(e) }},
	}
	if r := p.opt.Replay; r != nil {
		list = append(list,
			frame.Binding{Keys: []string{"space"}, Show: "Space", Word: "ui.key.pause", Do: func() tea.Cmd { r.Pause(); return nil }},
			frame.Binding{Keys: []string{"+", "="}, Show: "+", Word: "ui.key.faster", Do: func() tea.Cmd { r.Speed(2); return nil }},
			frame.Binding{Keys: []string{"-"}, Word: "ui.key.slower", Do: func() tea.Cmd { r.Speed(0.5); return nil }})
	}
	return list
}

// Wheel implements frame.Wheeler.
func (p *Page) Wheel(n int, _ *frame.Env) tea.Cmd {
	p.board.Cursor = max(0, p.board.Cursor+n) // Render keeps it among the machines
	return nil
}

// Render implements frame.Page.
func (p *Page) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	p.board.P, p.board.Theme = e.P, e.Theme
	return p.board.Render(p.state, p.now(e), w, h), nil
}

// Bare implements frame.Bare: the board has its own head.
func (p *Page) Bare() bool { return true }

// Title implements frame.Page.
func (p *Page) Title(*frame.Env) string { return event.Clean(p.state.Run.Cluster) }

// Aside implements frame.Asider.
func (p *Page) Aside(e *frame.Env) string {
	r := p.opt.Replay
	switch {
	case r == nil || p.over:
		return ""
	case r.Paused():
		return e.P.T("ui.replay") + " " + e.P.T("ui.paused")
	}
	return e.P.T("ui.replay") + " " + e.P.T("ui.speed", "factor", factor(r.Factor()))
}

// Small implements frame.Smaller.
func (p *Page) Small(e *frame.Env) string {
	ended := 0
	for _, c := range p.state.Counts {
		ended += c
	}
	return e.P.T("ui.goes-on", "ended", fmt.Sprint(ended), "total", fmt.Sprint(p.state.Total))
}

// Close implements frame.Closer.
func (p *Page) Close() {
	if p.opt.Close != nil {
		p.opt.Close()
	}
}

func (p *Page) openLog(e *frame.Env) tea.Cmd {
	p.board.P, p.board.Theme = e.P, e.Theme
	host, ok := p.board.Host(p.state, p.now(e))
	if !ok || p.opt.NodeLog == nil {
		return nil
	}
	open := p.opt.NodeLog
	return func() tea.Msg {
		src, err := open(host)
		return openMsg{host, src, err}
	}
}

func factor(f float64) string {
	if f == math.Trunc(f) {
		return fmt.Sprint(int(f))
	}
	return fmt.Sprint(f)
}
