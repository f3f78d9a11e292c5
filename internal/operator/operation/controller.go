// Package operation has the controller of Operations: each one is a Job, or a process while the operator is debugged.
// The controller decides when a run begins; the run itself writes how far it is. Begin reading at Reconcile.
package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/gather"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Launcher begins runs.
type Launcher interface {
	// Launch begins the run of an Operation, once however often it is called.
	Launch(ctx context.Context, r pod.Run) error
	// Outcome returns how far the run of an Operation is.
	Outcome(ctx context.Context, o *eggov1.Operation) (Outcome, error)
	// End makes no further attempt at the run of an Operation, and removes what is left of it.
	End(ctx context.Context, o *eggov1.Operation) error
}

// Outcome is how far a run is, as its launcher knows it.
type Outcome struct {
	Begun bool
	Ended bool
	// Idle reports that nothing runs at present: the next attempt waits.
	Idle     bool
	ExitCode *int32 // of a run that has ended; nil: it is not known
	Pod      string
	Attempts int32
	// Waiting is why a pod does not run yet, in the words of Kubernetes; "" if it runs.
	Waiting string
}

// Controller runs Operations.
type Controller struct {
	Client   client.Client // reads Secrets without a cache
	Launcher Launcher
	Events   record.EventRecorder
	Now      func() time.Time
	// Sentence returns a fault in English, and what to do next.
	Sentence func(*event.Fault) (text, next string)
	Image    pod.Image
	MaxRuns  int // at the same time
	History  int // Operations of a cluster that are kept after their end

	launched map[types.UID]bool // since the start of this process: the cache may not have their Jobs yet
}

// SetUp adds the controller to a manager. One worker decides about all Operations, so that no two of a cluster begin.
func (c *Controller) SetUp(m ctrl.Manager) error {
	c.launched = map[types.UID]bool{}
	toWaiting := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return c.waiting(ctx)
	})
	return ctrl.NewControllerManagedBy(m).Named("operation").For(&eggov1.Operation{}).Owns(&batchv1.Job{}).
		Watches(&eggov1.Cluster{}, toWaiting).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).Complete(c)
}

// waiting returns the Operations that have not begun: a change of another one, or of a Cluster, may be what they wait
// for.
func (c *Controller) waiting(ctx context.Context) (out []reconcile.Request) {
	var all eggov1.OperationList
	if c.Client.List(ctx, &all) != nil {
		return nil // the next change of each one has it reconciled
	}
	for i := range all.Items {
		if p := all.Items[i].Status.Phase; p == "" || p == eggov1.PhasePending || p == eggov1.PhaseQueued {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return out
}

// patience is how long an Operation waits for what is written right after it.
const patience = time.Second

// Reconcile brings one Operation a step further.
func (c *Controller) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	o := &eggov1.Operation{}
	if err := c.Client.Get(ctx, q.NamespacedName, o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !o.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // its Job goes with it
	}
	s := o.DeepCopy()
	result, err := c.step(ctx, s)
	conditions(s, c.Now())
	if err := c.write(ctx, o, s); err != nil {
		return reconcile.Result{}, err
	}
	if s.Status.Phase.Ended() && !o.Status.Phase.Ended() {
		c.report(s)
	}
	return result, err
}

// step changes the status of an Operation, and begins its run when it is time.
func (c *Controller) step(ctx context.Context, o *eggov1.Operation) (reconcile.Result, error) {
	if o.Status.Phase.Ended() {
		delete(c.launched, o.UID)
		return reconcile.Result{}, c.prune(ctx, o)
	}
	is, err := c.Launcher.Outcome(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	switch stopped := o.Spec.Stop != ""; {
	case is.Begun && stopped && is.Idle && !succeeded(is):
		o.Status.Phase = eggov1.PhaseStopped
		return reconcile.Result{}, c.Launcher.End(ctx, o)
	case is.Begun:
		c.follow(o, is)
		return reconcile.Result{}, nil
	case stopped:
		o.Status.Phase = eggov1.PhaseStopped
		return reconcile.Result{}, nil
	}
	return c.begin(ctx, o)
}

// follow takes over what the launcher knows: the end of a run that could not write it itself.
func (c *Controller) follow(o *eggov1.Operation, is Outcome) {
	st := &o.Status
	st.Attempts, st.Position = max(st.Attempts, is.Attempts), 0
	if is.Pod != "" {
		st.PodName = is.Pod
	}
	if st.Phase == "" || st.Phase == eggov1.PhaseQueued {
		st.Phase = eggov1.PhasePending
	}
	if !is.Ended {
		setCondition(o, eggov1.ConditionReconciling, metav1.ConditionTrue, eggov1.ReasonProgressing, is.Waiting)
		return
	}
	now := metav1.NewTime(c.Now())
	st.FinishTime = &now
	if succeeded(is) {
		st.Phase, st.ExitCode = eggov1.PhaseSucceeded, is.ExitCode
		return
	}
	st.Phase = eggov1.PhaseFailed
	if is.ExitCode != nil {
		st.ExitCode = is.ExitCode
	}
	if st.Failure == nil {
		code := "unknown"
		if is.ExitCode != nil {
			code = strconv.Itoa(int(*is.ExitCode))
		}
		c.fail(o, event.NewFault(event.ClassFailed, "operator.run-died", nil, "operation", o.Name, "pod",
			event.Clean(is.Pod), "status", code))
	}
}

func succeeded(is Outcome) bool { return is.Ended && is.ExitCode != nil && *is.ExitCode == 0 }

// fail ends an Operation with a fault.
func (c *Controller) fail(o *eggov1.Operation, err error) {
	f := event.AsFault(err)
	text, next := c.Sentence(f)
	o.Status.Phase = eggov1.PhaseFailed
	o.Status.Failure = &eggov1.OperationFailure{Code: f.Code, Message: cut(text), Next: cut(next)}
}

// cut bounds a text of a status.
func cut(s string) string {
	const most = 1024
	r := []rune(event.Clean(s))
	return string(r[:min(len(r), most)])
}

// begin begins the run of an Operation if it is its turn.
func (c *Controller) begin(ctx context.Context, o *eggov1.Operation) (reconcile.Result, error) {
	cluster := &eggov1.Cluster{}
	err := c.Client.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.ClusterRef.Name}, cluster)
	if apierrors.IsNotFound(err) {
		c.fail(o, event.NewFault(event.ClassUsage, "operator.no-cluster", nil, "cluster", o.Spec.ClusterRef.Name))
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	o.Status.Phase = eggov1.PhaseQueued
	if cluster.Spec.Paused {
		setCondition(o, eggov1.ConditionReconciling, metav1.ConditionTrue, eggov1.ReasonPaused, "")
		return reconcile.Result{}, nil
	}
	var all eggov1.OperationList
	if err := c.Client.List(ctx, &all); err != nil {
		return reconcile.Result{}, err
	}
	begun := func(x *eggov1.Operation) bool {
		p := x.Status.Phase
		return c.launched[x.UID] || p == eggov1.PhasePending || p == eggov1.PhaseRunning || p == eggov1.PhaseAsking
	}
	if at := queue(all.Items, begun, c.MaxRuns)[string(o.UID)]; at > 0 {
		o.Status.Position = int32(at)
		setCondition(o, eggov1.ConditionReconciling, metav1.ConditionTrue, eggov1.ReasonQueued, "")
		return reconcile.Result{}, nil
	}
	in, written, err := c.input(ctx, o, cluster)
	var fault *event.Fault
	if asUsage(err, &fault) {
		c.fail(o, fault)
		return reconcile.Result{}, nil
	}
	if err != nil || !written {
		return reconcile.Result{RequeueAfter: patience}, err
	}
	if err := state.Ensure(ctx, c.Client, o.Namespace, cluster.Name); err != nil {
		return reconcile.Result{}, err
	}
	err = c.Launcher.Launch(ctx, pod.Run{Operation: o, Cluster: cluster, Image: c.image(cluster), Input: in})
	if asUsage(err, &fault) {
		c.fail(o, fault)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	c.launched[o.UID] = true
	now := metav1.NewTime(c.Now())
	o.Status.Phase, o.Status.Position, o.Status.StartTime = eggov1.PhasePending, 0, &now
	c.Events.Eventf(o, corev1.EventTypeNormal, "Begun", "%s of %s begins", o.Spec.Verb, cluster.Name)
	return reconcile.Result{}, nil
}

func asUsage(err error, to **event.Fault) bool {
	if err == nil {
		return false
	}
	f := event.AsFault(err)
	if f.Class != event.ClassUsage {
		return false
	}
	*to = f
	return true
}

// image returns the image of a Cluster's runs.
func (c *Controller) image(cluster *eggov1.Cluster) pod.Image {
	out := c.Image
	out.Name = cmp.Or(cluster.Spec.EggoImageVersion, out.Name)
	return out
}

// input returns what the pod of an Operation needs, and whether its InputSecret exists. That of an Operation with a
// specDigest is written by its creator; for all others it is made here.
func (c *Controller) input(ctx context.Context, o *eggov1.Operation, cluster *eggov1.Cluster) (in pod.Input,
	written bool, err error) {
	s := &corev1.Secret{}
	key := types.NamespacedName{Namespace: o.Namespace, Name: eggov1.InputSecret(o.Name)}
	err = c.Client.Get(ctx, key, s)
	switch {
	case err == nil && !metav1.IsControlledBy(s, o):
		return in, false, event.NewFault(event.ClassUsage, "operator.input-taken", nil, "secret", key.Name)
	case err == nil:
		return in, true, json.Unmarshal(s.Data[pod.InputPod], &in)
	case !apierrors.IsNotFound(err):
		return in, false, err
	case o.Spec.SpecDigest != "":
		return in, false, nil
	}
	q, err := Request(o, cluster)
	if err != nil {
		return in, false, err
	}
	if _, in, err = gather.Gather(ctx, c.Client, c.Client, cluster, cluster.Status.Version); err != nil {
		return in, false, err
	}
	if s, err = Input(o, q, nil, in); err != nil {
		return in, false, err
	}
	return in, true, c.Client.Create(ctx, s)
}

// Input returns the InputSecret of an Operation. config is the deploy.yaml that is wanted; nil: that of the state.
func Input(o *eggov1.Operation, q request.Request, config []byte, in pod.Input) (*corev1.Secret, error) {
	text, err := request.Encode(q)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	s := &corev1.Secret{ObjectMeta: pod.Meta(o, eggov1.InputSecret(o.Name)), Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{eggov1.InputRequest: text, pod.InputPod: list}}
	if config != nil {
		s.Data[eggov1.InputConfig] = config
	}
	return s, nil
}

// write writes what changed of the status.
func (c *Controller) write(ctx context.Context, was, is *eggov1.Operation) error {
	is.Status.ObservedGeneration = is.Generation
	data, err := client.MergeFrom(was).Data(is)
	if err != nil || string(data) == "{}" {
		return err
	}
	return client.IgnoreNotFound(c.Client.Status().Patch(ctx, is, client.MergeFrom(was)))
}

// report makes an Event of the end of a run.
func (c *Controller) report(o *eggov1.Operation) {
	kind, reason, text := corev1.EventTypeNormal, string(o.Status.Phase), string(o.Spec.Verb)
	if f := o.Status.Failure; f != nil {
		kind, text = corev1.EventTypeWarning, text+": "+f.Message
	}
	c.Events.Event(o, kind, reason, cut(text))
}

// prune removes the oldest Operations of the cluster that have ended.
func (c *Controller) prune(ctx context.Context, o *eggov1.Operation) error {
	var all eggov1.OperationList
	if err := c.Client.List(ctx, &all, client.InNamespace(o.Namespace)); err != nil {
		return err
	}
	ended := slices.DeleteFunc(all.Items, func(x eggov1.Operation) bool {
		return !x.Status.Phase.Ended() || x.Spec.ClusterRef.Name != o.Spec.ClusterRef.Name
	})
	slices.SortFunc(ended, func(a, b eggov1.Operation) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for i := c.History; i < len(ended); i++ {
		background := client.PropagationPolicy(metav1.DeletePropagationBackground)
		if err := c.Client.Delete(ctx, &ended[i], background); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// conditions sets what kstatus reads, from the phase.
func conditions(o *eggov1.Operation, now time.Time) {
	st := &o.Status
	message := ""
	if st.Failure != nil {
		message = st.Failure.Message
	}
	ready, stalled, reason := metav1.ConditionFalse, metav1.ConditionFalse, eggov1.ReasonProgressing
	switch st.Phase {
	case eggov1.PhaseSucceeded:
		ready, reason = metav1.ConditionTrue, eggov1.ReasonSucceeded
	case eggov1.PhaseFailed, eggov1.PhaseStopped:
		stalled, reason = metav1.ConditionTrue, eggov1.ReasonOperationFailed
	case eggov1.PhasePending, eggov1.PhaseQueued, eggov1.PhaseRunning, eggov1.PhaseAsking, "":
	}
	setCondition(o, eggov1.ConditionReady, ready, reason, message)
	setCondition(o, eggov1.ConditionStalled, stalled, reason, message)
	switch {
	case st.Phase.Ended():
		setCondition(o, eggov1.ConditionReconciling, metav1.ConditionFalse, reason, "")
	case meta.FindStatusCondition(st.Conditions, eggov1.ConditionReconciling) == nil:
		setCondition(o, eggov1.ConditionReconciling, metav1.ConditionTrue, reason, "")
	}
	if st.Phase.Ended() && st.FinishTime == nil {
		at := metav1.NewTime(now)
		st.FinishTime = &at
	}
}

func setCondition(o *eggov1.Operation, kind string, is metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason,
		Message: cut(message), ObservedGeneration: o.Generation})
}
