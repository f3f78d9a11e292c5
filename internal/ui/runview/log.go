package runview

import (
	"bytes"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/logview"
)

// logPage is what one machine has printed.
type logPage struct {
	host   string
	step   string // that it was opened for, whose first line is looked at; "": the end is
	src    backend.NodeLog
	opt    backend.Board
	log    *logview.Log
	search line // as it is typed
	needle string
	sought string // what was looked for last, for the word that there is none; "" is an error
	title  func(step string) (event.Msg, bool)
	h      int // as drawn last
}

type (
	chunkMsg  logview.Chunk
	silentMsg logview.Chunk // the end, for the step that was looked for is not in the log
	copyMsg   struct {
		text string
		cut  bool
		err  error
	}
)

func newLogPage(host string, src backend.NodeLog, o backend.Board) *logPage {
	l := &logPage{host: host, src: src, opt: o, log: logview.New(nil), h: 20}
	l.log.Wrap = true
	return l
}

// Init implements frame.Page.
func (l *logPage) Init(*frame.Env) tea.Cmd {
	if l.step == "" {
		return l.load(atEnd)
	}
	get, end := logview.Find(l.src, atEnd, false, logview.Printed(l.step)), logview.Load(l.src, atEnd)
	return func() tea.Msg {
		c := get()
		if c.Mark < 0 && c.Err == nil { // the step printed nothing
			return silentMsg(end())
		}
		return chunkMsg(c)
	}
}

// Update implements frame.Page.
func (l *logPage) Update(msg tea.Msg, e *frame.Env) tea.Cmd {
	switch m := msg.(type) {
	case chunkMsg:
		c := logview.Chunk(m)
		if c.Data == nil && c.Mark < 0 && c.Top < 0 && c.Size > 0 {
			if l.sought == "" {
				return frame.Send(frame.Note{Text: e.P.T("ui.search.no-error")})
			}
			return frame.Send(frame.Note{Text: e.P.T("ui.search.none", "text", strings.TrimSpace(l.sought))})
		}
		l.log.Take(c)
	case silentMsg:
		l.log.Take(logview.Chunk(m))
		return frame.Send(frame.Note{Text: e.P.T("ui.fail.silent")})
	case copyMsg:
		if m.err != nil {
			return wrong(m.err, e)
		}
		return l.copied(m.text, m.cut, e)
	case doneMsg:
		if m.err != nil {
			return wrong(m.err, e)
		}
		if m.text != "" {
			return frame.Send(frame.Note{Text: e.P.T("ui.log.saved", "path", m.text)})
		}
	}
	return nil
}

// Type implements frame.Page: a search that is being typed takes the keys; letters are letters then.
func (l *logPage) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) {
	if !l.search.on {
		return nil, false
	}
	if l.search.key(m) == taken {
		l.needle, l.log.Needle = l.search.text, l.search.text
		return l.again(false), true
	}
	return nil, true
}

// Typing implements frame.Typer.
func (l *logPage) Typing() bool { return l.search.on }

// Paste implements frame.Paster.
func (l *logPage) Paste(text string, _ *frame.Env) tea.Cmd {
	if l.search.on {
		l.search.paste(text)
	}
	return nil
}

// Keys implements frame.Page.
func (l *logPage) Keys(e *frame.Env) []frame.Binding {
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { return l.move(n) } }
	choose := func(n int) func() tea.Cmd {
		return func() tea.Cmd {
			if at := l.log.Choose(n); at >= 0 {
				return l.load(at)
			}
			return nil
		}
	}
	trouble := func(back bool) func() tea.Cmd {
		return func() tea.Cmd {
			l.sought = ""
			return l.find(back, func(line []byte) bool { return logview.Trouble(string(line)) })
		}
	}
	if l.search.on {
		return typedKeys("wizard.key.search", "ui.key.back")
	}
	set := func(f func()) func() tea.Cmd { return func() tea.Cmd { f(); return nil } }
	list := []frame.Binding{
		{Keys: []string{"esc", "backspace"}, Show: "Esc", Word: "ui.key.back",
			Do: func() tea.Cmd { return frame.Send(frame.Pop{}) }},
		{Keys: []string{"f"}, Word: "ui.key.follow", Do: l.toggleFollow},
		{Keys: []string{"/"}, Word: "ui.key.search", Do: set(func() { l.search = line{on: true} })},
		{Keys: []string{"n"}, Show: "n N", Word: "ui.key.next", Do: func() tea.Cmd { return l.again(false) },
			Help: l.needle == ""},
		{Keys: []string{"e"}, Show: "e E", Word: "ui.key.error", Do: trouble(false)},
		{Keys: []string{"y"}, Word: "ui.key.copy", Do: func() tea.Cmd {
			return l.copied(l.log.Text(l.log.Chosen()), false, e)
		}},
		{Keys: []string{"Y"}, Word: "ui.key.copy-step", Do: l.copyStep, Help: true},
	}
	if l.opt.Save != nil {
		list = append(list, frame.Binding{Keys: []string{"S"}, Word: "ui.key.save", Do: l.save})
	}
	if l.opt.Pager != nil {
		list = append(list, frame.Binding{Keys: []string{"|"}, Word: "ui.key.pager", Do: l.pager})
	}
	return append(list,
		frame.Binding{Keys: []string{"w"}, Word: "ui.key.wrap", Do: set(func() { l.log.Wrap = !l.log.Wrap })},
		frame.Binding{Keys: []string{"t"}, Word: "ui.key.time", Do: set(func() { l.log.Times = !l.log.Times })},
		frame.Binding{Keys: []string{"N"}, Do: func() tea.Cmd { return l.again(true) }, Help: true},
		frame.Binding{Keys: []string{"E"}, Do: trouble(true), Help: true},
		frame.Binding{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.choose-line", Do: choose(-1), Help: true},
		frame.Binding{Keys: []string{"down", "j"}, Do: choose(1), Help: true},
		frame.Binding{Keys: []string{"pgup", "b"}, Show: "PgUp PgDn", Word: "ui.key.page", Do: move(2 - l.h),
			Help: true},
		frame.Binding{Keys: []string{"pgdown", "space"}, Do: move(l.h - 2), Help: true},
		frame.Binding{Keys: []string{"home", "g"}, Show: "g G", Word: "ui.key.top",
			Do: func() tea.Cmd { l.log.Follow = false; return l.load(0) }, Help: true},
		frame.Binding{Keys: []string{"end", "G"}, Do: func() tea.Cmd { l.log.Follow = true; return l.load(atEnd) },
			Help: true})
}

// Click implements frame.Clicker: it chooses a line.
func (l *logPage) Click(_, y int, _ *frame.Env) tea.Cmd {
	l.log.Click(y)
	return nil
}

func (l *logPage) copied(text string, cut bool, e *frame.Env) tea.Cmd {
	if text == "" {
		return frame.Send(frame.Note{Text: e.P.T("ui.log.empty")})
	}
	lines := fmt.Sprint(strings.Count(text, "\n") + 1)
	note := e.P.T("ui.log.copied", "lines", lines)
	if cut {
		note = e.P.T("ui.log.copied-cut", "lines", lines)
	}
	return tea.Batch(tea.SetClipboard(text), frame.Send(frame.Note{Text: note}))
}

func (l *logPage) copyStep() tea.Cmd {
	at := l.log.Chosen()
	if at < 0 {
		return nil
	}
	read := logview.Step(l.src, at)
	return func() tea.Msg {
		text, cut, err := read()
		return copyMsg{text, cut, err}
	}
}

func (l *logPage) save() tea.Cmd {
	host, save := l.host, l.opt.Save
	return func() tea.Msg {
		path, err := save(host)
		return doneMsg{text: path, err: err}
	}
}

func (l *logPage) pager() tea.Cmd {
	c, err := l.opt.Pager(l.host)
	if err != nil {
		return frame.Send(doneMsg{err: err})
	}
	return outside(c, doneShell)
}

// Wheel implements frame.Wheeler.
func (l *logPage) Wheel(n int, _ *frame.Env) tea.Cmd { return l.move(n) }

// Render implements frame.Page.
func (l *logPage) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	l.h, l.log.Theme = h, e.Theme
	l.log.Heading = func(step string) string {
		if l.title != nil {
			if m, ok := l.title(step); ok {
				return e.P.Msg(m)
			}
		}
		return event.Clean(step)
	}
	if !l.search.on {
		return l.log.Render(w, h, e.P.T("ui.log.empty")), nil
	}
	lines := l.log.Render(w, h-1, e.P.T("ui.log.empty"))
	typed, cursor := l.search.render(e, w)
	cursor.Y = h - 1
	return append(lines, typed), cursor
}

// Title implements frame.Page.
func (l *logPage) Title(e *frame.Env) string {
	name := event.Clean(l.host)
	if name == "" {
		name = e.P.T("report.jump-host")
	}
	return e.P.T("ui.log", "host", name)
}

// Aside implements frame.Asider.
func (l *logPage) Aside(e *frame.Env) string {
	step := ""
	if l.title != nil {
		if m, ok := l.title(l.log.StepOf(l.log.Chosen())); ok {
			step = e.P.Msg(m) + "   "
		}
	}
	return step + l.place(e)
}

// place says where in the log one is.
func (l *logPage) place(e *frame.Env) string {
	if l.log.Follow {
		return e.Theme.Glyphs.Running + " " + e.P.T("ui.log.follow")
	}
	at := 100.0
	if size := l.log.Size(); size > 0 {
		at *= float64(l.log.Top()) / float64(size)
	}
	return e.P.T("ui.log.still") + fmt.Sprintf("  %d %%", int(at))
}

// grown says that the run has come farther.
func (l *logPage) grown() tea.Cmd {
	if !l.log.Follow {
		return nil
	}
	return l.load(-1)
}

func (l *logPage) toggleFollow() tea.Cmd {
	l.log.Follow = !l.log.Follow
	if l.log.Follow {
		return l.load(-1)
	}
	return nil
}

func (l *logPage) move(n int) tea.Cmd {
	if at := l.log.Move(n); at >= 0 {
		return l.load(at)
	}
	return nil
}

// atEnd is the offset of the end, wherever that is.
const atEnd = -1

func (l *logPage) load(at int64) tea.Cmd {
	get := logview.Load(l.src, at)
	return func() tea.Msg { return chunkMsg(get()) }
}

func (l *logPage) again(back bool) tea.Cmd {
	needle := bytes.ToLower([]byte(l.needle))
	if len(needle) == 0 {
		return nil
	}
	l.sought = l.needle
	return l.find(back, func(line []byte) bool { return bytes.Contains(bytes.ToLower(line), needle) })
}

func (l *logPage) find(back bool, want func([]byte) bool) tea.Cmd {
	get := logview.Find(l.src, l.log.Found(), back, want)
	return func() tea.Msg { return chunkMsg(get()) }
}
