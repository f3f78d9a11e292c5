package runview

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

type act int

const (
	doneDecide act = iota
	doneShell
	doneEdit
	doneSupport
	doneStop
)

// doneMsg says how something ended that was done outside of the screen.
type doneMsg struct {
	what     act
	text     string
	err      error
	question question
	again    bool
}

func (p *Page) done(m doneMsg, e *frame.Env) tea.Cmd {
	if m.err != nil {
		if m.what == doneDecide {
			delete(p.panel.told, m.question)
			p.panel.on = true
		}
		if m.what == doneEdit {
			return p.askEdit(m.err, e)
		}
		return wrong(m.err, e)
	}
	switch m.what {
	case doneDecide:
		return p.resume()
	case doneEdit:
		if m.again {
			p.again, p.panel.on, p.ending = p.next != nil, false, "ui.quit.stopping"
			for _, q := range p.open() {
				p.panel.told[question{q.Step.ID, q.Try}] = true
			}
			return frame.Send(frame.Note{Text: e.P.T("ui.quit.stopping")})
		}
	case doneSupport:
		return frame.Send(frame.Note{Text: e.P.T("ui.support.written", "path", m.text)})
	case doneStop:
		p.ending = m.text
		return frame.Send(frame.Note{Text: e.P.T(m.text)})
	}
	return nil
}

// wrong tells in the footer what went wrong.
func wrong(err error, e *frame.Env) tea.Cmd {
	text := event.Clean(err.Error())
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		text, _ = e.P.Fault(f)
	}
	return frame.Send(frame.Note{Text: text})
}

// outside gives the screen to another program until that has ended.
func outside(c *exec.Cmd, what act) tea.Cmd {
	return frame.Program(c, func(err error) tea.Msg {
		if what == doneShell { // how the last command in a shell ended is nobody's fault
			if ee := (*exec.ExitError)(nil); errors.As(err, &ee) {
				err = nil
			}
		}
		return doneMsg{what: what, err: err}
	})
}

func (p *Page) shell(host string) tea.Cmd {
	c, err := p.opt.Shell(host)
	if err != nil {
		return frame.Send(doneMsg{what: doneShell, err: err})
	}
	return outside(c, doneShell)
}

// shellHere opens a shell on the machine under the cursor.
func (p *Page) shellHere(e *frame.Env) tea.Cmd {
	p.board.P, p.board.Theme = e.P, e.Theme
	host, ok := p.board.Host(p.state, p.now(e))
	if !ok || host == "" {
		return nil
	}
	return p.shell(host)
}

func (p *Page) edit(*frame.Env) tea.Cmd {
	c, after, err := p.opt.Edit()
	if err != nil {
		return frame.Send(doneMsg{what: doneEdit, err: err})
	}
	return frame.Program(c, edited(after))
}

// edited is what came of an edit when the editor has ended; after takes what was written.
func edited(after func() (bool, error)) func(error) tea.Msg {
	return func(err error) tea.Msg {
		m := doneMsg{what: doneEdit, err: err}
		if ee := (*exec.ExitError)(nil); errors.As(err, &ee) {
			m.err = event.NewFault(event.ClassFailed, "edit.editor", nil, "status", strconv.Itoa(ee.ExitCode()))
		}
		if err == nil {
			m.again, m.err = after()
		}
		return m
	}
}

// askEdit tells what is wrong with what was written, and leads back to it.
func (p *Page) askEdit(err error, e *frame.Env) tea.Cmd {
	f, wrong := event.AsFault(err), (*backend.WrongEdit)(nil)
	errors.As(err, &wrong)
	return frame.Send(frame.Ask{
		Title: event.M("ui.edit.wrong"), Danger: true,
		Body: func(e *frame.Env, w int) []string {
			text, next := e.P.Fault(f)
			var out []string
			if wrong != nil && wrong.Line > 0 {
				out = append(out, widget.Lines(e.P.T("ui.edit.where", "line", fmt.Sprint(wrong.Line), "key",
					event.Clean(wrong.Key)), w)...)
			}
			out = append(out, widget.Lines(event.Clean(text), w)...)
			if next != "" {
				out = append(out, widget.Lines(e.Theme.Glyphs.Arrow+" "+event.Clean(next), w)...)
			}
			if wrong != nil && wrong.More > 0 {
				out = append(out, e.P.T("ui.edit.more", "count", fmt.Sprint(wrong.More)))
			}
			return out
		},
		Choices: []frame.Choice{{Key: "e", Word: "ui.edit.again", Do: func() tea.Cmd { return p.edit(e) }},
			{Key: "b", Word: "ui.key.back"}},
	})
}

func (p *Page) support() tea.Cmd {
	write := p.opt.Support
	return func() tea.Msg {
		path, err := write()
		return doneMsg{what: doneSupport, text: path, err: err}
	}
}

// Leaving implements frame.Leaver: a run that goes on is never left in silence.
func (p *Page) Leaving(*frame.Env) (tea.Cmd, bool) {
	if !p.live() || p.opt.Control == nil {
		return nil, false
	}
	quit := func() tea.Cmd {
		return frame.Send(frame.Quit{Last: event.M("ui.quit.detached", "cluster", p.state.Run.Cluster)})
	}
	do := func(what func() error, word string) func() tea.Cmd {
		return func() tea.Cmd { return func() tea.Msg { return doneMsg{what: doneStop, text: word, err: what()} } }
	}
	title := "ui.quit.title"
	if p.ending != "" {
		title = "ui.quit.title-ending"
	}
	return frame.Send(frame.Ask{
		Title: event.M(title, "cluster", p.state.Run.Cluster), Default: 3,
		Choices: []frame.Choice{
			{Key: "d", Word: "ui.quit.detach", Hint: "ui.quit.detach-hint", Do: quit},
			{Key: "s", Word: "ui.quit.stop", Hint: "ui.quit.stop-hint", Do: do(p.opt.Control.Stop, "ui.quit.stopping")},
			{Key: "a", Word: "ui.quit.abort", Hint: "ui.quit.abort-hint",
				Do: do(p.opt.Control.Abort, "ui.quit.aborting")},
			{Key: "g", Word: "ui.quit.go-on"},
		},
	}), true
}
