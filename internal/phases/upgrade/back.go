package upgrade

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/drain"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// controller of pods: a ReplicaSet or a StatefulSet.
type controller struct{ kind, namespace, name string }

// replicas are how many pods of each controller were ready.
type replicas map[controller]int32

// replicasOf are those of the controllers of pods that are evicted.
func (k *Kubelets) replicasOf(ctx context.Context, pods []corev1.Pod) (replicas, error) {
	out := replicas{}
	for _, p := range pods {
		owner := metav1.GetControllerOf(&p)
		if owner == nil {
			continue
		}
		c := controller{owner.Kind, p.Namespace, owner.Name}
		if _, known := out[c]; known {
			continue
		}
		ready, _, err := k.ask(ctx, c)
		if err != nil {
			return nil, err
		}
		if ready > 0 {
			out[c] = ready
		}
	}
	return out, nil
}

// ask is how many pods of a controller are ready, and how many it wants; none of one that is gone, or that is no
// controller of pods that stay.
func (k *Kubelets) ask(ctx context.Context, c controller) (ready, want int32, err error) {
	apps := k.API().AppsV1()
	switch c.kind {
	case "ReplicaSet":
		o, got := apps.ReplicaSets(c.namespace).Get(ctx, c.name, metav1.GetOptions{})
		if err = got; err == nil {
			ready, want = o.Status.ReadyReplicas, wanted(o.Spec.Replicas)
		}
	case "StatefulSet":
		o, got := apps.StatefulSets(c.namespace).Get(ctx, c.name, metav1.GetOptions{})
		if err = got; err == nil {
			ready, want = o.Status.ReadyReplicas, wanted(o.Spec.Replicas)
		}
	}
	if apierrors.IsNotFound(err) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, clients.Fault(err)
	}
	return ready, want, nil
}

// wanted is what a controller takes for the number of its pods when it is not told.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// awaitBack waits until the controllers of the pods that were evicted have as many ready as before. Some may want fewer
// by now, and a pod may never have become ready again by itself: so those that are missing after a while are named, and
// the upgrade continues.
func (k *Kubelets) awaitBack(ctx context.Context, n config.Node, before replicas) error {
	if k.Dry || len(before) == 0 {
		return nil
	}
	limit := time.NewTimer(k.Back)
	defer limit.Stop()
	for {
		var missing []string
		for c, had := range before {
			ready, want, err := k.ask(ctx, c)
			if err != nil {
				return err
			}
			if had = min(had, want); ready < had {
				missing = append(missing, event.Clean(fmt.Sprintf("%s/%s %d/%d", c.namespace, c.name, ready, had)))
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return k.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
				Text: event.M("notice.upgrade-pods-back", "node", n.Name, "pods", drain.Names(missing), "limit",
					k.Back.String())})
		case <-time.After(min(time.Second, k.Back)):
		}
	}
}
