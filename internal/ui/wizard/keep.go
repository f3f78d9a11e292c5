package wizard

import (
	"maps"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// loaded offers what was kept.
func (p *Page) loaded(m loadedMsg, e *frame.Env) tea.Cmd {
	if !m.ok {
		return nil
	}
	text, ok := p.g.Offer(m.saved)
	if !ok {
		return nil
	}
	ask := frame.Ask{
		Title: event.M("wizard.resume.title"),
		Lines: []event.Msg{text},
		Choices: []frame.Choice{
			{Key: "c", Word: "wizard.resume.go-on", Do: func() tea.Cmd { return frame.Send(resumeMsg{m.saved}) }},
			{Key: "n", Word: "wizard.resume.new"},
		},
	}
	return frame.Send(ask)
}

type resumeMsg struct{ saved draft.Saved }

// resumed takes what was kept.
func (p *Page) resumed(s draft.Saved, e *frame.Env) tea.Cmd {
	there := p.g.Resume(s)
	for _, st := range p.steps {
		if h, is := st.(holder); is {
			h.hold(s.Typed)
		}
	}
	if there {
		return tea.Batch(p.toStep(guide.Step(s.Step), e), p.validate())
	}
	return p.validate()
}

// changed is called when the draft is another one: it is judged 300 ms after the last change.
func (p *Page) changed() tea.Cmd { return p.validate() }

func (p *Page) validate() tea.Cmd {
	p.checks++
	return p.svc.After(300*time.Millisecond, validateMsg{p.checks})
}

// snapshot keeps the draft for undo, if it is another than the last.
func (p *Page) snapshot() { p.g.Snapshot() }

// shrink makes a step of undo of what stands in a field when it begins to be taken away.
func (p *Page) shrink(was, now string) {
	less := len(now) < len(was)
	if less && !p.shrinks {
		p.snapshot()
	}
	p.shrinks = less
}

func (p *Page) undo(e *frame.Env) tea.Cmd { return p.turn(e, "undo", p.g.Undo) }

func (p *Page) redo(e *frame.Env) tea.Cmd { return p.turn(e, "redo", p.g.Redo) }

// turn goes one change back or forth.
func (p *Page) turn(e *frame.Env, word string, do func(*i18n.Printer) (string, bool)) tea.Cmd {
	what, ok := do(e.P)
	if !ok {
		return frame.Send(frame.Note{Text: e.P.T("wizard." + word + ".none")})
	}
	note := frame.Note{Text: e.P.T("wizard."+word+".done", "what", what)}
	return tea.Batch(p.changed(), p.steps[p.g.At].enter(e), frame.Send(note))
}

// saved returns the state of the wizard that is kept.
func (p *Page) saved() draft.Saved {
	typed := map[string]string{}
	for _, st := range p.steps {
		if h, is := st.(holder); is {
			maps.Copy(typed, h.held())
		}
	}
	return p.g.Saved(typed)
}

// unsaved reports whether something was typed since it was kept last.
func (p *Page) unsaved() bool { return !guide.SameSaved(p.saved(), p.stored) }

// save keeps what was typed.
func (p *Page) save() tea.Cmd {
	s := p.saved()
	p.stored = s
	return func() tea.Msg { return savedMsg{p.svc.Save(s)} }
}
