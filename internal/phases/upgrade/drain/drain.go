// Package drain empties nodes of pods and lets pods onto them again. That it was us who closed a node is kept on its
// Node: the next run opens it when this one was killed, and leaves one closed that somebody else has closed. It may
// import the clients and what stands beneath them.
package drain

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Drain closes nodes, empties them, and opens them.
type Drain struct {
	*clients.Clients
	// Limit bounds the eviction of a node's pods; Force continues when some are left after it.
	Limit time.Duration
	Force bool
	// Late is the fault when some are left after it, without Force. Its node is set by Drain.
	Late func(pods, limit, why string) *event.Fault

	mu     sync.Mutex
	closed map[string]bool // nodes that this run has closed
}

// Ours says whether it was us who closed a node, in this run or in one before.
func Ours(o *corev1.Node) bool {
	return o.Spec.Unschedulable && o.Annotations[layout.CordonedAnnotation] != ""
}

// Closed are the nodes that we have closed to pods, in this run or in one before.
func Closed(ctx context.Context, c *clients.Clients) ([]string, error) {
	list, err := c.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	var out []string
	for _, o := range list.Items {
		if Ours(&o) {
			out = append(out, o.Name)
		}
	}
	return out, nil
}

// Adopt takes a node for closed by this run that one before has closed.
func (d *Drain) Adopt(o *corev1.Node) {
	if Ours(o) {
		d.keep(o.Name)
	}
}

// Cordon lets no new pod onto a node. One that is closed already stays whose it is.
func (d *Drain) Cordon(ctx context.Context, o *corev1.Node) error {
	if o.Spec.Unschedulable {
		d.Adopt(o)
		return nil
	}
	if err := d.Emit(event.Change{Step: engine.StepID(ctx),
		Desc: event.M("change.cordon", "name", o.Name)}); err != nil {
		return err
	}
	if err := d.set(ctx, o.Name, true, layout.FieldManager); err != nil {
		return err
	}
	d.keep(o.Name)
	return nil
}

func (d *Drain) keep(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed == nil {
		d.closed = map[string]bool{}
	}
	d.closed[name] = true
}

// Uncordon lets pods onto a node again that was closed by this run, or adopted.
func (d *Drain) Uncordon(ctx context.Context, name string) error {
	d.mu.Lock()
	ours := d.closed[name]
	d.mu.Unlock()
	if !ours {
		return nil
	}
	if err := d.Emit(event.Change{Step: engine.StepID(ctx),
		Desc: event.M("change.uncordon", "name", name)}); err != nil {
		return err
	}
	if err := d.set(ctx, name, nil, nil); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.closed, name)
	return nil
}

// set writes whether a node is closed, and by whom; nil takes a field away.
func (d *Drain) set(ctx context.Context, name string, closed, by any) error {
	patch, err := json.Marshal(map[string]any{
		"spec":     map[string]any{"unschedulable": closed},
		"metadata": map[string]any{"annotations": map[string]any{layout.CordonedAnnotation: by}},
	})
	if err != nil {
		return err
	}
	_, err = d.API().CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: layout.FieldManager})
	if apierrors.IsNotFound(err) && closed == nil {
		return nil
	}
	if err != nil {
		return clients.Fault(err)
	}
	return nil
}

// Evict evicts the pods of a node that is closed, as their disruption budgets allow, until the time is over.
func (d *Drain) Evict(ctx context.Context, name string) error {
	pods, err := d.Evictable(ctx, name)
	if err != nil || len(pods) == 0 {
		return err
	}
	if err := d.tellLost(ctx, pods); err != nil {
		return err
	}
	if err := d.Emit(event.Change{Step: engine.StepID(ctx),
		Desc: event.M("change.evict", "name", name, "pods", podNames(pods))}); err != nil || d.Dry {
		return err
	}
	return d.evictAll(ctx, name)
}

// evictAll evicts until nobody is left. Who is waited for is told whenever that changes.
func (d *Drain) evictAll(ctx context.Context, name string) error {
	end := time.Now().Add(d.Limit)
	told, why := "", ""
	for {
		pods, err := d.Evictable(ctx, name)
		if err != nil || len(pods) == 0 {
			return err
		}
		for _, p := range pods {
			if p.DeletionTimestamp != nil {
				continue
			}
			refused, err := d.evict(ctx, p)
			if err != nil {
				return err
			}
			if refused != "" {
				why = refused
			}
		}
		names := podNames(pods)
		if time.Now().After(end) {
			if !d.Force {
				return d.Late(names, d.Limit.String(), why).On(name)
			}
			return d.Emit(event.Notice{Host: name, Step: engine.StepID(ctx),
				Text: event.M("notice.drain-forced", "pods", names)})
		}
		if names != told {
			told = names
			if err := d.Emit(event.Notice{Host: name, Step: engine.StepID(ctx),
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

// evict asks for the end of a pod, and says why it was refused when it may be granted in a second.
func (d *Drain) evict(ctx context.Context, p corev1.Pod) (refused string, err error) {
	err = d.API().PolicyV1().Evictions(p.Namespace).Evict(ctx,
		&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return "", nil
	case apierrors.IsTooManyRequests(err), apierrors.IsConflict(err), apierrors.IsServerTimeout(err),
		apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err),
		apierrors.IsForbidden(err), apierrors.IsBadRequest(err): // a webhook denies it
		return event.Clean(err.Error()), nil
	}
	return "", clients.Fault(err)
}

// Evictable are the node's pods that have to go elsewhere: those of DaemonSets and of the kubelet's own manifests
// belong to the node, and those that have ended are nowhere.
func (d *Drain) Evictable(ctx context.Context, name string) ([]corev1.Pod, error) {
	list, err := d.API().CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
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

// tellLost names what is lost with the pods: data of emptyDir volumes, and pods that nobody makes again.
func (d *Drain) tellLost(ctx context.Context, pods []corev1.Pod) error {
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
		if err := d.Emit(event.Notice{Step: engine.StepID(ctx),
			Text: event.M(key, "pods", podNames(list))}); err != nil {
			return err
		}
	}
	return nil
}

// podNames are the first few in the order of their names, and that there are more.
func podNames(pods []corev1.Pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, event.Clean(p.Namespace+"/"+p.Name))
	}
	return Names(names)
}

// Names are the first few of names in their order, and that there are more.
func Names(names []string) string {
	slices.Sort(names)
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}
