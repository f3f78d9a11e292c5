package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Keys, pastes, wheel and clicks go to the dialog that is shown, the help, or the page on top.

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
		own = append(own, frame.Binding{Keys: []string{"esc"}, Show: "Esc", Word: "ui.key.back", Do: a.back,
			Keep: true, Group: frame.OfAll})
	}
	// Where letters are typed, only the keys beside the letters do these. Function keys may never arrive (consoles in
	// browsers), so they are extras.
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
		frame.Binding{Keys: []string{"ctrl+l"}, Show: "Ctrl+L", Word: "ui.key.redraw", Help: true,
			Group: frame.OfAll},
		frame.Binding{Keys: []string{"ctrl+z"}, Show: "Ctrl+Z", Word: "ui.key.suspend", Help: true,
			Group: frame.OfAll})
	return append(own,
		frame.Binding{Keys: []string{"?", "ctrl+g", "f1"}, Show: show[0], Word: "ui.key.help",
			Do: func() tea.Cmd { a.help, a.helpTop = true, 0; return nil }, Keep: true, Group: frame.OfAll},
		frame.Binding{Keys: []string{"L", "ctrl+x", "f2"}, Show: show[1], Word: lang, Do: a.otherLang,
			Group: frame.OfAll},
		frame.Binding{Keys: []string{"M", "ctrl+t", "f3"}, Show: show[2], Word: "ui.key.mouse", Do: a.freeMouse,
			Help: true, Group: frame.OfAll},
		frame.Binding{Keys: []string{"q", "ctrl+c"}, Show: show[3], Word: "ui.key.quit", Do: a.leave,
			Group: frame.OfAll})
}

// editKeys are those of every field, for the help: the fields take them before anything else.
func (a *App) editKeys() (list []frame.Binding) {
	for _, k := range widget.EditKeys() {
		list = append(list, frame.Binding{Keys: []string{""}, Show: k[0], Word: k[1], Help: true,
			Group: frame.OfFields})
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
