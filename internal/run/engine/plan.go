// Package engine runs a plan: a graph of steps over hosts, with checks, retries, timeouts, limits, undo and decisions.
// It emits what happens as events and knows nothing of Kubernetes, of SSH or of screens.
package engine

import (
	"context"
	"errors"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Plan is what a run intends. Steps may stand in any order; Needs decides.
type Plan struct {
	Phases []Phase
	Hosts  []event.Host
	Steps  []*Step
	// Barriers stand among what steps need. They are no work and no events of their own.
	Barriers []Barrier
	// Spare is asked when a host is left out: may the steps of other hosts that need its steps go on without it? nil:
	// they may not.
	Spare func(host string) bool
	// Slowness returns how many times longer than usual the work of a host takes, "" being the slowest of all. The
	// limits of its steps, and the number of tries of those that poll, grow by it. It is called before each try, and
	// from many goroutines. nil means that no host is slow.
	Slowness func(host string) float64
}

// Barrier is passed when all that it needs is done: N steps that wait for N others have N + N dependencies with it, not
// N × N. Who needs it stands as if it needed each of those steps itself: a failed one blocks it, one of a host that the
// others go on without does not.
type Barrier struct {
	ID    string // unique among steps and barriers
	Needs []string
}

// Phase groups steps for people and for hooks. It is no barrier: only Needs orders steps.
type Phase struct {
	ID    string
	Title event.Msg
	// Before runs ahead of the phase's first step; an error fails the phase's steps. After runs once all its steps have
	// ended, with the phase's outcome, also when a step failed.
	Before func(context.Context) error
	After  func(context.Context, event.Outcome) error
}

// Step is one unit of work on one host. Every step is idempotent: run twice, the second time changes nothing.
type Step struct {
	ID    string // unique in the plan; by convention "<phase>.<what>/<host>"
	Phase string
	Host  string // "" is the jump host itself
	Title event.Msg
	Needs []string // IDs of steps and barriers that must have an outcome that is Done before this one starts
	// Lane: the steps of one host and lane run one after another, in the order of the plan among those that may start;
	// those of another lane ("bulk" for uploads) run beside them. "" is the main lane.
	Lane string

	// When says whether the step applies; if not it is skipped, with the reason given. nil: it applies.
	When func(context.Context) (bool, event.Msg, error)
	// Check says whether the step's work is already done; then the outcome is OK and nothing is touched. nil: never.
	Check func(context.Context) (bool, error)
	// Apply does the work. It must be safe to run again after it was cut off anywhere. When it found nothing to do it
	// returns ErrUnchanged, and the outcome is OK. nil: there is nothing to do but Verify, and the outcome is OK too.
	Apply func(context.Context) error
	// Verify proves the work after Apply (not after a Check that said yes). nil: nothing to prove.
	Verify func(context.Context) error
	// Undo reverts what Apply did; the engine runs it only when asked to (Options.Undo).
	Undo func(context.Context) error

	Retry   Retry
	Timeout time.Duration // for one try of Check, Apply and Verify together; 0 means DefaultTimeout
	// name of a limit in Options.Limits that the step holds a place of while it runs (not between tries)
	Limit    string
	Optional bool // a failure is reported as ignored and does not stop those that need it
	// Waits: the step only watches or waits, so that it is cut off when the run is to stop; it continues another time.
	Waits bool
}

// DefaultTimeout bounds a try of a step that names none.
const DefaultTimeout = 5 * time.Minute

// ErrUnchanged is what Apply returns when it found that nothing had to be done.
var ErrUnchanged = errors.New("nothing had to be changed")

// ErrStopped is what Apply returns when the run is to stop and it has begun nothing that has to be finished: the step
// is interrupted, and continues another time.
var ErrStopped = errors.New("the run is to stop")

type stopKey struct{}

// Stopping says whether the run that ctx belongs to starts no new steps any more. A step that has more than one thing
// to begin, or waits for its turn, asks before it begins one, and returns ErrStopped.
func Stopping(ctx context.Context) bool {
	run, _ := ctx.Value(stopKey{}).(context.Context)
	return run != nil && run.Err() != nil
}

// CodeUnknown is the code of a fault that leaves open whether the command was done.
const CodeUnknown = "ssh.unknown-outcome"

// Retry of a step: Tries in all (0 and 1 mean one), the first pause Delay (0 means a second), doubled each time up to
// MaxDelay (0 means a minute). Only faults marked Retry are tried again, and timeouts; a lost outcome (CodeUnknown) is
// probed with Check and then tried again, once at least, whatever Tries says.
type Retry struct {
	Tries    int
	Delay    time.Duration
	MaxDelay time.Duration
	// Polls reports whether the step waits for something that happens by itself: front ends show a further try of it
	// as waiting, not as another attempt.
	Polls bool
}

// stepKey carries the running step's ID in a context, so that the code below a step can attribute changes, output and
// progress.
type stepKey struct{}

// WithStep returns a context that belongs to the step id, as the engine gives it to the functions of a step.
func WithStep(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, stepKey{}, id)
}

// StepID returns the ID of the step that ctx belongs to, or "".
func StepID(ctx context.Context) string {
	id, _ := ctx.Value(stepKey{}).(string)
	return id
}

// Describe is the plan as front ends see it; Run emits it before the first step.
func (p *Plan) Describe() event.PlanMade {
	made := event.PlanMade{Hosts: p.Hosts}
	for _, ph := range p.Phases {
		made.Phases = append(made.Phases, event.Phase{ID: ph.ID, Title: ph.Title})
	}
	for _, s := range p.Steps {
		made.Steps = append(made.Steps, event.Step{ID: s.ID, Phase: s.Phase, Host: s.Host, Lane: s.Lane, Title: s.Title,
			Needs: s.Needs, Polls: s.Retry.Polls})
	}
	for _, b := range p.Barriers {
		made.Barriers = append(made.Barriers, event.Barrier{ID: b.ID, Needs: b.Needs})
	}
	return made
}
