package remove

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// Drain are the steps that empty the nodes that leave, when the steps of needs are done.
func (r *Removal) Drain(needs []string) []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Leaving.Nodes {
		if !nodes.IsKubelet(n) {
			continue
		}
		s := plan.Step(plan.PhaseDrain, "node", n.Name, needs)
		s.Timeout = r.Leaving.Drain + 2*time.Minute
		s.When = func(ctx context.Context) (bool, event.Msg, error) { return r.drainable(ctx, n) }
		s.Apply = func(ctx context.Context) error { return r.drain(ctx, n) }
		steps = append(steps, s)
	}
	return steps
}

// Drained lets pods onto the nodes again that this run has closed to them, when one of those that leave could not be
// emptied: the leave ends there, and the cluster has all its nodes.
func (r *Removal) Drained(ctx context.Context, how event.Outcome) error {
	if how.Done() {
		return nil
	}
	r.mu.Lock()
	closed := slices.Clone(r.cordoned)
	r.mu.Unlock()
	for _, name := range closed {
		if err := r.Emit(event.Change{Step: plan.ID(plan.PhaseDrain, "node", name),
			Desc: event.M("change.uncordon", "name", name)}); err != nil {
			return err
		}
		if _, err := r.API().CoreV1().Nodes().Patch(ctx, name, types.MergePatchType,
			[]byte(`{"spec":{"unschedulable":null}}`),
			metav1.PatchOptions{FieldManager: layout.FieldManager}); err != nil && !apierrors.IsNotFound(err) {
			return clients.Fault(err)
		}
	}
	return nil
}

// drainable says whether there is something to drain: a node that the cluster knows and whose kubelet can end its pods.
func (r *Removal) drainable(ctx context.Context, n config.Node) (bool, event.Msg, error) {
	if r.Unreachable(n) && !r.fitToDrain(ctx, n) {
		return false, event.M("why.node-gone"), nil
	}
	_, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, event.M("why.no-object"), nil
	}
	if err != nil {
		return false, event.Msg{}, clients.Fault(err)
	}
	return true, event.Msg{}, nil
}

// fitToDrain says whether the node's kubelet answers the cluster, though the node does not answer us.
func (r *Removal) fitToDrain(ctx context.Context, n config.Node) bool {
	o, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	return err == nil && clients.NotReady(*o) == ""
}

// drain lets no new pod onto the node and evicts those that are there, as their disruption budgets allow, until the
// time is over.
func (r *Removal) drain(ctx context.Context, n config.Node) error {
	cs := r.API().CoreV1()
	o, err := cs.Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	if !o.Spec.Unschedulable {
		if err := r.Emit(event.Change{Step: engine.StepID(ctx),
			Desc: event.M("change.cordon", "name", n.Name)}); err != nil {
			return err
		}
		if _, err := cs.Nodes().Patch(ctx, n.Name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`),
			metav1.PatchOptions{FieldManager: layout.FieldManager}); err != nil {
			return clients.Fault(err)
		}
		r.mu.Lock()
		r.cordoned = append(r.cordoned, n.Name)
		r.mu.Unlock()
	}
	pods, err := r.evictable(ctx, n)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return nil
	}
	if err := r.tellLost(ctx, pods); err != nil {
		return err
	}
	if err := r.Emit(event.Change{Step: engine.StepID(ctx),
		Desc: event.M("change.evict", "name", n.Name, "pods", podNames(pods))}); err != nil {
		return err
	}
	return r.evictAll(ctx, n)
}

// evictAll evicts until nobody is left. Who is waited for is told whenever that changes.
func (r *Removal) evictAll(ctx context.Context, n config.Node) error {
	end := time.Now().Add(r.Leaving.Drain)
	told, why := "", ""
	for {
		pods, err := r.evictable(ctx, n)
		if err != nil || len(pods) == 0 {
			return err
		}
		for _, p := range pods {
			if p.DeletionTimestamp != nil {
				continue
			}
			err := r.API().PolicyV1().Evictions(p.Namespace).Evict(ctx,
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}})
			switch {
			case err == nil, apierrors.IsNotFound(err):
			case apierrors.IsTooManyRequests(err), apierrors.IsConflict(err), apierrors.IsServerTimeout(err),
				apierrors.IsTimeout(err),
				apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
				// it may be so again in a second, until the time is over
				why = event.Clean(err.Error())
			default:
				return clients.Fault(err)
			}
		}
		names := podNames(pods)
		if time.Now().After(end) {
			if !r.Leaving.Force {
				return event.NewFault(event.ClassFailed, "leave.drain-timeout", nil, "pods", names, "limit",
					r.Leaving.Drain.String(), "why", why).On(n.Name)
			}
			return r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
				Text: event.M("notice.drain-forced", "pods", names)})
		}
		if names != told {
			told = names
			if err := r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
				Text: event.M("notice.drain-waits", "pods", names, "why", why)}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// evictable are the node's pods that have to go elsewhere: those of DaemonSets and of the kubelet's own manifests
// belong to the node, and those that have ended are nowhere.
func (r *Removal) evictable(ctx context.Context, n config.Node) ([]corev1.Pod, error) {
	list, err := r.API().CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name})
	if err != nil {
		return nil, clients.Fault(err)
	}
	var out []corev1.Pod
	for _, p := range list.Items {
		owner := metav1.GetControllerOf(&p)
		_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
		if mirror || owner != nil && owner.Kind == "DaemonSet" || p.Status.Phase == corev1.PodSucceeded ||
			p.Status.Phase == corev1.PodFailed {
			continue
		}
		out = append(out, p)
	}
	return out, nil
}

// tellLost names what is lost with the node: data of emptyDir volumes, and pods that nobody makes again.
func (r *Removal) tellLost(ctx context.Context, pods []corev1.Pod) error {
	var data, bare []corev1.Pod
	for _, p := range pods {
		if slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil }) {
			data = append(data, p)
		}
		if metav1.GetControllerOf(&p) == nil {
			bare = append(bare, p)
		}
	}
	for key, list := range map[string][]corev1.Pod{"notice.drain-data": data, "notice.drain-bare": bare} {
		if len(list) == 0 {
			continue
		}
		if err := r.Emit(event.Notice{Step: engine.StepID(ctx),
			Text: event.M(key, "pods", podNames(list))}); err != nil {
			return err
		}
	}
	return nil
}

// podNames are the first few in the order of their names, and how many more there are.
func podNames(pods []corev1.Pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, event.Clean(p.Namespace+"/"+p.Name))
	}
	slices.Sort(names)
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}
