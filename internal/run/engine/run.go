package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Decision says what becomes of the run when a step has failed for good. "" is GoOn.
type Decision = event.Decision

// The decisions.
const (
	GoOn     = event.GoOn     // everything that does not need the failed step goes on to its end
	Abort    = event.Abort    // no new step starts
	TryAgain = event.TryAgain // the step is tried again, with all its tries
	// LeaveOut blocks what is left of the step's host. Steps of other hosts that need its steps go on without it if
	// Plan.Spare agrees, else they are blocked too. For a step of the jump host it is GoOn.
	LeaveOut = event.LeaveOut
)

// Failure is a step that failed for good: its tries are used up, or another could not help.
type Failure struct {
	Step  *Step
	Try   int // tries so far
	Fault *event.Fault
}

// Options of a run.
type Options struct {
	// Emit takes the events of the run; when it returns, the event is safe in the journal. It is called from many
	// goroutines. An error stops the run before the next step.
	Emit func(event.Event) error
	// Done are the steps that the journal of an earlier, unfinished run has as done. It counts for steps without Check
	// only: they are not applied again. A step with Check asks the node itself.
	Done map[string]bool
	// Limits are the places of each named limit. A limit that is not in it, or below one, has one place.
	Limits map[string]int
	// Undo takes back, after a failure, what this run has changed, in reverse order.
	Undo bool
	// OnFailure is the decision on every failure where Decide is nil; TryAgain is GoOn then.
	OnFailure Decision
	// Decide is asked about a step that failed for good and may not (Step.Optional). It is called in a goroutine of its
	// own, for several steps at once, and may wait for a person as long as it likes: the other steps go on meanwhile,
	// the step's lane waits. When ctx ends the run has been stopped and the answer no longer counts. It is not asked
	// about a host that is already left out.
	Decide func(ctx context.Context, f Failure) Decision
	// Stop, when closed, lets running steps end and starts no new ones. Cancelling the context also tells the running
	// ones.
	Stop <-chan struct{}
	// Now and Sleep are for tests.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

func (o Options) withDefaults() Options {
	if o.Emit == nil {
		o.Emit = func(event.Event) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) error {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-t.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return o
}

// StepTiming is when a step ran.
type StepTiming = event.Timing

// Summary is what became of a plan.
type Summary struct {
	Counts       map[event.Outcome]int
	Changed      []string          // steps, in the order in which they ended
	Failed       []event.StepEnded // failed, or of unknown outcome
	Left         []string          // steps that were not started, or interrupted, in the order of the plan
	Undone       []string
	LeftOut      []string     // hosts that the others went on without, in the order in which they were left out
	LongestChain []StepTiming // the chain of steps that the end of the run waited for, by measured time
	Steps        []StepTiming // every step that was tried, in the order of the plan
}

// Run works through the plan, which it tells first as PlanMade. A step starts when all that it needs is done, its
// host's lane is free and its limit has a place; phases are no barrier. Run returns when nothing runs any more: it
// leaves no goroutine behind, and for that waits for step functions that do not heed their context.
//
// The error is nil when every step is done. Otherwise it is a *event.Fault: engine.* for a plan that cannot be run,
// journal.write when Emit failed, engine.interrupted (class interrupted), the fault of the one step that failed,
// engine.steps-failed when there are several, or engine.left-out (class partial) when nothing failed but on hosts that
// were left out.
func Run(ctx context.Context, plan *Plan, opts Options) (Summary, error) {
	if err := plan.Validate(); err != nil {
		return Summary{Counts: map[event.Outcome]int{}}, err
	}
	r := newRunner(ctx, plan, opts.withDefaults())
	defer r.endPauses()
	if r.emit(plan.Describe()); r.journal == nil {
		r.loop()
	}
	r.closePhases()
	if r.opts.Undo && r.failed() && !r.partial() && !r.cut() {
		r.undo()
	}
	return r.summary(), r.err()
}

// failed says whether a step or a hook failed.
func (r *runner) failed() bool { return len(r.failures) > 0 || len(r.hookFaults) > 0 }

// partial says whether all that failed, failed on hosts that the others went on without.
func (r *runner) partial() bool {
	elsewhere := func(f event.StepEnded) bool { return !r.spared[r.hostOf[f.Step]] }
	return len(r.hookFaults) == 0 && len(r.failures) > 0 && !slices.ContainsFunc(r.failures, elsewhere)
}

// cut says whether the run ended before its end for another reason than a failed step.
func (r *runner) cut() bool { return r.journal != nil || r.interrupted }

func (r *runner) err() error {
	left := 0
	for _, n := range r.nodes {
		if n.state != ended || n.outcome == event.Interrupted {
			left++
		}
	}
	switch {
	case r.journal != nil:
		return journalFault(r.journal)
	case r.interrupted && left > 0:
		return event.NewFault(event.ClassInterrupted, "engine.interrupted", context.Cause(r.ctx), "left",
			strconv.Itoa(left))
	}
	if r.partial() {
		return event.NewFault(event.ClassPartial, "engine.left-out", nil, "hosts", strings.Join(r.leftOut, ", "))
	}
	faults := append([]*event.Fault{}, r.hookFaults...)
	for _, f := range r.failures {
		faults = append(faults, f.Fault)
	}
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return faults[0]
	}
	class := faults[0].Class
	errs := make([]error, 0, len(faults))
	for _, f := range faults {
		if f.Class != class {
			class = event.ClassFailed
		}
		errs = append(errs, f)
	}
	f := event.NewFault(class, "engine.steps-failed", nil, "count", strconv.Itoa(len(faults)))
	f.Err = errors.Join(errs...)
	return f
}

func journalFault(err error) *event.Fault {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return f
	}
	return event.NewFault(event.ClassFailed, "journal.write", err, "path", "events.jsonl")
}

func (r *runner) summary() Summary {
	s := Summary{Counts: map[event.Outcome]int{}, Failed: r.failures, Undone: r.undone, LeftOut: r.leftOut}
	for _, n := range r.order {
		if n.barrier {
			continue
		}
		s.Counts[n.outcome]++
		if n.outcome == event.Changed {
			s.Changed = append(s.Changed, n.step.ID)
		}
	}
	for _, n := range r.nodes {
		if n.state != ended || n.outcome == event.Interrupted {
			s.Left = append(s.Left, n.step.ID)
		}
		if n.state == ended && n.try > 0 {
			s.Steps = append(s.Steps, StepTiming{
				Step: n.step.ID, Phase: n.step.Phase, Host: n.step.Host, Lane: n.step.Lane, Title: n.step.Title,
				Needs: n.step.Needs, Start: n.start, End: n.end,
			})
		}
	}
	s.LongestChain = event.CriticalPath(s.Steps, r.plan.Describe().Barriers)
	return s
}
