package operation_test

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// How long an install takes is learnt from deploys that made a cluster: not from one that failed, that found the work
// done, or that is of another verb.
func TestInstalls(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i, x := range []struct {
		cluster, verb string
		end           event.Event
	}{
		{"a", "deploy", event.RunEnded{Outcome: event.Changed, Changed: 4}},
		{"a", "deploy", event.RunEnded{Outcome: event.OK}},                   // nothing was to do
		{"a", "deploy", event.RunEnded{Outcome: event.Changed, Changed: 1}},  // nearly nothing was
		{"b", "deploy", event.RunEnded{Outcome: event.Failed, Exit: 1}},      //
		{"b", "deploy", event.StepStarted{Step: "0", Try: 1}},                // it was interrupted
		{"b", "cleanup", event.RunEnded{Outcome: event.Changed, Changed: 4}}, //
		{"b", "deploy", event.RunEnded{Outcome: event.Changed, Changed: 3}},
	} {
		runs, err := journal.Open(root, x.cluster)
		if err != nil {
			t.Fatal(err)
		}
		log, err := runs.NewRun(x.verb, at.Add(time.Duration(i)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		bus := event.NewBus(nil, log)
		plan := event.PlanMade{Hosts: []event.Host{{Name: "m"}, {Name: "w"}},
			Steps: []event.Step{{ID: "0"}, {ID: "1"}, {ID: "2"}, {ID: "3"}}}
		for _, e := range []event.Event{event.RunStarted{Verb: x.verb}, plan, x.end} {
			if err := bus.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := operation.Installs(t.Context(), store.Dir{Root: root})
	if len(got) != 2 || got[0].Cluster != "b" || got[1].Cluster != "a" || got[1].Nodes != 2 {
		t.Errorf("%+v", got)
	}
}
