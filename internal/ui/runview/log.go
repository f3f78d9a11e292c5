package runview

import (
	"bytes"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/logview"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// logPage is what one machine has printed.
type logPage struct {
	host   string
	src    logview.Source
	log    *logview.Log
	typing bool // a search is being typed
	search string
	h      int // as drawn last
}

type chunkMsg logview.Chunk

func newLogPage(host string, src logview.Source) *logPage {
	l := &logPage{host: host, src: src, log: logview.New(nil), h: 20}
	l.log.Wrap = true
	return l
}

// Init implements frame.Page.
func (l *logPage) Init(*frame.Env) tea.Cmd { return l.load(-1) }

// Update implements frame.Page.
func (l *logPage) Update(msg tea.Msg, e *frame.Env) tea.Cmd {
	m, ok := msg.(chunkMsg)
	if !ok {
		return nil
	}
	c := logview.Chunk(m)
	if c.Data == nil && c.Mark < 0 && c.Top < 0 && c.Size > 0 {
		return frame.Send(frame.Note{Text: e.P.T("ui.search.none", "text", strings.TrimSpace(l.search))})
	}
	l.log.Take(c)
	return nil
}

// Type implements frame.Page: a search that is being typed takes the keys; letters are letters then.
func (l *logPage) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) {
	if !l.typing {
		return nil, false
	}
	switch m.String() {
	case "enter":
		l.typing = false
		return l.again(false), true
	case "esc", "ctrl+c":
		l.typing, l.search = false, ""
	case "backspace":
		if r := []rune(l.search); len(r) > 0 {
			l.search = string(r[:len(r)-1])
		}
	default:
		l.search += m.Text
	}
	return nil, true
}

// Paste implements frame.Paster.
func (l *logPage) Paste(text string, _ *frame.Env) tea.Cmd {
	if l.typing {
		l.search += event.Clean(text)
	}
	return nil
}

// Keys implements frame.Page.
func (l *logPage) Keys(*frame.Env) []frame.Binding {
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { return l.move(n) } }
	set := func(f func()) func() tea.Cmd { return func() tea.Cmd { f(); return nil } }
	return []frame.Binding{
		{Keys: []string{"esc", "backspace"}, Show: "Esc", Word: "ui.key.back", Do: func() tea.Cmd { return frame.Send(frame.Pop{}) }},
		{Keys: []string{"f"}, Word: "ui.key.follow", Do: l.toggleFollow},
		{Keys: []string{"/"}, Word: "ui.key.search", Do: set(func() { l.typing, l.search = true, "" })},
		{Keys: []string{"e"}, Word: "ui.key.error", Do: func() tea.Cmd {
			return l.find(false, func(line []byte) bool { return logview.Trouble(string(line)) })
		}},
		{Keys: []string{"n"}, Show: "n N", Word: "ui.key.next", Do: func() tea.Cmd { return l.again(false) }},
		{Keys: []string{"w"}, Word: "ui.key.wrap", Do: set(func() { l.log.Wrap = !l.log.Wrap })},
		{Keys: []string{"t"}, Word: "ui.key.time", Do: set(func() { l.log.Times = !l.log.Times })},
		{Keys: []string{"N"}, Do: func() tea.Cmd { return l.again(true) }, Help: true},
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: move(-1), Help: true},
		{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		{Keys: []string{"pgup", "b"}, Show: "PgUp PgDn", Word: "ui.key.page", Do: move(1 - l.h), Help: true},
		{Keys: []string{"pgdown", "space"}, Do: move(l.h - 1), Help: true},
		{Keys: []string{"home", "g"}, Show: "g G", Word: "ui.key.top", Do: func() tea.Cmd { l.log.Follow = false; return l.load(0) }, Help: true},
		{Keys: []string{"end", "G"}, Do: func() tea.Cmd { l.log.Follow = true; return l.load(-1) }, Help: true},
	}
}

// Wheel implements frame.Wheeler.
func (l *logPage) Wheel(n int, _ *frame.Env) tea.Cmd { return l.move(n) }

// Render implements frame.Page.
func (l *logPage) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	l.h, l.log.Theme = h, e.Theme
	if !l.typing {
		return l.log.Render(w, h, e.P.T("ui.log.empty")), nil
	}
	lines := l.log.Render(w, h-1, e.P.T("ui.log.empty"))
	typed := new(widget.Line).Space(1).Add(e.Theme.Key, "/").Space(1).Add(e.Theme.Text, widget.Cut(l.search, w-6, ""))
	return append(lines, typed.String()), tea.NewCursor(typed.Width(), h-1)
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
	if l.log.Follow {
		return e.Theme.Glyphs.Running + " " + e.P.T("ui.log.follow")
	}
	return e.P.T("ui.log.still")
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

func (l *logPage) load(at int64) tea.Cmd {
	get := logview.Load(l.src, at)
	return func() tea.Msg { return chunkMsg(get()) }
}

func (l *logPage) again(back bool) tea.Cmd {
	needle := bytes.ToLower([]byte(l.search))
	if len(needle) == 0 {
		return nil
	}
	return l.find(back, func(line []byte) bool { return bytes.Contains(bytes.ToLower(line), needle) })
}

func (l *logPage) find(back bool, want func([]byte) bool) tea.Cmd {
	get := logview.Find(l.src, l.log.Found(), back, want)
	return func() tea.Msg { return chunkMsg(get()) }
}
