package operation_test

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// What is usual is learnt from earlier runs of the same verb, of any cluster; not from the run itself.
func TestUsual(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	run := func(cluster, verb string, at time.Time, took time.Duration) string {
		runs, err := journal.Open(root, cluster)
		if err != nil {
			t.Fatal(err)
		}
		log, err := runs.NewRun(verb, at)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		bus := event.NewBus(nil, log)
		for _, e := range []event.Event{event.PlanMade{Steps: []event.Step{{ID: "work/n", Phase: "p", Host: "n"}}},
			event.StepStarted{Step: "work/n", Try: 1},
			event.StepEnded{Step: "work/n", Outcome: event.Changed, Took: took}} {
			if err := bus.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		return log.ID()
	}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	run("a", "deploy", at, 10*time.Second)
	run("b", "deploy", at.Add(time.Hour), 30*time.Second)
	run("b", "cleanup", at.Add(2*time.Hour), time.Hour)
	id := run("a", "deploy", at.Add(3*time.Hour), time.Hour)
	h := operation.Usual(t.Context(), store.Dir{Root: root}, request.Ref{Cluster: "a", Run: id})
	if got, _ := h.Usual(&state.Step{Step: event.Step{ID: "work/x", Host: "x"}}); got != 30*time.Second {
		t.Errorf("usually %s", got)
	}
}
