package clients

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Pods are those of a node with a label, but those that have a variable of this name and value in their environment.
type Pods struct {
	Namespace, Label, Node string
	But                    [2]string
}

// DeletePods deletes pods, so that their controller makes them again. One that ends already is left alone.
func (r *Clients) DeletePods(ctx context.Context, which Pods) error {
	pods := r.API().CoreV1().Pods(which.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: which.Label,
		FieldSelector: "spec.nodeName=" + which.Node})
	if err != nil {
		return Fault(err)
	}
	for _, p := range list.Items {
		if p.DeletionTimestamp != nil || which.spares(p) {
			continue
		}
		if err := r.Emit(event.Change{Step: engine.StepID(ctx), Desc: event.M("change.pod-replaced", "node", which.Node,
			"pod", event.Clean(p.Name))}); err != nil {
			return err
		}
		if r.Dry {
			continue
		}
		err := pods.Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return Fault(err)
		}
	}
	return nil
}

// spares says whether a container of the pod has the variable.
func (w Pods) spares(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return slices.Contains(c.Env, corev1.EnvVar{Name: w.But[0], Value: w.But[1]})
	})
}
