package manager_test

import (
	"github.com/eggo-k8s/eggo/internal/run/event"
	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// phase is what the reference knows a cluster to be, apart from what goes on.
type phase int

const (
	nothing     phase = iota // no record
	connecting               // the API server has not answered yet
	ready                    // it has
	unavailable              // the last operation failed or was canceled
)

// reference says what a cluster has to be. It has variables and rules of its own, and is told what was asked for and
// what the runs did. It reads nothing of the manager.
type reference struct {
	phase  phase
	made   bool
	down   bool  // the API server
	failed *work // what is continued
	work   *work // what goes on
	until  string
	runs   []Kind // all that ever began
}

// work is an operation.
type work struct {
	kind                    Kind
	found, canceling, final bool
	before                  phase // nothing: there was none
	run                     *managertest.Run
	came                    int // to how many runs
}

// may says whether an operation can begin, where no other process works on the cluster.
func (r *reference) may(k Kind) bool {
	if r.work != nil {
		return false
	}
	switch k {
	case Create:
		return r.phase == nothing
	case Snapshot:
		return r.phase == ready
	case Delete, Restore:
		return r.phase != nothing
	}
	return r.phase == unavailable || r.phase == ready && !r.down
}

// continued is what continues a cluster that is unavailable, "" if it is connected again.
func (r *reference) continued() Kind {
	switch f := r.failed; {
	case f == nil:
		return ""
	case f.kind == Delete, f.kind == Update:
		return f.kind
	case !r.made:
		return Create
	case f.kind == Create, f.kind == Restore && f.found:
		return Update
	default:
		return f.kind
	}
}

// begin begins an operation.
func (r *reference) begin(w work) {
	w.before = r.phase
	if r.work = &w; r.phase == nothing {
		r.phase, r.made, r.failed = unavailable, false, nil
	}
}

// began has the operation come to a run.
func (r *reference) began(run *managertest.Run) {
	r.work.run = run
	r.work.came++
}

// ended ends the operation.
func (r *reference) ended(f *event.Fault, unchanged bool) {
	w := r.work
	r.work = nil
	back := f != nil && unchanged && (f.Class == event.ClassPreflight || f.Class == event.ClassAuth) && w.came < 2 &&
		w.before != nothing && !w.final && !w.canceling
	switch {
	case w.kind.Quiet():
	case f == nil && w.kind == Update && w.canceling && !w.found: // what is left of it was not begun
		r.phase, r.failed = unavailable, w
	case f == nil && w.kind == Delete:
		*r = reference{down: r.down, runs: r.runs, until: w.run.ID()}
	case f == nil:
		r.phase, r.made, r.failed = ready, true, nil
	case back:
		r.phase = w.before
	default:
		r.phase, r.failed = unavailable, w
	}
}

// restarted is what becomes of the cluster when the server starts.
func (r *reference) restarted() {
	w := r.work
	if r.phase == ready {
		r.phase = connecting
	}
	if w != nil && w.run == nil { // it was not begun
		r.ended(&event.Fault{Class: event.ClassInterrupted}, false)
	}
}

// found takes a run over that somebody else has begun.
func (r *reference) found(run *managertest.Run, installed, starting bool) {
	w := &work{kind: run.Kind, found: true, before: r.phase}
	switch {
	case r.phase == nothing && !installed && run.Kind == Delete: // nothing that a record could be made of
		return
	case r.phase == nothing:
		r.made, r.failed, r.phase = installed, nil, unavailable
		if installed {
			w.before = connecting
		}
		if run.Kind.Quiet() {
			r.phase = connecting
		}
	case starting && r.phase == connecting && !r.made:
		w.before = nothing
	}
	r.work = w
	r.began(run)
}

// rest is what the cluster is when all is quiet.
func (r *reference) rest() {
	if r.phase == connecting && !r.down && (r.work == nil || r.work.kind.Quiet()) {
		r.phase, r.made = ready, true
	}
}

// state is the one of the design.
func (r *reference) state() state.State {
	w := r.work
	switch {
	case w == nil || w.kind.Quiet():
	case w.canceling:
		return state.Canceling
	case w.kind == Delete:
		return state.Destroy
	case w.kind == Create && !r.made:
		return state.Creating
	default:
		return state.Updating
	}
	switch {
	case r.phase == ready && r.down:
		return state.Unreachable
	case r.phase == ready:
		return state.Running
	case r.phase == connecting:
		return state.Connecting
	case r.phase == unavailable:
		return state.Unavailable
	}
	return none
}
