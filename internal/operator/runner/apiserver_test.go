package runner

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	controller "github.com/eggo-k8s/eggo/internal/operator/operation"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
	"github.com/eggo-k8s/eggo/internal/testkit/operatortest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// account returns a client with the rights of the pod of an Operation and no others.
func account(t *testing.T, s *apiservertest.Server, operation string) client.WithWatch {
	t.Helper()
	c := rest.CopyConfig(s.Config)
	c.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:ns:" + operation,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"}}
	out, err := client.NewWithWatch(c, client.Options{Scheme: apiservertest.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// On a real API server, with the rights of a pod: a run needs no more than its own objects, and reaches no others.
func TestRun_APIServer(t *testing.T) {
	long(t)
	s := apiservertest.Start(t)
	admin := s.Client(t)
	w := &world{Machines: operatortest.NewMachines(t, phasestest.Shape{Masters: 1}), logins: t.TempDir(),
		claim: t.TempDir(), out: &output{}}
	cluster := &v1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sim"},
		Spec: v1.ClusterSpec{MasterRequire: &v1.RequireMachineConfig{Number: 1}}}
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, cluster} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	launch := func(name string) v1.OperationStatus {
		t.Helper()
		w.away(t)
		op := &v1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1.OperationSpec{
			ClusterRef: v1.OperationCluster{Name: "sim"}, Verb: v1.VerbDeploy}}
		if err := admin.Create(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		in := &corev1.Secret{ObjectMeta: pod.Meta(op, v1.InputSecret(name)),
			Data: map[string][]byte{v1.InputConfig: w.Lab.DeployYAML()}}
		if err := admin.Create(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if err := state.Ensure(t.Context(), admin, "ns", "sim"); err != nil {
			t.Fatal(err)
		}
		jobs := &controller.Jobs{Client: admin}
		run := pod.Run{Operation: op, Cluster: cluster, Image: pod.Image{Name: "eggops:v1"}}
		if err := jobs.Launch(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		w.client = account(t, s, name)
		apiservertest.Until(t, func() error { // the role may not be known yet
			return w.client.Get(t.Context(), client.ObjectKeyFromObject(in), &corev1.Secret{})
		})
		if err := Run(t.Context(), w.options(name)); err != nil {
			t.Fatal(err)
		}
		return w.status(t, name)
	}
	if st := launch("first"); st.Phase != v1.PhaseSucceeded || st.Progress.Done == 0 || st.ObservedGeneration != -1 {
		t.Errorf("%+v", st)
	}
	launch("second")
	if n := w.changed(t); n != 0 {
		t.Error("the second run has changed", n)
	}
	op := &v1.Operation{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "first"}, op); err != nil {
		t.Fatal(err)
	}
	for _, f := range op.ManagedFields {
		applies := f.Subresource == "status" && f.Operation == metav1.ManagedFieldsOperationApply
		if f.Manager == FieldManager && !applies {
			t.Errorf("%+v", f)
		}
	}
	secret := func(name string) *corev1.Secret {
		out := &corev1.Secret{}
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, out); err != nil {
			t.Fatal(name, err)
		}
		return out
	}
	conf := secret("sim-kubeconfig")
	if !strings.Contains(string(conf.Data[v1.KubeconfigKey]), "clusters") || len(conf.OwnerReferences) != 1 {
		t.Errorf("%v", conf.OwnerReferences)
	}
	if got := unzipped(t, secret("second-log").Data[LogKey]); !strings.Contains(got, `"type":"run_ended"`) {
		t.Error(got)
	}
	stolen := account(t, s, "second")
	other, own := secret("first-log"), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}}
	for what, err := range map[string]error{
		"the log of another":  stolen.Get(t.Context(), client.ObjectKeyFromObject(other), other),
		"all Secrets":         stolen.List(t.Context(), &corev1.SecretList{}, client.InNamespace("ns")),
		"its own spec":        patchSpec(stolen, "second"),
		"another's status":    patchStatus(t.Context(), stolen, "first"),
		"a Secret of its own": stolen.Create(t.Context(), own),
		"its state":           stolen.Delete(t.Context(), secret("sim-state-pki")),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func patchSpec(c client.Client, name string) error {
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"stop": "Stop"}})
	if err != nil {
		return err
	}
	op := &v1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	return c.Patch(context.Background(), op, client.RawPatch("application/merge-patch+json", text))
}

func patchStatus(ctx context.Context, c client.Client, name string) error {
	op := &v1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	return c.Status().Patch(ctx, op, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"step":"x"}}`)))
}
