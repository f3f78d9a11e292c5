// Package phases says what is done on which node: the plans of deploy, cleanup and the others as graphs of engine
// steps, composed of the steps of the areas beneath it. How a node is reached is internal/remote's business, seen here
// as node.Host.
package phases

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/phases/hooks"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

// Deploy plans the installation of the cluster.
func Deploy(env Env) *engine.Plan {
	r := newRun(env)
	o := r.options()
	o.Skip = r.Skip
	b := plan.New(o, r.deployPhases()...)
	r.deploy(b, preflight.Accept(r.Env, r.checkDeploy))
	return b.Plan()
}

// options are what a plan of the run is made for.
func (r *run) options() plan.Options {
	return plan.Options{
		Hosts: nodes.Hosts(r.Cluster), Limit: r.Limit, Dry: r.Dry, Emit: r.Emit, Announced: r.changes.Of,
		Skipped: r.Skipped,
	}
}

// deployPhases are the phases of a deploy.
func (r *run) deployPhases() []plan.Phase {
	ports := func(host string) []string { // nothing of the cluster starts on a node before its ports are open
		if host == "" {
			return nil
		}
		return []string{plan.ID(plan.PhaseInfra, "ports", host)}
	}
	skip := len(r.Limit) > 0 || len(r.Removing) > 0
	out := []plan.Phase{
		{ID: plan.PhasePreflight, Open: true},
		{ID: plan.PhaseInfra, CanSkip: skip},
		{ID: plan.PhaseEtcd, CanSkip: skip, Needs: ports},
		{ID: plan.PhaseControl, CanSkip: skip, Needs: ports},
		{ID: plan.PhaseBalancer, CanSkip: skip},
		{ID: plan.PhaseBootstrap, CanSkip: skip, Needs: ports},
		{ID: plan.PhaseAddons, CanSkip: skip, Loose: true},
		{ID: plan.PhaseCheck, CanSkip: skip, Loose: true},
	}
	if len(r.Cluster.With(bundle.LoadBalancer)) > 0 {
		return out
	}
	return slices.DeleteFunc(out, func(ph plan.Phase) bool { return ph.ID == plan.PhaseBalancer })
}

// deploy adds the work of a deploy after a preflight with this check: hooks of the command line before anything is
// touched and after everything is proven; scripts of deploy.yaml on each node before its services and when it is in the
// cluster.
func (r *run) deploy(b *plan.Builder, check func(context.Context) error, more ...string) {
	r.hooks.Before(b, plan.PhaseInfra)
	b.Add(preflight.Steps(r.Nodes, r.Sources(), check, more...)...)
	b.Add(r.infrastructure()...)
	before := map[string][]*engine.Step{} // the scripts before the services of a node
	for _, n := range r.Cluster.Nodes {
		before[n.Name] = r.hooks.JoinScripts(plan.PhaseInfra, hooks.PreJoin, n, b.IDs(plan.PhaseInfra, n.Name))
	}
	b.Gate(func(phase, host string) []string {
		if !slices.Contains([]string{plan.PhaseEtcd, plan.PhaseControl, plan.PhaseBootstrap}, phase) {
			return nil
		}
		return plan.StepIDs(before[host])
	})
	b.Add(r.etcd.Steps()...)
	b.Add(r.control.Steps()...)
	b.Add(r.balancer.Steps()...)
	b.Add(r.join.Steps(r.joinable())...)
	b.Add(r.addons.Steps()...)
	b.Add(r.check()...)
	for _, n := range r.Cluster.Nodes {
		after := append(b.IDs("", n.Name), plan.ID(plan.PhaseCheck, "nodes", ""))
		b.Add(r.hooks.KeepScripts(n)...)
		b.Add(before[n.Name]...)
		b.Add(r.hooks.JoinScripts(plan.PhaseCheck, hooks.PostJoin, n, after)...)
	}
	r.hooks.After(b, plan.PhaseCheck)
}

// joinable are the steps after which nodes can join through the cluster's endpoint.
func (r *run) joinable() []string {
	return append([]string{plan.ID(plan.PhaseControl, "rights", "")},
		plan.IDs(plan.PhaseBalancer, "ready", r.Cluster.With(bundle.LoadBalancer))...)
}
