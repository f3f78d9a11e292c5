package operation

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// pauseBetweenRounds is what a step that has failed for good rests before it is tried again because the request
// says so.
const pauseBetweenRounds = 5 * time.Second

// final are the classes of what was found before anything was touched: another try does not change it.
func final() []event.Class {
	return []event.Class{event.ClassPreflight, event.ClassUsage, event.ClassBundle, event.ClassLocked}
}

// byRequest tries a step that failed again, as often as the request says.
type byRequest struct {
	retries int
	clock   Clock
	mu      sync.Mutex
	tried   map[string]int
}

// Decide implements Decider.
func (b *byRequest) Decide(ctx context.Context, f engine.Failure) event.Decision {
	b.mu.Lock()
	b.tried[f.Step.ID]++
	used := b.tried[f.Step.ID]
	b.mu.Unlock()
	if used > b.retries || slices.Contains(append(final(), event.ClassAuth), f.Fault.Class) {
		return engine.Abort
	}
	_ = b.clock.Sleep(ctx, pauseBetweenRounds) // when ctx ends, the answer no longer counts
	return engine.TryAgain
}

// asked are the steps that somebody is asked about, and what becomes of them.
type asked struct {
	mu   sync.Mutex
	open map[string]chan engine.Decision
}

// Decide implements Decider: it waits for an answer as long as it takes, for nobody may be there now. What another try
// cannot change ends the run.
func (a *asked) Decide(ctx context.Context, f engine.Failure) event.Decision {
	if slices.Contains(final(), f.Fault.Class) {
		return engine.Abort
	}
	answer := make(chan engine.Decision, 1)
	a.mu.Lock()
	if a.open == nil {
		a.open = map[string]chan engine.Decision{}
	}
	a.open[f.Step.ID] = answer
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.open, f.Step.ID)
		a.mu.Unlock()
	}()
	select {
	case d := <-answer:
		return d
	case <-ctx.Done():
		return engine.GoOn
	}
}

// answer is what somebody says about a step. The first answer counts.
func (a *asked) answer(step string, d event.Decision) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	to, ok := a.open[step]
	if !ok {
		return event.NewFault(event.ClassUsage, "control.not-asked", nil, "step", step)
	}
	delete(a.open, step)
	to <- d
	return nil
}

// decisions sets what the engine does when a step fails for good.
func decisions(o request.OnFailure, d Deps, a *asked, opts *engine.Options) {
	switch {
	case o.Undo:
		opts.OnFailure = engine.Abort
	case d.Decider != nil:
		opts.Decide = d.Decider.Decide
	case o.Ask:
		opts.Decide = a.Decide
	case o.Do == event.TryAgain:
		opts.Decide = (&byRequest{retries: o.Retries, clock: d.clock(), tried: map[string]int{}}).Decide
	default:
		opts.OnFailure = o.Do
	}
}

// machine is the clock of this host.
type machine struct{}

// Now implements Clock.
func (machine) Now() time.Time { return time.Now() }

// Sleep implements Clock.
func (machine) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d Deps) clock() Clock {
	if d.Clock == nil {
		return machine{}
	}
	return d.Clock
}
