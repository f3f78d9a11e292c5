package runner

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// patch changes the spec of an Operation as a person does.
func (w *world) patch(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		t.Error(err)
	}
	op := &v1.Operation{}
	op.Namespace, op.Name = "ns", name
	err = w.client.Patch(context.Background(), op, client.RawPatch(types.MergePatchType, text))
	if err != nil {
		t.Error(err)
	}
}

// until polls, at most for a minute.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("never: " + what)
			return
		}
	}
}

// slow is a stdout that takes a record in 30 ms, once steps have ended: a run that is not stopped takes long.
type slow struct{ *output }

func (s slow) Write(p []byte) (int, error) {
	if strings.Contains(s.String(), `"type":"step_ended"`) {
		time.Sleep(30 * time.Millisecond)
	}
	return s.output.Write(p)
}

// atWork reports whether the run has begun its steps.
func (w *world) atWork() bool { return strings.Contains(w.out.String(), `"type":"step_ended"`) }

// A run ends early when its Operation says so, when it is deleted, and when its pod is to end. Another run continues.
func TestRun_Stopped(t *testing.T) {
	for name, stop := range map[string]func(*testing.T, *world, chan struct{}, context.CancelFunc){
		"stop": func(t *testing.T, w *world, _ chan struct{}, _ context.CancelFunc) {
			w.patch(t, "deploy", map[string]any{"stop": "Stop"})
		},
		"abort": func(t *testing.T, w *world, _ chan struct{}, _ context.CancelFunc) {
			w.patch(t, "deploy", map[string]any{"stop": "Abort"})
		},
		"SIGTERM":        func(_ *testing.T, _ *world, term chan struct{}, _ context.CancelFunc) { close(term) },
		"end of context": func(_ *testing.T, _ *world, _ chan struct{}, cancel context.CancelFunc) { cancel() },
		"lost lease": func(t *testing.T, w *world, _ chan struct{}, _ context.CancelFunc) {
			if err := w.client.Delete(t.Context(), lease("")); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "stop" && name != "lost lease" {
				long(t)
			}
			t.Parallel()
			w := newWorld(t, phasestest.Shape{Masters: 1}, interceptor.Funcs{})
			w.asks(t, "deploy", v1.OperationSpec{Verb: v1.VerbDeploy}, nil, w.Lab.DeployYAML())
			o, term := w.options("deploy"), make(chan struct{})
			o.Terminate = term
			o.Out = slow{w.out}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over := make(chan error)
			go func() { over <- Run(ctx, o) }()
			until(t, "the run begins its steps", w.atWork)
			stop(t, w, term, cancel)
			err := <-over
			st := w.status(t, "deploy")
			phase := v1.PhaseRunning // another attempt continues
			if name == "stop" || name == "abort" {
				phase = v1.PhaseStopped
			}
			if exitcode.Of(err) != exitcode.Interrupted || st.Phase != phase || st.ExitClass != "Interrupted" ||
				st.Failure == nil || st.FinishTime == nil {
				t.Fatalf("%+v %v", st, err)
			}
			if (st.Failure.Code == "lock.lost") != (name == "lost lease") {
				t.Errorf("%+v", st.Failure)
			}
			if phase == v1.PhaseStopped { // the Job does not know that it was asked for
				_, err := w.runs(t, "deploy")
				if code(err) != "operation.stopped" || exitcode.Of(err) != exitcode.Usage {
					t.Error(err)
				}
				if after := w.status(t, "deploy"); after.FinishTime.Time != st.FinishTime.Time || after.Attempts != 1 {
					t.Errorf("%+v", after)
				}
			}
			w.asks(t, "next", v1.OperationSpec{Verb: v1.VerbDeploy}, nil, w.Lab.DeployYAML())
			w.succeeds(t, "next")
		})
	}
}

// A run asks what becomes of a step that failed, and goes by the decision. One decision counts once.
func TestRun_Decision(t *testing.T) {
	w := newWorld(t, phasestest.Shape{Masters: 1, Workers: 1}, interceptor.Funcs{})
	sick := w.Lab.Nodes["w1"].State("broken/kubelet.service")
	if err := os.MkdirAll(w.Lab.Nodes["w1"].State("broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sick, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	q := request.Deploy{Common: request.Common{OnFailure: request.OnFailure{Ask: true}}}
	w.asks(t, "deploy", v1.OperationSpec{Verb: v1.VerbDeploy}, q, w.Lab.DeployYAML())
	over := make(chan error)
	go func() { over <- Run(t.Context(), w.options("deploy")) }()
	var step string
	asked := func(times int) {
		t.Helper()
		until(t, "the run asks", func() bool {
			st := w.status(t, "deploy")
			if st.Phase != v1.PhaseAsking || strings.Count(w.out.String(), `"type":"step_asked"`) != times {
				return false
			}
			f := st.Asked[0]
			step = f.Step
			return f.Machine == "w1" && f.Message != "" && f.Code != ""
		})
	}
	asked(1)
	again := []any{map[string]any{"step": step, "decision": "retry"}}
	w.patch(t, "deploy", map[string]any{"decisions": again})
	asked(2) // it failed again, and the decision does not count a second time
	if err := os.Remove(sick); err != nil {
		t.Fatal(err)
	}
	w.patch(t, "deploy", map[string]any{"decisions": nil})
	until(t, "the spec without decisions is read", func() bool { return w.status(t, "deploy").Phase == v1.PhaseAsking })
	w.patch(t, "deploy", map[string]any{"decisions": again})
	if err := <-over; err != nil {
		t.Error(err)
	}
	if st := w.status(t, "deploy"); st.Phase != v1.PhaseSucceeded || len(st.Asked) > 0 {
		t.Errorf("%+v", st)
	}
}
