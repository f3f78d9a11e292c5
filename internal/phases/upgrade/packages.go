package upgrade

import (
	"context"
	"errors"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Moves are how the packages of a node are moved to other versions. Of all steps the Check and the Apply are used.
type Moves struct {
	// Move moves a node's packages. Balancer starts its load balancer with them, and Answers is nil when it passes
	// requests on.
	Move, Balancer func(config.Node) *engine.Step
	Answers        func(context.Context, config.Node) error
	// Back puts back what Move has moved, and Was starts from it what Move's packages did not start; nil leaves a node
	// as it is.
	Back func(config.Node) *engine.Step
	Was  func(config.Node) []*engine.Step
	// Alone calls f while no other load balancer is restarted, and not once one has failed.
	Alone func(ctx context.Context, host string, f func(context.Context) error) error
}

func partOf(s *engine.Step) part { return part{s.Check, s.Apply} }

// part moves the packages of a node and starts what is of them, one load balancer at a time: clients have to reach an
// API server.
func (m *Moves) part(e *input.Env, n config.Node, started ...func(config.Node) *engine.Step) part {
	parts := []part{partOf(m.Move(n))}
	for _, f := range started {
		parts = append(parts, partOf(f(n)))
	}
	balances := n.Has(bundle.LoadBalancer)
	if balances {
		parts = append(parts, partOf(m.Balancer(n)))
	}
	work := func(ctx context.Context) error {
		err := startParts(ctx, parts)
		if err == nil && balances && !e.Dry {
			err = m.Answers(ctx, n)
		}
		return m.orBack(ctx, e, n, err)
	}
	return part{
		check: func(ctx context.Context) (bool, error) {
			differs, err := differ(ctx, parts)
			return !differs, err
		},
		apply: func(ctx context.Context) error {
			if balances {
				return m.Alone(ctx, n.Name, work)
			}
			return work(ctx)
		},
	}
}

// orBack gives a node the packages again that it had when something did not start from the new ones. One whose package
// manager said no is as it was, or holds a package, which somebody wanted.
func (m *Moves) orBack(ctx context.Context, e *input.Env, n config.Node, cause error) error {
	if cause == nil || m.Back == nil || e.Dry || ctx.Err() != nil || lost(cause) ||
		slices.Contains([]string{"packages.not-upgraded", "rolling.stopped"}, event.AsFault(cause).Code) {
		return cause
	}
	back := m.Back(n)
	if done, err := back.Check(ctx); done || err != nil {
		return cause
	}
	why := event.AsFault(cause)
	if err := e.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
		Text: event.M("notice.upgrade-packages-reverting", "node", n.Name)}); err != nil {
		return err
	}
	parts := []part{partOf(back)}
	for _, s := range m.Was(n) {
		parts = append(parts, partOf(s))
	}
	if err := startParts(ctx, parts); err != nil {
		return event.NewFault(event.ClassFailed, "upgrade.packages-not-reverted", errors.Join(why, err)).On(n.Name)
	}
	return event.NewFault(event.ClassFailed, "upgrade.packages-reverted", why).On(n.Name)
}

// balancerSteps move the packages of load balancers that have no turn, one after another. They wait for the turns of
// control planes, which have to tell them what to leave out.
func (k *Kubelets) balancerSteps(needs []string, among func(config.Node) bool) []*engine.Step {
	if k.Moves == nil {
		return nil
	}
	var steps []*engine.Step
	for _, n := range k.Cluster.With(bundle.LoadBalancer) {
		if inventory.IsKubelet(n) || !among(n) {
			continue
		}
		s := plan.Step(plan.PhaseNodes, "packages", n.Name, needs)
		s.Timeout = workLimit
		p := k.Moves.part(k.Env, n)
		s.Check, s.Apply = p.check, p.apply
		steps = append(steps, k.options.Window.Ahead(k.Env, s)...)
		needs = []string{s.ID}
	}
	return steps
}
