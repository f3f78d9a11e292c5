package engine

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// afterGrace is what a phase's After hook has when the run was interrupted.
const afterGrace = 30 * time.Second

// enter says whether a step of the phase may start; the first one to ask opens the phase.
func (r *runner) enter(ph *phase) bool {
	if ph.state != idle {
		return ph.state == open
	}
	r.emit(event.PhaseStarted{Phase: ph.def.ID})
	if r.journal != nil {
		return false
	}
	if ph.def.Before == nil {
		ph.state = open
		return true
	}
	ph.state = opening
	r.hook(ph, func() *event.Fault {
		ctx, cancel := context.WithTimeout(r.ctx, DefaultTimeout)
		defer cancel()
		return safely(func() error { return ph.def.Before(ctx) })
	})
	return false
}

// opened hears how Before went.
func (r *runner) opened(ph *phase, fault *event.Fault) {
	ph.state = open
	for _, n := range ph.nodes {
		r.poke(n.lane)
	}
	if fault == nil || r.journal != nil {
		return
	}
	if r.ctx.Err() != nil {
		r.interrupt()
		return
	}
	for _, n := range ph.nodes {
		if n.state != waiting && n.state != ready {
			continue
		}
		f := *fault
		f.Step = n.step.ID
		n.fault, n.end = f.On(n.step.Host), r.opts.Now()
		o := n.failedAs()
		r.emit(event.StepEnded{Step: n.step.ID, Outcome: o, Fault: n.fault})
		if r.journal != nil {
			return
		}
		if n.state == ready {
			n.lane.drop(n)
		}
		r.settle(n, o)
	}
	if r.opts.OnFailure == Abort {
		r.halt()
	}
}

// leave is called when the last step of a phase has ended.
func (r *runner) leave(ph *phase) {
	ph.result = ph.outcome()
	if ph.state == idle || ph.def.After == nil {
		r.closed(ph, nil)
		return
	}
	ph.state = closing
	r.hook(ph, func() *event.Fault { return r.after(ph) })
}

func (r *runner) after(ph *phase) *event.Fault {
	grace := DefaultTimeout
	if r.ctx.Err() != nil {
		grace = afterGrace
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), grace)
	defer cancel()
	return safely(func() error { return ph.def.After(ctx, ph.result) })
}

func (r *runner) closed(ph *phase, fault *event.Fault) {
	ph.state = closed
	if fault != nil {
		ph.result = event.Failed
		r.hookFaults = append(r.hookFaults, fault)
	}
	r.emit(event.PhaseEnded{Phase: ph.def.ID, Outcome: ph.result, Fault: fault})
	if fault != nil && r.opts.OnFailure == Abort {
		r.halt()
	}
}

// closePhases ends the phases that the run leaves in the middle.
func (r *runner) closePhases() {
	for _, def := range r.plan.Phases {
		ph := r.phases[def.ID]
		if ph.state != open {
			continue
		}
		if ph.result = ph.outcome(); ph.result != event.Failed {
			ph.result = event.Interrupted
		}
		var fault *event.Fault
		if ph.def.After != nil {
			fault = r.after(ph)
		}
		r.closed(ph, fault)
	}
}

// outcome of a phase is the gravest of its steps'.
func (ph *phase) outcome() event.Outcome {
	rank := map[event.Outcome]int{
		event.Skipped: 1, event.OK: 2, event.Ignored: 3, event.Changed: 4, event.Blocked: 5, event.Interrupted: 6,
		event.Unknown: 7, event.Failed: 8,
	}
	worst := event.Skipped
	for _, n := range ph.nodes {
		if rank[n.outcome] > rank[worst] {
			worst = n.outcome
		}
	}
	switch worst {
	case event.Unknown:
		return event.Failed
	case event.Ignored:
		return event.OK
	}
	return worst
}
