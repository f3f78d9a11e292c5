package cluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// mostHistory is how many Operations, and how many nodes in a message, a status names.
const mostHistory = 10

// report makes the conditions of a status. They are those of this package alone: others write MachinesBound.
type report struct {
	c      *Controller
	of     *v1.Cluster
	status v1.ClusterStatus
}

func (r *report) set(kind string, is metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason,
		Message: conditions.Clip(event.Clean(message)), ObservedGeneration: r.of.Generation,
		LastTransitionTime: metav1.NewTime(r.c.Now())})
}

func (r *report) holds(kind string) { r.set(kind, metav1.ConditionTrue, v1.ReasonSucceeded, "") }

// fails makes a condition False because of a fault.
func (r *report) fails(kind string, f *event.Fault) {
	r.set(kind, metav1.ConditionFalse, conditions.Reason(f.Code), conditions.Sentence(r.c.printer, f))
}

// writeStatus applies the status of a cluster, if it has changed.
func (c *Controller) writeStatus(ctx context.Context, w *world, does decision) error {
	r := &report{c: c, of: w.cluster}
	r.status = *w.cluster.Status.DeepCopy()
	r.status.Conditions = slices.DeleteFunc(r.status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1.ConditionMachinesBound
	})
	r.status.ObservedGeneration = w.cluster.Generation
	r.objects(w)
	r.operations(w, does)
	r.validity(w, does)
	r.certificates(w)
	healthy := r.healthy(w, w.health)
	r.ready(w, does, healthy)
	return c.apply(ctx, w.cluster, &r.status)
}

// objects names the objects that the cluster uses.
func (r *report) objects(w *world) {
	s := &r.status
	s.MachineLoginSecretRef, s.InfrastructureRef = w.cluster.Spec.MachineLoginSecret, w.cluster.Spec.Infrastructure
	s.PackagePersistentVolumeClaimRef, s.MachineBindingRef = nil, nil
	if w.infra != nil {
		s.PackagePersistentVolumeClaimRef = w.infra.Spec.PackagePersistentVolumeClaim
	}
	if w.binding != nil {
		s.MachineBindingRef = &corev1.ObjectReference{Name: w.binding.Name}
	}
	s.ConfigRef, s.KubeconfigSecretRef = nil, nil
	if w.has.config != nil {
		s.ConfigRef = &corev1.ObjectReference{Name: v1.StateSecret(w.cluster.Name, v1.StateConfig)}
		s.KubeconfigSecretRef = &v1.SecretReference{Name: v1.KubeconfigSecret(w.cluster.Name)}
		s.Version = w.installed()
	}
}

// operations repeats what is known of the Operations of the cluster.
func (r *report) operations(w *world, does decision) {
	s := &r.status
	s.CurrentOperation, s.JobRef, s.JobHistorys, s.Plan = nil, nil, nil, does.plan
	for _, o := range w.running() {
		if s.CurrentOperation == nil || begun(o) {
			s.CurrentOperation = &v1.CurrentOperation{Name: o.Name, Verb: o.Spec.Verb, Step: o.Status.Step}
			s.JobRef = &corev1.ObjectReference{Name: o.Name}
		}
	}
	if b := does.begin; b != nil {
		name := b.name(w.cluster)
		s.Attempt = &v1.Attempt{Operation: name, Digest: b.digest, Retry: w.cluster.Annotations[v1.AnnotationRetry]}
		if s.CurrentOperation == nil {
			s.CurrentOperation = &v1.CurrentOperation{Name: name, Verb: b.verb}
		}
	}
	// A cluster whose state was there before this object is not touched before its plan was approved.
	s.HasCluster = s.CurrentOperation != nil && s.CurrentOperation.Verb.Changes() ||
		w.has.text != nil && (s.HasCluster || does.same)
	for i := len(w.ops) - 1; i >= 0 && len(s.JobHistorys) < mostHistory; i-- {
		o := &w.ops[i]
		h := v1.JobHistory{Name: o.Name, StartTime: o.CreationTimestamp, FinishTime: o.Status.FinishTime}
		if o.Status.Failure != nil {
			h.Message = o.Status.Failure.Message
		}
		s.JobHistorys = append(s.JobHistorys, h)
	}
}

// validity sets the conditions about objects, and those that the last run tells.
func (r *report) validity(w *world, does decision) {
	switch {
	case does.valid != nil:
		r.fails(v1.ConditionValid, does.valid)
	case does.checked:
		r.holds(v1.ConditionValid)
	}
	if w.infra != nil {
		if c := meta.FindStatusCondition(w.infra.Status.Conditions, v1.ConditionBundlesReady); c != nil {
			r.set(v1.ConditionBundlesReady, c.Status, c.Reason, c.Message)
		}
	}
	last := w.last(changed)
	if last == nil {
		return
	}
	stages := []string{v1.ConditionPreflightPassed, v1.ConditionInfrastructureReady, v1.ConditionAddonsReady}
	if last.Status.Phase == v1.PhaseSucceeded {
		for _, kind := range stages {
			r.holds(kind)
		}
		return
	}
	failed := v1.ConditionInfrastructureReady
	if last.Status.ExitCode != nil && (*last.Status.ExitCode == 4 || *last.Status.ExitCode == 5) {
		failed = v1.ConditionPreflightPassed
	}
	reason, message := failure(last)
	r.set(failed, metav1.ConditionFalse, reason, message)
}

// certificates sets the condition about certificates.
func (r *report) certificates(w *world) {
	if w.expires.IsZero() {
		return
	}
	at := metav1.NewTime(w.expires.UTC())
	if r.status.CertificatesExpire = &at; !w.expiring() {
		r.holds(v1.ConditionCertificatesValid)
		return
	}
	r.fails(v1.ConditionCertificatesValid, event.NewFault(event.ClassFailed, "operator.certificates", nil, "cluster",
		r.of.Name, "at", w.expires.UTC().Format(time.DateOnly)))
}

// failure returns why an Operation has failed, as a reason and in words.
func failure(o *v1.Operation) (reason, message string) {
	f := o.Status.Failure
	if f == nil {
		return v1.ReasonOperationFailed, o.Name
	}
	if f.Next != "" {
		return conditions.Reason(f.Code), o.Name + ": " + f.Message + " " + f.Next
	}
	return conditions.Reason(f.Code), o.Name + ": " + f.Message
}

// healthy sets the conditions of what the API server of the cluster answers, and reports whether all of it is well.
func (r *report) healthy(w *world, h *answered) bool {
	kinds := []string{v1.ConditionEtcdReady, v1.ConditionControlPlaneReady, v1.ConditionWorkersReady}
	if h == nil {
		for _, kind := range append(kinds, v1.ConditionAPIAvailable) {
			r.set(kind, metav1.ConditionUnknown, v1.ReasonUnknown, "")
		}
		return false
	}
	if h.fault != nil {
		r.fails(v1.ConditionAPIAvailable, h.fault)
		for _, kind := range kinds {
			r.set(kind, metav1.ConditionUnknown, v1.ReasonUnknown, "")
		}
		return false
	}
	r.holds(v1.ConditionAPIAvailable)
	r.status.Endpoint = h.Endpoint
	control, workers, want := w.notReady(h)
	is := func(kind, code string, list []string) {
		if len(list) == 0 {
			r.holds(kind)
			return
		}
		r.fails(kind, event.NewFault(event.ClassFailed, code, nil, "nodes",
			r.c.printer.List(list[:min(len(list), mostHistory)])))
	}
	is(v1.ConditionControlPlaneReady, "operator.nodes-not-ready", control)
	is(v1.ConditionWorkersReady, "operator.nodes-not-ready", workers)
	r.holds(v1.ConditionEtcdReady)
	if !h.Etcd {
		f := event.NewFault(event.ClassFailed, "operator.etcd-away", nil, "cluster", r.of.Name)
		r.fails(v1.ConditionEtcdReady, f)
	}
	ready := want - len(control) - len(workers)
	r.status.Nodes = &v1.NodeCounts{Ready: int32(ready), Want: int32(want), //nolint:gosec // few
		Summary: strconv.Itoa(ready) + "/" + strconv.Itoa(want)}
	r.set(v1.ConditionDrifted, metav1.ConditionFalse, v1.ReasonSucceeded, "")
	if d := w.drift(h); d != "" {
		f := event.NewFault(event.ClassFailed, "operator.drift", nil, "cluster", r.of.Name, "nodes", d)
		r.set(v1.ConditionDrifted, metav1.ConditionTrue, conditions.Reason(f.Code), conditions.Sentence(r.c.printer, f))
	}
	return h.Etcd && len(control)+len(workers) == 0
}

// ready sets what kstatus reads.
func (r *report) ready(w *world, does decision, healthy bool) {
	reason, message := does.waits, does.message
	stalled := does.stalled != nil || does.failure != nil
	switch {
	case does.stalled != nil:
		reason, message = conditions.Reason(does.stalled.Code), conditions.Sentence(r.c.printer, does.stalled)
	case does.failure != nil:
		reason, message = failure(does.failure)
	case does.waits == v1.ReasonWaitingForMachines:
		if c := meta.FindStatusCondition(w.cluster.Status.Conditions, v1.ConditionMachinesBound); c != nil &&
			c.Status != metav1.ConditionTrue {
			reason, message = c.Reason, c.Message
		}
	case does.waits == v1.ReasonWaitingForApproval:
		message = r.c.printer.T("operator.approve", "cluster", r.of.Name, "namespace", r.of.Namespace, "digest",
			does.plan.Digest, "operation", does.plan.Operation, "count", does.plan.Summary)
	case does.waits == v1.ReasonWaitingForWindow:
		message = r.c.printer.T("operator.window", "window", does.message)
	case does.waits == v1.ReasonPaused:
		message = r.c.printer.T("operator.paused")
	}
	is := func(b bool) metav1.ConditionStatus {
		if b {
			return metav1.ConditionTrue
		}
		return metav1.ConditionFalse
	}
	r.set(v1.ConditionAwaitingApproval, is(does.plan != nil), orSucceeded(reason, does.plan != nil), "")
	if does.waits == v1.ReasonPaused { // as it was
		r.set(v1.ConditionReconciling, metav1.ConditionFalse, reason, message)
		r.set(v1.ConditionStalled, metav1.ConditionFalse, reason, "")
		r.set(v1.ConditionReady, is(healthy), reason, message)
		r.status.Message = message
		return
	}
	r.set(v1.ConditionUpToDate, is(does.same), orSucceeded(reason, !does.same), "")
	r.set(v1.ConditionStalled, is(stalled), orSucceeded(reason, stalled), only(message, stalled))
	working := !stalled && !does.same
	r.set(v1.ConditionReconciling, is(working), orSucceeded(reason, !does.same), only(message, working))
	ready := does.same && healthy
	if does.same && !healthy {
		reason, message = r.worst()
	}
	r.set(v1.ConditionReady, is(ready), orSucceeded(reason, !ready), message)
	if r.status.Message = message; ready {
		r.status.Message = ""
	}
}

// worst returns the reason and message of the first condition that keeps a cluster from being healthy.
func (r *report) worst() (reason, message string) {
	for _, kind := range []string{v1.ConditionAPIAvailable, v1.ConditionEtcdReady, v1.ConditionControlPlaneReady,
		v1.ConditionWorkersReady} {
		if c := meta.FindStatusCondition(r.status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			return c.Reason, c.Message
		}
	}
	return v1.ReasonUnknown, ""
}

// only returns a message while something is so.
func only(message string, is bool) string {
	if !is {
		return ""
	}
	return message
}

// orSucceeded returns a reason while something is so, else that all is well: a reason cannot be empty.
func orSucceeded(reason string, is bool) string {
	switch {
	case !is:
		return v1.ReasonSucceeded
	case reason == "":
		return v1.ReasonProgressing
	}
	return reason
}

// apply applies a status, if it differs from the one that was read.
func (c *Controller) apply(ctx context.Context, of *v1.Cluster, status *v1.ClusterStatus) error {
	was := of.Status.DeepCopy()
	was.Conditions = slices.DeleteFunc(was.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1.ConditionMachinesBound
	})
	if equality.Semantic.DeepEqual(was, status) {
		return nil
	}
	return client.IgnoreNotFound(conditions.Apply(ctx, c.Client, "Cluster", client.ObjectKeyFromObject(of), "", Owner,
		status))
}
