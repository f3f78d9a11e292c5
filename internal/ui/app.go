// Package ui is the screen: the only room that knows Charm's libraries. It shows what the event log says and what deploy.yaml holds, and knows
// no node, no phase and no engine: what it needs of them main hands in.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/runstate"
	"github.com/eggo-k8s/eggo/internal/ui/board"
	"github.com/eggo-k8s/eggo/internal/ui/logview"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// cmd is what Update hands back to be done outside of it.
type cmd = tea.Cmd

// Options of a board.
type Options struct {
	Lang  i18n.Lang
	ASCII bool
	// Replay is Feed when the run is over and plays again; its keys are shown then.
	Replay *Replay
	// NodeLog opens what a machine has printed; nil: the board keeps to the last lines. The caller closes what it opened when Watch returns.
	NodeLog func(host string) (logview.Source, error)
	// Now is the clock of a live run.
	Now func() time.Time
}

const (
	beat = 100 * time.Millisecond // between two looks at the feed: more than ten screens a second nobody reads
	gulp = 20000                  // records of one look
)

type screen int

const (
	onBoard screen = iota
	onLog
)

// App is the model: what is on the screen and nothing else.
type App struct {
	opt   Options
	feed  Feed
	tick  func() tea.Cmd // waits until the next look at the feed
	p     *i18n.Printer
	theme *theme.Theme
	dark  bool
	w, h  int

	state *runstate.State
	over  bool // the feed has ended
	err   error

	screen screen
	help   bool
	board  board.Board

	log     *logview.Log
	src     logview.Source
	logHost string
	typing  bool // a search is being typed
	search  string
	note    string // of the footer, until the next key
}

// New makes the model; Watch runs it.
func New(feed Feed, o Options) *App {
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &App{opt: o, feed: feed, state: runstate.New(), dark: true, w: 80, h: 24}
	a.tick = func() tea.Cmd { return tea.Tick(beat, func(time.Time) tea.Msg { return tickMsg{} }) }
	a.dress(o.Lang)
	return a
}

// dress makes what depends on language and colours.
func (a *App) dress(lang i18n.Lang) {
	a.p = i18n.NewPrinter(lang)
	a.theme = theme.New(theme.Options{Dark: a.dark, ASCII: a.opt.ASCII})
	a.board.P, a.board.Theme = a.p, a.theme
	if a.log != nil {
		a.log.Theme = a.theme
	}
}

// Watch shows the run until the person leaves or ctx ends. The run itself is not touched by it.
func Watch(ctx context.Context, feed Feed, o Options, in io.Reader, out io.Writer) error {
	prog := tea.NewProgram(New(feed, o), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	m, err := prog.Run()
	if a, ok := m.(*App); ok && err == nil {
		err = a.err
	}
	return err
}

type (
	tickMsg  struct{}
	newsMsg  newsBatch
	chunkMsg logview.Chunk
	openMsg  struct {
		host string
		src  logview.Source
		err  error
	}
)

// Init implements tea.Model.
func (a *App) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, a.look()) }

// look takes what has come.
func (a *App) look() tea.Cmd {
	feed := a.feed
	return func() tea.Msg {
		list, err := feed.Take(gulp)
		return newsMsg{list, err}
	}
}

// Update implements tea.Model.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = m.Width, m.Height
	case tea.BackgroundColorMsg:
		a.dark = m.IsDark()
		a.dress(a.p.Lang())
	case newsMsg:
		return a, a.news(newsBatch(m))
	case tickMsg:
		return a, a.look()
	case tea.KeyPressMsg:
		return a, a.key(m)
	case tea.PasteMsg:
		if a.typing {
			a.search += m.Content
		}
	case tea.MouseWheelMsg:
		if m.Button == tea.MouseWheelUp {
			return a, a.move(-3)
		}
		return a, a.move(3)
	case openMsg:
		return a, a.opened(m)
	case chunkMsg:
		a.loaded(logview.Chunk(m))
	}
	return a, nil
}

func (a *App) news(m newsBatch) tea.Cmd {
	for _, r := range m.list {
		a.state.Apply(r)
	}
	next := a.tick()
	switch {
	case len(m.list) == gulp: // there is more already
		next = a.look()
	case errors.Is(m.err, io.EOF):
		a.over = true
		next = nil
	case m.err != nil:
		a.err, a.over = m.err, true
		next = nil
	}
	if a.screen == onLog && a.log.Follow && a.src != nil && len(m.list) > 0 {
		return tea.Batch(next, a.load(-1))
	}
	return next
}

// now is the clock that ages are told by.
func (a *App) now() time.Time {
	switch {
	case a.opt.Replay != nil && !a.over:
		if c := a.opt.Replay.Clock(); c.After(a.state.Now) {
			return c
		}
		return a.state.Now
	case a.over, a.state.Ended != nil:
		return a.state.Now
	}
	return a.opt.Now()
}

// View implements tea.Model.
func (a *App) View() tea.View {
	v := tea.NewView(strings.Join(a.lines(), "\n"))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "eggo " + a.state.Run.Cluster
	return v
}

// lines are the screen: exactly h lines of exactly w cells.
func (a *App) lines() []string {
	if a.w < board.MinWidth || a.h < board.MinHeight {
		return a.board.Render(a.state, a.now(), a.w, a.h)
	}
	var body []string
	if a.screen == onLog {
		body = append([]string{a.logHead(), a.theme.Border.Render(strings.Repeat(a.theme.Glyphs.Rule, a.w))}, a.log.Render(a.w, a.h-3, a.p.T("ui.log.empty"))...)
	} else {
		body = a.board.Render(a.state, a.now(), a.w, a.h-1)
	}
	if a.help {
		a.overlay(body)
	}
	return widget.Block(append(body, a.foot()), a.w, a.h, "")
}

// overlay puts the list of keys into the middle of the screen.
func (a *App) overlay(body []string) {
	t, g := a.theme, a.theme.Glyphs
	list := helpLines(t, a.p, a.bindings())
	title, last := " "+a.p.T("ui.help")+" ", a.p.T("ui.help.close")
	wide := max(widget.Width(title)+2, widget.Width(last))
	for _, l := range list {
		wide = max(wide, widget.Width(l))
	}
	wide = min(wide, a.w-6)
	box := []string{t.Chosen.Render(g.TopLeft+g.Horizontal) + t.Title.Render(title) + t.Chosen.Render(strings.Repeat(g.Horizontal, wide+1-widget.Width(title))+g.TopRight)}
	for _, l := range append(list, "", t.Dim.Render(last)) {
		box = append(box, t.Chosen.Render(g.Vertical)+" "+widget.Fit(l, wide, g.Cut)+" "+t.Chosen.Render(g.Vertical))
	}
	box = append(box, t.Chosen.Render(g.BottomLeft+strings.Repeat(g.Horizontal, wide+2)+g.BottomRight))
	top, left := max(0, (len(body)-len(box))/2), (a.w-wide-4)/2
	for i, l := range box {
		if top+i < len(body) {
			body[top+i] = widget.Over(body[top+i], l, left, a.w)
		}
	}
}

func (a *App) foot() string {
	if a.typing {
		return new(widget.Line).Space(1).Add(a.theme.Key, "/").Space(1).Add(a.theme.Text, widget.Cut(a.search, a.w-6, "")).Add(a.theme.Cursor, " ").String()
	}
	right := a.note
	if r := a.opt.Replay; r != nil && right == "" && a.screen == onBoard && !a.over {
		right = a.p.T("ui.replay") + " " + a.p.T("ui.speed", "factor", factor(r.Factor()))
		if r.Paused() {
			right = a.p.T("ui.replay") + " " + a.p.T("ui.paused")
		}
	}
	left := footer(a.theme, a.p, a.bindings(), a.w-widget.Width(right)-2)
	return left + widget.Spaces(a.w-widget.Width(left)-widget.Width(right)-1) + a.theme.Yolk.Render(right)
}

func factor(f float64) string {
	if f == math.Trunc(f) {
		return fmt.Sprint(int(f))
	}
	return fmt.Sprint(f)
}
