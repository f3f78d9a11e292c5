package phases

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload/hooks"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Deploy plans the installation of the cluster.
func Deploy(env Env) *engine.Plan { return newRun(env).install() }

// install is the plan of an installation, and of bringing the nodes of a cluster to what deploy.yaml says.
func (r *run) install() *engine.Plan {
	o := r.options()
	o.Skip = r.Skip
	o.Hosts = append(o.Hosts, inventory.Hosts(&config.Cluster{Nodes: r.FormerMachines()})...)
	ph := r.deployPhases()
	if r.moves() && r.all() {
		ph = append(ph, plan.Phase{ID: plan.PhaseClean, Title: event.M("phase.former")})
	}
	b := plan.New(o, ph...)
	r.lookAtFormer(b)
	r.keepMoves()
	r.keepDNS()
	r.deploy(b, preflight.Accept(r.Env, r.checkDeploy),
		plan.IDs(plan.PhasePreflight, "facts", r.FormerMachines())...)
	r.endDNS(b)
	r.endMoves(b)
	return b.Plan()
}

// options are what a plan of the run is made for.
func (r *run) options() plan.Options {
	return plan.Options{
		Hosts: inventory.Hosts(r.Cluster), Limit: r.Limit, Dry: r.Dry, Emit: r.Emit, Announced: r.changes.Of,
		Skipped: r.Skipped, Slowness: r.Slowness,
	}
}

// deployPhases are the phases of a deploy.
func (r *run) deployPhases() []plan.Phase {
	skip := len(r.Limit) > 0 || len(r.Removing) > 0
	out := []plan.Phase{
		{ID: plan.PhasePreflight, Open: true},
		{ID: plan.PhaseInfra, CanSkip: skip},
		{ID: plan.PhaseEtcd, CanSkip: skip, Needs: ports},
		{ID: plan.PhaseControl, CanSkip: skip, Needs: ports},
		{ID: plan.PhaseBalancer, CanSkip: skip},
		{ID: plan.PhaseNodes, Title: event.M("phase.runtimes"), CanSkip: skip, Needs: ports},
		{ID: plan.PhaseBootstrap, CanSkip: skip, Needs: ports},
		{ID: plan.PhaseAddons, CanSkip: skip, Loose: true},
		{ID: plan.PhaseCheck, CanSkip: skip, Loose: true},
	}
	return slices.DeleteFunc(out, func(ph plan.Phase) bool {
		return ph.ID == plan.PhaseBalancer && len(r.Cluster.With(bundle.LoadBalancer)) == 0 ||
			ph.ID == plan.PhaseNodes && r.turns == nil
	})
}

// ports is what opens the ports of a node: nothing of the cluster starts there before.
func ports(host string) []string {
	if host == "" {
		return nil
	}
	return []string{plan.ID(plan.PhaseInfra, "ports", host)}
}

// deploy adds the work of a deploy after a preflight with this check: hooks of the command line before anything is
// touched and after everything is proven; scripts of deploy.yaml on each node before its services and when it is in the
// cluster.
func (r *run) deploy(b *plan.Builder, check func(context.Context) error, more ...string) {
	r.hooks.Before(b, plan.PhaseInfra)
	b.Add(preflight.Steps(r.Nodes, r.Sources(), check, more...)...)
	b.Add(r.infrastructure(r.runtimes.Start)...)
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
	r.kubeletsFirst(b)
	b.Add(r.etcd.Steps()...)
	b.Add(r.control.Steps(r.balancer.Ready())...)
	b.Add(r.balancer.Steps()...)
	b.Add(r.newNames()...)
	r.changeRuntimes(b)
	if r.etcd.Seeded() {
		b.Add(r.etcd.Strangers([]string{plan.ID(plan.PhaseControl, "rights", "")}))
	}
	b.Add(r.join.Steps(r.joinable())...)
	b.Add(r.addons.Steps()...)
	proofs := r.check()
	b.Add(proofs...)
	if r.etcd.Seeded() {
		b.Add(r.etcd.Grown(plan.StepIDs(proofs)))
	}
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
	return slices.Concat([]string{plan.ID(plan.PhaseControl, "rights", "")}, r.balancer.Ready(),
		plan.StepIDs(r.newNames()))
}
