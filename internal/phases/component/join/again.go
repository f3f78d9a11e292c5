package join

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// registerAgain has a kubelet register whose Node somebody has deleted: it does so only when it starts. Once in a run.
func (r *Join) registerAgain(ctx context.Context, n config.Node, nd *node.Node) error {
	r.mu.Lock()
	done := r.restarted[n.Name]
	if r.restarted == nil {
		r.restarted = map[string]bool{}
	}
	r.restarted[n.Name] = true
	r.mu.Unlock()
	if f := r.Fact(n.Name); done || f == nil || !f.Joined {
		return nil
	}
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.register-again"),
		Script: r.Driver.Restart(driver.Kubelet)})
	return err
}

// stalePods are those on a node that are older than its Node: they belong to one of the same name that was deleted, or
// to a machine that was replaced. What they know of the node is no longer so, the network of its pods above all:
// flannel tells the others of the new one when it starts. The cluster itself takes such pods away only while there is
// no Node.
func (r *Join) stalePods(ctx context.Context, obj *corev1.Node) ([]corev1.Pod, error) {
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

func (r *Join) dropStalePods(ctx context.Context, obj *corev1.Node) error {
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
