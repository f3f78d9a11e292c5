package state

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestARunWithASecondPlan: a run that failed reverts its changes by another plan. Its steps and its phase come after
// those of the first, and what these were stays.
func TestARunWithASecondPlan(t *testing.T) {
	l := newTeller()
	l.at(1, event.StepStarted{Step: "up/n1", Try: 1})
	l.at(2, event.StepEnded{Step: "up/n1", Outcome: event.Failed, Fault: event.NewFault(event.ClassFailed, "bad", nil)})
	l.at(3, event.PlanMade{Phases: []event.Phase{{ID: "undo", Title: event.M("Undo")}},
		Hosts:    []event.Host{{Name: "n1", Addr: "10.0.0.1"}},
		Steps:    []event.Step{{ID: "undo.up/n1", Phase: "undo", Host: "n1", Title: event.M("clean")}},
		Barriers: []event.Barrier{{ID: "undo.all", Needs: []string{"undo.up/n1"}}}})
	l.at(4, event.StepStarted{Step: "undo.up/n1", Try: 1})
	l.at(5, event.StepEnded{Step: "undo.up/n1", Outcome: event.Changed})
	s := l.s
	if len(s.Phases) != 3 || s.Phases[2].ID != "undo" || s.Phases[2].Ended != 1 || s.Total != 6 {
		t.Errorf("%+v, %d steps", s.Phases, s.Total)
	}
	if s.Step("up/n1").Outcome != event.Failed || s.Step("undo.up/n1").Outcome != event.Changed ||
		len(s.Host("n1").Steps) != 3 || len(s.Failures) != 1 {
		t.Errorf("%+v", s.Host("n1"))
	}
}
