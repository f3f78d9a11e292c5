package guide

import (
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Action is what can be done at the end.
type Action string

// The actions.
const (
	ToPreflight Action = "wizard.key.to-preflight" // preflight found errors
	ToProblem   Action = "wizard.key.to-problem"   // the draft has errors
	Install     Action = "wizard.key.install"
	Join        Action = "wizard.key.join"
	Write       Action = "wizard.key.write" // deploy.yaml alone
)

// Actions returns what can be done with the draft as it is now, the next step first.
func (s *Session) Actions() []Action {
	_, errors, _ := s.Checks()
	var out []Action
	switch {
	case errors > 0:
		out = append(out, ToPreflight)
	case s.Problems.HasErrors():
		return []Action{ToProblem}
	case !s.Joins():
		out = append(out, Install)
	case len(s.Fresh()) > 0:
		out = append(out, Join)
	}
	if !s.Joins() {
		out = append(out, Write)
	}
	return out
}

// Checks returns the result of preflight for the draft as it is now.
func (s *Session) Checks() (passed bool, errors, warnings int) {
	if s.Index(PreflightStep) < 0 {
		return true, 0, 0
	}
	return s.Passed(), s.Standing(PreflightStep).Errors, s.Preflight.Count(event.Warning)
}

// Doubts returns what has to be said before an installation begins.
func (s *Session) Doubts() []event.Msg {
	switch passed, _, warnings := s.Checks(); {
	case !passed:
		return []event.Msg{event.M("wizard.run.unproven")}
	case warnings > 0:
		return []event.Msg{event.M("wizard.run.warned", "count", itoa(warnings))}
	}
	return nil
}

// Confirm returns the question before the installation, or before machines join, and what it does.
func (s *Session) Confirm() (title, about event.Msg) {
	cluster := s.Draft.Get("cluster-id")
	if s.Joins() {
		return event.M("wizard.join.title", "count", itoa(len(s.Fresh())), "cluster", cluster),
			event.M("wizard.join.about")
	}
	return event.M("wizard.run.title", "cluster", cluster),
		event.M("wizard.run.about", "count", itoa(len(s.Draft.Machines)), "file", s.Target())
}
