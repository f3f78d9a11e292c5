package objects

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
)

// Read reads them, page by page: a cluster may have thousands of pods.
func Read(ctx context.Context, k kubernetes.Interface) (*Cluster, error) {
	out := &Cluster{}
	err := each(ctx, k.CoreV1().Nodes().List, func(n *corev1.Node) error {
		out.Nodes = append(out.Nodes, nodeOf(n))
		return nil
	})
	if err != nil {
		return nil, clients.Fault(err)
	}
	var selectors []labels.Selector // of the budgets
	err = each(ctx, k.PolicyV1().PodDisruptionBudgets("").List, func(b *policyv1.PodDisruptionBudget) error {
		s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		selectors, out.Budgets = append(selectors, s), append(out.Budgets, budgetOf(b))
		return err
	})
	if err != nil {
		return nil, clients.Fault(err)
	}
	err = each(ctx, k.CoreV1().Pods("").List, func(p *corev1.Pod) error {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return nil
		}
		pod := podOf(p)
		out.Pods = append(out.Pods, pod)
		for i := range out.Budgets {
			if b := &out.Budgets[i]; b.Namespace == p.Namespace && selectors[i].Matches(labels.Set(p.Labels)) {
				b.Pods = append(b.Pods, pod)
			}
		}
		return nil
	})
	if err == nil {
		out.Webhooks, err = webhooks(ctx, k)
	}
	if err != nil {
		return nil, clients.Fault(err)
	}
	return out, nil
}

// each calls f with every object of a list.
func each[L runtime.Object, O runtime.Object](ctx context.Context,
	list func(context.Context, metav1.ListOptions) (L, error), f func(O) error) error {
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) })
	return p.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		one, ok := o.(O)
		if !ok {
			return nil
		}
		return f(one)
	})
}

func nodeOf(n *corev1.Node) Node {
	out := Node{Name: n.Name, NotReady: clients.NotReady(*n), Kubelet: n.Status.NodeInfo.KubeletVersion}
	out.Open = out.NotReady == "" && !n.Spec.Unschedulable && !slices.ContainsFunc(n.Spec.Taints,
		func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
	for _, im := range n.Status.Images {
		out.Images = append(out.Images, im.Names...)
	}
	return out
}

func budgetOf(b *policyv1.PodDisruptionBudget) Budget {
	always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
	return Budget{Namespace: b.Namespace, Name: b.Name, Allowed: int(b.Status.DisruptionsAllowed),
		Healthy: int(b.Status.CurrentHealthy), Desired: int(b.Status.DesiredHealthy), AlwaysAllow: always}
}

func podOf(p *corev1.Pod) *Pod {
	out := &Pod{Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName,
		Running: p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil}
	_, out.Mirror = p.Annotations[corev1.MirrorPodAnnotationKey]
	if o := metav1.GetControllerOf(p); o != nil {
		out.Kind, out.Owner = o.Kind, o.Name
		if hash := p.Labels["pod-template-hash"]; o.Kind == "ReplicaSet" && hash != "" {
			out.Kind, out.Owner = "Deployment", strings.TrimSuffix(o.Name, "-"+hash)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, c := range p.Spec.InitContainers {
		out.Images = append(out.Images, c.Image)
	}
	for _, c := range p.Spec.Containers {
		out.Images = append(out.Images, c.Image)
	}
	return out
}
