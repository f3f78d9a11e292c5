package engine

import (
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ask has somebody decide about a step that failed for good; its lane waits.
func (r *runner) ask(n *node, o event.Outcome) {
	switch {
	case r.journal != nil:
		n.lane.busy = nil
		return
	case r.out[n.step.Host]:
		r.endFailed(n, o, LeaveOut)
		return
	case r.stopped:
		r.endFailed(n, o, GoOn)
		return
	}
	n.state = asking
	r.busy++
	f := Failure{Step: n.step, Try: n.try, Fault: n.fault}
	go func() {
		m := message{node: n, failed: o, answer: GoOn}
		defer func() { r.messages <- m }()
		answer := GoOn
		if fault := safely(func() error { answer = r.opts.Decide(r.pauses, f); return nil }); fault != nil ||
			answer == "" {
			answer = GoOn
		}
		if r.pauses.Err() == nil {
			m.answer, m.journal = answer, r.opts.Emit(event.StepDecided{Step: n.step.ID, Decision: answer})
		}
	}()
}

// answered goes on as was decided. What the run has come to meanwhile counts more.
func (r *runner) answered(n *node, m message) {
	switch {
	case r.journal != nil:
		n.lane.busy = nil
	case r.out[n.step.Host]:
		r.endFailed(n, m.failed, LeaveOut)
	case m.answer == TryAgain && !r.stopped:
		n.state, n.round = again, n.try
		r.poke(n.lane)
	case m.answer == TryAgain:
		r.endFailed(n, m.failed, GoOn)
	default:
		r.endFailed(n, m.failed, m.answer)
	}
}

// endFailed ends a step that failed and of which that is not journalled yet.
func (r *runner) endFailed(n *node, o event.Outcome, d Decision) {
	n.end = r.opts.Now()
	r.emit(event.StepEnded{Step: n.step.ID, Outcome: o, Took: n.end.Sub(n.start), Fault: n.fault})
	if r.journal != nil {
		n.lane.busy = nil
		return
	}
	r.conclude(n, o, d)
}

// conclude books the end of a step that is in the journal, and draws the conclusions when it failed.
func (r *runner) conclude(n *node, o event.Outcome, d Decision) {
	host := n.step.Host
	failed := n.fault != nil && (o == event.Failed || o == event.Unknown)
	if failed && d == LeaveOut && host != "" && !r.out[host] {
		r.out[host] = true
		if r.plan.Spare != nil && r.plan.Spare(host) {
			r.spared[host] = true
			r.leftOut = append(r.leftOut, host)
		}
	}
	r.settle(n, o)
	// A failure that is ignored stops nobody: what it means for the host is for the steps there to find out, else
	// nobody would have failed.
	if !failed {
		return
	}
	if d == Abort {
		r.halt()
	}
	switch {
	case host == "":
	case r.out[host]:
		r.blockHost(host, n.step.ID, "engine.host-left-out")
		for _, l := range r.lanes {
			if l.busy != nil && l.busy.state == again && l.busy.step.Host == host {
				// waits for a place that it is not to have
				r.poke(l)
			}
		}
	case n.fault.Node == host && !r.lost[host] && hostGone(n.fault):
		r.lost[host] = true
		r.blockHost(host, n.step.ID, "engine.host-lost")
	}
}

// blockHost blocks what has not started on a host.
func (r *runner) blockHost(host, step, why string) {
	for _, other := range r.hosts[host] {
		if other.state == waiting || other.state == ready {
			r.block(other, step, event.M(why, "host", host, "step", step))
		}
	}
}

// hostGone says whether the fault dooms every other step of its host too.
func hostGone(f *event.Fault) bool {
	return f.Class == event.ClassAuth || f.Code == "ssh.lost" || f.Code == "ssh.unreachable"
}
