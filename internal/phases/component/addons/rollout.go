package addons

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// daemonSetWaits is the fault of a DaemonSet that is not rolled out.
func (r *Addons) daemonSetWaits(ctx context.Context, d *appsv1.DaemonSet) error {
	return r.waits(ctx, "DaemonSet", d.ObjectMeta, d.Spec.Selector, readyOf(d))
}

// readyOf says how many pods of a DaemonSet are ready, as 2/3.
func readyOf(d *appsv1.DaemonSet) string {
	return fmt.Sprintf("%d/%d", d.Status.NumberReady, d.Status.DesiredNumberScheduled)
}

// deploymentWaits is the fault of a Deployment that is not rolled out.
func (r *Addons) deploymentWaits(ctx context.Context, d *appsv1.Deployment) error {
	return r.waits(ctx, "Deployment", d.ObjectMeta, d.Spec.Selector,
		fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, d.Status.Replicas))
}

// waits is the fault of a workload that is not rolled out. It names a pod that keeps it, and what Kubernetes says of
// that; without one it says how many are ready.
func (r *Addons) waits(
	ctx context.Context, kind string, of metav1.ObjectMeta, selector *metav1.LabelSelector, ready string,
) error {
	pods, err := r.podsOf(ctx, of, selector)
	if err == nil {
		if err := r.podFault(ctx, kind, of, ready, pods); err != nil {
			return err
		}
	}
	return wait.Again("check.workload", "what", kind+" "+of.Namespace+"/"+of.Name, "ready", ready)
}

// podsOf returns the pods of a workload, in the order of their nodes.
func (r *Addons) podsOf(ctx context.Context, of metav1.ObjectMeta, selector *metav1.LabelSelector) ([]corev1.Pod,
	error) {
	pods, err := r.Clients.API().CoreV1().Pods(of.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(selector)})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(pods.Items, func(a, b corev1.Pod) int {
		return strings.Compare(a.Spec.NodeName, b.Spec.NodeName)
	})
	return pods.Items, nil
}

// podFault returns the fault of the first of the pods that is not ready and of which Kubernetes says why; nil if there
// is none. ready says how many pods of the workload are.
func (r *Addons) podFault(ctx context.Context, kind string, of metav1.ObjectMeta, ready string,
	pods []corev1.Pod) error {
	args := []string{"what", kind + " " + of.Namespace + "/" + of.Name, "ready", ready}
	for i := range pods {
		p := &pods[i]
		if over(p) || podReady(p) || r.Skipped(p.Spec.NodeName) {
			continue
		}
		if why := r.podWaits(ctx, p); why != "" {
			args := append(args, "pod", event.Clean(p.Name), "namespace", of.Namespace,
				"why", bounded(event.Clean(why)))
			if p.Spec.NodeName == "" {
				return wait.Again("check.workload-unscheduled", args...)
			}
			return wait.Again("check.workload-pod", args...).On(p.Spec.NodeName)
		}
	}
	return nil
}

// over says whether a pod is none that is waited for: another one has its place, or will have it.
func over(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podWaits is what keeps a pod from being ready, in the words of Kubernetes: how a container of it ended and what that
// said last, or the last warning about the pod.
func (r *Addons) podWaits(ctx context.Context, p *corev1.Pod) string {
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	for _, c := range all {
		ended := c.LastTerminationState.Terminated
		if ended == nil || c.Ready {
			ended = c.State.Terminated
		}
		if ended == nil || ended.ExitCode == 0 {
			continue
		}
		why := fmt.Sprintf("%s: %s (%d)", c.Name, ended.Reason, ended.ExitCode)
		if said := r.lastLine(ctx, p, c); said != "" {
			return why + ": " + said
		}
		return why
	}
	if why := r.lastWarning(ctx, p); why != "" {
		return why
	}
	for _, c := range all {
		if w := c.State.Waiting; w != nil {
			return strings.TrimSuffix(c.Name+": "+w.Reason+": "+w.Message, ": ")
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// lastLine is the last line that a container has written that has ended.
func (r *Addons) lastLine(ctx context.Context, p *corev1.Pod, c corev1.ContainerStatus) string {
	lines := int64(1)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := r.Clients.API().CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{
		Container: c.Name, Previous: c.State.Terminated == nil, TailLines: &lines}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer func() { _ = out.Close() }()
	last := ""
	for s := bufio.NewScanner(out); s.Scan(); {
		last = s.Text()
	}
	return strings.TrimSpace(last)
}

// lastWarning is the newest event of a pod that warns.
func (r *Addons) lastWarning(ctx context.Context, p *corev1.Pod) string {
	list, err := r.Clients.API().CoreV1().Events(p.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + p.Name + ",type=Warning"})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	newest := slices.MaxFunc(list.Items, func(a, b corev1.Event) int {
		return seen(a).Compare(seen(b))
	})
	return newest.Reason + ": " + newest.Message
}

// seen is when an event happened last. Newer parts of Kubernetes leave the old field empty.
func seen(e corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if e.EventTime.After(at) {
		at = e.EventTime.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}

// bounded is a text that fits into a line or two of a screen.
func bounded(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
