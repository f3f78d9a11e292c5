package operation

import (
	"context"
	"iter"
	"sync"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// Run is a run that has its directory.
type Run struct {
	request.Ref
	Dir string
}

// Result is how a run ended.
type Result struct {
	Outcome event.Outcome
	Fault   *event.Fault
	Changed int  // steps
	Logged  bool // the log has the end
	// Active are the steps that a run without an end was at, and How is what is known of the end of its process.
	Active []*state.Step
	How    string
}

// Handle is a run as its owner, or who attached to it, has it.
type Handle struct{ backend backend }

// backend is where the run is: in this process, or in another.
type backend interface {
	halt() error
	abort() error
	decide(step string, d event.Decision) error
	done() <-chan struct{}
	// started is when the run has its directory.
	started(ctx context.Context) (Run, error)
	// outcome is how the run ended; it is asked for when done is closed.
	outcome() (Result, error)
}

// Started says which run it is. Of a launched one it waits until the process says so, or why there is none; the end of
// ctx ends that wait and nothing else.
func (h *Handle) Started(ctx context.Context) (Run, error) { return h.backend.started(ctx) }

// Run is Started of a run that was begun by Start.
func (h *Handle) Run() Run {
	run, _ := h.backend.started(context.Background())
	return run
}

// Kill ends the process of a run that was launched from here.
func (h *Handle) Kill() error {
	if c, is := h.backend.(*child); is {
		return c.kill()
	}
	return h.Abort()
}

// Release is for who launched a run and does not wait for its end: what no log has then is in the process's own.
func (h *Handle) Release() {
	if c, is := h.backend.(*child); is {
		c.release()
	}
}

// Stop lets the running steps end and begins no other.
func (h *Handle) Stop() error { return h.backend.halt() }

// Stopping is closed when somebody wants a run of this process to stop, also from elsewhere; nil for others.
func (h *Handle) Stopping() <-chan struct{} {
	if l, is := h.backend.(*local); is {
		return l.stop
	}
	return nil
}

// Abort breaks off the running steps too.
func (h *Handle) Abort() error { return h.backend.abort() }

// Decide says what becomes of a step that somebody was asked about.
func (h *Handle) Decide(step string, d event.Decision) error { return h.backend.decide(step, d) }

// Done is closed when the run has ended.
func (h *Handle) Done() <-chan struct{} { return h.backend.done() }

// Wait waits for the end. The error is the run's fault, or that of ctx; Result.Logged says whether the log has it.
func (h *Handle) Wait(ctx context.Context) (Result, error) {
	select {
	case <-h.backend.done():
		return h.backend.outcome()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// Events gives the run's records from a sequence number on: those that are there, and those that come until it ends.
func (h *Handle) Events(ctx context.Context, from uint64) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		run, err := h.Started(ctx)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		over := make(chan struct{})
		var once sync.Once
		end := func() { once.Do(func() { close(over) }) }
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			select {
			case <-h.backend.done():
			case <-watching.Done():
			}
			end()
		}()
		for rec, err := range journal.FollowUntil(run.Dir, over) {
			if err == nil && ctx.Err() != nil {
				err = ctx.Err()
			}
			if err == nil && rec.Seq < from {
				continue
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// local is a run in this process. It implements control.Handler too.
type local struct {
	run    Run
	stop   chan struct{}
	once   sync.Once // closes stop
	cancel context.CancelFunc
	asked  *asked
	over   chan struct{}
	result Result // when over is closed
	err    error
}

func (l *local) halt() error  { l.Stop(); return nil }
func (l *local) abort() error { l.Abort(); return nil }

func (l *local) decide(step string, d event.Decision) error { return l.Decide(step, d) }
func (l *local) done() <-chan struct{}                      { return l.over }
func (l *local) started(context.Context) (Run, error)       { return l.run, nil }
func (l *local) outcome() (Result, error)                   { return l.result, l.err }

// Stop implements control.Handler.
func (l *local) Stop() { l.once.Do(func() { close(l.stop) }) }

// Abort implements control.Handler.
func (l *local) Abort() { l.cancel() }

// Decide implements control.Handler.
func (l *local) Decide(step string, d event.Decision) error { return l.asked.answer(step, d) }
