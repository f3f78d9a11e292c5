package backend

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

type told []event.Record

func (l *told) Next() (event.Record, error) {
	if len(*l) == 0 {
		return event.Record{}, io.EOF
	}
	r := (*l)[0]
	*l = (*l)[1:]
	return r, nil
}

// A story waits for the viewer before a decision, its clock too, and hurries there when the viewer was quicker than
// no matter who decided in the run. Nothing but a retry can be decided.
func TestAStoryWaitsForItsViewer(t *testing.T) {
	now := time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)
	began := now.Add(-time.Hour)
	var list told
	for i, e := range []event.Event{event.RunStarted{}, event.StepAsked{Step: "a"}, event.Output{},
		event.StepDecided{Step: "a", Decision: event.TryAgain}, event.StepAsked{Step: "b"}, event.Output{},
		event.StepDecided{Step: "b", Decision: event.TryAgain}, event.RunEnded{}} {
		at := began.Add(time.Duration(i) * time.Second)
		list = append(list, event.Record{Seq: uint64(i + 1), Time: at, Event: e})
	}
	b := NewStory(&list, 1, func() time.Time { return now })
	take := func(after time.Duration, want int, over bool) {
		t.Helper()
		now = now.Add(after)
		got, err := b.Feed.Take(100)
		if len(got) != want || errors.Is(err, io.EOF) != over || err != nil && !over {
			t.Fatalf("%d records and %v, want %d", len(got), err, want)
		}
	}
	take(0, 1, false)
	take(10*time.Second, 2, false)
	take(time.Hour, 0, false)
	if at := b.Replay.Clock().Sub(began); at != 3*time.Second {
		t.Errorf("the clock went on to %s while the story waited", at)
	}
	for _, no := range []func() error{b.Control.Stop, b.Control.Abort,
		func() error { return b.Control.Decide("a", event.LeaveOut) }} {
		if f := event.AsFault(no()); f == nil || f.Code != "demo.only-retry" {
			t.Errorf("%v", f)
		}
	}
	take(time.Second, 0, false)
	for _, step := range []string{"a", "b"} {
		if err := b.Control.Decide(step, event.TryAgain); err != nil {
			t.Fatal(err)
		}
		if step == "a" {
			take(0, 1, false)
			take(time.Second, 1, false)
		}
	}
	take(0, 2, false)
	take(time.Second, 1, true)
}
