package wizard

import (
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/output/redact"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// loaded offers what was kept.
func (p *Page) loaded(m loadedMsg, e *frame.Env) tea.Cmd {
	if !m.ok {
		return nil
	}
	of, key := m.saved.Draft, "wizard.resume"
	if p.g.Joins() {
		of, key = p.g.Draft, "wizard.resume.add"
		m.saved.Draft.Machines = p.g.Joining(m.saved.Draft.Machines)
		if len(m.saved.Draft.Machines)+len(m.saved.Typed) == 0 {
			return nil
		}
	}
	when := m.saved.When.Local().Format("2006-01-02 15:04")
	ask := frame.Ask{
		Title: event.M("wizard.resume.title"),
		Lines: []event.Msg{event.M(key, "cluster", of.Get("cluster-id"), "count", itoa(len(m.saved.Draft.Machines)),
			"when", when)},
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
	if p.g.Joins() { // the cluster may be another one by now
		p.g.Draft = p.g.Draft.Clone()
		for _, m := range p.g.Joining(s.Draft.Machines) {
			same := func(have config.Machine) bool { return draft.MachineKey(have) == draft.MachineKey(m) }
			if !slices.ContainsFunc(p.g.Draft.Machines, same) { // it may have been pasted before the question was seen
				p.g.Draft.Machines = append(p.g.Draft.Machines, m)
			}
		}
	} else {
		p.g.Draft, p.g.File = s.Draft.Clone(), s.File
	}
	for _, st := range p.steps {
		if h, is := st.(holder); is {
			h.hold(s.Typed)
		}
	}
	p.snapshot()
	for i, st := range p.steps {
		p.been[st.id()] = true
		if st.id() == s.Step {
			return tea.Batch(p.goTo(i, e), p.validate())
		}
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
func (p *Page) snapshot() { p.g.History.Changed(p.g.Draft) }

// shrink makes a step of undo of what stands in a field when it begins to be taken away.
func (p *Page) shrink(was, now string) {
	less := len(now) < len(was)
	if less && !p.shrinks {
		p.snapshot()
	}
	p.shrinks = less
}

func (p *Page) undo(e *frame.Env) tea.Cmd {
	was := p.g.Draft.Clone()
	before, ok := p.g.History.Undo(was)
	if !ok {
		return frame.Send(frame.Note{Text: e.P.T("wizard.undo.none")})
	}
	p.g.Draft = before
	note := frame.Note{Text: e.P.T("wizard.undo.done", "what", draft.Difference(e.P, p.g.Draft, was))}
	return tea.Batch(p.changed(), p.steps[p.at].enter(e), frame.Send(note))
}

func (p *Page) redo(e *frame.Env) tea.Cmd {
	was := p.g.Draft.Clone()
	after, ok := p.g.History.Redo(was)
	if !ok {
		return frame.Send(frame.Note{Text: e.P.T("wizard.redo.none")})
	}
	p.g.Draft = after
	note := frame.Note{Text: e.P.T("wizard.redo.done", "what", draft.Difference(e.P, was, p.g.Draft))}
	return tea.Batch(p.changed(), p.steps[p.at].enter(e), frame.Send(note))
}

// saved is what is kept of the wizard: without passwords unless they are to be kept. Where machines join a cluster,
// they are.
func (p *Page) saved() draft.Saved {
	s := draft.Saved{Draft: p.g.Draft.Clone(), Step: p.steps[p.at].id(), File: p.g.File, When: time.Now(),
		Typed: map[string]string{}}
	if p.g.Joins() {
		s.Draft = config.Draft{Machines: p.g.Joining(s.Draft.Machines)}
	}
	if !s.Draft.KeepSecrets {
		s.Draft = s.Draft.WithoutSecrets()
	}
	for _, st := range p.steps {
		if h, is := st.(holder); is {
			for field, text := range h.held() {
				if !s.Draft.KeepSecrets { // a line of an inventory may have some
					text = withoutSecrets(redact.Assigned(text))
				}
				if text != "" {
					s.Typed[field] = text
				}
			}
		}
	}
	return s
}

// withoutSecrets is a text of machines without the passwords of a table.
func withoutSecrets(text string) string {
	if l := machines.Read(text); l.Secrets > 0 {
		return l.Text()
	}
	return text
}

// unsaved says whether something was typed since it was kept last.
func (p *Page) unsaved() bool {
	now := p.saved()
	return !now.Draft.Equal(p.stored.Draft) || now.File != p.stored.File || !maps.Equal(now.Typed, p.stored.Typed)
}

// save keeps what was typed.
func (p *Page) save() tea.Cmd {
	if p.svc.Save == nil {
		return nil
	}
	s := p.saved()
	p.stored = s
	return func() tea.Msg { return savedMsg{p.svc.Save(s)} }
}
