// Package remove takes nodes out of a cluster that lives: empties them of pods before anything else changes, and
// forgets them in the cluster and on the jump host when they are clean. It may import drain, clients and what
// they import; that a node leaves etcd is etcd's work, and that it is cleaned is cleanup's.
package remove

import (
	"context"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/drain"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Leaving says who leaves a cluster, and how.
type Leaving struct {
	Nodes []config.Node // not in Env.Cluster, which is the cluster without them
	// Drain bounds the eviction of a node's pods.
	Drain time.Duration
	// Force continues when pods cannot be evicted in that time, and past a node that does not let us in though the
	// cluster sees it alive.
	Force bool
	Purge bool // clean the nodes with their containers, images and data
	// Left is called at the very end, when the nodes have left.
	Left func(context.Context) error
}

// Removal is the removal of some nodes.
type Removal struct {
	*clients.Clients
	Leaving Leaving
	drains  drain.Drain
}

// New is the removal of the nodes of l, of which nothing is done yet.
func New(c *clients.Clients, l Leaving) *Removal {
	late := func(pods, limit, why string) *event.Fault {
		return event.NewFault(event.ClassFailed, "leave.drain-timeout", nil, "pods", pods, "limit", limit, "why", why)
	}
	return &Removal{Clients: c, Leaving: l,
		drains: drain.Drain{Clients: c, Limit: l.Drain, Force: l.Force, Late: late}}
}

// Object removes the Node of one that is clean, when the steps of needs are done: its kubelet, if it ran, would write
// it again.
func (r *Removal) Object(n config.Node, needs []string) *engine.Step {
	s := plan.Step(plan.PhaseLeave, "object", n.Name, needs)
	s.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	s.Apply = func(ctx context.Context) error { return r.deleteObject(ctx, n) }
	return s
}

// Settle ends the removal in the cluster, when the steps of needs are done.
func (r *Removal) Settle(needs []string) *engine.Step {
	s := plan.Step(plan.PhaseLeave, "settle", "", needs)
	s.Retry, s.Timeout = wait.Patience(), 30*time.Second
	s.Verify = r.podsGone
	return s
}

// Settled is the step of Settle, as what waits for it needs it.
func Settled() []string { return []string{plan.ID(plan.PhaseLeave, "settle", "")} }

// Forget ends the removal on the jump host, when the steps of needs are done.
func (r *Removal) Forget(needs []string) *engine.Step {
	s := plan.Step(plan.PhaseLeave, "forget", "", needs)
	s.Apply = r.forgetNodes
	return s
}

// deleteObject removes the Node.
func (r *Removal) deleteObject(ctx context.Context, n config.Node) error {
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
func (r *Removal) podsGone(ctx context.Context) error {
	for _, n := range r.Leaving.Nodes {
		if !inventory.IsKubelet(n) || !r.Unreachable(n) {
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
func (r *Removal) forgetNodes(ctx context.Context) error {
	for _, n := range r.Leaving.Nodes {
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
	if err := r.Keep(ctx, input.KeptPKI); err != nil || r.Leaving.Left == nil {
		return err
	}
	return r.Leaving.Left(ctx)
}
