package cluster

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/operator/operation"
	"github.com/eggo-k8s/eggo/internal/operator/pool"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// usualCleanup is how long a deletion waits for machines that do not answer, unless the Cluster says otherwise.
const usualCleanup = time.Hour

// release frees the machines that have left the cluster. One that was removed without asking it is in quarantine. While
// a run is under way, the state may be newer than what is known of the run.
func (c *Controller) release(ctx context.Context, w *world) error {
	if w.binding == nil || len(w.running()) > 0 {
		return nil
	}
	for _, b := range w.binding.Spec.Machines {
		m := w.bound[b.Name]
		if !b.Leaving || m == nil || w.member(m) || w.has.fault != nil {
			continue
		}
		gone := w.last(func(o *v1.Operation) bool {
			return o.Status.Phase == v1.PhaseSucceeded && o.Spec.Args != nil &&
				slices.Contains(o.Spec.Args.Nodes, m.Spec.HostName)
		})
		clean := m.Status.Facts == nil || !m.Status.Facts.Recorded
		if gone != nil {
			clean = !slices.Contains(strings.Split(gone.Annotations[annotationLost], ","), m.Name)
		}
		if err := c.free(ctx, w, m, clean); err != nil {
			return err
		}
	}
	return nil
}

// free has a machine leave its binding.
func (c *Controller) free(ctx context.Context, w *world, m *v1.Machine, clean bool) error {
	if clean {
		return pool.Cleaned(ctx, c.Client, client.ObjectKeyFromObject(m))
	}
	return pool.Quarantine(ctx, c.Client, client.ObjectKeyFromObject(m), w.cluster.Name)
}

// remove brings the deletion of a cluster a step further.
func (c *Controller) remove(ctx context.Context, w *world) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(w.cluster, v1.FinalizerCluster) {
		return reconcile.Result{}, nil
	}
	cluster := w.cluster
	policy := cluster.Spec.DeletionPolicy
	if policy == v1.DeletionOrphan {
		return reconcile.Result{}, c.finish(ctx, cluster)
	}
	confirmed := policy == v1.DeletionCleanup || cluster.Annotations[v1.AnnotationConfirmDeletion] == cluster.Name
	if !confirmed {
		f := event.NewFault(event.ClassUsage, "operator.not-confirmed", nil, "cluster", cluster.Name, "namespace",
			cluster.Namespace)
		return reconcile.Result{}, c.deleting(ctx, w, decision{stalled: f}, f)
	}
	if w.binding == nil || len(w.binding.Spec.Machines) == 0 {
		if err := state.Remove(ctx, c.Client, cluster.Namespace, cluster.Name); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, c.finish(ctx, cluster)
	}
	does, err := w.cleaning(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	for m, clean := range does.free {
		if err := c.free(ctx, w, m, clean); err != nil {
			return reconcile.Result{}, err
		}
	}
	for _, o := range does.stop {
		if err := c.stop(ctx, o); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := c.drop(ctx, does.drop); err != nil {
		return reconcile.Result{}, err
	}
	if err := c.deleting(ctx, w, does.decision, nil); err != nil {
		return reconcile.Result{}, err
	}
	if does.begin != nil {
		if err := c.begin(ctx, w, does.begin); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// cleaning is the next step in the deletion of a cluster.
type cleaning struct {
	decision
	free map[*v1.Machine]bool // machines that leave, and whether they are clean
}

// cleaning decides what the deletion of a confirmed cluster needs next: a cleanup of all machines. Those that do not
// answer are waited for until the timeout, and then left as they are, in quarantine. Nothing is waited for after that.
func (w *world) cleaning(ctx context.Context) (cleaning, error) {
	out := cleaning{free: map[*v1.Machine]bool{}}
	for _, o := range w.running() {
		switch {
		case begun(o) && o.Spec.Verb == v1.VerbCleanup:
			out.waits = v1.ReasonDeleting
			return out, nil
		case begun(o):
			out.waits = v1.ReasonDeleting
			if o.Spec.Stop == "" {
				out.stop = append(out.stop, o)
			}
		}
	}
	if out.waits != "" {
		return out, nil
	}
	if w.has.text == nil {
		for _, o := range w.running() { // a cleanup may have ended by now
			if out.waits = v1.ReasonDeleting; o.Spec.Verb != v1.VerbCleanup && o.Spec.Stop == "" {
				out.stop = append(out.stop, o)
			}
		}
		if out.waits != "" {
			return out, nil
		}
		clean := w.untouched()
		w.each(func(m *v1.Machine) { out.free[m] = clean })
		return out, nil
	}
	timeout := usualCleanup
	if t := w.cluster.Spec.CleanupTimeout; t != nil {
		timeout = t.Duration
	}
	late := w.now.Sub(w.cluster.DeletionTimestamp.Time) >= timeout
	var rest, dead []*v1.Machine
	w.each(func(m *v1.Machine) {
		if late && !reachable(m) {
			dead = append(dead, m)
			return
		}
		rest = append(rest, m)
	})
	for _, m := range dead {
		out.free[m] = false
	}
	if len(rest) == 0 {
		return out, nil
	}
	next, fault, err := w.cleanup(ctx, rest, len(dead) > 0)
	if err != nil {
		return out, err
	}
	if fault == nil {
		out.decision = w.tryCleanup(out.decision, next)
		if o := next.exists; o != nil && o.Status.Phase == v1.PhaseSucceeded {
			for _, m := range rest {
				out.free[m] = true
			}
			return out, nil
		}
	}
	out.stalled = fault
	if late && (fault != nil || out.failure != nil) {
		for _, m := range rest {
			out.free[m] = false
		}
	}
	return out, nil
}

// untouched reports whether machines of a cluster without state have nothing of it: the last run was a cleanup, or none
// has changed a machine. If the state was lost, it is not known what the machines have.
func (w *world) untouched() bool {
	// During a deletion nothing but cleanups begins, so one that succeeded counts whatever others did. Which of them
	// was the last one is not known: the times of objects are whole seconds.
	at := w.cluster.DeletionTimestamp
	cleaned := func(o v1.Operation) bool {
		return o.Spec.Verb == v1.VerbCleanup && o.Status.Phase == v1.PhaseSucceeded && !o.CreationTimestamp.Before(at)
	}
	if at != nil && slices.ContainsFunc(w.ops, cleaned) {
		return true
	}
	last := w.last(func(o *v1.Operation) bool { return o.Spec.Verb.Changes() && begun(o) && !never(o) })
	if last == nil {
		return !w.cluster.Status.HasCluster
	}
	if last.Spec.Verb == v1.VerbCleanup && last.Status.Phase == v1.PhaseSucceeded {
		return true
	}
	code := last.Status.ExitCode
	return code != nil && slices.Contains([]int32{2, 4, 5, 6}, *code)
}

// each calls do for the machines of the binding that are not free yet.
func (w *world) each(do func(*v1.Machine)) {
	for _, b := range w.binding.Spec.Machines {
		if m := w.bound[b.Name]; m != nil {
			do(m)
		}
	}
}

// cleanup returns the Operation that cleans machines, all or some.
func (w *world) cleanup(ctx context.Context, of []*v1.Machine, some bool) (*attempt, *event.Fault, error) {
	d, err := w.describe(ctx, w.installed(), nil)
	if err != nil {
		fault, err := usage(err)
		return nil, fault, err
	}
	out := &attempt{verb: v1.VerbCleanup, args: &v1.OperationArgs{Purge: true}, pod: d.pod}
	if some {
		for _, m := range of {
			out.args.Nodes = append(out.args.Nodes, m.Spec.HostName)
		}
	}
	common := operation.Options(w.cluster, out.args)
	common.Accepted = d.file.Accepted
	out.q = request.Cleanup{Common: common, Nodes: out.args.Nodes, Purge: true}
	return out, nil, out.seal(w, d.logins)
}

// tryCleanup decides whether a cleanup is made now: not twice after a failure.
func (w *world) tryCleanup(out decision, next *attempt) decision {
	for i := range w.ops {
		o := &w.ops[i]
		switch {
		case o.Name == next.name(w.cluster):
			next.exists = o
		case !o.Status.Phase.Ended() && !begun(o) && o.Spec.Stop == "":
			out.stop = append(out.stop, o)
		}
	}
	out.waits = v1.ReasonDeleting
	if o := next.exists; o != nil && o.Status.Phase.Ended() {
		if never(o) {
			out.drop = []*v1.Operation{o}
			return out
		}
		if o.Status.Phase != v1.PhaseSucceeded {
			out.failure = o
		}
		return out
	}
	out.begin = next
	return out
}

// deleting writes the status of a cluster that is being deleted.
func (c *Controller) deleting(ctx context.Context, w *world, does decision, blocked *event.Fault) error {
	r := &report{c: c, of: w.cluster}
	r.status = *w.cluster.Status.DeepCopy()
	meta.RemoveStatusCondition(&r.status.Conditions, v1.ConditionMachinesBound)
	r.status.ObservedGeneration = w.cluster.Generation
	r.operations(w, does)
	reason, message := v1.ReasonDeleting, ""
	switch {
	case does.stalled != nil:
		reason, message = conditions.Reason(does.stalled.Code), conditions.Sentence(r.c.printer, does.stalled)
	case does.failure != nil:
		reason, message = failure(does.failure)
	}
	stalled := metav1.ConditionFalse
	if does.stalled != nil || does.failure != nil {
		stalled = metav1.ConditionTrue
	}
	r.set(v1.ConditionDeletionBlocked, metav1.ConditionFalse, v1.ReasonDeleting, "")
	if blocked != nil {
		r.set(v1.ConditionDeletionBlocked, metav1.ConditionTrue, v1.ReasonNotConfirmed, message)
	}
	r.set(v1.ConditionReady, metav1.ConditionFalse, reason, message)
	r.set(v1.ConditionStalled, stalled, reason, message)
	r.set(v1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	r.status.Message = message
	return c.apply(ctx, w.cluster, &r.status)
}

// finish removes the finalizer: the object is gone then.
func (c *Controller) finish(ctx context.Context, cluster *v1.Cluster) error {
	c.mu.Lock()
	delete(c.answers, cluster.UID)
	delete(c.expiries, cluster.UID)
	c.mu.Unlock()
	was := cluster.DeepCopy()
	controllerutil.RemoveFinalizer(cluster, v1.FinalizerCluster)
	patch := client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.Client.Patch(ctx, cluster, patch))
}
