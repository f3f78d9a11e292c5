package phases

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// preflight looks at everything at once and touches nothing; every later step needs its verdict. What cannot be looked
// at does not stop the rest: judge tells everything that is wrong in one go. The verdict waits for the steps of more,
// too.
func (r *run) preflight(
	sources []config.BundleSource, judge func(context.Context) error, more ...string,
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
		steps = append(steps, r.lookStep(n))
	}
	v := plan.Step(plan.PhasePreflight, "verdict", "", append(plan.StepIDs(steps), more...))
	v.Verify = judge
	return append(steps, v)
}

// accept asks every judge, for each tells what it finds, and has the cluster accepted when none refuses.
func (r *run) accept(judges ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var first error
		for _, judge := range judges {
			if err := judge(ctx); first == nil {
				first = err
			}
		}
		if first != nil || r.Accepted == nil {
			return first
		}
		return r.Accepted(ctx)
	}
}

// lookStep connects to a node and looks at it.
func (r *run) lookStep(n config.Node) *engine.Step {
	s := plan.Step(plan.PhasePreflight, "facts", n.Name, nil)
	s.Retry = engine.Retry{Tries: 3, Delay: 2 * time.Second, MaxDelay: 10 * time.Second}
	s.Optional = true
	s.Verify = func(ctx context.Context) error { return r.KeepFault(n.Name, r.Inspect(ctx, n)) }
	return s
}

// judge turns the facts into findings, tells them all, and fails when one is an error.
func (r *run) judge(ctx context.Context) error {
	var all []event.Finding
	for _, n := range r.Cluster.Nodes {
		if f := r.Fact(n.Name); f != nil {
			all = append(all, r.judgeNode(n, f)...)
			all = append(all, r.judgePrograms(n, f)...)
			all = append(all, r.judgePlaces(n, f)...)
		} else {
			all = append(all, r.judgeAway(n))
		}
	}
	all = append(all, r.judgeLost()...)
	all = append(all, r.judgeRestoring(ctx)...)
	all = append(all, r.judgeFiles(ctx)...)
	all = append(all, r.judgeTogether()...)
	all = append(all, r.judgeExternal()...)
	all = append(all, r.judgeBundles()...)
	all = append(all, r.judgeURLs(ctx)...)
	all = append(all, r.judgeReach(ctx)...)
	if err := r.tellPorts(); err != nil {
		return err
	}
	return r.tell(all)
}

// tell emits the findings. The class of the error, and with it the exit code, is that of the finding that says most
// about what to do.
func (r *run) tell(all []event.Finding) error {
	grave := []event.Class{event.ClassLocked, event.ClassAuth, event.ClassBundle}
	bad, class := 0, event.ClassPreflight
	for _, f := range all {
		if err := r.Emit(f); err != nil {
			return err
		}
		if f.Severity != event.Error {
			continue
		}
		bad++
		if i := slices.Index(grave, f.Fault.Class); i >= 0 {
			class, grave = f.Fault.Class, grave[:i]
		}
	}
	if bad == 0 {
		return nil
	}
	return event.NewFault(class, "preflight.failed", nil, "count", strconv.Itoa(bad))
}

func finding(sev event.Severity, n, code string, kv ...string) event.Finding {
	f := event.NewFault(event.ClassPreflight, "preflight."+code, nil, kv...)
	f.Node = n
	return event.Finding{Host: n, Severity: sev, Fault: *f}
}
