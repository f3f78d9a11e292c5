// Package runview has the screens of one run: the board with its panel of failures and its summary, and the log of a
// machine. They show what the event log says and nothing else; what they can do to the run goes through a Controller,
// to the process that does it.
package runview

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"charm.land/bubbles/v2/spinner"
	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/board"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

const (
	beat = 100 * time.Millisecond // between two looks at the feed: more than ten screens a second nobody reads
	gulp = 20000                  // records of one look
)

// Page is the board of a run.
type Page struct {
	opt   backend.Board
	next  func() frame.Page // see Again
	tick  func() tea.Cmd    // waits until the next look at the feed
	state *state.State
	over  bool // the feed has ended
	idle  bool // a replay waits for a key, and is not read until it comes
	board board.Board
	spin  spinner.Model
	log   *logPage // that is open above, nil if none
	w, h  int      // as drawn last

	drawn  bool // the person has seen the run before its end
	filter line // what the machines are filtered by, while it is typed

	panel  panel
	sum    summary
	ending string // of i18n: how the person has had the run end, before its time; "" not yet
	again  bool   // deploy.yaml was changed: when the run has ended it is gone on with
}

// New makes the board of a run.
func New(o backend.Board) *Page {
	p := &Page{opt: o, state: state.New(), spin: spinner.New(),
		panel: panel{asked: map[question]bool{}, told: map[question]bool{}}}
	p.tick = func() tea.Cmd { return tea.Tick(beat, func(time.Time) tea.Msg { return tickMsg{} }) }
	return p
}

// Again sets the page that goes on with the run when it has ended because of an Edit; without, the person is told how.
func (p *Page) Again(page func() frame.Page) *Page {
	p.next = page
	return p
}

// Still makes the page look at its feed only when it is told to: for tests.
func (p *Page) Still() *Page {
	p.tick = func() tea.Cmd { return nil }
	return p
}

// Look takes what has come, for a test that says when; the page's commands do it by themselves else.
func (p *Page) Look() tea.Cmd {
	look := p.look()
	return func() tea.Msg { return look() }
}

// State of the run as far as it was read; not to be changed.
func (p *Page) State() *state.State { return p.state }

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
		step string // whose first line is looked for, "": the end
		src  backend.NodeLog
		err  error
	}
	usualMsg struct{ history state.History }
)

// Init implements frame.Page.
func (p *Page) Init(e *frame.Env) tea.Cmd {
	learn := p.opt.Usual
	switch {
	case p.opt.Note != "":
		return tea.Batch(p.look(), frame.Send(frame.Note{Text: e.P.T(p.opt.Note)}))
	case learn == nil:
		return p.look()
	}
	return tea.Batch(p.look(), func() tea.Msg { return usualMsg{learn()} })
}

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
		return p.news(m, e)
	case frame.Back:
		p.log = nil
	case tickMsg:
		p.turn(e)
		return p.look()
	case usualMsg:
		p.board.Usual = m.history
	case openMsg:
		return p.opened(m, e)
	case chunkMsg: // see grown
		if p.log != nil {
			return p.log.Update(m, e)
		}
	case doneMsg:
		return p.done(m, e)
	}
	return nil
}

// turn takes the spinner one frame on. It has no clock of its own: it turns with the looks at the feed, where the
// screen is drawn again anyway.
func (p *Page) turn(e *frame.Env) {
	if r := p.opt.Replay; e.Moves == nil || !e.Moves() || r != nil && r.Idle() {
		p.board.Spin = ""
		return
	}
	p.spin.Spinner = e.Theme.Spinner()
	p.spin, _ = p.spin.Update(p.spin.Tick())
	p.board.Spin = p.spin.View()
}

// still stops the spinner when nothing runs any more.
func (p *Page) still() {
	if p.over || p.state.Ended != nil {
		p.board.Spin = ""
	}
}

func (p *Page) news(m newsMsg, e *frame.Env) tea.Cmd {
	for _, r := range m.list {
		p.state.Apply(r)
	}
	if r := p.opt.Replay; r != nil && m.err == nil && len(m.list) == 0 && r.Idle() {
		p.idle, p.board.Spin = true, ""
		return nil
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
	if p.over && p.again {
		return frame.Send(frame.Replace{Page: p.next()})
	}
	if p.log != nil && len(m.list) > 0 {
		next = tea.Batch(next, p.log.grown())
	}
	if len(m.list) == 0 && !p.over {
		return next
	}
	if bell := tea.Batch(p.ring(e), p.finish()); bell != nil {
		next = tea.Batch(next, bell)
	}
	return next
}

// resume reads a replay again after a key: one that waits for a key is not read, so that nothing is drawn for as long
// as it waits.
func (p *Page) resume() tea.Cmd {
	if !p.idle {
		return nil
	}
	p.idle = false
	return p.look()
}

// live says whether the run goes on, as far as anybody here knows.
func (p *Page) live() bool { return !p.over && p.state.Ended == nil && p.opt.Replay == nil }

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
	return p.state.At(e.Now())
}

// Type implements frame.Page: a filter that is being typed takes the keys; letters are letters then.
func (p *Page) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) {
	if !p.filter.on {
		return nil, false
	}
	if p.filter.key(m) == gone {
		p.board.Filter = ""
	} else {
		p.board.Filter = p.filter.text
	}
	return nil, true
}

// Typing implements frame.Typer.
func (p *Page) Typing() bool { return p.filter.on }

// Paste implements frame.Paster.
func (p *Page) Paste(text string, _ *frame.Env) tea.Cmd {
	if p.filter.on {
		p.filter.paste(text)
		p.board.Filter = p.filter.text
	}
	return nil
}

// Keys implements frame.Page.
func (p *Page) Keys(e *frame.Env) []frame.Binding {
	switch {
	case p.filter.on:
		return typedKeys("wizard.key.filter-this", "ui.key.all")
	case p.panel.on:
		return p.panelKeys(e)
	case p.sum.on:
		return p.summaryKeys()
	}
	move := func(right, down int) func() tea.Cmd {
		return func() tea.Cmd { p.board.Move(right, down); return nil }
	}
	var list []frame.Binding
	switch {
	case len(p.open()) > 0:
		list = append(list, frame.Binding{Keys: []string{"d", "r"}, Word: "ui.key.decide", Do: func() tea.Cmd {
			return p.openPanel(e)
		}})
	case len(p.failures()) > 0:
		list = append(list, frame.Binding{Keys: []string{"d"}, Word: "ui.key.failures", Do: func() tea.Cmd {
			return p.openPanel(e)
		}})
	}
	if p.state.Ended != nil || p.over {
		list = append(list, frame.Binding{Keys: []string{"s"}, Word: "ui.key.summary", Do: func() tea.Cmd {
			p.sum.on = true
			return nil
		}})
	}
	if p.board.Filter != "" {
		list = append(list, frame.Binding{Keys: []string{"esc"}, Show: "Esc", Word: "ui.key.all", Do: func() tea.Cmd {
			p.board.Filter, p.filter = "", line{}
			return nil
		}})
	}
	list = append(list,
		frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.line",
			Do: func() tea.Cmd { return p.openTimeline(e) }},
		frame.Binding{Keys: []string{"o"}, Word: "ui.key.open", Do: func() tea.Cmd { return p.openLog(e, "") }},
		frame.Binding{Keys: []string{"up", "k"}, Show: "↑ ↓ ← →", Word: "ui.key.move", Do: move(0, -1)},
		frame.Binding{Keys: []string{"down", "j"}, Do: move(0, 1), Help: true},
		frame.Binding{Keys: []string{"left", "h"}, Do: move(-1, 0), Help: true},
		frame.Binding{Keys: []string{"right", "l", "tab"}, Do: move(1, 0), Help: true},
		frame.Binding{Keys: []string{"pgup"}, Do: func() tea.Cmd { return p.Wheel(-10, e) }, Help: true},
		frame.Binding{Keys: []string{"pgdown"}, Do: func() tea.Cmd { return p.Wheel(10, e) }, Help: true})
	if r := p.opt.Replay; r != nil && !p.over {
		list = append(list,
			frame.Binding{Keys: []string{"space"}, Show: "Space", Word: "ui.key.pause",
				Do: func() tea.Cmd { r.Pause(); return p.resume() }},
			frame.Binding{Keys: []string{"+", "="}, Show: "+ -", Word: "ui.key.speed",
				Do: func() tea.Cmd { r.Speed(2); return nil }},
			frame.Binding{Keys: []string{"-"}, Do: func() tea.Cmd { r.Speed(0.5); return nil }, Help: true})
	}
	list = append(list,
		frame.Binding{Keys: []string{"/"}, Word: "ui.key.filter",
			Do: func() tea.Cmd { p.filter = line{on: true, text: p.board.Filter}; return nil }},
		frame.Binding{Keys: []string{"e", "!"}, Word: "ui.key.trouble", Do: func() tea.Cmd { return p.trouble(e) },
			Help: true})
	if p.opt.Shell != nil {
		list = append(list, frame.Binding{Keys: []string{"x"}, Word: "ui.key.shell", Do: func() tea.Cmd {
			return p.shellHere(e)
		}})
	}
	if p.opt.Support != nil {
		list = append(list, frame.Binding{Keys: []string{"B"}, Word: "ui.key.support", Do: p.support, Help: true})
	}
	return list
}

// Wheel implements frame.Wheeler.
func (p *Page) Wheel(n int, _ *frame.Env) tea.Cmd {
	switch {
	case p.panel.on:
	case p.sum.on:
		p.sum.top = max(0, p.sum.top+n) // Render keeps it within the summary
	default:
		p.board.Cursor = max(0, p.board.Cursor+n) // Render keeps it among the machines
	}
	return nil
}

// Click implements frame.Clicker: the first click chooses a machine, the next opens its steps.
func (p *Page) Click(x, y int, e *frame.Env) tea.Cmd {
	if p.panel.on || p.sum.on {
		return nil
	}
	at, ok := p.board.At(x, y)
	if !ok {
		return nil
	}
	if at == p.board.Cursor {
		return p.openTimeline(e)
	}
	p.board.Cursor = at
	return nil
}

// Render implements frame.Page.
func (p *Page) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	p.board.P, p.board.Theme, p.w, p.h = e.P, e.Theme, w, h
	p.still()
	p.drawn = p.drawn || p.state.Seq > 0 && p.state.Ended == nil && !p.over
	if p.sum.on && !p.panel.on {
		return p.renderSummary(e, w, h), nil
	}
	if p.filter.on && h > board.MinHeight { // what is typed has a line of its own
		h--
	}
	lines := p.board.Render(p.state, p.now(e), w, h)
	if p.panel.on {
		lines = p.renderPanel(e, lines, w, h)
	}
	if p.filter.on {
		typed, cursor := p.filter.render(e, w)
		if h == p.h {
			lines = lines[: len(lines)-1 : len(lines)-1]
		}
		cursor.Y = len(lines)
		return append(lines, typed), cursor
	}
	return lines, nil
}

// Bare implements frame.Bare: the board has its own head.
func (p *Page) Bare() bool { return true }

// Title implements frame.Page.
func (p *Page) Title(e *frame.Env) string {
	title := event.Clean(p.state.Run.Cluster)
	if p.state.Total > 0 && p.state.Ended == nil {
		title += fmt.Sprintf(" %d %%", p.percent())
	}
	if len(p.state.Open) > 0 {
		title = "! " + title
	}
	return title
}

func (p *Page) percent() int { return 100 * p.ended() / max(1, p.state.Total) }

func (p *Page) ended() int {
	n := 0
	for _, c := range p.state.Counts {
		n += c
	}
	return n
}

// Gauge implements frame.Gauge.
func (p *Page) Gauge(*frame.Env) *tea.ProgressBar {
	switch s := p.state; {
	case s.Total == 0 || s.Ended != nil && s.Ended.Outcome.Done():
		return nil
	case len(s.Open) > 0:
		return tea.NewProgressBar(tea.ProgressBarWarning, p.percent())
	case len(s.Failures) > 0 && len(p.failures()) > 0:
		return tea.NewProgressBar(tea.ProgressBarError, p.percent())
	}
	return tea.NewProgressBar(tea.ProgressBarDefault, p.percent())
}

// Aside implements frame.Asider.
func (p *Page) Aside(e *frame.Env) string {
	r := p.opt.Replay
	switch {
	case p.again:
		return e.P.T("ui.again")
	case p.ending != "" && p.live():
		return e.P.T(p.ending)
	case r == nil || p.over:
		return ""
	case r.Paused():
		return e.P.T("ui.replay") + " " + e.P.T("ui.paused")
	case r.Waits() && p.panel.on:
		return e.P.T("demo.decide")
	case r.Waits():
		return e.P.T("demo.waits")
	}
	return e.P.T("ui.replay") + " " + e.P.T("ui.speed", "factor", factor(r.Factor()))
}

// Small implements frame.Smaller.
func (p *Page) Small(e *frame.Env) string {
	return e.P.T("ui.goes-on", "ended", fmt.Sprint(p.ended()), "total", fmt.Sprint(p.state.Total))
}

// Close implements frame.Closer.
func (p *Page) Close() {
	if p.opt.Close != nil {
		p.opt.Close()
	}
}

// openLog opens the log of a machine; "" is the one under the cursor.
func (p *Page) openLog(e *frame.Env, step string) tea.Cmd {
	p.board.P, p.board.Theme = e.P, e.Theme
	host, ok := p.board.Host(p.state, p.now(e))
	if st := p.state.Step(step); st != nil {
		host, ok = st.Host, true
	}
	if !ok {
		return nil
	}
	return p.openAt(host, step)
}

// openAt opens the log of a machine, at the first line of a step or, where step is "", at its end.
func (p *Page) openAt(host, step string) tea.Cmd {
	open := p.opt.NodeLog
	if open == nil {
		return nil
	}
	return func() tea.Msg {
		src, err := open(host)
		return openMsg{host, step, src, err}
	}
}

// opened shows a log that was opened.
func (p *Page) opened(m openMsg, e *frame.Env) tea.Cmd {
	if m.err != nil {
		return wrong(m.err, e)
	}
	p.log = newLogPage(m.host, m.src, p.opt)
	p.log.step = m.step
	p.log.title = func(step string) (event.Msg, bool) {
		if st := p.state.Step(step); st != nil {
			return st.Title, true
		}
		return event.Msg{}, false
	}
	return frame.Send(frame.Push{Page: p.log})
}

func (p *Page) trouble(e *frame.Env) tea.Cmd {
	p.board.P, p.board.Theme = e.P, e.Theme
	if !p.board.Trouble(p.state, p.now(e)) {
		return frame.Send(frame.Note{Text: e.P.T("ui.no-trouble")})
	}
	return nil
}

func factor(f float64) string {
	if f == math.Trunc(f) {
		return fmt.Sprint(int(f))
	}
	return fmt.Sprint(f)
}
