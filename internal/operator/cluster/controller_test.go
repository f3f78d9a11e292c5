package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
)

// fakeHealth answers as the API server of a cluster.
type fakeHealth struct {
	answer Answer
	err    error
}

func (f *fakeHealth) Ask(context.Context, []byte) (Answer, error) { return f.answer, f.err }

// lab is a namespace of an API server with a Cluster, its machines and a controller. Its runs are those of the test.
type lab struct {
	*testing.T
	client.Client
	namespace string
	now       time.Time
	health    *fakeHealth
	cluster   Controller
}

func newLab(t *testing.T, s *apiservertest.Server, namespace string) *lab {
	t.Helper()
	l := &lab{T: t, Client: s.Client(t), namespace: namespace, now: time.Now().UTC(), health: &fakeHealth{}}
	l.cluster = Controller{Client: l.Client, Events: record.NewFakeRecorder(100), Health: l.health,
		Now: func() time.Time { return l.now }}
	l.must(l.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	l.must(l.Create(t.Context(), &corev1.Secret{ObjectMeta: l.meta("pool-key"), Type: corev1.SecretTypeBasicAuth,
		Data: map[string][]byte{"username": []byte("root"), "password": []byte("hunter2")}}))
	l.must(l.Create(t.Context(), &v1.Infrastructure{ObjectMeta: l.meta("infra"), Spec: v1.InfrastructureSpec{
		Bundles: []v1.BundleSource{{Version: "v1.34.2", Arch: "amd64",
			Claim: &v1.ClaimFile{Name: "c", Path: "b.tar.gz"}}}}}))
	l.must(l.Create(t.Context(), &v1.Cluster{ObjectMeta: l.meta("demo"), Spec: v1.ClusterSpec{
		MasterRequire:      &v1.RequireMachineConfig{Number: 1},
		MachineLoginSecret: &corev1.ObjectReference{Name: "pool-key"},
		Infrastructure:     &corev1.ObjectReference{Name: "infra"}}}))
	l.must(l.Create(t.Context(), &v1.Machine{ObjectMeta: l.meta("m1"),
		Spec: v1.MachineSpec{HostName: "m1", IP: "192.0.2.1", Arch: "amd64"}}))
	return l
}

func (l *lab) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: l.namespace}
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// look reconciles the Cluster and returns it as it is then; nil if it no longer exists.
func (l *lab) look() *v1.Cluster {
	l.Helper()
	key := client.ObjectKey{Namespace: l.namespace, Name: "demo"}
	_, err := l.cluster.Reconcile(l.Context(), reconcile.Request{NamespacedName: key})
	l.must(err)
	c := &v1.Cluster{}
	if err := l.Get(l.Context(), key, c); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		l.Fatal(err)
	}
	return c
}

// bound binds the machine, as the allocator does.
func (l *lab) bound(c *v1.Cluster) {
	l.Helper()
	l.must(l.Create(l.Context(), &v1.MachineBinding{ObjectMeta: l.meta(v1.BindingName("demo")),
		Spec: v1.MachineBindingSpec{ClusterRef: &v1.ClusterReference{Name: "demo"},
			Machines: []v1.BoundMachine{{Name: "m1", UID: "u", Roles: []v1.Role{v1.RoleMaster, v1.RoleWorker}}}}}))
	was := c.DeepCopy()
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1.ConditionMachinesBound,
		Status: metav1.ConditionTrue, Reason: v1.ReasonSucceeded, ObservedGeneration: c.Generation})
	l.must(l.Status().Patch(l.Context(), c, client.MergeFrom(was)))
}

// operations returns the Operations, by verb.
func (l *lab) operations() map[v1.Verb]*v1.Operation {
	l.Helper()
	var list v1.OperationList
	l.must(l.List(l.Context(), &list, client.InNamespace(l.namespace)))
	out := map[v1.Verb]*v1.Operation{}
	for i := range list.Items {
		out[list.Items[i].Spec.Verb] = &list.Items[i]
	}
	return out
}

// ends ends an Operation as its run would.
func (l *lab) ends(o *v1.Operation, phase v1.OperationPhase, failure *v1.OperationFailure) {
	l.Helper()
	was := o.DeepCopy()
	o.Status.Phase, o.Status.Failure = phase, failure
	l.must(l.Status().Patch(l.Context(), o, client.MergeFrom(was)))
}

// installed writes the state of a cluster from the input of a run.
func (l *lab) installed(o *v1.Operation) {
	l.Helper()
	l.must(state.Ensure(l.Context(), l.Client, l.namespace, "demo"))
	in, s := &corev1.Secret{}, &corev1.Secret{}
	l.must(l.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: v1.InputSecret(o.Name)}, in))
	l.must(l.Get(l.Context(), client.ObjectKey{Namespace: l.namespace,
		Name: v1.StateSecret("demo", v1.StateConfig)}, s))
	s.Data = map[string][]byte{"deploy.yaml": in.Data[v1.InputConfig]}
	l.must(l.Update(l.Context(), s))
	l.must(l.Create(l.Context(), &corev1.Secret{ObjectMeta: l.meta(v1.KubeconfigSecret("demo")),
		Data: map[string][]byte{v1.KubeconfigKey: []byte("kubeconfig")}}))
}

// is returns the conditions of a cluster that are named, as type=status/reason.
func is(c *v1.Cluster, kinds ...string) string {
	var out []string
	for _, kind := range kinds {
		if x := meta.FindStatusCondition(c.Status.Conditions, kind); x != nil {
			out = append(out, fmt.Sprintf("%s=%s/%s", kind, x.Status, x.Reason))
		}
	}
	return strings.Join(out, " ")
}

func (l *lab) want(c *v1.Cluster, want string) {
	l.Helper()
	if c == nil {
		l.Fatalf("the Cluster is gone, want %s", want)
	}
	if got := is(c, v1.ConditionReady, v1.ConditionReconciling, v1.ConditionStalled); got != want {
		l.Errorf("%s\nwant %s", got, want)
	}
	if c.Status.ObservedGeneration != c.Generation {
		l.Errorf("generation %d is observed, want %d", c.Status.ObservedGeneration, c.Generation)
	}
}

func TestController(t *testing.T) {
	s := apiservertest.Start(t)
	s.Apply(t, s.Client(t), "policies.yaml")
	t.Run("from apply to deletion", func(t *testing.T) { life(newLab(t, s, "life")) })
	t.Run("failure and retry", func(t *testing.T) { failures(newLab(t, s, "failures")) })
	t.Run("a wrong deletion", func(t *testing.T) { orphan(newLab(t, s, "orphan")) })
}

func life(l *lab) {
	const busy = "Ready=False/%[1]s Reconciling=True/%[1]s Stalled=False/Succeeded"
	c := l.look()
	l.want(c, fmt.Sprintf(busy, v1.ReasonWaitingForMachines))
	l.bound(c)
	c = l.look()
	l.want(c, fmt.Sprintf(busy, v1.ReasonProgressing))
	deploy := l.operations()[v1.VerbDeploy]
	if deploy == nil || !c.Status.HasCluster || c.Status.CurrentOperation.Name != deploy.Name {
		l.Fatalf("%+v\n%+v", deploy, c.Status)
	}
	if x := meta.FindStatusCondition(c.Status.Conditions, v1.ConditionMachinesBound); x == nil {
		l.Error("the condition of the allocator was removed")
	}
	l.want(l.look(), fmt.Sprintf(busy, v1.ReasonProgressing)) // nothing new
	if n := len(l.operations()); n != 1 {
		l.Errorf("%d Operations", n)
	}
	l.installed(deploy)
	l.ends(deploy, v1.PhaseSucceeded, nil)
	l.health.answer = Answer{Endpoint: "https://192.0.2.1:6443", Etcd: true,
		Nodes: []NodeHealth{{Name: "m1", Ready: true, ControlPlane: true}}}
	c = l.look()
	l.want(c, "Ready=True/Succeeded Reconciling=False/Succeeded Stalled=False/Succeeded")
	if st := c.Status; st.Version != "v1.34.2" || st.Nodes == nil || st.Nodes.Summary != "1/1" || st.Message != "" ||
		st.Endpoint != "https://192.0.2.1:6443" || st.KubeconfigSecretRef.Name != "demo-kubeconfig" {
		l.Errorf("%+v", st)
	}
	at := c.ResourceVersion
	if c = l.look(); c.ResourceVersion != at {
		l.Error("a look without news writes the status")
	}
	for _, f := range c.ManagedFields {
		if f.Manager == Owner && strings.Contains(string(f.FieldsV1.Raw), "f:spec") {
			l.Errorf("the operator owns fields of the spec: %s", f.FieldsV1.Raw)
		}
	}
	l.now = l.now.Add(2 * again)
	l.health.err = errors.New("connection refused")
	l.want(l.look(), "Ready=False/OperatorApiAway Reconciling=False/Succeeded Stalled=False/Succeeded")
	l.deleted()
}

// deleted deletes the cluster: nothing happens before it is confirmed.
func (l *lab) deleted() {
	l.Helper()
	c := l.look()
	apiservertest.Until(l.T, func() error { // the policy holds a moment after it was created
		if err := l.Delete(l.Context(), c, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a deletion without confirmation: %w", err)
		}
		return nil
	})
	annotate := func(as map[string]string) {
		was := c.DeepCopy()
		c.Annotations = as
		l.must(l.Patch(l.Context(), c, client.MergeFrom(was)))
	}
	annotate(map[string]string{v1.AnnotationConfirmDeletion: "demo"})
	l.must(l.Delete(l.Context(), c))
	annotate(nil)
	c = l.look()
	l.want(c, "Ready=False/OperatorNotConfirmed Reconciling=True/OperatorNotConfirmed "+
		"Stalled=True/OperatorNotConfirmed")
	if got := is(c, v1.ConditionDeletionBlocked); got != "DeletionBlocked=True/NotConfirmed" ||
		!strings.Contains(c.Status.Message, "confirm-deletion=demo") || l.operations()[v1.VerbCleanup] != nil {
		l.Errorf("%s %s", got, c.Status.Message)
	}
	annotate(map[string]string{v1.AnnotationConfirmDeletion: "demo"})
	l.look()
	cleanup := l.operations()[v1.VerbCleanup]
	if cleanup == nil || cleanup.Spec.Args == nil || !cleanup.Spec.Args.Purge {
		l.Fatalf("%+v", cleanup)
	}
	l.ends(cleanup, v1.PhaseSucceeded, nil)
	l.look()
	m := &v1.Machine{}
	l.must(l.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: "m1"}, m))
	if !meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionClean) {
		l.Errorf("the machine is not clean: %+v", m.Status.Conditions)
	}
	binding := &v1.MachineBinding{ObjectMeta: l.meta(v1.BindingName("demo"))}
	l.must(l.Delete(l.Context(), binding)) // as the allocator does
	if c = l.look(); c != nil {
		l.Errorf("the Cluster is still there: %+v", c.Status)
	}
	for _, part := range v1.StateParts() {
		s := &corev1.Secret{}
		err := l.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: v1.StateSecret("demo", part)}, s)
		if !apierrors.IsNotFound(err) {
			l.Errorf("the state %s is left: %v", part, err)
		}
	}
}

// failures: the Cluster repeats the failure of its run, without a secret; a retry is another Operation.
func failures(l *lab) {
	l.bound(l.look())
	l.look()
	deploy := l.operations()[v1.VerbDeploy]
	l.ends(deploy, v1.PhaseFailed, &v1.OperationFailure{Code: "ssh.auth-failed", Message: "The login was refused.",
		Next: "Correct the password."})
	c := l.look()
	l.want(c, "Ready=False/SshAuthFailed Reconciling=False/SshAuthFailed Stalled=True/SshAuthFailed")
	if want := deploy.Name + ": The login was refused. Correct the password."; c.Status.Message != want {
		l.Errorf("%q", c.Status.Message)
	}
	if c.Status.HasCluster {
		l.Error("no run has changed a machine, and the networks are fixed")
	}
	secret := &corev1.Secret{}
	l.must(l.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: "pool-key"}, secret))
	secret.Data["password"] = []byte("right")
	l.must(l.Update(l.Context(), secret))
	c = l.look()
	l.want(c, "Ready=False/Progressing Reconciling=True/Progressing Stalled=False/Succeeded")
	text, err := json.Marshal(c.Status)
	if encoded := base64.StdEncoding.EncodeToString([]byte("hunter2")); err != nil ||
		strings.Contains(string(text), "hunter2") || strings.Contains(string(text), encoded) {
		l.Errorf("a password is in the status: %v", err)
	}
}

// orphan: a Cluster with the policy Orphan leaves everything, and the same file applied again is a plan first.
func orphan(l *lab) {
	l.bound(l.look())
	l.look()
	deploy := l.operations()[v1.VerbDeploy]
	l.installed(deploy)
	l.ends(deploy, v1.PhaseSucceeded, nil)
	c := l.look()
	was := c.DeepCopy()
	c.Spec.DeletionPolicy = v1.DeletionOrphan
	l.must(l.Patch(l.Context(), c, client.MergeFrom(was)))
	l.must(l.Delete(l.Context(), c))
	if c = l.look(); c != nil {
		l.Fatal("the Cluster is still there")
	}
	again := &v1.Cluster{ObjectMeta: l.meta("demo"), Spec: was.Spec}
	again.Spec.EnableKubeletServing = true
	l.must(l.Create(l.Context(), again))
	meta.SetStatusCondition(&again.Status.Conditions, metav1.Condition{Type: v1.ConditionMachinesBound,
		Status: metav1.ConditionTrue, Reason: v1.ReasonSucceeded, ObservedGeneration: again.Generation})
	l.must(l.Status().Update(l.Context(), again))
	l.look()
	if plan := l.operations()[v1.VerbPlan]; plan == nil {
		l.Errorf("a cluster that was there before is changed without a plan: %v", l.operations())
	}
}
