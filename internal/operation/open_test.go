package operation

import (
	"context"
	"errors"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// Who attaches to a run sees its records, stops it, and knows how it ended; so does who attaches afterwards.
func TestAttachingToARun(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	pass := make(chan struct{})
	d.Sink = sinkFunc(func(r event.Record) error {
		if _, is := r.Event.(event.StepStarted); is {
			<-pass
		}
		return nil
	})
	h, err := Start(t.Context(), deployOf(f), d)
	if err != nil {
		t.Fatal(err)
	}
	left, cancel := context.WithCancel(t.Context())
	gone, err := Open(left, f, h.Run().Ref)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := gone.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	a, err := Open(t.Context(), f, h.Run().Ref)
	if err != nil || a.Run() != h.Run() {
		t.Fatalf("%+v %v", a.Run(), err)
	}
	for rec := range a.Events(t.Context(), 1) {
		if _, is := rec.Event.(event.StepStarted); is {
			break
		}
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	close(pass)
	for range 2 {
		res, err := a.Wait(t.Context())
		if res.Outcome != event.Interrupted || code(err) != "run.interrupted" {
			t.Errorf("%+v %v", res, err)
		}
		if a, err = Open(t.Context(), f, h.Run().Ref); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Wait(t.Context()); code(err) != "run.interrupted" {
		t.Error(err)
	}
	if _, err := Open(t.Context(), f, request.Ref{Cluster: "sim", Run: "nothing"}); code(err) != "usage.no-run" {
		t.Error(err)
	}
}
