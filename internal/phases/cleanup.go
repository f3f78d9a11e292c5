package phases

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/payload/hooks"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/remove/cleanup"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Cleanup plans the removal of what was recorded on every node. With purge also the runtime's store and what daemons
// made by themselves. Where cluster and machines go together, workers stop before control planes and these before etcd,
// whether these are services or static pods.
func Cleanup(env Env, purge bool) *engine.Plan {
	r := newRun(env)
	if left := r.FormerMachines(); len(left) > 0 { // a run was killed before it stopped them
		c := *env.Cluster
		c.Nodes = slices.Concat(c.Nodes, left)
		env.Cluster = &c
		r = newRun(env)
	}
	cl := r.cleaning(purge)
	return r.cleanup(cl, cl.State())
}

// CleanNodes plans the same for some machines alone. No other machine is asked or told, and the cluster, if it lives,
// is not either: it is for machines whose cluster is gone, or has gone on without them. The machines' own scripts and
// the hooks of the command line run on them.
func CleanNodes(env Env, nodes []config.Node, purge bool) *engine.Plan {
	c := *env.Cluster
	c.Nodes = nodes
	env.Cluster, env.Saved = &c, nil
	r := newRun(env)
	return r.cleanup(r.cleaning(purge))
}

// cleanup is the plan of a cleanup of all nodes, and of what follows it on the jump host.
func (r *run) cleanup(cl *cleanup.Cleanup, then ...*engine.Step) *engine.Plan {
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseClean})
	r.hooks.Before(b, plan.PhaseClean)
	b.Add(preflight.Steps(r.Nodes, nil, r.checkCleanup)...)
	r.cleanAll(b, cl, func(config.Node) []string { return plan.Checked() }, then...)
	r.hooks.After(b, plan.PhaseClean)
	return b.Plan()
}

// cleanAll adds the cleanup of all nodes, each when what it needs is done, and what follows it.
func (r *run) cleanAll(b *plan.Builder, cl *cleanup.Cleanup, needs func(config.Node) []string, then ...*engine.Step) {
	before := cl.InOrder(b)
	var scripts []*engine.Step
	for _, n := range r.Cluster.Nodes {
		steps, around := r.cleanAround(cl, n, cleanup.Options{Needs: needs(n), Services: before(n)})
		b.Add(steps...)
		scripts = append(scripts, around...)
	}
	b.Add(then...)
	b.Add(scripts...)
}

// cleaning is what takes back what was made on the nodes.
func (r *run) cleaning(purge bool) *cleanup.Cleanup {
	return &cleanup.Cleanup{Nodes: r.Nodes, Purge: purge, StopWorkloads: r.driver.StopAll() + r.runtimes.StopPods(),
		Trees: r.ownTrees, Snapshot: r.etcd.Snapshots.BeforeLoss}
}

// cleanAround is the cleanup of a node, and the scripts of deploy.yaml around it.
func (r *run) cleanAround(cl *cleanup.Cleanup, n config.Node, o cleanup.Options) (steps, scripts []*engine.Step) {
	needs := o.Needs
	scripts = r.hooks.CleanupScripts(hooks.PreCleanup, n, needs)
	o.Needs = slices.Concat(needs, plan.StepIDs(scripts))
	o.Last = func(done []string) []string {
		last := r.hooks.CleanupScripts(hooks.PostCleanup, n, slices.Concat(needs, done))
		scripts = append(scripts, last...)
		return plan.StepIDs(last)
	}
	return cl.Steps(n, o), scripts
}
