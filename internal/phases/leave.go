package phases

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/remove"
	"github.com/eggo-k8s/eggo/internal/phases/remove/cleanup"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Delete plans the leave of nodes: they are drained, the rest of the cluster is brought to what it is without them
// (members of the load balancer, endpoints, names, certificates: the steps of Deploy), they leave etcd one at a time,
// are cleaned by their record, and are forgotten. Until the last of them is drained nothing else has changed, so that a
// leave that a disruption budget forbids leaves nothing behind. Everything may be run again: what has left is not
// missed.
func Delete(env Env, l Leaving) *engine.Plan {
	env.Saved = nil // the nodes that are missed are those that leave
	return newRun(env).removal(l)
}

// DeleteLost plans the leave of nodes from a cluster with an upgrade under way: one of them may be lost for good. No
// other node is touched, for a deploy would bring it to one of the two versions. They need not be told of it: what they
// know of those that left the upgrade writes, when it continues. A control plane or a member of etcd leaves only if it
// is lost: one that runs is of one of the versions, and the way forward and the way back are for all of them.
func DeleteLost(env Env, l Leaving) *engine.Plan {
	env.Saved = nil
	r := newRun(env)
	r.Removing = l.Nodes
	rm := remove.New(r.Clients, l)
	o := r.options()
	o.Skip, o.Hosts = r.Skip, append(o.Hosts, inventory.Hosts(&config.Cluster{Nodes: l.Nodes})...)
	b := plan.New(o, plan.Phase{ID: plan.PhasePreflight, Open: true},
		plan.Phase{ID: plan.PhaseDrain, After: rm.Drained}, plan.Phase{ID: plan.PhaseLeave},
		plan.Phase{ID: plan.PhaseClean})
	b.Add(preflight.Steps(r.Nodes, nil, preflight.Accept(r.Env, r.checkRemoval(l.Force, preflight.RemoveLost())),
		plan.IDs(plan.PhasePreflight, "facts", l.Nodes)...)...)
	for _, n := range l.Nodes {
		b.Add(preflight.LookOnce(r.Nodes, n))
	}
	before := r.hooks.Steps(l.Nodes, plan.PhaseDrain, false)
	b.Add(before...)
	drains := rm.Drain(append(plan.Checked(), barrier(b, "hooks.before", before)...))
	b.Add(drains...)
	drained := barrier(b, "drain.done", drains)
	cl := r.cleaning(l.Purge)
	members, left := r.leaveEtcd(l.Nodes, append(plan.Checked(), drained...), nil)
	b.Add(members...)
	var gone, last []string
	for _, n := range l.Nodes {
		own, scripts := r.goes(rm, cl, n, slices.Concat(drained, left[n.Name]))
		b.Add(own...)
		b.Add(scripts...)
		gone, last = append(gone, own[len(own)-1].ID), append(last, plan.StepIDs(scripts)...)
	}
	b.Add(rm.Settle(gone))
	after := r.hooks.Steps(l.Nodes, plan.PhaseLeave, true)
	for _, h := range after {
		h.Needs = append(h.Needs, remove.Settled()...)
	}
	b.Add(after...)
	b.Add(rm.Forget(slices.Concat(remove.Settled(), last, plan.StepIDs(after))))
	return b.Plan()
}

// removal is the plan of a run in which nodes leave.
func (r *run) removal(l Leaving) *engine.Plan {
	r.Removing, r.movesDNS = l.Nodes, true // a change of CoreDNS that was interrupted is completed
	rm := remove.New(r.Clients, l)
	o := r.options()
	o.Skip, o.Hosts = r.Skip, append(o.Hosts, inventory.Hosts(&config.Cluster{Nodes: l.Nodes})...)
	hooks := r.hooks.Steps(l.Nodes, plan.PhaseDrain, false)
	drains := len(hooks) > 0 || slices.ContainsFunc(l.Nodes, inventory.IsKubelet)
	b := plan.New(o, r.deletePhases(rm, drains)...)
	empty := slices.Concat(hooks, rm.Drain(append(plan.Checked(), barrier(b, "hooks.before", hooks)...)))
	drained := barrier(b, "drain.done", empty)
	b.Gate(func(phase, _ string) []string {
		if phase == plan.PhaseDrain {
			return nil
		}
		return drained
	})
	check := preflight.Accept(r.Env, r.checkDeploy, r.checkRemoval(l.Force, preflight.Remove()))
	r.deploy(b, check, plan.IDs(plan.PhasePreflight, "facts", l.Nodes)...)
	r.endDNS(b)
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
	// The API servers use the members that stay, then those that go leave.
	steps, left := r.leaveEtcd(l.Nodes, []string{ready},
		plan.IDs(plan.PhaseControl, "apiserver", r.Cluster.With(bundle.ControlPlane)))
	var gone []string
	for _, n := range l.Nodes {
		needs := append([]string{ready}, left[n.Name]...)
		if inventory.IsKubelet(n) {
			needs = append(needs, plan.ID(plan.PhaseDrain, "node", n.Name))
		}
		own, around := r.goes(rm, cl, n, append(needs, others))
		steps, scripts = append(steps, own...), append(scripts, around...)
		gone = append(gone, own[len(own)-1].ID)
	}
	return append(steps, rm.Settle(gone)), scripts
}

// leaveEtcd saves etcd's data when the steps of saved are done, and has the members of nodes leave, one at a time, when
// those of needs are too; left names the step of each.
func (r *run) leaveEtcd(gone []config.Node, saved, needs []string) (steps []*engine.Step, left map[string][]string) {
	snapshot := r.etcd.SaveFirst(gone, saved)
	steps, left = []*engine.Step{snapshot}, map[string][]string{}
	last := snapshot.ID
	for _, n := range gone {
		if !n.Has(bundle.Etcd) {
			continue
		}
		own := slices.Concat([]string{last}, saved, needs)
		if inventory.IsKubelet(n) {
			own = append(own, plan.ID(plan.PhaseDrain, "node", n.Name))
		}
		s := r.etcd.Leave(n, own)
		steps, left[n.Name], last = append(steps, s), []string{s.ID}, s.ID
	}
	return steps, left
}

// goes are the steps of one node that leaves: it is cleaned, and the cluster forgets it with the last one.
func (r *run) goes(rm *remove.Removal, cl *cleanup.Cleanup, n config.Node, needs []string) (own,
	scripts []*engine.Step) {
	own, scripts = r.cleanAround(cl, n, cleanup.Options{Needs: needs, Leaving: true})
	if inventory.IsKubelet(n) {
		own = append(own, rm.Object(n, []string{own[len(own)-1].ID}))
	}
	return own, scripts
}
