package operation

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

func deployOf(f *fakes) request.Deploy {
	file := filepath.Join(f.lab.Dir, "deploy.yaml")
	return request.Deploy{Common: request.Common{Source: request.Source{File: file, Text: f.lab.DeployYAML()}}}
}

// A deploy and what follows it: the log has the verb, the options and what continues it; the handle has the records.
func TestARunFromItsStartToItsEnd(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	var opened Run
	d.Opened = func(r Run) error { opened = r; return nil }
	q := deployOf(f)
	q.OnFailure = request.OnFailure{Do: event.LeaveOut}
	h, err := Start(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	var first, last event.Record
	for rec, err := range h.Events(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if first.Seq == 0 {
			first = rec
		}
		last = rec
	}
	res, err := h.Wait(t.Context())
	if err != nil || !res.Logged || res.Outcome != event.Changed || res.Changed == 0 {
		t.Fatalf("%+v %v", res, err)
	}
	if h.Run() != opened || opened.Cluster != "sim" || opened.Run == "" {
		t.Errorf("%+v %+v", h.Run(), opened)
	}
	began, _ := first.Event.(event.RunStarted)
	if began.Verb != "deploy" || began.Options == nil || began.Options.OnFailure != "skip" ||
		began.File != q.Source.File {
		t.Errorf("%+v", began)
	}
	ended, _ := last.Event.(event.RunEnded)
	if ended.Outcome != event.Changed || len(ended.Next) < 4 {
		t.Errorf("%+v", ended)
	}
	for _, m := range ended.Next {
		if m.Key == "next.cleanup" && (m.Call == nil || m.Call.Verb != "cleanup" || m.Call.Cluster+m.Call.File == "") {
			t.Errorf("%+v", m)
		}
	}
	if f.locked["m1"] != "me@here pid 7: eggo-tui deploy sim" {
		t.Error(f.locked)
	}
	own, err := os.ReadFile(filepath.Join(f.lab.StateDir(), "deploy.yaml"))
	copied, err2 := os.ReadFile(filepath.Join(h.Run().Dir, "deploy.yaml"))
	if err != nil || err2 != nil || !bytes.Equal(own, copied) {
		t.Error(err, err2)
	}
	n := 0
	for rec := range h.Events(t.Context(), last.Seq) {
		n++
		if rec.Seq < last.Seq {
			t.Error(rec.Seq)
		}
	}
	if n != 1 {
		t.Errorf("%d records from the last one on", n)
	}
	c, _ := journal.At(f.root, "sim")
	if err := c.Free(); err != nil {
		t.Error(err)
	}
}

// What is refused when the request is shaped is in the log; what is refused before leaves none.
func TestWhereRefusalsAre(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	q := deployOf(f)
	q.Limit = []string{"nobody"}
	h, err := Start(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Wait(t.Context())
	if f := event.AsFault(err); f == nil || f.Code != "usage.limit" || !res.Logged {
		t.Errorf("%+v %v", res, err)
	}
	var kinds []string
	for rec := range journal.Read(h.Run().Dir) {
		switch e := rec.Event.(type) {
		case event.RunStarted:
			kinds = append(kinds, "started")
		case event.RunEnded:
			kinds = append(kinds, "ended "+e.Fault.Code)
		}
	}
	if len(kinds) != 2 || kinds[1] != "ended usage.limit" {
		t.Error(kinds)
	}
	before, _ := os.ReadDir(filepath.Dir(h.Run().Dir))
	bad := request.Renew{Common: q.Common}
	bad.HostKeys = "whatever"
	for code, q := range map[string]request.Request{
		"usage.host-keys":      bad,
		"delete.drain-timeout": request.Delete{Common: deployOf(f).Common, Names: []string{"m1"}},
		"config.no-file":       request.Deploy{Common: request.Common{Source: request.Source{File: "/nowhere.yaml"}}},
		"usage.no-cluster": request.Deploy{
			Common: request.Common{Source: request.Source{Cluster: "other"}}},
		"hook.path": request.Deploy{Common: request.Common{
			Source: request.Source{File: "/nowhere.yaml"}, Hooks: request.Hooks{Before: []string{"rel.sh"}}}},
	} {
		if _, err := Start(t.Context(), q, d); event.AsFault(err) == nil || event.AsFault(err).Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	if after, _ := os.ReadDir(filepath.Dir(h.Run().Dir)); len(after) != len(before) {
		t.Errorf("%d runs, before %d", len(after), len(before))
	}
}

// Of a cluster whose installation was refused it is said that it is not installed yet, and of one that was removed that
// it was, and not that there is none: list shows both.
func TestAClusterThatIsNotInstalledYet(t *testing.T) {
	_, d := simulate(t, phasestest.Shape{Masters: 1})
	j, err := journal.Open(d.Store.Where(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		verb, code string
		how        event.RunEnded
	}{
		{"deploy", "usage.not-installed", event.RunEnded{Outcome: event.Failed, Exit: 5,
			Fault: event.NewFault(event.ClassPreflight, "preflight.failed", nil)}},
		{"cleanup", "usage.removed", event.RunEnded{Outcome: event.Changed}},
	} {
		log, err := j.NewRun(c.verb, time.Now().Add(time.Duration(i)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		bus := event.NewBus(time.Now, log)
		for _, e := range []event.Event{event.RunStarted{Cluster: "demo", Verb: c.verb}, c.how} {
			if err := bus.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Status(t.Context(), request.OfCluster("demo"), d); code(err) != c.code {
			t.Errorf("%s: %v, want %s", c.verb, err, c.code)
		}
		if _, err := OnlyCluster(t.Context(), d.Store, ""); code(err) != c.code {
			t.Errorf("the only one after %s: %v, want %s", c.verb, err, c.code)
		}
	}
}

// The certificates of a cluster that has none here cannot be renewed, and there is no run of it.
func TestRenewNeedsCertificates(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	if err := os.RemoveAll(filepath.Join(f.lab.StateDir(), "pki")); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), request.Renew{Common: deployOf(f).Common}, d)
	if f := event.AsFault(err); f == nil || f.Code != "certs.no-cluster" {
		t.Error(err)
	}
	c, _ := journal.At(f.root, "sim")
	if runs, err := c.Runs(); len(runs) > 0 || err != nil {
		t.Error(runs, err)
	}
	if err := c.Free(); err != nil {
		t.Error(err)
	}
}

// A stop lets the running steps end, an abort does not; both are an interruption, and tell how to continue.
func TestAStoppedRun(t *testing.T) {
	for _, how := range []string{"stop", "abort", "context"} {
		f, d := simulate(t, phasestest.Shape{Masters: 1})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var h *Handle
		begun := make(chan struct{})
		d.Sink = sinkFunc(func(r event.Record) error {
			if _, is := r.Event.(event.StepStarted); is {
				<-begun
				switch how {
				case "stop":
					_ = h.Stop()
				case "abort":
					_ = h.Abort()
				default:
					cancel()
				}
			}
			return nil
		})
		h, err := Start(ctx, deployOf(f), d)
		if err != nil {
			t.Fatal(err)
		}
		close(begun)
		res, err := h.Wait(t.Context())
		if res.Outcome != event.Interrupted || event.AsFault(err) == nil ||
			event.AsFault(err).Code != "run.interrupted" {
			t.Errorf("%s: %+v %v", how, res, err)
		}
		var end event.RunEnded
		for rec := range journal.Read(h.Run().Dir) {
			if e, is := rec.Event.(event.RunEnded); is {
				end = e
			}
		}
		last := end.Next[len(end.Next)-1]
		if last.Key != "next.resume" || last.Call == nil || last.Call.Verb != "deploy" {
			t.Errorf("%s: %+v", how, end.Next)
		}
	}
}

type sinkFunc func(event.Record) error

func (f sinkFunc) Emit(r event.Record) error { return f(r) }

// The fault that stands for a run.
func TestTheMostSevereFault(t *testing.T) {
	failed := func(classes ...event.Class) (out []event.StepEnded) {
		for i, c := range classes {
			step := string(rune('a' + i))
			out = append(out, event.StepEnded{Step: step, Fault: event.NewFault(c, "code."+string(c), nil)})
		}
		return out
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		sum  engine.Summary
		want string
	}{
		{t.Context(), engine.Summary{}, ""},
		{t.Context(), engine.Summary{Failed: failed(event.ClassFailed, event.ClassAuth)}, "code.auth"},
		{t.Context(), engine.Summary{Failed: failed(event.ClassAuth, event.ClassLocked)}, "code.locked"},
		{t.Context(), engine.Summary{Failed: failed(event.ClassAuth), Changed: []string{"x"}}, "run.failed"},
		{t.Context(), engine.Summary{Failed: failed(event.ClassFailed, event.ClassPartial)}, "run.failed"},
		{over, engine.Summary{Failed: failed(event.ClassAuth)}, "run.interrupted"},
	} {
		got := mostSevere(c.ctx, nil, c.sum)
		if (got == nil) != (c.want == "") || got != nil && got.Code != c.want {
			t.Errorf("%+v: %v, want %q", c.sum, got, c.want)
		}
	}
	got := mostSevere(t.Context(), nil, engine.Summary{Failed: failed(event.ClassPartial), Changed: []string{"x"}})
	if got == nil || got.Class != event.ClassPartial {
		t.Error(got)
	}
}

// emptied is a store of a cluster that a cleanup ends while the run waits for its lock.
type emptied struct{ *fakes }

func (e emptied) Open(ctx context.Context, name string) (Files, error) {
	if err := os.RemoveAll(filepath.Join(e.lab.StateDir(), "pki")); err != nil {
		return nil, err
	}
	return e.fakes.Open(ctx, name)
}

// Certificates that were there when the request was looked at, and are gone under the lock, are not renewed either: the
// run would install a new cluster.
func TestRenewAfterACleanup(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	ca := filepath.Join(f.lab.StateDir(), "pki", "ca.crt")
	if err := errors.Join(os.MkdirAll(filepath.Dir(ca), 0o700), os.WriteFile(ca, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	d.Store = emptied{f}
	h, err := Start(t.Context(), request.Renew{Common: deployOf(f).Common}, d)
	if code(err) != "certs.no-cluster" {
		t.Error(err)
	}
	if h != nil {
		_, _ = h.Wait(t.Context())
	}
	c, _ := journal.At(f.root, "sim")
	if runs, err := c.Runs(); len(runs) > 0 || err != nil {
		t.Error(runs, err)
	}
}
