package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/operatortest"
)

func operationNamed(name string) *v1.Operation {
	return &v1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

// planOf is a run over machines, each with a step of each phase.
func planOf(machines, phases int) event.PlanMade {
	var p event.PlanMade
	for j := range phases {
		p.Phases = append(p.Phases, event.Phase{ID: fmt.Sprintf("phase-%d", j)})
	}
	for i := range machines {
		host := fmt.Sprintf("n%d", i)
		p.Hosts = append(p.Hosts, event.Host{Name: host})
		for j := range phases {
			p.Steps = append(p.Steps, event.Step{ID: fmt.Sprintf("phase-%d.work/%s", j, host), Host: host,
				Phase: fmt.Sprintf("phase-%d", j)})
		}
	}
	return p
}

// A status is bounded, whatever the machines are called and print, and has no bytes that are not text.
func TestBoard_Bounds(t *testing.T) {
	b := newBoard(operationNamed("op"), "pod", time.Unix(0, 0), io.Discard)
	long := strings.Repeat("\x1b[31mé", 5000)
	emit := func(e event.Event) {
		if err := b.Emit(event.Record{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	const machines = 1000
	emit(planOf(machines, 100))
	for i := range machines {
		step := fmt.Sprintf("phase-0.work/n%d", i)
		fault := event.NewFault(event.ClassFailed, "node.command-failed", errors.New(long), "status", "1", "said", long)
		emit(event.StepStarted{Step: step, Try: 1})
		emit(event.StepAsked{Step: step, Try: 1, Fault: *fault})
		if i >= 100 {
			emit(event.StepEnded{Step: step, Outcome: event.Failed, Fault: fault})
		}
	}
	var changes []request.PlannedChange
	for range 300 {
		changes = append(changes, request.PlannedChange{Desc: event.M("change.write-file", "path", long)})
	}
	b.planned([]request.PlannedNode{{Node: "n1", Changes: changes}})
	check := func() {
		t.Helper()
		st := b.status()
		text, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		p := st.Progress
		if len(p.Phases) > mostPhases || len(p.Failures) != mostFailures || len(p.NotDone) != mostNotDone ||
			len(st.Changes) != mostChanges || st.ChangesTotal != 300 || p.Total != machines*100 || len(text) > 300<<10 {
			t.Errorf("%d phases, %d failures, %d machines, %d changes, %d bytes", len(p.Phases), len(p.Failures),
				len(p.NotDone), len(st.Changes), len(text))
		}
		for _, f := range append(p.Failures, st.Asked...) {
			if len([]rune(f.Message)) > mostText || strings.ContainsRune(f.Message, 0x1b) {
				t.Errorf("%d characters: %q", len([]rune(f.Message)), f.Message[:50])
			}
		}
	}
	if st := b.status(); st.Phase != v1.PhaseAsking || len(st.Asked) != mostAsked {
		t.Error(st.Phase, len(st.Asked))
	}
	check()
	b.end(event.NewFault(event.ClassFailed, "run.failed", nil, "count", "900"))
	check()
	st := b.status()
	if st.Failure.Code != "node.command-failed" || st.Failure.Machine != "n100" || len(st.Asked) != 0 {
		t.Errorf("%+v", st.Failure)
	}
}

// The status is written at most every two seconds, and at once when a phase changes. Without a change it is not
// written.
func TestPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writes, away atomic.Int32
		var last atomic.Pointer[string]
		c := operatortest.Client(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, w client.Client,
			sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			if away.Load() > 0 {
				return errors.New("connection refused")
			}
			writes.Add(1)
			data, _ := p.Data(o)
			last.Store(new(string(data)))
			return w.SubResource(sub).Patch(ctx, o, p, opts...)
		}}, operationNamed("op"))
		b := newBoard(operationNamed("op"), "pod", time.Now(), io.Discard)
		p := publish(t.Context(), c, client.ObjectKey{Namespace: "ns", Name: "op"}, b)
		step := 0
		emit := func(e event.Event) {
			step++
			if err := b.Emit(event.Record{Seq: uint64(step), Event: e}); err != nil {
				t.Error(err)
			}
		}
		emit(planOf(50, 10))
		synctest.Wait()
		before := writes.Load()
		for i := range 500 { // for ten seconds
			id := fmt.Sprintf("phase-%d.work/n%d", i/50, i%50)
			emit(event.StepStarted{Step: id, Try: 1})
			emit(event.StepEnded{Step: id, Outcome: event.Changed})
			time.Sleep(20 * time.Millisecond)
		}
		if n := writes.Load() - before; n < 4 || n > 6 {
			t.Error("writes in ten seconds:", n)
		}
		time.Sleep(5 * time.Second)
		before = writes.Load()
		emit(event.Notice{Text: event.M("run.clock-set")})
		time.Sleep(time.Minute)
		if n := writes.Load() - before; n != 0 {
			t.Error("writes without a change:", n)
		}
		emit(event.StepStarted{Step: "phase-0.work/n0", Try: 2})
		emit(event.PhaseStarted{Phase: "phase-1"})
		synctest.Wait()
		if n := writes.Load() - before; n != 1 {
			t.Error("writes of a phase that begins:", n)
		}
		away.Store(1)
		b.end(nil)
		go func() {
			time.Sleep(time.Minute)
			away.Store(0)
		}()
		p.finish(t.Context())
		if !strings.Contains(*last.Load(), `"phase":"Succeeded"`) {
			t.Error(*last.Load())
		}
		op := operationNamed("op")
		err := c.Get(t.Context(), client.ObjectKeyFromObject(op), op)
		if err != nil || op.Status.Phase != v1.PhaseSucceeded {
			t.Error(op.Status.Phase, err)
		}
		for _, f := range op.ManagedFields {
			owned := string(f.FieldsV1.Raw)
			if f.Manager == FieldManager && (f.Operation != metav1.ManagedFieldsOperationApply ||
				strings.Contains(owned, "f:spec") || strings.Contains(owned, "f:conditions") ||
				strings.Contains(owned, "f:observedGeneration")) {
				t.Errorf("%s %s", f.Subresource, owned)
			}
		}
	})
}

// A log that is too large loses lines of its middle.
func TestCompress(t *testing.T) {
	var text strings.Builder
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- for text that does not compress
	for i := range 2000 {
		fmt.Fprintf(&text, "%d %x\n", i, random.Uint64())
	}
	all, leftOut, err := compress([]byte(text.String()), 1<<20)
	if err != nil || leftOut != 0 || unzipped(t, all) != text.String() {
		t.Error(leftOut, err)
	}
	for _, most := range []int{100, 1000, len(all) / 2, len(all) - 1} {
		data, leftOut, err := compress([]byte(text.String()), most)
		got := unzipped(t, data)
		lines := strings.Count(got, "\n")
		if err != nil || len(data) > most || leftOut < 2000-lines || most > 1000 &&
			(!strings.HasPrefix(got, "0 ") || !strings.Contains(got, "\n1999 ")) || most > 1000 && len(data) < most/2 {
			t.Errorf("%d: %d bytes, %d lines, %d left out, %v", most, len(data), lines, leftOut, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	pool := filepath.Join(dir, "pool")
	// As kubelet mounts a Secret: each file is a link into a directory that a link names.
	if err := os.MkdirAll(filepath.Join(pool, "..2026"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"password": "open\n", "passphrase": "sesame", "empty": "\n",
		"large": strings.Repeat("x", maxSecret+1)} {
		err := errors.Join(os.WriteFile(filepath.Join(pool, "..2026", name), []byte(text), 0o400),
			os.Symlink(filepath.Join("..data", name), filepath.Join(pool, name)))
		if err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Symlink("..2026", filepath.Join(pool, "..data")),
		os.WriteFile(filepath.Join(outside, "shadow"), []byte("root"), 0o400),
		os.Symlink(filepath.Join(outside, "shadow"), filepath.Join(dir, "link")))
	if err != nil {
		t.Fatal(err)
	}
	s := secrets{dir}
	for _, tc := range []struct {
		q    ask.Secret
		want string
	}{
		{ask.Secret{ID: "password", From: "file:" + pool + "/password"}, "open"},
		{ask.Secret{ID: operation.KeyQuestion(pool + "/ssh-privatekey"), From: "prompt"}, "sesame"},
		{ask.Secret{ID: operation.KeyQuestion(dir + "/other/ssh-privatekey"), From: "prompt"}, ""},
		{ask.Secret{ID: operation.KeyQuestion(outside + "/key"), From: "prompt"}, ""},
		{ask.Secret{ID: "password", From: "prompt"}, ""},
		{ask.Secret{ID: "password", From: "env:HOME"}, ""},
		{ask.Secret{ID: "password", From: "file:" + outside + "/shadow"}, ""},
		{ask.Secret{ID: "password", From: "file:" + dir + "/../" + filepath.Base(outside) + "/shadow"}, ""},
		{ask.Secret{ID: "password", From: "file:" + dir + "/link"}, ""},
		{ask.Secret{ID: "password", From: "file:" + pool + "/empty"}, ""},
		{ask.Secret{ID: "password", From: "file:" + pool + "/large"}, ""},
		{ask.Secret{ID: "password", From: "file:" + pool + "/missing"}, ""},
	} {
		got, err := s.Ask(t.Context(), tc.q)
		if got.Secret != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%+v: %q %v", tc.q, got.Secret, err)
		}
	}
	keys := ask.HostKeys{Keys: make([]ask.HostKey, 2)}
	if yes, err := ask.Trusts(t.Context(), s, keys); yes || err != nil {
		t.Error("a host key is trusted", err)
	}
	if yes, err := ask.Trusts(t.Context(), s, ask.Signer{}); yes || err == nil {
		t.Error("a signer is trusted")
	}
}
