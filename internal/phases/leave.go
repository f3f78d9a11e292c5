package phases

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/phases/cleanup"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/remove"
)

// Delete plans the leave of nodes: they are drained, the rest of the cluster is brought to what it is without them
// (members of the load balancer, endpoints, names, certificates: the steps of Deploy), they leave etcd one at a time,
// are cleaned by their record, and are forgotten. Until the last of them is drained nothing else has changed, so that a
// leave that a disruption budget forbids leaves nothing behind. Everything may be run again: what has left is not
// missed.
func Delete(env Env, l Leaving) *engine.Plan {
	env.Saved = nil // the nodes that are missed are those that leave
	r := newRun(env)
	r.Removing = l.Nodes
	rm := remove.New(r.Clients, l)
	o := r.options()
	o.Skip, o.Hosts = r.Skip, append(o.Hosts, nodes.Hosts(&config.Cluster{Nodes: l.Nodes})...)
	hooks := r.hooks.Steps(l.Nodes, plan.PhaseDrain, false)
	drains := len(hooks) > 0 || slices.ContainsFunc(l.Nodes, nodes.IsKubelet)
	b := plan.New(o, r.deletePhases(rm, drains)...)
	empty := slices.Concat(hooks, rm.Drain(append(plan.Checked(), barrier(b, "hooks.before", hooks)...)))
	drained := barrier(b, "drain.done", empty)
	b.Gate(func(phase, _ string) []string {
		if phase == plan.PhaseDrain {
			return nil
		}
		return drained
	})
	check := preflight.Accept(r.Env, r.checkDeploy, r.checkRemoval(l.Force))
	r.deploy(b, check, plan.IDs(plan.PhasePreflight, "facts", l.Nodes)...)
	var rest []string // what the rest of the cluster is brought to before anybody goes
	for _, phase := range []string{
		plan.PhaseInfra, plan.PhaseEtcd, plan.PhaseControl, plan.PhaseBalancer, plan.PhaseBootstrap,
	} {
		rest = append(rest, b.IDs(phase, "")...)
	}
	others := b.Barrier("leave.others-ready", rest)
	for _, n := range l.Nodes {
		b.Add(preflight.LookOnce(r.Nodes, n))
	}
	b.Add(empty...)
	left, scripts := r.leave(rm, others)
	b.Add(left...)
	b.Add(scripts...)
	after := r.hooks.Steps(l.Nodes, plan.PhaseLeave, true)
	for _, h := range after {
		h.Needs = append(h.Needs, remove.Settled()...)
	}
	b.Add(after...)
	b.Add(rm.Forget(slices.Concat(remove.Settled(), []string{plan.ID(plan.PhaseCheck, "nodes", "")},
		plan.StepIDs(slices.Concat(scripts, after)))))
	return b.Plan()
}

// deletePhases are those of a deploy and of the removal: the last checks inspect the cluster when the nodes are
// removed.
func (r *run) deletePhases(rm *remove.Removal, drains bool) []plan.Phase {
	var out []plan.Phase
	for _, ph := range r.deployPhases() {
		switch {
		case ph.ID == plan.PhaseInfra && drains:
			out = append(out, plan.Phase{ID: plan.PhaseDrain, After: rm.Drained})
		case ph.ID == plan.PhaseAddons:
			out = append(out, plan.Phase{ID: plan.PhaseLeave}, plan.Phase{ID: plan.PhaseClean})
		case ph.ID == plan.PhaseCheck:
			ph.Needs = func(string) []string { return remove.Settled() }
		}
		out = append(out, ph)
	}
	return out
}

// barrier waits for steps, as a need; none waits for none.
func barrier(b *plan.Builder, id string, steps []*engine.Step) []string {
	if id = b.Barrier(id, plan.StepIDs(steps)); id == "" {
		return nil
	}
	return []string{id}
}

// leave are the steps of the nodes that go, when the others are ready, and the scripts of deploy.yaml around the
// cleanup of each; the last step needs all others.
func (r *run) leave(rm *remove.Removal, others string) (steps, scripts []*engine.Step) {
	l := rm.Leaving
	cl := r.cleaning(l.Purge)
	ready := plan.ID(plan.PhaseControl, "ready", "")
	snapshot := r.etcd.SaveFirst(l.Nodes, []string{ready})
	steps = append(steps, snapshot)
	member := snapshot.ID // one member leaves at a time
	var gone []string
	for _, n := range l.Nodes {
		needs := []string{ready}
		if nodes.IsKubelet(n) {
			needs = append(needs, plan.ID(plan.PhaseDrain, "node", n.Name))
		}
		if n.Has(bundle.Etcd) {
			s := r.etcd.Leave(n, append([]string{member}, needs...))
			steps, needs, member = append(steps, s), append(needs, s.ID), s.ID
		}
		needs = append(needs, others)
		cleaning, around := r.cleanAround(cl, n, cleanup.Options{Needs: needs, Leaving: true})
		steps, scripts = append(steps, cleaning...), append(scripts, around...)
		last := cleaning[len(cleaning)-1].ID
		if nodes.IsKubelet(n) {
			s := rm.Object(n, []string{last})
			steps, last = append(steps, s), s.ID
		}
		gone = append(gone, last)
	}
	return append(steps, rm.Settle(gone)), scripts
}
