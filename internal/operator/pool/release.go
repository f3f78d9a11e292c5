package pool

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Cleaned notes that everything of a cluster was removed from a machine, with its data (a cleanup with purge has
// succeeded). The machine leaves the binding of the cluster, and another cluster may get it.
func Cleaned(ctx context.Context, c client.Client, machine client.ObjectKey) error {
	p := i18n.NewPrinter(i18n.English)
	return setClean(ctx, c, machine, conditions.Holding(v1.ConditionClean, v1.ReasonSucceeded, p.T("pool.cleaned")))
}

// Quarantine notes that a machine leaves a cluster without a cleanup: it could not be reached, or the cleanup failed.
// It leaves the binding of the cluster, and no cluster gets it until Cleaned was called or it was installed again.
func Quarantine(ctx context.Context, c client.Client, machine client.ObjectKey, cluster string) error {
	return setClean(ctx, c, machine, quarantined(i18n.NewPrinter(i18n.English), cluster))
}

func quarantined(p *i18n.Printer, cluster string) metav1.Condition {
	f := event.NewFault(event.ClassPreflight, "pool.quarantine", nil, "cluster", cluster)
	return conditions.Failing(p, v1.ConditionClean, f)
}

// setClean writes the condition Clean of a machine, unless it is already so. A machine that no longer exists needs
// none.
func setClean(ctx context.Context, c client.Client, at client.ObjectKey, to metav1.Condition) error {
	return client.IgnoreNotFound(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var m v1.Machine
		if err := c.Get(ctx, at, &m); err != nil {
			return err
		}
		old := m.DeepCopy()
		to.ObservedGeneration, to.LastTransitionTime = m.Generation, metav1.NewTime(time.Now())
		if !meta.SetStatusCondition(&m.Status.Conditions, to) {
			return nil
		}
		return c.Status().Patch(ctx, &m, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}),
			client.FieldOwner(Owner+"-release"))
	}))
}
