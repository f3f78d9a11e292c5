package engine

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// undo takes back what this run has applied, the half-done steps included, in reverse order of their ends and one at a
// time. What a step rests on whose own undo failed is left as it is.
func (r *runner) undo() {
	for _, n := range slices.Backward(r.order) {
		if n.barrier && slices.ContainsFunc(n.dependants, func(d *node) bool { return d.undoFailed }) {
			n.undoFailed = true
		}
		if !n.applied {
			continue
		}
		if slices.ContainsFunc(n.dependants, func(d *node) bool { return d.undoFailed }) {
			n.undoFailed = true
			continue
		}
		if n.step.Undo == nil {
			continue
		}
		if r.ctx.Err() != nil || isClosed(r.opts.Stop) {
			r.interrupted = true
			return
		}
		timeout := n.step.Timeout
		if timeout <= 0 {
			timeout = DefaultTimeout
		}
		start := r.opts.Now()
		ctx, cancel := context.WithTimeout(WithStep(r.ctx, n.step.ID), timeout)
		fault := safely(func() error { return n.step.Undo(ctx) })
		cancel()
		done := event.StepUndone{Step: n.step.ID, Outcome: event.Changed, Took: r.opts.Now().Sub(start)}
		if fault != nil {
			n.undoFailed = true
			done.Outcome, done.Fault = event.Failed, n.blame(fault)
		}
		r.emit(done)
		if r.journal != nil {
			return
		}
		if fault == nil {
			r.undone = append(r.undone, n.step.ID)
		}
	}
}

// isClosed says whether nothing more is to be begun.
func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
