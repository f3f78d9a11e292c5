package state_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// live is a front end that looks while the run goes on.
type live struct{ *state.State }

func (l live) Emit(r event.Record) error {
	l.Apply(r)
	return nil
}

func TestTheJournalOfARealRunShowsWhatWasSeenLive(t *testing.T) {
	c, err := journal.Open(t.TempDir(), "c")
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	seen := live{state.New()}
	bus := event.NewBus(nil, w, seen)
	plan := &engine.Plan{Phases: []engine.Phase{{ID: "p"}, {ID: "q"}}}
	for h := range 5 {
		plan.Hosts = append(plan.Hosts, event.Host{Name: fmt.Sprintf("n%d", h)})
	}
	for i := range 60 {
		s := &engine.Step{ID: fmt.Sprintf("s%d", i), Phase: []string{"p", "q"}[i%2], Host: fmt.Sprintf("n%d", i%5),
			Title: event.M("do", "i", fmt.Sprint(i))}
		if i > 7 {
			s.Needs = []string{fmt.Sprintf("s%d", i-8), fmt.Sprintf("s%d", i/2)}
		}
		s.Retry = engine.Retry{Tries: 2, Delay: time.Microsecond}
		s.Apply = func(ctx context.Context) error {
			for k := range 4 {
				_ = bus.Emit(event.Output{Host: s.Host, Step: s.ID, Stream: "stdout", Line: fmt.Sprint("line\x1b ", k)})
				_ = bus.Emit(event.Progress{Host: s.Host, Step: s.ID, What: "f", Done: int64(k), Total: 5})
			}
			_ = bus.Emit(event.Change{Host: s.Host, Step: s.ID, Desc: event.M("x")})
			if i%11 == 10 {
				f := event.NewFault(event.ClassFailed, "bad", context.Canceled)
				f.Retry = i == 10
				return f
			}
			return nil
		}
		plan.Steps = append(plan.Steps, s)
	}
	if err := bus.Emit(event.RunStarted{Run: w.ID(), Verb: "deploy"}); err != nil {
		t.Fatal(err)
	}
	sum, runErr := engine.Run(t.Context(), plan, engine.Options{Emit: bus.Emit})
	if err := bus.Emit(event.RunEnded{Outcome: event.Failed, Fault: event.AsFault(runErr)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again := state.New()
	for r, err := range journal.Read(w.Dir()) {
		if err != nil {
			t.Fatal(err)
		}
		again.Apply(r)
	}
	if !reflect.DeepEqual(seen.State, again) {
		t.Error("the log does not show what was seen")
	}
	if !reflect.DeepEqual(sum.Counts, again.Counts) || again.Counts[event.Failed] == 0 ||
		again.Counts[event.Blocked] == 0 || again.Counts[event.Changed] == 0 || len(again.Active) != 0 {
		t.Error(sum.Counts, again.Counts)
	}
}
