package runner

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// Bundles that are in no claim are fetched before the run begins; while that lasts, the run can be stopped.
func TestRun_Fetch(t *testing.T) {
	w := newWorld(t, phasestest.Shape{Masters: 1}, interceptor.Funcs{})
	list, err := json.Marshal(pod.Input{Bundles: []pod.Source{{Path: "/bundles/claim/a", Claim: "a"},
		{Path: "/bundles/url/b/bundle.tar.gz", URL: "https://example.com/b"}}})
	if err != nil {
		t.Fatal(err)
	}
	wants := func(name string, input []byte) Options {
		w.asks(t, name, v1.OperationSpec{Verb: v1.VerbDeploy}, nil, w.Lab.DeployYAML())
		in := &corev1.Secret{}
		key := client.ObjectKey{Namespace: "ns", Name: v1.InputSecret(name)}
		if err := w.client.Get(t.Context(), key, in); err != nil {
			t.Fatal(err)
		}
		in.Data[pod.InputPod] = input
		if err := w.client.Update(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		return w.options(name)
	}
	o := wants("fails", list)
	o.Fetch = func(_ context.Context, s pod.Source) error {
		if s.URL != "https://example.com/b" {
			t.Error(s)
		}
		return event.NewFault(event.ClassBundle, "fetch.sum-mismatch", nil, "what", "b")
	}
	err = Run(t.Context(), o)
	if st := w.status(t, "fails"); code(err) != "fetch.sum-mismatch" || st.ExitClass != "Bundle" ||
		st.Failure.Code != "fetch.sum-mismatch" || st.RunID != "" || st.Step != "" {
		t.Errorf("%+v %v", st, err)
	}
	o = wants("stopped-then", list)
	o.Fetch = func(ctx context.Context, _ pod.Source) error {
		until(t, "the status names the step", func() bool {
			st := w.status(t, "stopped-then")
			return st.Phase == v1.PhaseRunning && st.Step == fetchStep
		})
		w.patch(t, "stopped-then", map[string]any{"stop": "Stop"})
		<-ctx.Done()
		return errors.New("broken off")
	}
	err = Run(t.Context(), o)
	if st := w.status(t, "stopped-then"); code(err) != "run.interrupted" || st.Phase != v1.PhaseStopped {
		t.Errorf("%+v %v", st, err)
	}
	if err := Run(t.Context(), wants("damaged", []byte("{"))); code(err) != "operation.input" {
		t.Error(err)
	}
	o = wants("good", list)
	o.Fetch = func(context.Context, pod.Source) error { return nil }
	if err := Run(t.Context(), o); err != nil {
		t.Error(err)
	}
	if st := w.status(t, "good"); st.Phase != v1.PhaseSucceeded || st.Step != "" {
		t.Errorf("%+v", st)
	}
}
