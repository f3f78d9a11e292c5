package manager_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// bench is a manager over a world and a store, which outlive it.
type bench struct {
	*Manager
	t     *testing.T
	world *managertest.World
	store *managertest.Memory
}

func begin(t *testing.T, w *managertest.World, s *managertest.Memory) *bench {
	t.Helper()
	b := &bench{t: t, world: w, store: s}
	b.start()
	return b
}

func (b *bench) start() {
	b.t.Helper()
	o := Options{Store: b.store, Runner: b.world, Clock: managertest.Clock{}}
	m, err := New(b.t.Context(), o)
	if err != nil && b.store.Break > 0 { // it does not start over a store that it cannot write to
		b.store.Repair()
		m, err = New(b.t.Context(), o)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.Manager = m
}

func (b *bench) restart() { b.Close(); b.start() }

// is waits until all is quiet, and compares the state.
func (b *bench) is(name string, want state.State) {
	b.t.Helper()
	synctest.Wait()
	v, err := b.Cluster(name)
	if want == "" {
		if code(err) != "manager.unknown" {
			b.t.Errorf("%s is %s (%v), want none", name, v.State, err)
		}
		return
	}
	if err != nil || v.State != want {
		b.t.Errorf("%s is %s (%v), want %s", name, v.State, err, want)
	}
}

func (b *bench) running(name string) {
	b.t.Helper()
	if _, err := b.Create(b.t.Context(), name, Request{}); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
	b.world.Newest(name).Finish(nil)
	b.is(name, state.Running)
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

func broken() *event.Fault { return &event.Fault{Class: event.ClassFailed, Code: "run.failed"} }

// a test in a bubble, with a manager of an empty world.
func story(t *testing.T, tell func(*testing.T, *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, &managertest.World{}, &managertest.Memory{})
		defer func() { b.Close() }()
		tell(t, b)
	})
}

// The life of a cluster by the design.
func TestALife(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		if _, err := b.Create(ctx, "one", Request{By: "ann"}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Creating)
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Unavailable)
		if v, _ := b.Cluster("one"); v.Fault == nil || !v.Unavailable || v.Last.By != "ann" || v.Operation != nil {
			t.Errorf("%+v", v)
		}
		if _, err := b.Continue(ctx, "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Creating)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		if _, err := b.Begin(ctx, "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Updating)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		if _, err := b.Begin(ctx, "one", Delete, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Destroy)
		b.world.Newest("one").Finish(nil)
		b.is("one", "")
		b.running("one") // the name is free again
	})
}

// F1, F2, F3: names that are taken, and clusters that there are not.
func TestNames(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.running("one")
		b.world.Install("two")
		for what, err := range map[string]error{
			"F1 created here":             second(b.Create(ctx, "one", Request{})),
			"F1 made on the command line": second(b.Create(ctx, "two", Request{})),
			"F3 created here":             second(b.Import(ctx, "one", false, Request{})),
			"F3 by a kubeconfig":          second(b.Import(ctx, "two", true, Request{})),
		} {
			if code(err) != "manager.taken" {
				t.Errorf("%s: %v", what, err)
			}
		}
		for what, err := range map[string]error{
			"update": second(b.Begin(ctx, "none", Update, Request{})),
			"delete": second(b.Forget(ctx, "none", Request{})),
			"cancel": second(b.Cancel(ctx, "none", Request{})), "get": second(b.Cluster("none")),
			"continue": second(b.Continue(ctx, "none", Request{})),
		} {
			if code(err) != "manager.unknown" {
				t.Errorf("F2 %s: %v", what, err)
			}
		}
		if _, err := b.Import(ctx, "none", false, Request{}); code(err) != "manager.nothing-to-import" {
			t.Error(err)
		}
	})
}

// A scan that comes between the name of a new cluster and its record leaves both to who asked for them, whatever runs
// of that name there are: old ones, or one that somebody begins in that moment.
func TestAScanOfANewName(t *testing.T) {
	nothing := func() {}
	story(t, func(t *testing.T, b *bench) { // the runs of a cluster that was deleted
		b.running("one")
		b.operation("one", Delete)
		b.world.Newest("one").Finish(nil)
		b.is("one", "")
		if err := b.CreateScanned(t.Context(), "one", nothing); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Creating)
	})
	story(t, func(t *testing.T, b *bench) { // the command line is faster
		line := func() { b.world.Begin("one", Create) }
		if err := b.CreateScanned(t.Context(), "one", line); code(err) != "lock.cluster-held" {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		b.is("one", state.Creating)
		if v, _ := b.Cluster("one"); !v.Operation.Found {
			t.Errorf("%+v", v.Operation)
		}
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
	})
	story(t, func(t *testing.T, b *bench) { // an import
		b.running("one")
		if _, err := b.Forget(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		if err := b.ImportScanned(t.Context(), "one", func() { b.world.Begin("one", Update) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		b.is("one", state.Updating)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
	})
}

// A run that goes on when a cluster is imported is followed to its end, also if that comes before the next scan, or
// while no server is there.
func TestAnImportWithARunThatGoesOn(t *testing.T) {
	for how, end := range map[string]func(*bench, *managertest.Run){
		"seen":    func(b *bench, r *managertest.Run) { time.Sleep(3 * time.Second); r.Finish(broken()) },
		"unseen":  func(b *bench, r *managertest.Run) { r.Finish(broken()); time.Sleep(3 * time.Second) },
		"restart": func(b *bench, r *managertest.Run) { b.Close(); r.Finish(broken()); b.start() },
	} {
		story(t, func(t *testing.T, b *bench) {
			b.running("one")
			if _, err := b.Forget(t.Context(), "one", Request{}); err != nil {
				t.Fatal(err)
			}
			r := b.world.Begin("one", Upgrade) // it was not scanned yet
			if _, err := b.Import(t.Context(), "one", false, Request{}); err != nil {
				t.Fatal(how, err)
			}
			end(b, r)
			b.is("one", state.Unavailable)
			v, err := b.Cluster("one")
			if err != nil || v.Failed == nil || v.Failed.Kind != Upgrade || v.Failed.Run() != r.ID() || v.Fault == nil {
				t.Errorf("%s: %+v %+v %v", how, v.Failed, v.Fault, err)
			}
		})
	}
}

func second(_ View, err error) error { return err }

// Running and Unreachable follow the API server, after two answers that do not come and within 30 seconds.
func TestHealth(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Down("one", broken())
		time.Sleep(30 * time.Second)
		b.is("one", state.Unreachable)
		b.restart() // memory only: the record says that it is available
		b.is("one", state.Connecting)
		b.world.Down("one", nil)
		time.Sleep(30 * time.Second)
		b.is("one", state.Running)
		b.world.Down("one", broken())
		time.Sleep(30 * time.Second)
		b.world.Down("one", nil)
		time.Sleep(30 * time.Second)
		b.is("one", state.Running)
		b.world.Down("one", broken())
		time.Sleep(10 * time.Second) // one answer that does not come
		b.world.Down("one", nil)
		time.Sleep(10 * time.Second)
		b.is("one", state.Running)
		seen, err := b.Health(t.Context(), "one", 0, 2)
		if err != nil || len(seen) != 2 || seen[0].State != state.Running || seen[0].Reason != nil ||
			seen[1].State != state.Unreachable || seen[1].Reason.Code != broken().Code || seen[1].At.IsZero() {
			t.Errorf("%+v %v", seen, err)
		}
		changes, err := b.store.Changes(t.Context(), 0, 100)
		var flips int
		for _, c := range changes {
			if c.Event == state.InfoFailed || c.Event == state.InfoSuccess {
				flips++
			}
		}
		if flips != 3 || err != nil { // there, there and back
			t.Errorf("%d changes %v", flips, err)
		}
	})
}

// Why the API server of a cluster does not answer is what it is now, not what it was when that began.
func TestWhyAClusterIsUnreachable(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Down("one", broken())
		time.Sleep(30 * time.Second)
		b.is("one", state.Unreachable)
		b.world.Down("one", event.NewFault(event.ClassFailed, "manager.unreachable", nil, "cause", "another one"))
		time.Sleep(30 * time.Second)
		v, err := b.Cluster("one")
		if err != nil || v.State != state.Unreachable || v.Trouble == nil || v.Trouble.Args["cause"] != "another one" {
			t.Errorf("%s %+v %v", v.State, v.Trouble, err)
		}
	})
}

// Also of many clusters, when a site is cut off and its API servers are waited for: none waits for another one.
func TestHealthOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &managertest.World{Silence: 5 * time.Second} // what an API server is given
		for i := range 300 {
			w.Install(fmt.Sprint("c", i))
		}
		b := begin(t, w, &managertest.Memory{})
		defer func() { b.Close() }()
		count := func(want state.State) (n int) {
			synctest.Wait()
			for _, v := range b.Clusters() {
				if v.State == want {
					n++
				}
			}
			return n
		}
		time.Sleep(time.Minute)
		if n := count(state.Running); n != 300 {
			t.Fatalf("%d are Running", n)
		}
		for i := range 200 {
			w.Down(fmt.Sprint("c", i), broken())
		}
		time.Sleep(30 * time.Second)
		if n, well := count(state.Unreachable), count(state.Running); n != 200 || well != 100 {
			t.Errorf("%d are Unreachable, %d Running", n, well)
		}
		for i := range 200 {
			w.Down(fmt.Sprint("c", i), nil)
		}
		time.Sleep(30 * time.Second)
		if n := count(state.Running); n != 300 {
			t.Errorf("%d are Running again", n)
		}
	})
}

// What the command line makes, works on and removes is seen.
func TestTheCommandLine(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		r := b.world.Begin("two", Create)
		time.Sleep(3 * time.Second)
		b.is("two", state.Creating)
		if _, err := b.Begin(t.Context(), "two", Update, Request{}); code(err) != "manager.busy" {
			t.Error(err)
		}
		r.Finish(nil)
		b.is("two", state.Running)
		r = b.world.Begin("two", Update)
		// It was not scanned yet.
		if _, err := b.Begin(t.Context(), "two", Update, Request{}); code(err) != "lock.cluster-held" {
			t.Error(err)
		}
		time.Sleep(3 * time.Second)
		b.is("two", state.Updating)
		r.Finish(broken())
		b.is("two", state.Unavailable)
		b.world.Begin("two", Delete).Finish(nil) // between two scans
		time.Sleep(3 * time.Second)
		b.is("two", "")
		b.world.Install("three")
		time.Sleep(3 * time.Second)
		b.is("three", state.Running)
		b.world.Begin("three", Delete)
		time.Sleep(3 * time.Second)
		b.is("three", state.Destroy)
		b.world.Newest("three").Finish(broken())
		b.is("three", state.Unavailable)
	})
}

// What is deleted here and left on the machines does not come back by itself; it can be imported.
func TestForget(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		if _, err := b.Forget(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		b.is("one", "")
		b.restart()
		b.is("one", "")
		if _, err := b.Import(t.Context(), "one", false, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Running)
	})
}

// A run that is quiet leaves the cluster ready, and nothing else begins.
func TestQuiet(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.running("one")
		if _, err := b.Begin(ctx, "one", Snapshot, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Running)
		if _, err := b.Begin(ctx, "one", Update, Request{}); code(err) != "manager.busy" {
			t.Error(err)
		}
		b.restart()
		b.is("one", state.Running)
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Running)
		if v, _ := b.Cluster("one"); v.Fault == nil || v.Operation != nil || v.Unavailable {
			t.Errorf("%+v", v)
		}
		if _, err := b.Begin(ctx, "one", Snapshot, Request{}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Cancel(ctx, "one", Request{}); err != nil {
			t.Error(err)
		}
		b.is("one", state.Running)
	})
}

// If the record was changed since somebody read it, what he asks for is refused.
func TestRevisions(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		v, _ := b.Cluster("one")
		ask := Request{Revision: v.Revision - 1}
		if _, err := b.Begin(t.Context(), "one", Update, ask); code(err) != "manager.revision" {
			t.Error(err)
		}
		wrong := errors.New("wrong")
		ask = Request{Revision: v.Revision, Check: func(Record) error { return wrong }}
		if _, err := b.Begin(t.Context(), "one", Update, ask); !errors.Is(err, wrong) {
			t.Error(err)
		}
		ask = Request{Prepare: func() error { return wrong }}
		if _, err := b.Create(t.Context(), "two", ask); !errors.Is(err, wrong) {
			t.Error(err)
		}
		b.is("two", "")
		b.is("one", state.Running)
	})
}

// All are told of every change, from any number on; who is slow holds up nobody.
func TestChanges(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		got, err := b.Changes(t.Context(), 0)
		if err != nil || len(got) != 2 || got[0].Event != state.Create || got[1].Broadcast != "added" ||
			got[1].Seq != 2 {
			t.Fatalf("%+v %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Changes(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		come := make(chan []Change)
		go func() { c, _ := b.Changes(t.Context(), 2); come <- c }()
		if _, err := b.Begin(t.Context(), "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		if c := <-come; len(c) != 1 || c[0].Broadcast != "deleted" {
			t.Errorf("%+v", c)
		}
	})
}

// A cluster of which there is a kubeconfig alone is looked at, and nothing is begun on it.
func TestKubeconfigOnly(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.world.Down("far", broken())
		if _, err := b.Import(t.Context(), "far", true, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("far", state.Connecting)
		b.restart()
		b.is("far", state.Connecting)
		b.world.Down("far", nil)
		time.Sleep(11 * time.Second)
		b.is("far", state.Running)
		if _, err := b.Begin(t.Context(), "far", Update, Request{}); code(err) != "manager.kubeconfig-only" {
			t.Error(err)
		}
		b.world.Down("bad", &event.Fault{Class: event.ClassUsage, Code: "manager.kubeconfig"})
		if _, err := b.Import(t.Context(), "bad", true, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("bad", state.Unavailable)
		b.restart()
		b.is("bad", state.Unavailable)
	})
}
