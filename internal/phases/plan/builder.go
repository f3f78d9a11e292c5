// Package plan makes plans: the steps of a run in their order, in declared phases that say what holds for all of their
// steps. What a step waits for is complete when it is added; nothing is patched later. The package knows no way to a
// node.
package plan

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options are what a plan is made for.
type Options struct {
	Hosts []event.Host
	// Limit are the hosts whose work is done; none means all. The open phases inspect every host as ever; of all other
	// steps of other hosts nothing but the questions is left. One that a named host's step needs and that is not done
	// ends what needs it (limit.not-done); one that no named host needs is skipped when it is not done.
	Limit []string
	// Dry makes a plan that inspects everything and changes nothing: the open phases run as they are, then every step
	// is asked whether its work is done, and the changes of one that says no are announced and not made.
	Dry  bool
	Emit func(event.Event) error // of a dry run
	// Announced is how many changes a step has announced so far, in a dry run.
	Announced func(step string) int
	// Skip is asked for a host that has failed, or whose work is not done: may the run continue without it? nil: it may
	// not.
	Skip func(host string) bool
	// Skipped says whether the run continues without a host.
	Skipped func(host string) bool
	// Slowness returns how many times longer than usual the work of a host takes: engine.Plan.
	Slowness func(host string) float64
}

// Phase is one phase of a plan and what holds for all of its steps.
type Phase struct {
	ID string
	// Title is that of the ID unless it is given.
	Title event.Msg
	// After runs when all steps of the phase have ended; not in a dry run.
	After func(context.Context, event.Outcome) error
	// Needs are what each step of the phase on a host needs beside its own; host "" is the jump host.
	Needs func(host string) []string
	// Open: nothing is changed in it, so no gate, no limit and no dry run hold for its steps.
	Open bool
	// Loose: its steps on the jump host wait for all hosts, and continue without those that they can do without. Within
	// a limit they make nobody else's work needed.
	Loose bool
	// CanSkip: its steps on a host that the run continues without are skipped, but for hosts of the limit.
	CanSkip bool
}

// Builder makes one plan.
type Builder struct {
	o        Options
	phases   []Phase
	gates    []func(phase, host string) []string
	steps    []*engine.Step
	barriers []engine.Barrier
	loose    map[string]bool // barriers
}

// New begins a plan of these phases, in the order in which they are shown.
func New(o Options, phases ...Phase) *Builder { return &Builder{o: o, phases: phases} }

// Gate lets every step that is added from now on wait for what needs gives for its phase and host.
func (b *Builder) Gate(needs func(phase, host string) []string) { b.gates = append(b.gates, needs) }

// Add adds steps in the order of the plan: the steps of one host and lane start in it. They are the builder's from now
// on.
func (b *Builder) Add(steps ...*engine.Step) {
	for _, s := range steps {
		ph := b.phase(s.Phase)
		var all [][]string
		if !ph.Open {
			for _, gate := range b.gates {
				all = append(all, gate(s.Phase, s.Host))
			}
		}
		if ph.Needs != nil {
			all = append(all, ph.Needs(s.Host))
		}
		needs := slices.Clone(s.Needs) // the list may be several steps' own
		for _, id := range slices.Concat(all...) {
			if !slices.Contains(needs, id) {
				needs = append(needs, id)
			}
		}
		s.Needs = needs
		b.steps = append(b.steps, s)
	}
}

// Barrier is passed when all of needs are done: steps and barriers that are there or will be. It is "", and there is
// none, when there is nothing to wait for.
func (b *Builder) Barrier(id string, needs []string) string {
	if len(needs) == 0 {
		return ""
	}
	b.barriers = append(b.barriers, engine.Barrier{ID: id, Needs: slices.Clone(needs)})
	return id
}

// LooseBarrier is a barrier of which what waits for it makes nobody's work needed: within a limit it also waits for
// hosts that are not named, whose steps are skipped when they are not done.
func (b *Builder) LooseBarrier(id string, needs []string) string {
	if b.loose == nil {
		b.loose = map[string]bool{}
	}
	b.loose[id] = true
	return b.Barrier(id, needs)
}

// IDs are those of the steps so far in a phase and on a host; "" is any.
func (b *Builder) IDs(phase, host string) []string {
	var out []string
	for _, s := range b.steps {
		if (phase == "" || s.Phase == phase) && (host == "" || s.Host == host) {
			out = append(out, s.ID)
		}
	}
	return out
}

// Plan is the plan of all that was added. Whether it can be run is engine.Plan.Validate's to say.
func (b *Builder) Plan() *engine.Plan {
	p := &engine.Plan{Hosts: b.o.Hosts, Barriers: slices.Clone(b.barriers), Spare: b.o.Skip,
		Slowness: b.o.Slowness}
	for _, ph := range b.phases {
		if ph.Title.Key == "" {
			ph.Title = event.M("phase." + ph.ID)
		}
		p.Phases = append(p.Phases, engine.Phase{ID: ph.ID, Title: ph.Title, After: ph.After})
	}
	for _, s := range b.steps {
		own := *s // a builder that is asked again gives the same
		if b.phase(s.Phase).CanSkip && b.o.Skipped != nil && s.Host != "" && !slices.Contains(b.o.Limit, s.Host) {
			unlessSkipped(&own, b.o.Skipped)
		}
		p.Steps = append(p.Steps, &own)
	}
	if len(b.o.Limit) > 0 {
		b.limit(p)
	}
	if b.o.Dry {
		b.dry(p)
	}
	return p
}

// phase is the declared phase; of one that is not, nothing holds, and Validate refuses the plan.
func (b *Builder) phase(id string) Phase {
	if i := slices.IndexFunc(b.phases, func(ph Phase) bool { return ph.ID == id }); i >= 0 {
		return b.phases[i]
	}
	return Phase{ID: id}
}

// unlessSkipped skips a step of a host that the run continues without.
func unlessSkipped(s *engine.Step, skipped func(host string) bool) {
	when := s.When
	s.When = func(ctx context.Context) (bool, event.Msg, error) {
		if skipped(s.Host) {
			return false, event.M("why.node-gone"), nil
		}
		if when == nil {
			return true, event.Msg{}, nil
		}
		return when(ctx)
	}
}
