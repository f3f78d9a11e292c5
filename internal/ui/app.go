package ui

import (
	"context"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// Options of the screen.
type Options struct {
	Lang  i18n.Lang
	ASCII bool
	// Mono draws without colours.
	Mono bool
	// Note is shown in the footer until the first key; "" is none.
	Note string
	// Now is the clock; nil is the machine's.
	Now func() time.Time
	// Complete completes paths (frame.Env); nil: nothing does.
	Complete func(text string) (string, []string)
	// Still: nothing moves by itself; what is shown changes when something has happened.
	Still bool
	// Command words an operation that a message advises (i18n.Printer); nil: shortly.
	Command func(event.Call) string
}

// App is the model: what is on the screen and nothing else.
type App struct {
	env   frame.Env
	ascii bool
	mono  bool // NO_COLOR, whatever the terminal has
	dark  bool
	few   theme.Colours
	free  bool // the mouse is the terminal's, to select text with
	w, h  int

	stack   []frame.Page
	dialogs []*open // the first is shown
	help    bool
	helpTop int
	note    string       // of the footer, until the next key
	spots   []frame.Spot // of the footer as drawn last
	box     area         // of the dialog as drawn last
	words   []string     // to be printed when the program has ended
	err     error

	command  func(event.Call) string
	terminal bool // somebody types at one, and sees what is drawn
	asked    int  // questions to the terminal
	answers  int  // to them
	keys     int  // that were typed, and clicks
}

type area struct{ x, y, w, h int }

// pageMsg is what a page's command said.
type pageMsg struct {
	page frame.Page
	msg  tea.Msg
	key  int // the number of the key that it comes of, 0 if none
}

// New makes the model with its first page.
func New(first frame.Page, o Options) *App {
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &App{
		env:   frame.Env{Now: o.Now, Complete: o.Complete, Moves: func() bool { return !o.Still }},
		ascii: o.ASCII, mono: o.Mono, dark: true, w: 80, h: 24,
		note: o.Note, stack: []frame.Page{first}, command: o.Command,
	}
	a.dress(o.Lang)
	return a
}

// dress makes what depends on language and colours.
func (a *App) dress(lang i18n.Lang) {
	a.env.P = i18n.NewPrinter(lang)
	if a.command != nil {
		a.env.P.Command = a.command
	}
	o := theme.Options{Dark: a.dark, ASCII: a.ascii, Colours: a.few}
	if a.mono {
		o.Colours = theme.None
	}
	a.env.Theme = theme.New(o)
}

// Run shows the first page, and what comes of it, until the person leaves or ctx ends.
func Run(ctx context.Context, first frame.Page, o Options, in io.Reader, out io.Writer) error {
	a := New(first, o)
	a.terminal = true
	screen := out
	if p := newPace(out); p != nil {
		screen, a.env.Moves = p, func() bool { return !o.Still && !p.slow.Load() }
	}
	prog := tea.NewProgram(a, tea.WithContext(ctx), tea.WithInput(newInput(in)), tea.WithOutput(screen),
		tea.WithoutSignalHandler(), tea.WithFilter(calm()))
	_, err := prog.Run()
	for _, p := range a.stack {
		a.farewell(p)
	}
	if len(a.words) > 0 && err == nil {
		_, _ = lipgloss.Fprintln(out, strings.Join(a.words, "\n")) // a terminal that is gone reads no farewell
	}
	for _, p := range slices.Backward(a.stack) {
		if c, ok := p.(frame.Closer); ok {
			c.Close()
		}
	}
	if err == nil {
		err = a.err
	}
	return err
}

// farewell keeps what a page has to say when the program has ended.
func (a *App) farewell(p frame.Page) {
	if f, ok := p.(frame.Farewell); ok {
		words := f.Farewell(&a.env, a.w)
		if a.ascii {
			plain(words)
		}
		a.words = append(a.words, words...)
	}
}

// Env is what pages get.
func (a *App) Env() *frame.Env { return &a.env }

// calm lets one event of the mouse wheel through in 16 ms: a wheel that is spun sends hundreds.
func calm() func(tea.Model, tea.Msg) tea.Msg {
	var last time.Time
	return func(_ tea.Model, m tea.Msg) tea.Msg {
		if _, wheel := m.(tea.MouseWheelMsg); wheel {
			if now := time.Now(); now.Sub(last) < 16*time.Millisecond {
				return nil
			} else {
				last = now
			}
		}
		return m
	}
}

// Init implements tea.Model.
func (a *App) Init() tea.Cmd {
	var c tea.Cmd
	if a.terminal {
		c = a.ask()
	}
	return tea.Batch(tea.RequestBackgroundColor, c, a.of(a.stack[0], a.stack[0].Init(&a.env)))
}

// of makes a page's command one whose message finds its way back to the page. Messages of Bubble Tea's own go to
// Bubble Tea.
func (a *App) of(p frame.Page, c tea.Cmd) tea.Cmd { return a.by(p, c, 0) }

// by is of, for a command that comes of a key.
func (a *App) by(p frame.Page, c tea.Cmd, key int) tea.Cmd {
	if c == nil {
		return nil
	}
	return func() tea.Msg {
		began := time.Now()
		m := c()
		if time.Since(began) > quickTime {
			key = 0
		}
		if pm, done := m.(pageMsg); done || m == nil {
			if done && pm.key == 0 {
				pm.key = key
				return pm
			}
			return m
		}
		v := reflect.ValueOf(m)
		if v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() { // a batch or a sequence
			for i := range v.Len() {
				if inner, ok := v.Index(i).Interface().(tea.Cmd); ok && inner != nil {
					v.Index(i).Set(reflect.ValueOf(a.by(p, inner, key)))
				}
			}
			return m
		}
		if v.Type().PkgPath() == reflect.TypeFor[tea.KeyPressMsg]().PkgPath() {
			return m
		}
		return pageMsg{p, m, key}
	}
}

// Update implements tea.Model.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = m.Width, m.Height
	case tea.BackgroundColorMsg:
		a.dark = m.IsDark()
		a.dress(a.env.P.Lang())
	case tea.ColorProfileMsg:
		a.few = theme.ColoursOf(m.Profile)
		a.dress(a.env.P.Lang())
	case tea.KeyPressMsg:
		return a, a.key(m)
	case tea.PasteMsg:
		return a, a.paste(m.Content)
	case tea.MouseWheelMsg:
		return a, a.wheel(m)
	case tea.MouseClickMsg:
		if m.Button == tea.MouseLeft {
			return a, a.click(m.X, m.Y)
		}
	case uv.PrimaryDeviceAttributesEvent:
		return a, a.answered()
	case drawnMsg:
		return a, a.drawn(m.of)
	case muteMsg:
		return a, a.mute(m.of)
	case pageMsg:
		if slices.Contains(a.stack, m.page) {
			return a, a.said(m.page, m.msg, m.key)
		}
	default: // of a page's command that could not be wrapped
		var all []tea.Cmd
		for _, p := range a.stack {
			all = append(all, a.of(p, p.Update(msg, &a.env)))
		}
		return a, tea.Batch(all...)
	}
	return a, nil
}

// said takes what a page sends to the program, because of the key with that number if it is not 0; what is none of
// it goes to the page.
func (a *App) said(p frame.Page, msg tea.Msg, key int) tea.Cmd {
	at := slices.Index(a.stack, p)
	switch m := msg.(type) {
	case frame.Push:
		a.help = false
		a.stack = append(a.stack, m.Page)
		return a.of(m.Page, m.Page.Init(&a.env))
	case frame.Pop:
		return a.cut(at)
	case frame.Home:
		return a.cut(min(1, len(a.stack)))
	case frame.Replace:
		return a.place(at, m.Page)
	case frame.Settle:
		return a.place(min(1, at), m.Page)
	case frame.Note:
		a.note = m.Text
		return nil
	case frame.Completed:
		return a.by(p, m.Take(), key)
	case frame.Quit:
		a.err = m.Err
		if m.Last.Key != "" {
			a.words = append(a.words, a.env.P.Msg(m.Last))
		}
		return tea.Quit
	}
	if d, ok := frame.Open(msg); ok {
		return a.show(d, p, key)
	}
	return a.by(p, p.Update(msg, &a.env), key)
}

// place puts a page in the place of those from the index on.
func (a *App) place(from int, p frame.Page) tea.Cmd {
	gone := a.drop(from)
	a.note = "" // it was of a page that is gone
	a.stack = append(a.stack, p)
	return tea.Batch(gone, a.of(p, p.Init(&a.env)))
}

// drop takes the pages from the index on off the stack, with the dialogs that they opened.
func (a *App) drop(from int) tea.Cmd {
	var all []tea.Cmd
	for _, p := range slices.Backward(a.stack[from:]) {
		a.farewell(p)
		if c, ok := p.(frame.Closer); ok {
			all = append(all, func() tea.Msg { c.Close(); return nil })
		}
	}
	a.stack = slices.Delete(a.stack, from, len(a.stack))
	was := a.first()
	a.dialogs = slices.DeleteFunc(a.dialogs, func(d *open) bool {
		return d.from != nil && !slices.Contains(a.stack, d.from)
	})
	if a.first() != was {
		all = append(all, a.unsure(drawTime))
	}
	return tea.Batch(all...)
}

// cut is drop, and tells the page that is on top now; with the first page the program ends.
func (a *App) cut(from int) tea.Cmd {
	if from == 0 {
		return tea.Quit
	}
	if from >= len(a.stack) {
		return nil
	}
	gone := a.drop(from)
	top := a.top()
	return tea.Batch(gone, a.of(top, top.Update(frame.Back{}, &a.env)))
}

func (a *App) top() frame.Page { return a.stack[len(a.stack)-1] }

func (a *App) small() bool { return a.w < frame.MinWidth || a.h < frame.MinHeight }

func (a *App) bare() bool {
	b, ok := a.top().(frame.Bare)
	return ok && b.Bare()
}

func (a *App) headLines() int {
	if a.bare() {
		return 0
	}
	return 2
}
