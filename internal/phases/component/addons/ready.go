package addons

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
)

// Ready inspects every workload of the namespaces that we and the addons made.
func (r *Addons) Ready(ctx context.Context) error {
	ours, err := r.namespaces()
	if err != nil {
		return err
	}
	sets, err := r.Clients.API().AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	for _, d := range sets.Items {
		if !SystemNamespace(d.Namespace) && !ours[d.Namespace] {
			continue
		}
		s := d.Status
		updated := s.UpdatedNumberScheduled
		if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			updated = s.NumberReady // who deletes its pods knows which of them are to be of which revision
		}
		if want := s.DesiredNumberScheduled - r.SkippedCount(); d.Generation != s.ObservedGeneration ||
			s.NumberReady < want || updated < want || s.DesiredNumberScheduled == 0 {
			return r.daemonSetWaits(ctx, &d)
		}
	}
	deps, err := r.Clients.API().AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	for _, d := range deps.Items {
		if (SystemNamespace(d.Namespace) || ours[d.Namespace]) && !rolledOut(d) {
			return r.deploymentWaits(ctx, &d)
		}
	}
	return nil
}

func SystemNamespace(ns string) bool { return strings.HasPrefix(ns, "kube-") }

func rolledOut(d appsv1.Deployment) bool {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	return d.Generation == d.Status.ObservedGeneration && d.Status.UpdatedReplicas >= want &&
		d.Status.ReadyReplicas >= want && d.Status.Replicas == want
}

// flannelWaits returns the fault of a pod of flannel on the node that is missing or not ready: a route to the node, and
// its lease, come with it.
func (r *Addons) flannelWaits(ctx context.Context, node string) error {
	sets, err := r.Clients.API().AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	for _, d := range sets.Items {
		if !strings.Contains(d.Name, "flannel") {
			continue
		}
		pods, err := r.podsOf(ctx, d.ObjectMeta, d.Spec.Selector)
		if err != nil {
			return clients.Fault(err)
		}
		pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName != node || over(&p) })
		if len(pods) == 0 {
			return wait.Again("check.no-pod", "what", "DaemonSet "+d.Namespace+"/"+d.Name).On(node)
		}
		if err := r.podFault(ctx, "DaemonSet", d.ObjectMeta, readyOf(&d), pods); err != nil {
			return err
		}
	}
	return nil
}

// podRoutes: flannel has the node's lease and a route to every other node's pods.
func (r *Addons) podRoutes(ctx context.Context, nd *node.Node) error {
	list, err := r.Clients.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	out, err := nd.Query(ctx,
		"[ -s /run/flannel/subnet.env ] && echo lease || true\nip -4 route show 2>/dev/null || true\n")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(out, "lease") {
		if err := r.flannelWaits(ctx, nd.Name()); err != nil {
			return err
		}
		return wait.Again("check.no-lease").On(nd.Name())
	}
	for _, o := range list.Items {
		if o.Name != nd.Name() && !r.Skipped(o.Name) && o.Spec.PodCIDR != "" &&
			!strings.Contains(out, o.Spec.PodCIDR+" via") {
			if err := r.flannelWaits(ctx, o.Name); err != nil {
				return err
			}
			return wait.Again("check.no-route", "cidr", o.Spec.PodCIDR, "other", o.Name).On(nd.Name())
		}
	}
	return nil
}
