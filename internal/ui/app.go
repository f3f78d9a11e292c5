// Package ui is the screen: the only room that knows Charm's libraries. It shows what the event log says and what deploy.yaml holds, and knows
// no node, no phase and no engine: what it needs of them main hands in.
//
// App is the one tea.Model: it keeps the pages (internal/ui/frame) on a stack, draws what is around them and carries messages to them.
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

	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
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

	terminal bool // somebody types at one, and sees what is drawn
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
	a := &App{env: frame.Env{Now: o.Now, Complete: o.Complete}, ascii: o.ASCII, mono: o.Mono, dark: true, w: 80, h: 24, note: o.Note, stack: []frame.Page{first}}
	a.dress(o.Lang)
	return a
}

// dress makes what depends on language and colours.
func (a *App) dress(lang i18n.Lang) {
	a.env.P = i18n.NewPrinter(lang)
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
	prog := tea.NewProgram(a, tea.WithContext(ctx), tea.WithInput(newInput(in)), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFilter(calm()))
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
	return tea.Batch(tea.RequestBackgroundColor, a.of(a.stack[0], a.stack[0].Init(&a.env)))
}

// of makes a page's command one whose message finds its way back to the page. Messages of Bubble Tea's own go to Bubble Tea.
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

// said takes what a page sends to the program, because of the key with that number if it is not 0; what is none of it goes
// to the page.
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
	a.dialogs = slices.DeleteFunc(a.dialogs, func(d *open) bool { return d.from != nil && !slices.Contains(a.stack, d.from) })
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

func (a *App) key(m tea.KeyPressMsg) tea.Cmd {
	a.note = ""
	a.keys++
	switch m.String() { // whatever is open
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		return a.suspend()
	}
	if a.small() { // what is not seen is not acted on, but for leaving
		if k := m.String(); k == "q" || k == "ctrl+c" {
			return a.leave()
		}
		return nil
	}
	if a.holds(m) {
		return nil
	}
	if d := a.first(); d != nil {
		c, done := d.Key(m, &a.env)
		return a.ended(d, c, done)
	}
	return a.pageKey(m)
}

// pageKey takes a key that no dialog takes.
func (a *App) pageKey(m tea.KeyPressMsg) tea.Cmd {
	if a.help {
		switch m.String() {
		case "down", "j", "pgdown", "space":
			a.helpTop++
		case "up", "k", "pgup":
			a.helpTop--
		default:
			a.help = false
		}
		return nil
	}
	top := a.top()
	if c, ok := top.Type(m, &a.env); ok {
		return a.by(top, c, a.keys)
	}
	if b, ok := frame.Find(a.bindings(), m.String()); ok && b.Do != nil {
		return a.did(top, b)
	}
	return nil
}

// did does what a key of a page does.
func (a *App) did(p frame.Page, b frame.Binding) tea.Cmd {
	c := b.Do()
	if c == nil || !b.Now {
		return a.by(p, c, a.keys)
	}
	return a.said(p, c(), a.keys)
}

// ended is what a key or a click in a dialog has led to; done: the dialog is over, and the next one is shown.
func (a *App) ended(d *open, c tea.Cmd, done bool) tea.Cmd {
	c = a.by(d.from, c, a.keys)
	if !done {
		return c
	}
	a.dialogs = slices.DeleteFunc(a.dialogs, func(o *open) bool { return o == d })
	return tea.Batch(c, a.unsure(drawTime))
}

// bindings are the keys of the page on top, and those that every page has.
func (a *App) bindings() []frame.Binding {
	own := a.top().Keys(&a.env)
	if _, has := frame.Find(own, "esc"); !has && len(a.stack) > 1 {
		own = append(own, frame.Binding{Keys: []string{"esc"}, Show: "Esc", Word: "ui.key.back", Do: a.back, Keep: true})
	}
	// Where letters are typed, only the keys beside the letters do these. Function keys may never arrive (consoles in browsers), so they are extras.
	show := []string{"", "", "", ""}
	if t, is := a.top().(frame.Typer); is && t.Typing() {
		show = []string{"Ctrl+G", "Ctrl+X", "Ctrl+T", "Ctrl+C"}
		if h, is := a.top().(frame.Helper); is && h.Helps() {
			show[0] = ""
		}
	}
	lang := "ui.key.lang"
	if a.ascii {
		lang = "ui.key.lang-ascii"
	}
	if show[1] != "" {
		own = append(own, a.editKeys()...)
	}
	own = append(own,
		frame.Binding{Keys: []string{"ctrl+l"}, Show: "Ctrl+L", Word: "ui.key.redraw", Help: true},
		frame.Binding{Keys: []string{"ctrl+z"}, Show: "Ctrl+Z", Word: "ui.key.suspend", Help: true})
	return append(own,
		frame.Binding{Keys: []string{"?", "ctrl+g", "f1"}, Show: show[0], Word: "ui.key.help", Do: func() tea.Cmd { a.help, a.helpTop = true, 0; return nil }, Keep: true},
		frame.Binding{Keys: []string{"L", "ctrl+x", "f2"}, Show: show[1], Word: lang, Do: a.otherLang},
		frame.Binding{Keys: []string{"M", "ctrl+t", "f3"}, Show: show[2], Word: "ui.key.mouse", Do: a.freeMouse, Help: true},
		frame.Binding{Keys: []string{"q", "ctrl+c"}, Show: show[3], Word: "ui.key.quit", Do: a.leave})
}

// editKeys are those of every field, for the help: the fields take them before anything else.
func (a *App) editKeys() (list []frame.Binding) {
	for _, k := range widget.EditKeys() {
		list = append(list, frame.Binding{Keys: []string{""}, Show: k[0], Word: k[1], Help: true})
	}
	return list
}

func (a *App) back() tea.Cmd {
	if b, ok := a.top().(frame.Backer); ok {
		if c, leave := b.Back(&a.env); !leave {
			return c
		}
	}
	return frame.Send(frame.Pop{})
}

// leave asks the pages, the newest first, whether there is something to ask about.
func (a *App) leave() tea.Cmd {
	for _, p := range slices.Backward(a.stack) {
		if l, ok := p.(frame.Leaver); ok {
			if c, ask := l.Leaving(&a.env); ask {
				return a.of(p, c)
			}
		}
	}
	return tea.Quit
}

func (a *App) otherLang() tea.Cmd {
	lang := i18n.English
	if a.env.P.Lang() == lang {
		lang = i18n.Chinese
	}
	a.dress(lang)
	var all []tea.Cmd
	for _, p := range a.stack {
		if s, ok := p.(frame.Speaker); ok {
			all = append(all, a.of(p, s.Spoken(&a.env)))
		}
	}
	return tea.Batch(all...)
}

func (a *App) freeMouse() tea.Cmd {
	a.free = !a.free
	a.note = a.env.P.T("ui.mouse.ours")
	if a.free {
		a.note = a.env.P.T("ui.mouse.yours")
	}
	return nil
}

// paste gives what is pasted to what takes text. Terminals send CR between lines; pages and dialogs get LF.
func (a *App) paste(text string) tea.Cmd {
	if a.holds(tea.PasteMsg{Content: text}) {
		return nil
	}
	if len(a.dialogs) > 0 {
		text = widget.Breaks(text)
		if !a.dialogs[0].Paste(text) {
			a.note = a.env.P.T("ui.paste.nowhere")
		}
		return nil
	}
	return a.pagePaste(text)
}

// pagePaste gives what is pasted to the page.
func (a *App) pagePaste(text string) tea.Cmd {
	top := a.top()
	if p, ok := top.(frame.Paster); ok && !a.help && !a.small() {
		return a.by(top, p.Paste(widget.Breaks(text), &a.env), a.keys)
	}
	a.note = a.env.P.T("ui.paste.nowhere")
	return nil
}

func (a *App) wheel(m tea.MouseWheelMsg) tea.Cmd {
	n := 3
	if m.Button == tea.MouseWheelUp {
		n = -3
	}
	if a.help {
		a.helpTop += n
		return nil
	}
	if len(a.dialogs) > 0 {
		a.dialogs[0].Wheel(n)
		return nil
	}
	top := a.top()
	if w, ok := top.(frame.Wheeler); ok && !a.small() {
		return a.of(top, w.Wheel(n, &a.env))
	}
	return nil
}

func (a *App) click(x, y int) tea.Cmd {
	a.keys++
	switch {
	case a.small():
		return nil
	case len(a.dialogs) > 0:
		d := a.dialogs[0]
		if d.unseen != nil || x < a.box.x || y < a.box.y || x >= a.box.x+a.box.w || y >= a.box.y+a.box.h {
			return nil
		}
		c, done := d.Click(x-a.box.x, y-a.box.y)
		return a.ended(d, c, done)
	case a.help:
		a.help = false
		return nil
	}
	top := a.top()
	if y == a.h-1 {
		for _, s := range a.spots {
			if x >= s.From && x < s.To && s.Binding.Do != nil {
				return a.did(top, s.Binding)
			}
		}
		return nil
	}
	if c, ok := top.(frame.Clicker); ok {
		if y -= a.headLines(); y >= 0 {
			return a.by(top, c.Click(x, y, &a.env), a.keys)
		}
	}
	return nil
}

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
