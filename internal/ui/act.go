package ui

import (
	"bytes"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/logview"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// newsBatch is what one look at the feed brought.
type newsBatch struct {
	list []event.Record
	err  error
}

// bindings of the screen that is shown.
func (a *App) bindings() []binding {
	common := []binding{
		{keys: []string{"?", "f1"}, show: "?", word: "ui.key.help", do: func(a *App) cmd { a.help = true; return nil }},
		{keys: []string{"L"}, word: "ui.key.lang", do: (*App).otherLang},
		{keys: []string{"q", "ctrl+c"}, show: "q", word: "ui.key.quit", do: func(*App) cmd { return tea.Quit }},
	}
	if a.screen == onLog {
		return append([]binding{
			{keys: []string{"esc", "backspace"}, show: "Esc", word: "ui.key.back", do: (*App).toBoard},
			{keys: []string{"f"}, word: "ui.key.follow", do: (*App).toggleFollow},
			{keys: []string{"/"}, word: "ui.key.search", do: func(a *App) cmd { a.typing, a.search = true, ""; return nil }},
			{keys: []string{"e"}, word: "ui.key.error", do: func(a *App) cmd { return a.find(false, func(l []byte) bool { return logview.Trouble(string(l)) }) }},
			{keys: []string{"n"}, show: "n N", word: "ui.key.next", do: func(a *App) cmd { return a.again(false) }},
			{keys: []string{"w"}, word: "ui.key.wrap", do: func(a *App) cmd { a.log.Wrap = !a.log.Wrap; return nil }},
			{keys: []string{"t"}, word: "ui.key.time", do: func(a *App) cmd { a.log.Times = !a.log.Times; return nil }},
			{keys: []string{"N"}, do: func(a *App) cmd { return a.again(true) }, help: true},
			{keys: []string{"up", "k"}, show: "↑ ↓", word: "ui.key.move", do: func(a *App) cmd { return a.move(-1) }, help: true},
			{keys: []string{"down", "j"}, do: func(a *App) cmd { return a.move(1) }, help: true},
			{keys: []string{"pgup", "b"}, show: "PgUp PgDn", word: "ui.key.page", do: func(a *App) cmd { return a.move(-(a.h - 4)) }, help: true},
			{keys: []string{"pgdown", "space"}, do: func(a *App) cmd { return a.move(a.h - 4) }, help: true},
			{keys: []string{"home", "g"}, show: "g G", word: "ui.key.top", do: func(a *App) cmd { a.log.Follow = false; return a.load(0) }, help: true},
			{keys: []string{"end", "G"}, do: func(a *App) cmd { a.log.Follow = true; return a.load(-1) }, help: true},
		}, common...)
	}
	list := []binding{
		{keys: []string{"up", "k"}, show: "↑ ↓", word: "ui.key.move", do: func(a *App) cmd { return a.move(-1) }},
		{keys: []string{"down", "j"}, do: func(a *App) cmd { return a.move(1) }, help: true},
		{keys: []string{"left", "h"}, do: func(a *App) cmd { return a.move(-1) }, help: true},
		{keys: []string{"right", "l", "tab"}, do: func(a *App) cmd { return a.move(1) }, help: true},
		{keys: []string{"pgup"}, do: func(a *App) cmd { return a.move(-10) }, help: true},
		{keys: []string{"pgdown"}, do: func(a *App) cmd { return a.move(10) }, help: true},
		{keys: []string{"enter"}, show: "Enter", word: "ui.key.open", do: (*App).openLog},
	}
	if r := a.opt.Replay; r != nil {
		list = append(list,
			binding{keys: []string{"space"}, show: "Space", word: "ui.key.pause", do: func(*App) cmd { r.Pause(); return nil }},
			binding{keys: []string{"+", "="}, show: "+", word: "ui.key.faster", do: func(*App) cmd { r.Speed(2); return nil }},
			binding{keys: []string{"-"}, word: "ui.key.slower", do: func(*App) cmd { r.Speed(0.5); return nil }})
	}
	return append(list, common...)
}

func (a *App) key(m tea.KeyPressMsg) tea.Cmd {
	a.note = ""
	if a.typing {
		return a.typed(m)
	}
	if a.help {
		a.help = false
		return nil
	}
	if b, ok := find(a.bindings(), m.String()); ok {
		return b.do(a)
	}
	return nil
}

// typed takes a key of a search that is being typed; letters are letters then.
func (a *App) typed(m tea.KeyPressMsg) tea.Cmd {
	switch m.String() {
	case "enter":
		a.typing = false
		return a.again(false)
	case "esc", "ctrl+c":
		a.typing, a.search = false, ""
	case "backspace":
		if r := []rune(a.search); len(r) > 0 {
			a.search = string(r[:len(r)-1])
		}
	default:
		a.search += m.Text
	}
	return nil
}

func (a *App) move(n int) tea.Cmd {
	if a.screen == onLog {
		if at := a.log.Move(n); at >= 0 {
			return a.load(at)
		}
		return nil
	}
	a.board.Cursor = max(0, a.board.Cursor+n) // Render keeps it among the machines
	return nil
}

func (a *App) otherLang() cmd {
	lang := i18n.English
	if a.p.Lang() == lang {
		lang = i18n.Chinese
	}
	a.dress(lang)
	return nil
}

func (a *App) openLog() cmd {
	host, ok := a.board.Host(a.state, a.now())
	if !ok || a.opt.NodeLog == nil {
		return nil
	}
	open := a.opt.NodeLog
	return func() tea.Msg {
		src, err := open(host)
		return openMsg{host, src, err}
	}
}

func (a *App) opened(m openMsg) tea.Cmd {
	if m.err != nil {
		a.note = widget.Cut(event.Clean(m.err.Error()), a.w/2, a.theme.Glyphs.Cut)
		return nil
	}
	a.screen, a.logHost, a.src, a.log = onLog, m.host, m.src, logview.New(a.theme)
	a.log.Wrap = true
	return a.load(-1)
}

func (a *App) toBoard() cmd {
	a.screen, a.log, a.src = onBoard, nil, nil
	return nil
}

func (a *App) toggleFollow() cmd {
	a.log.Follow = !a.log.Follow
	if a.log.Follow {
		return a.load(-1)
	}
	return nil
}

func (a *App) load(at int64) tea.Cmd {
	if a.src == nil {
		return nil
	}
	get := logview.Load(a.src, at)
	return func() tea.Msg { return chunkMsg(get()) }
}

func (a *App) again(back bool) tea.Cmd {
	needle := bytes.ToLower([]byte(a.search))
	if len(needle) == 0 {
		return nil
	}
	return a.find(back, func(l []byte) bool { return bytes.Contains(bytes.ToLower(l), needle) })
}

func (a *App) find(back bool, want func([]byte) bool) tea.Cmd {
	if a.src == nil {
		return nil
	}
	get := logview.Find(a.src, a.log.Found(), back, want)
	return func() tea.Msg { return chunkMsg(get()) }
}

func (a *App) loaded(c logview.Chunk) {
	if a.log == nil {
		return
	}
	if c.Data == nil && c.Mark < 0 && c.Top < 0 && c.Size > 0 {
		a.note = a.p.T("ui.search.none", "text", strings.TrimSpace(a.search))
		return
	}
	a.log.Take(c)
}

func (a *App) logHead() string {
	name := a.logHost
	if name == "" {
		name = a.p.T("report.jump-host")
	}
	left := new(widget.Line).Space(1).Add(a.theme.Strong, "egg").Add(a.theme.Title, "o").Space(2).Add(a.theme.Strong, a.p.T("ui.log", "host", event.Clean(name)))
	word, style := a.p.T("ui.log.still"), a.theme.Dim
	if a.log.Follow {
		word, style = a.theme.Glyphs.Running+" "+a.p.T("ui.log.follow"), a.theme.Busy
	}
	return left.To(a.w-widget.Width(word)-1).String() + style.Render(word)
}
