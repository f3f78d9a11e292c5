package preflight

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Steps inspect everything at once and change nothing; every later step needs their result. What cannot be inspected
// does not stop the rest: check reports everything that is wrong in one go. The result waits for the steps of more.
func Steps(
	r *inventory.Nodes, sources []config.BundleSource, check func(context.Context) error, more ...string,
) []*engine.Step {
	var steps []*engine.Step
	for _, b := range sources {
		s := plan.Step(plan.PhasePreflight, "bundle-"+b.Key, "", nil)
		s.Title = event.M("step.preflight.bundle", "arch", b.Key)
		if b.Arch == "" {
			s.Title = event.M("step.preflight.bundle-file", "file", b.Path)
		}
		s.Timeout = 30 * time.Minute
		s.Optional = true
		s.Verify = func(ctx context.Context) error { return r.KeepFault("bundle "+b.Key, r.StageBundle(ctx, b)) }
		steps = append(steps, s)
	}
	for _, n := range r.Cluster.Nodes {
		steps = append(steps, Inspect(r, n))
	}
	v := plan.Step(plan.PhasePreflight, "verdict", "", append(plan.StepIDs(steps), more...))
	v.Verify = fenced(r, check)
	return append(steps, v)
}

// Inspect connects to a node and gathers its facts.
func Inspect(r *inventory.Nodes, n config.Node) *engine.Step {
	s := LookOnce(r, n)
	s.Retry = engine.Retry{Tries: 3, Delay: 2 * time.Second, MaxDelay: 10 * time.Second}
	return s
}

// LookOnce does the same for a node that may be gone.
func LookOnce(r *inventory.Nodes, n config.Node) *engine.Step {
	s := plan.Step(plan.PhasePreflight, "facts", n.Name, nil)
	s.Optional = true
	s.Verify = func(ctx context.Context) error { return r.KeepFault(n.Name, r.Inspect(ctx, n)) }
	return s
}

// Accept makes every check, for each reports what it finds, and has the cluster accepted when none refuses.
func Accept(e *input.Env, checks ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var first error
		for _, check := range checks {
			if err := check(ctx); first == nil {
				first = err
			}
		}
		if first != nil || e.Accepted == nil {
			return first
		}
		return e.Accepted(ctx)
	}
}
