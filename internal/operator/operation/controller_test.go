package operation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// fakeRuns is a launcher whose runs end when the test says so.
type fakeRuns struct {
	begun map[string]pod.Run
	is    map[string]Outcome
	ended []string
	err   error
}

func (f *fakeRuns) Launch(_ context.Context, r pod.Run) error {
	if f.err != nil {
		return f.err
	}
	if _, again := f.begun[r.Operation.Name]; !again {
		f.begun[r.Operation.Name] = r
		f.is[r.Operation.Name] = Outcome{Begun: true, Attempts: 1, Pod: r.Operation.Name + "-pod"}
	}
	return nil
}

func (f *fakeRuns) Outcome(_ context.Context, o *eggov1.Operation) (Outcome, error) {
	return f.is[o.Name], nil
}

func (f *fakeRuns) End(_ context.Context, o *eggov1.Operation) error {
	f.ended = append(f.ended, o.Name)
	return nil
}

// rig is a controller of one namespace with the Cluster demo.
type rig struct {
	*testing.T
	Controller
	runs *fakeRuns
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, eggov1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: "lab", UID: types.UID("uid-" + name)}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&eggov1.Operation{}).
		WithObjects(&eggov1.Cluster{ObjectMeta: meta("demo"), Status: eggov1.ClusterStatus{Version: "v1.34.2"}},
			&eggov1.MachineBinding{ObjectMeta: meta(eggov1.BindingName("demo"))}).WithObjects(objects...).Build()
	runs := &fakeRuns{begun: map[string]pod.Run{}, is: map[string]Outcome{}}
	return &rig{T: t, runs: runs, Controller: Controller{Client: c, Launcher: runs,
		Events: record.NewFakeRecorder(100), Now: func() time.Time { return time.Unix(5000, 0) }, MaxRuns: 2,
		Image: pod.Image{Name: "eggops:v1"}, History: 2, launched: map[types.UID]bool{},
		Sentence: func(f *event.Fault) (string, string) { return "sentence of " + f.Code, "next" }}}
}

// after reconciles an Operation and returns what it is then.
func (r *rig) after(name string) *eggov1.Operation {
	r.Helper()
	key := types.NamespacedName{Namespace: "lab", Name: name}
	if _, err := r.Reconcile(r.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		r.Fatal(err)
	}
	o := &eggov1.Operation{}
	if err := r.Client.Get(r.Context(), key, o); err != nil {
		r.Fatal(err)
	}
	return o
}

func (r *rig) change(o client.Object, change func()) {
	r.Helper()
	if err := r.Client.Get(r.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		r.Fatal(err)
	}
	change()
	if err := r.Client.Update(r.Context(), o); err != nil {
		r.Fatal(err)
	}
}

func person(name string, verb eggov1.Verb) *eggov1.Operation {
	o := op(name, "lab", "demo", 0, "")
	o.Spec.Verb = verb
	return &o
}

func condition(o *eggov1.Operation, kind string) string {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// The Operation of a person is completed, run once, and ends as its run does.
func TestReconcile_Succeeds(t *testing.T) {
	r := newRig(t, person("renew", eggov1.VerbRenew))
	o := r.after("renew")
	if o.Status.Phase != eggov1.PhasePending || condition(o, "Reconciling") != "True Progressing" {
		t.Fatalf("%+v", o.Status)
	}
	s := &corev1.Secret{}
	if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "lab", Name: "renew-input"}, s); err != nil {
		t.Fatal(err)
	}
	if q, err := request.Decode(s.Data[eggov1.InputRequest]); err != nil || q.Verb() != request.VerbRenew {
		t.Error(q, err)
	}
	if o = r.after("renew"); o.Status.PodName != "renew-pod" || len(r.runs.begun) != 1 {
		t.Errorf("%+v", o.Status)
	}
	zero := int32(0)
	r.runs.is["renew"] = Outcome{Begun: true, Ended: true, ExitCode: &zero}
	o = r.after("renew")
	if o.Status.Phase != eggov1.PhaseSucceeded || condition(o, "Ready") != "True Succeeded" ||
		condition(o, "Reconciling") != "False Succeeded" || o.Status.FinishTime == nil {
		t.Errorf("%+v", o.Status)
	}
	version := o.ResourceVersion
	if o = r.after("renew"); o.ResourceVersion != version {
		t.Error("an Operation that has ended is written again")
	}
}

// What the run wrote of its failure is kept; if it could write nothing, the Operation says so.
func TestReconcile_Fails(t *testing.T) {
	r := newRig(t, person("a", eggov1.VerbRenew), person("b", eggov1.VerbRenew))
	r.after("a")
	five := int32(5)
	r.runs.is["a"] = Outcome{Begun: true, Ended: true, ExitCode: &five, Pod: "p"}
	o := r.after("a")
	if o.Status.Phase != eggov1.PhaseFailed || o.Status.Failure.Code != "operator.run-died" ||
		condition(o, "Stalled") != "True OperationFailed" {
		t.Errorf("%+v", o.Status)
	}
	o = r.after("b")
	o.Status.Failure = &eggov1.OperationFailure{Code: "preflight.failed", Message: "m"}
	if err := r.Client.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	r.runs.is["b"] = Outcome{Begun: true, Ended: true, ExitCode: &five}
	if o = r.after("b"); o.Status.Failure.Code != "preflight.failed" || *o.Status.ExitCode != 5 {
		t.Errorf("%+v", o.Status)
	}
}

// An Operation waits while another one of its cluster runs, and while the Cluster is paused.
func TestReconcile_Waits(t *testing.T) {
	r := newRig(t, person("a", eggov1.VerbRenew), person("b", eggov1.VerbRenew))
	r.after("a")
	o := r.after("b")
	if o.Status.Phase != eggov1.PhaseQueued || o.Status.Position != 1 || condition(o, "Reconciling") != "True Queued" {
		t.Errorf("%+v", o.Status)
	}
	if got := r.waiting(t.Context()); len(got) != 2 { // the first one is Pending: its run has written nothing yet
		t.Error(got)
	}
	cluster := &eggov1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "lab"}}
	r.change(cluster, func() { cluster.Spec.Paused = true })
	zero := int32(0)
	r.runs.is["a"] = Outcome{Begun: true, Ended: true, ExitCode: &zero}
	r.after("a")
	if o = r.after("b"); o.Status.Phase != eggov1.PhaseQueued || condition(o, "Reconciling") != "True Paused" {
		t.Errorf("%+v", o.Status)
	}
	r.change(cluster, func() { cluster.Spec.Paused = false })
	if o = r.after("b"); o.Status.Phase != eggov1.PhasePending || o.Status.Position != 0 {
		t.Errorf("%+v", o.Status)
	}
}

// A stop before the run begins ends the Operation; a stop between two attempts makes no further attempt.
func TestReconcile_Stop(t *testing.T) {
	r := newRig(t, person("a", eggov1.VerbRenew), person("b", eggov1.VerbRenew))
	r.after("a")
	stop := func(o *eggov1.Operation) { r.change(o, func() { o.Spec.Stop = eggov1.StopSteps }) }
	stop(person("b", eggov1.VerbRenew))
	if o := r.after("b"); o.Status.Phase != eggov1.PhaseStopped || len(r.runs.begun) != 1 {
		t.Errorf("%+v", o.Status)
	}
	stop(person("a", eggov1.VerbRenew))
	if o := r.after("a"); o.Status.Phase != eggov1.PhasePending || len(r.runs.ended) != 0 {
		t.Errorf("the run is not left to end its steps: %+v", o.Status)
	}
	r.runs.is["a"] = Outcome{Begun: true, Idle: true}
	if o := r.after("a"); o.Status.Phase != eggov1.PhaseStopped || len(r.runs.ended) != 1 {
		t.Errorf("%+v %v", o.Status, r.runs.ended)
	}
}

// What cannot be run fails at once with a sentence, and is not tried again.
func TestReconcile_Refuses(t *testing.T) {
	alone := person("alone", eggov1.VerbRenew)
	alone.Spec.ClusterRef.Name = "none"
	for want, o := range map[string]*eggov1.Operation{
		"operator.no-cluster": alone, "operator.no-claim": person("x", eggov1.VerbSnapshot),
		"operator.verb": person("y", eggov1.VerbUpgrade), "operator.no-claim ": person("z", eggov1.VerbBackup),
	} {
		t.Run(want, func(t *testing.T) {
			r := newRig(t, o)
			got := r.after(o.Name)
			if got.Status.Phase != eggov1.PhaseFailed || got.Status.Failure.Code != strings.TrimSpace(want) ||
				len(r.runs.begun) > 0 {
				t.Errorf("%+v", got.Status)
			}
		})
	}
	t.Run("an affinity that is none", func(t *testing.T) {
		r := newRig(t, person("a", eggov1.VerbRenew))
		r.runs.err = event.NewFault(event.ClassUsage, "operator.affinity", nil, "cluster", "demo")
		if o := r.after("a"); o.Status.Phase != eggov1.PhaseFailed || o.Status.Failure.Code != "operator.affinity" {
			t.Errorf("%+v", o.Status)
		}
	})
	t.Run("an API that does not answer", func(t *testing.T) {
		r := newRig(t, person("a", eggov1.VerbRenew))
		r.runs.err = errors.New("no answer")
		key := types.NamespacedName{Namespace: "lab", Name: "a"}
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err == nil {
			t.Error("it is not tried again")
		}
	})
	t.Run("the input of another", func(t *testing.T) {
		r := newRig(t, person("a", eggov1.VerbRenew), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a-input",
			Namespace: "lab"}})
		if o := r.after("a"); o.Status.Phase != eggov1.PhaseFailed || o.Status.Failure.Code != "operator.input-taken" {
			t.Errorf("%+v", o.Status)
		}
	})
}

// The Operation of the Cluster controller waits for the input that is written after it.
func TestReconcile_WaitsForItsInput(t *testing.T) {
	o := person("a", eggov1.VerbDeploy)
	o.Spec.SpecDigest = "sha256:x"
	r := newRig(t, o)
	if got := r.after("a"); got.Status.Phase != eggov1.PhaseQueued || len(r.runs.begun) != 0 {
		t.Errorf("%+v", got.Status)
	}
	s, err := Input(o, request.Deploy{Common: request.OfCluster("demo")}, []byte("text"),
		pod.Input{Logins: []string{"l"}})
	if err == nil {
		err = r.Client.Create(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := r.after("a"); got.Status.Phase != eggov1.PhasePending || r.runs.begun["a"].Input.Logins[0] != "l" {
		t.Errorf("%+v", got.Status)
	}
}

// The Operations of a cluster that have ended are kept up to a number.
func TestReconcile_Prunes(t *testing.T) {
	var objects []client.Object
	for i, name := range []string{"o1", "o2", "o3", "o4"} {
		o := op(name, "lab", "demo", 10-i, eggov1.PhaseSucceeded)
		objects = append(objects, &o)
	}
	r := newRig(t, objects...)
	r.after("o4")
	var left eggov1.OperationList
	if err := r.Client.List(t.Context(), &left); err != nil || len(left.Items) != 2 || left.Items[0].Name != "o3" {
		t.Errorf("%v %+v", err, left.Items)
	}
}
