package phases

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// Leaving says who leaves a cluster, and how.
type Leaving struct {
	Nodes []config.Node // not in Env.Cluster, which is the cluster without them
	// Drain bounds the eviction of a node's pods.
	Drain time.Duration
	// Force goes on when pods cannot be evicted in that time, and past a node that does not let us in though the
	// cluster sees it alive.
	Force bool
	Purge bool // clean the nodes with their containers, images and data
	// Left is called at the very end, when the nodes have left.
	Left func(context.Context) error
}

// Delete plans the leave of nodes: they are drained, the rest of the cluster is brought to what it is without them
// (members of the load balancer, endpoints, names, certificates: the steps of Deploy), they leave etcd one at a time,
// are cleaned by their record, and are forgotten. Until the last of them is drained nothing else has changed, so that a
// leave that a disruption budget forbids leaves nothing behind. Everything may be run again: what has left is not
// missed.
func Delete(env Env, l Leaving) *engine.Plan {
	env.Saved = nil // the nodes that are missed are those that leave
	r := newRun(env)
	r.Removing, r.force = l.Nodes, l.Force
	o := r.options()
	o.Skip, o.Hosts = r.Skip, append(o.Hosts, nodes.Hosts(&config.Cluster{Nodes: l.Nodes})...)
	hooks := r.commandHooks(l.Nodes, plan.PhaseDrain, false)
	drains := len(hooks) > 0 || slices.ContainsFunc(l.Nodes, nodes.IsKubelet)
	b := plan.New(o, r.deletePhases(drains)...)
	empty := slices.Concat(hooks, r.drains(l, append(plan.Verdict(), barrier(b, "hooks.before", hooks)...)))
	drained := barrier(b, "drain.done", empty)
	b.Gate(func(phase, _ string) []string {
		if phase == plan.PhaseDrain {
			return nil
		}
		return drained
	})
	r.deploy(b, r.accept(r.judge, r.judgeLeave), plan.IDs(plan.PhasePreflight, "facts", l.Nodes)...)
	var rest []string // what the rest of the cluster is brought to before anybody goes
	for _, phase := range []string{
		plan.PhaseInfra, plan.PhaseEtcd, plan.PhaseControl, plan.PhaseBalancer, plan.PhaseBootstrap,
	} {
		rest = append(rest, b.IDs(phase, "")...)
	}
	others := b.Barrier("leave.others-ready", rest)
	for _, n := range l.Nodes {
		s := plan.Step(plan.PhasePreflight, "facts", n.Name, nil)
		s.Optional = true
		s.Verify = func(ctx context.Context) error { return r.KeepFault(n.Name, r.Inspect(ctx, n)) }
		b.Add(s)
	}
	b.Add(empty...)
	left, scripts := r.leave(l, others)
	b.Add(left...)
	b.Add(scripts...)
	after := r.commandHooks(l.Nodes, plan.PhaseLeave, true)
	for _, h := range after {
		h.Needs = append(h.Needs, settled()...)
	}
	b.Add(after...)
	forget := plan.Step(plan.PhaseLeave, "forget", "", append(settled(), plan.ID(plan.PhaseCheck, "nodes", "")))
	forget.Needs = append(forget.Needs, plan.StepIDs(slices.Concat(scripts, after))...)
	forget.Apply = func(ctx context.Context) error { return r.forgetNodes(ctx, l) }
	b.Add(forget)
	return b.Plan()
}

// deletePhases are those of a deploy and of the leave: the last checks look at the cluster when the nodes have left.
func (r *run) deletePhases(drains bool) []plan.Phase {
	var out []plan.Phase
	for _, ph := range r.deployPhases() {
		switch {
		case ph.ID == plan.PhaseInfra && drains:
			out = append(out, plan.Phase{ID: plan.PhaseDrain, After: r.drained})
		case ph.ID == plan.PhaseAddons:
			out = append(out, plan.Phase{ID: plan.PhaseLeave}, plan.Phase{ID: plan.PhaseClean})
		case ph.ID == plan.PhaseCheck:
			ph.Needs = func(string) []string { return settled() }
		}
		out = append(out, ph)
	}
	return out
}

// settled is the step that ends the leave of the nodes.
func settled() []string { return []string{plan.ID(plan.PhaseLeave, "settle", "")} }

// barrier waits for steps, as a need; none waits for none.
func barrier(b *plan.Builder, id string, steps []*engine.Step) []string {
	if id = b.Barrier(id, plan.StepIDs(steps)); id == "" {
		return nil
	}
	return []string{id}
}

// leave are the steps of the nodes that go, when the others are ready, and the scripts of deploy.yaml around the
// cleanup of each; the last step needs all others.
func (r *run) leave(l Leaving, others string) (steps, scripts []*engine.Step) {
	ready := plan.ID(plan.PhaseControl, "ready", "")
	snapshot := plan.Step(plan.PhaseLeave, "snapshot", "", []string{ready})
	snapshot.When = func(context.Context) (bool, event.Msg, error) {
		return slices.ContainsFunc(l.Nodes, func(n config.Node) bool { return n.Has(bundle.Etcd) }),
			event.M("why.no-member-leaves"), nil
	}
	snapshot.Apply = func(ctx context.Context) error { return r.snapshotOfAny(ctx, "") }
	snapshot.Timeout = 10 * time.Minute
	steps = append(steps, snapshot)
	member := snapshot.ID // one member leaves at a time
	var gone []string
	for _, n := range l.Nodes {
		needs := []string{ready}
		if nodes.IsKubelet(n) {
			needs = append(needs, plan.ID(plan.PhaseDrain, "node", n.Name))
		}
		if n.Has(bundle.Etcd) {
			s := plan.Step(plan.PhaseLeave, "member", n.Name, append([]string{member}, needs...))
			s.Needs = append(s.Needs, plan.IDs(plan.PhaseControl, "apiserver", r.Cluster.With(bundle.ControlPlane))...)
			s.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 5 * time.Second}
			s.Apply = func(ctx context.Context) error { return r.removeMember(ctx, n) }
			steps, needs, member = append(steps, s), append(needs, s.ID), s.ID
		}
		needs = append(needs, others)
		cleaning, around := r.cleanAround(n, l.Purge, cleanOptions{needs: needs, scripts: needs, leaving: true})
		steps, scripts = append(steps, cleaning...), append(scripts, around...)
		last := cleaning[len(cleaning)-1].ID
		if nodes.IsKubelet(n) {
			// The object goes when the kubelet no longer runs: it would write it again.
			s := plan.Step(plan.PhaseLeave, "object", n.Name, []string{last})
			s.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
			s.Apply = func(ctx context.Context) error { return r.deleteObject(ctx, n) }
			steps, last = append(steps, s), s.ID
		}
		gone = append(gone, last)
	}
	pods := plan.Step(plan.PhaseLeave, "settle", "", gone)
	pods.Retry, pods.Timeout = wait.Patience(), 30*time.Second
	pods.Verify = func(ctx context.Context) error { return r.podsGone(ctx, l.Nodes) }
	return append(steps, pods), scripts
}

// deleteObject removes the Node.
func (r *run) deleteObject(ctx context.Context, n config.Node) error {
	_, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return engine.ErrUnchanged
	}
	if err != nil {
		return clients.Fault(err)
	}
	if err := r.Emit(event.Change{Step: engine.StepID(ctx),
		Desc: event.M("change.delete-node", "name", n.Name)}); err != nil {
		return err
	}
	if err := r.API().CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		return clients.Fault(err)
	}
	return nil
}

// podsGone takes away the pods of nodes that died: nobody is left who could confirm their end, and what makes them
// again waits for it. Those of other nodes were evicted, and what is left of them the garbage collector takes.
func (r *run) podsGone(ctx context.Context, removed []config.Node) error {
	for _, n := range removed {
		if !nodes.IsKubelet(n) || !r.Unreachable(n) {
			continue
		}
		list, err := r.API().CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name})
		if err != nil {
			return clients.Fault(err)
		}
		for _, p := range list.Items {
			now := int64(0)
			if err := r.API().CoreV1().Pods(p.Namespace).Delete(ctx, p.Name,
				metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) {
				return clients.Fault(err)
			}
		}
	}
	return nil
}

// forgetNodes removes the certificates of the nodes that have left from the jump host, and lets the caller forget them.
func (r *run) forgetNodes(ctx context.Context, l Leaving) error {
	for _, n := range l.Nodes {
		if err := os.RemoveAll(filepath.Join(r.StateDir, "pki", "nodes", n.Name)); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
		if r.Unreachable(n) {
			if err := r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
				Text: event.M("notice.not-cleaned", "node", n.Name, "ip", n.IP.String(), "cluster",
					r.Cluster.Name)}); err != nil {
				return err
			}
		}
	}
	if err := r.Keep(ctx, env.KeptPKI); err != nil || l.Left == nil {
		return err
	}
	return l.Left(ctx)
}

// registerAgain has a kubelet register whose Node somebody has deleted: it does so only when it starts. Once in a run.
func (r *run) registerAgain(ctx context.Context, n config.Node, nd *node.Node) error {
	r.mu.Lock()
	done := r.kicked[n.Name]
	if r.kicked == nil {
		r.kicked = map[string]bool{}
	}
	r.kicked[n.Name] = true
	r.mu.Unlock()
	if f := r.Fact(n.Name); done || f == nil || !f.Joined {
		return nil
	}
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.register-again"),
		Script: "systemctl restart kubelet.service\n"})
	return err
}

// stalePods are those on a node that are older than its Node: they belong to one of the same name that was deleted, or
// to a machine that was replaced. What they know of the node is no longer so, the network of its pods above all:
// flannel tells the others of the new one when it starts. The cluster itself takes such pods away only while there is
// no Node.
func (r *run) stalePods(ctx context.Context, obj *corev1.Node) ([]corev1.Pod, error) {
	list, err := r.API().CoreV1().Pods(metav1.NamespaceAll).List(ctx,
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + obj.Name})
	if err != nil {
		return nil, clients.Fault(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Spec.NodeName != obj.Name || p.DeletionTimestamp != nil ||
			!p.CreationTimestamp.Before(&obj.CreationTimestamp)
	}), nil
}

func (r *run) dropStalePods(ctx context.Context, obj *corev1.Node) error {
	stale, err := r.stalePods(ctx, obj)
	if err != nil {
		return err
	}
	for _, p := range stale {
		if err := r.Emit(event.Change{Host: obj.Name, Step: engine.StepID(ctx),
			Desc: event.M("change.stale-pod", "pod", p.Namespace+"/"+p.Name)}); err != nil {
			return err
		}
		if err := r.API().CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			return clients.Fault(err)
		}
	}
	return nil
}
