package runview

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
)

var start = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

// records of a run with n machines, each of which prints a line a second for a minute.
func records(n int) []event.Record {
	var out []event.Record
	add := func(sec float64, e event.Event) {
		out = append(out, event.Record{Seq: uint64(len(out) + 1),
			Time: start.Add(time.Duration(sec * float64(time.Second))), Event: e})
	}
	plan := event.PlanMade{Phases: []event.Phase{{ID: "infrastructure", Title: event.M("phase.infrastructure")}}}
	for i := range n {
		h := fmt.Sprintf("n%d", i)
		plan.Hosts = append(plan.Hosts, event.Host{Name: h, Roles: []string{"worker"}})
		plan.Steps = append(plan.Steps, event.Step{ID: "infrastructure.claim/" + h, Phase: "infrastructure", Host: h,
			Title: event.M("step.infrastructure.claim", "node", h)})
	}
	add(0, event.RunStarted{Cluster: "c", Verb: "deploy"})
	add(0, plan)
	for _, s := range plan.Steps {
		add(0, event.StepStarted{Step: s.ID, Try: 1})
	}
	for sec := range 60 {
		for _, h := range plan.Hosts {
			add(float64(sec), event.Output{Host: h.Name, Step: "infrastructure.claim/" + h.Name, Stream: "stdout",
				Line: fmt.Sprint("second ", sec)})
		}
	}
	for _, s := range plan.Steps {
		add(61, event.StepEnded{Step: s.ID, Outcome: event.Changed, Took: time.Minute})
	}
	add(62, event.RunEnded{Outcome: event.Changed})
	return out
}

// list is a log in memory.
type list []event.Record

func (l *list) Next() (event.Record, error) {
	if len(*l) == 0 {
		return event.Record{}, io.EOF
	}
	r := (*l)[0]
	*l = (*l)[1:]
	return r, nil
}

// A replay keeps the run's own time, slower or faster, and does not sit out hours in which nothing happened.
func TestReplay(t *testing.T) {
	l := list(records(2))
	now := start
	r := backend.NewReplay(&l, 1, func() time.Time { return now })
	a := New(backend.Board{Feed: r, Replay: r})
	step := func(d time.Duration) {
		now = now.Add(d)
		got, err := r.Take(gulp)
		for _, x := range got {
			a.state.Apply(x)
		}
		a.over = errors.Is(err, io.EOF)
	}
	step(0)
	step(10 * time.Second)
	if got := a.state.Elapsed(); got != 10*time.Second {
		t.Errorf("after ten seconds it is at %s", got)
	}
	r.Speed(2)
	step(10 * time.Second)
	if got := a.state.Elapsed(); got != 30*time.Second {
		t.Errorf("ten seconds later at twice the speed it is at %s", got)
	}
	r.Pause()
	step(time.Hour)
	if got := a.state.Elapsed(); got != 30*time.Second || !r.Paused() {
		t.Errorf("while it stands still it went to %s", got)
	}
	r.Pause()
	step(time.Minute)
	if !a.over || a.state.Ended == nil {
		t.Error("it does not end")
	}
}
