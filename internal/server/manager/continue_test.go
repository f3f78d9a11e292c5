package manager_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

func refused() *event.Fault {
	return &event.Fault{Class: event.ClassPreflight, Code: "preflight.failed"}
}

// Only what failed is continued. Where nothing did, the API server is asked again, and no run begins.
func TestContinueRepeatsNothing(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.running("one")
		for _, k := range []Kind{Restore, Update, Snapshot} {
			if _, err := b.Begin(ctx, "one", k, Request{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			b.world.Newest("one").Finish(nil)
			b.is("one", state.Running)
		}
		newest := b.world.Newest("one")
		b.world.Down("one", broken())
		b.restart()
		b.is("one", state.Connecting)
		if _, err := b.Cancel(ctx, "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Unavailable)
		v, _ := b.Cluster("one")
		if k := v.Continued(); k != "" {
			t.Errorf("%s would be repeated", k)
		}
		b.world.Down("one", nil)
		if _, err := b.Continue(ctx, "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Running)
		if b.world.Newest("one") != newest {
			t.Error("a run began")
		}
	})
}

// What is continued is what failed, also after other operations that changed nothing.
func TestWhatIsContinued(t *testing.T) {
	found := func(k Kind) *Operation { return &Operation{Kind: k, Found: true} }
	for _, c := range []struct {
		rec  Record
		want Kind
	}{
		{Record{}, ""}, {Record{EverRan: true}, ""},
		{Record{EverRan: true, Last: &Operation{Kind: Delete}}, ""},
		{Record{Failed: found(Create)}, Create}, {Record{Failed: &Operation{Kind: Update}}, Update},
		{Record{Failed: found(Update)}, Update}, {Record{Failed: &Operation{Kind: Upgrade}}, Create},
		{Record{Failed: &Operation{Kind: Delete}}, Delete}, {Record{EverRan: true, Failed: found(Delete)}, Delete},
		{Record{EverRan: true, Failed: found(Create)}, Update}, {Record{EverRan: true, Failed: found(Restore)}, Update},
		{Record{EverRan: true, Failed: &Operation{Kind: Restore}}, Restore},
		{Record{EverRan: true, Failed: &Operation{Kind: Upgrade}}, Upgrade},
	} {
		if got := c.rec.Continued(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.rec, got, c.want)
		}
	}
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.running("one")
		if _, err := b.Begin(ctx, "one", Upgrade, Request{Request: json.RawMessage(`"bundles"`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Unavailable)
		if _, err := b.Begin(ctx, "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.world.Newest("one").Refuse(refused())
		b.is("one", state.Unavailable)
		if v, _ := b.Cluster("one"); v.Fault.Code != "preflight.failed" || v.Last.Kind != Update {
			t.Errorf("%+v", v)
		}
		v, err := b.Continue(ctx, "one", Request{})
		if err != nil || v.Operation.Kind != Upgrade || string(v.Operation.Request) != `"bundles"` {
			t.Errorf("%+v %v", v.Operation, err)
		}
	})
}

// A change of nodes that failed is continued as one, also of a cluster whose creation never ended well.
func TestAnUpdateOfWhatIsHalfCreatedIsContinued(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		if _, err := b.Create(ctx, "one", Request{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Unavailable)
		if _, err := b.Begin(ctx, "one", Update, Request{Request: json.RawMessage(`"nodes"`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Unavailable)
		v, err := b.Continue(ctx, "one", Request{})
		if err != nil || v.State != state.Updating || string(v.Operation.Request) != `"nodes"` {
			t.Errorf("%s %+v %v", v.State, v.Operation, err)
		}
		synctest.Wait()
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
	})
}

// A run that ended before its first change leaves the cluster as it was.
func TestNothingWasChanged(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.running("one")
		for _, k := range []Kind{Update, Delete, Upgrade} {
			if _, err := b.Begin(ctx, "one", k, Request{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if k == Upgrade { // also if the server does not see its end
				b.Close()
				b.world.Newest("one").Refuse(refused())
				b.start()
			}
			b.world.Newest("one").Refuse(refused())
			b.is("one", state.Running)
			if v, _ := b.Cluster("one"); v.Unavailable || v.Failed != nil {
				t.Errorf("%s: %+v", k, v)
			}
		}
		b.world.Refuse("one", &event.Fault{Class: event.ClassAuth, Code: "ssh.auth"}) // no run at all
		if _, err := b.Begin(ctx, "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Running)
		b.world.Begin("one", Update).Refuse(refused()) // the command line, between two scans
		time.Sleep(3 * time.Second)
		b.is("one", state.Running)
		if v, _ := b.Cluster("one"); !v.Last.Found || v.Fault.Code != "preflight.failed" {
			t.Errorf("%+v %+v", v.Last, v.Fault)
		}
		if _, err := b.Begin(ctx, "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.world.Newest("one").Finish(refused()) // it has changed something all the same
		b.is("one", state.Unavailable)
		// A creation has no state before.
		if _, err := b.Create(ctx, "two", Request{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.world.Newest("two").Refuse(refused())
		b.is("two", state.Unavailable)
		if v, err := b.Continue(ctx, "two", Request{}); err != nil || v.State != state.Creating {
			t.Error(v.State, err)
		}
	})
}

// A backup of the command line does not stop the connecting, and neither does its end or its cancellation.
func TestQuietWhileConnecting(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Down("one", broken())
		b.restart()
		b.is("one", state.Connecting)
		if v, _ := b.Cluster("one"); v.Trouble == nil || v.Trouble.Code != "run.failed" {
			t.Errorf("%+v", v.Trouble)
		}
		b.world.Begin("one", Backup)
		time.Sleep(3 * time.Second)
		if v, _ := b.Cluster("one"); v.Operation == nil || v.State != state.Connecting {
			t.Errorf("%+v", v)
		}
		if _, err := b.Cancel(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Connecting)
		b.world.Down("one", nil)
		time.Sleep(11 * time.Second)
		b.is("one", state.Running)
	})
}

// A backup that fails says nothing of an import that was not answered yet, and a cancel of it is not lost.
func TestAnImportThatWasNotAnswered(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.world.Install("one")
		b.world.Down("one", broken())
		if _, err := b.Import(t.Context(), "one", false, Request{}); err != nil {
			t.Fatal(err)
		}
		b.world.Begin("one", Backup)
		time.Sleep(3 * time.Second)
		b.Close()
		b.world.Newest("one").Finish(broken())
		b.start()
		b.restart()
		b.is("one", state.Connecting)
		b.store.Repair()
		b.store.Break = 2 // the cancel is written, and that the connecting has ended is not
		if _, err := b.Cancel(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.Close()
		b.store.Repair()
		b.start()
		b.is("one", state.Unavailable)
		if v, _ := b.Cluster("one"); v.Fault == nil || v.Fault.Code != "manager.canceled" {
			t.Errorf("%+v", v.Fault)
		}
	})
}

// While the API server does not answer, the cluster can be restored, deleted and forgotten.
func TestConnectingIsNoDeadEnd(t *testing.T) {
	for k, want := range map[Kind]state.State{Restore: state.Updating, Delete: state.Destroy} {
		story(t, func(t *testing.T, b *bench) {
			b.running("one")
			b.world.Down("one", broken())
			b.restart()
			if _, err := b.Begin(t.Context(), "one", k, Request{}); err != nil {
				t.Fatal(err)
			}
			b.is("one", want)
			b.world.Down("one", nil)
			time.Sleep(time.Minute) // what the connecting finds out is nothing any more
			b.is("one", want)
			b.world.Newest("one").Refuse(refused())
			b.is("one", state.Running) // by way of Connecting
			b.world.Down("one", broken())
			b.restart()
			if _, err := b.Begin(t.Context(), "one", k, Request{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			b.world.Newest("one").Refuse(refused())
			b.is("one", state.Connecting)
			if _, err := b.Forget(t.Context(), "one", Request{}); err != nil {
				t.Error(err)
			}
			b.is("one", "")
		})
	}
	story(t, func(t *testing.T, b *bench) { // of a kubeconfig alone
		b.world.Down("far", broken())
		if _, err := b.Import(t.Context(), "far", true, Request{}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Cancel(t.Context(), "far", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("far", state.Unavailable)
		b.world.Down("far", nil)
		if _, err := b.Continue(t.Context(), "far", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("far", state.Running)
	})
}

// What the command line did while no server was there is seen when one starts.
func TestWhatHappenedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		what string
		kind Kind
		end  *event.Fault
		want state.State
	}{
		{"an upgrade that failed", Upgrade, broken(), state.Unavailable}, {"an update", Update, nil, state.Running},
		{"a cleanup", Delete, nil, ""}, {"a cleanup that failed", Delete, broken(), state.Unavailable},
		{"a backup that failed", Backup, broken(), state.Running},
	} {
		story(t, func(t *testing.T, b *bench) {
			b.running("one")
			b.Close()
			b.world.Begin("one", c.kind).Finish(c.end)
			b.start()
			b.is("one", c.want)
			v, err := b.Cluster("one")
			if err == nil && (v.Last.Kind != c.kind || !v.Last.Found) {
				t.Errorf("%s: %+v", c.what, v.Last)
			}
			b.restart()
			b.is("one", c.want)
		})
	}
	story(t, func(t *testing.T, b *bench) { // a cleanup of one that does not answer
		b.running("one")
		b.world.Down("one", broken())
		b.restart()
		b.is("one", state.Connecting)
		b.world.Begin("one", Delete).Finish(nil)
		time.Sleep(3 * time.Second)
		b.is("one", "")
	})
	story(t, func(t *testing.T, b *bench) { // what failed before there was a server
		b.world.Install("two")
		b.world.Begin("two", Delete).Finish(broken())
		time.Sleep(3 * time.Second)
		b.is("two", state.Unavailable)
		if v, _ := b.Cluster("two"); v.Continued() != Delete {
			t.Errorf("%+v", v.Failed)
		}
	})
}

// What is kept for a cluster goes with it: at once, or when the command line has cleaned it up.
func TestNothingIsKeptOfWhatIsNoMore(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		tidied := func(name string) bool { return slices.Contains(b.world.Tidied(), name) }
		b.running("one")
		if _, err := b.Forget(t.Context(), "one", Request{}); err != nil || tidied("one") {
			t.Error(err, "its deploy.yaml names what is kept")
		}
		b.world.Begin("one", Delete).Finish(nil)
		time.Sleep(10 * time.Second)
		if !slices.Equal(b.world.Tidied(), []string{"one"}) {
			t.Error(b.world.Tidied())
		}
		if _, err := b.Import(t.Context(), "far", true, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("far", state.Running)
		if _, err := b.Forget(t.Context(), "far", Request{}); err != nil || !tidied("far") {
			t.Error(err, b.world.Tidied())
		}
		b.running("two")
		b.world.Begin("two", Delete).Finish(nil)
		time.Sleep(3 * time.Second)
		if !tidied("two") {
			t.Error(b.world.Tidied())
		}
		wrong := Request{Prepare: func() error { return broken() }}
		if _, err := b.Create(t.Context(), "three", wrong); err == nil || !tidied("three") {
			t.Error(err, b.world.Tidied())
		}
	})
}

// Who asks and leaves does not keep a name for ever.
func TestAClientThatLeaves(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := gone(t)
		_, _ = b.Create(ctx, "one", Request{})
		_, _ = b.Import(ctx, "far", true, Request{})
		synctest.Wait()
		for _, name := range []string{"one", "far"} {
			if _, err := b.Cluster(name); err != nil {
				t.Errorf("%s is taken, and not there: %v", name, err)
			}
		}
	})
}

func gone(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
