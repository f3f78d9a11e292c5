package join

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
)

// taintsFor are the node's taints as its roles want them: a control plane that is no worker keeps workloads away. Other
// taints stay.
func taintsFor(n config.Node, is []corev1.Taint) []corev1.Taint {
	out := slices.DeleteFunc(slices.Clone(is), func(t corev1.Taint) bool {
		return t.Key == layout.LabelControlPlane && t.Effect == corev1.TaintEffectNoSchedule
	})
	if n.Has(bundle.ControlPlane) && !n.Has(bundle.Worker) {
		out = append(out, corev1.Taint{Key: layout.LabelControlPlane, Effect: corev1.TaintEffectNoSchedule})
	}
	return out
}

// inRole says whether the Node's label and taints are those of its roles.
func inRole(n config.Node, o *corev1.Node) bool {
	_, labelled := o.Labels[layout.LabelControlPlane]
	tainted := slices.ContainsFunc(o.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == layout.LabelControlPlane && t.Effect == corev1.TaintEffectNoSchedule
	})
	return labelled == n.Has(bundle.ControlPlane) && tainted == (n.Has(bundle.ControlPlane) && !n.Has(bundle.Worker))
}

// setRole gives the Node the label and the taints of its roles.
func (r *Join) setRole(ctx context.Context, n config.Node, o *corev1.Node) error {
	if inRole(n, o) {
		return nil
	}
	label := any(nil)
	if n.Has(bundle.ControlPlane) {
		label = ""
	}
	patch, err := json.Marshal(map[string]any{
		// The version: somebody else's taint that comes in between is not lost.
		"metadata": map[string]any{"labels": map[string]any{layout.LabelControlPlane: label},
			"resourceVersion": o.ResourceVersion},
		"spec": map[string]any{"taints": taintsFor(n, o.Spec.Taints)},
	})
	if err != nil {
		return err
	}
	if _, err := r.API().CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: layout.FieldManager}); err != nil {
		return clients.Fault(err)
	}
	return nil
}
