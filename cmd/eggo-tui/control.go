package main

import (
	"context"
	"slices"
	"sync"

	"github.com/eggo-k8s/eggo/internal/control"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
)

// decisions are the steps that somebody is asked about, and what becomes of them.
type decisions struct {
	signals *interrupts // nil: the run can be stopped by nobody
	mu      sync.Mutex
	open    map[string]chan engine.Decision
}

// listen opens the run to boards: they can stop it, and decide about steps if that is what --on-failure says. Without that, a run that cannot
// be reached is a run all the same.
func (s *session) listen(opts *engine.Options) (end func(), err error) {
	d := &decisions{signals: s.env.Interrupts, open: map[string]chan engine.Decision{}}
	if s.failure.ask {
		opts.Decide = d.wait
	}
	srv, err := control.Serve(s.log.Dir(), d)
	if err != nil {
		if s.failure.ask {
			return nil, err
		}
		return func() {}, nil
	}
	return func() { srv.Close() }, nil
}

// wait waits for a decision about a step, as long as it takes: nobody may look at the board now. What another try cannot change ends the run.
func (d *decisions) wait(ctx context.Context, f engine.Failure) engine.Decision {
	if slices.Contains(settled(), f.Fault.Class) {
		return engine.Abort
	}
	answer := make(chan engine.Decision, 1)
	d.mu.Lock()
	d.open[f.Step.ID] = answer
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.open, f.Step.ID)
		d.mu.Unlock()
	}()
	select {
	case a := <-answer:
		return a
	case <-ctx.Done():
		return engine.GoOn
	}
}

// Decide implements control.Handler.
func (d *decisions) Decide(step string, choice event.Decision) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer, ok := d.open[step]
	if !ok {
		return event.NewFault(event.ClassUsage, "control.not-asked", nil, "step", step)
	}
	delete(d.open, step) // the first answer counts
	answer <- choice
	return nil
}

// Stop implements control.Handler.
func (d *decisions) Stop() {
	if d.signals != nil {
		d.signals.halt()
	}
}

// Abort implements control.Handler.
func (d *decisions) Abort() {
	if d.signals != nil {
		d.signals.abort()
	}
}
