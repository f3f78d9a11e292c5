package manager_test

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// The defects of the manager that the design comes from, by the numbers of its review.

// 1: a second update while one goes on began a second installer on the same machines.
func TestDefect1SecondInstaller(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		if _, err := b.Create(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := b.Begin(t.Context(), "one", Update, Request{}); code(err) != "manager.busy" {
					t.Error(err)
				}
			})
		}
		all.Wait()
		b.is("one", state.Creating)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		began := 0
		var mu sync.Mutex
		for range 50 {
			all.Go(func() {
				_, err := b.Begin(t.Context(), "one", Update, Request{})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					began++
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if began != 1 || b.world.Most != 1 {
			t.Errorf("%d updates, %d runs at once", began, b.world.Most)
		}
	})
}

// 2: a cancel was complete before the worker had stopped, whose late event then hit the next operation.
func TestDefect2LateEvents(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.world.Stubborn = true
		b.running("one")
		before, _ := b.operation("one", Update)
		first := b.world.Newest("one")
		if _, err := b.Cancel(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Canceling) // the run still works
		if _, err := b.Continue(t.Context(), "one", Request{}); code(err) != "manager.busy" {
			t.Error(err)
		}
		if !first.Stopped() {
			t.Error("the run was not told")
		}
		time.Sleep(61 * time.Second) // it does not hear: its steps are broken off
		b.is("one", state.Unavailable)
		if _, err := b.Continue(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Updating)
		b.RunEnded("one", before.Epoch, first) // late
		b.is("one", state.Updating)
	})
}

// 3, 4: two locks in two orders, and a channel that was full, held up everything. Here nobody reads the changes.
func TestDefect3And4NobodyIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, &managertest.World{Takes: time.Second}, &managertest.Memory{})
		defer func() { b.Close() }()
		var all sync.WaitGroup
		for i := range 20 {
			name := "c" + strconv.Itoa(i)
			all.Go(func() {
				if _, err := b.Create(t.Context(), name, Request{}); err != nil {
					t.Error(err)
				}
				for range 30 {
					_, _ = b.Cancel(t.Context(), name, Request{})
					_, _ = b.Continue(t.Context(), name, Request{})
					_, _ = b.Begin(t.Context(), name, Update, Request{})
					time.Sleep(700 * time.Millisecond)
					b.Clusters()
				}
			})
		}
		all.Wait()
		if changes, _ := b.store.Changes(t.Context(), 500, 1); len(changes) == 0 {
			t.Error("too few changes to fill a channel of 500")
		}
		if b.world.Most != 1 {
			t.Errorf("%d runs at once", b.world.Most)
		}
	})
}

// 5: an imported cluster was unavailable for ever after a restart.
func TestDefect5ImportAndRestart(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		if _, err := b.Import(t.Context(), "far", true, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("far", state.Running)
		b.restart()
		b.is("far", state.Running)
	})
}

// 6: the state was found out by GET alone, and what crashed while it was updated could not be continued.
func TestDefect6RestartWhileUpdating(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		if _, err := b.Begin(t.Context(), "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Updating)
		b.restart()
		b.is("one", state.Updating) // the run goes on
		b.Close()
		b.world.Newest("one").Finish(broken())
		b.start()
		b.is("one", state.Unavailable)
		if v, _ := b.Cluster("one"); v.Fault == nil || v.Fault.Code != "run.failed" {
			t.Errorf("%+v", v.Fault)
		}
		if _, err := b.Continue(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.Close()
		synctest.Wait()
		b.world.Newest("one").Finish(nil)
		b.start()
		b.is("one", state.Running)
	})
}

// 7: delete left the machines as they were, and the name was free at once.
func TestDefect7DeleteCleans(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		if _, err := b.Begin(t.Context(), "one", Delete, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Destroy)
		if _, err := b.Create(t.Context(), "one", Request{}); code(err) != "manager.taken" {
			t.Error(err)
		}
		b.restart()
		b.is("one", state.Destroy)
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Unavailable)
		if _, err := b.Continue(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Destroy)
		b.Close()
		b.world.Newest("one").Finish(nil)
		b.start()
		b.is("one", "")
	})
}

// 8: the lock was held while the network was waited for: one cluster that does not begin held up all.
func TestDefect8NothingIsHeldOverTheNetwork(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Hold = make(chan struct{})
		if _, err := b.Create(t.Context(), "two", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("two", state.Creating)
		if _, err := b.Forget(t.Context(), "one", Request{}); err != nil {
			t.Error(err)
		}
		if _, err := b.Cancel(t.Context(), "two", Request{}); err != nil { // also what has not begun
			t.Error(err)
		}
		b.is("two", state.Unavailable)
		if b.world.Newest("two") != nil {
			t.Error("a run began")
		}
	})
}

// Further seen: the record was taken out of the list before it was deleted, and a connecting did not hear a cancel.
func TestFurtherDefects(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.store.Break = b.store.Writes + 1
		if _, err := b.Forget(t.Context(), "one", Request{}); err == nil {
			t.Error("deleted")
		}
		b.store.Repair()
		b.is("one", state.Running)
		b.world.Down("far", broken())
		if _, err := b.Import(t.Context(), "far", true, Request{}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Cancel(t.Context(), "far", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("far", state.Unavailable)
		b.restart()
		b.is("far", state.Unavailable)
		if _, err := b.Cancel(t.Context(), "far", Request{}); code(err) != "manager.state" {
			t.Error(err)
		}
	})
}

// A run that ended well before it heard of the cancel has made what was wanted.
func TestCancelTooLate(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.world.Stubborn = true
		if _, err := b.Create(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Creating)
		if _, err := b.Cancel(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.is("one", state.Canceling)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
	})
}

// An update comes to several runs, also over a restart; it was not begun if the server ended before.
func TestRunsOfAnUpdate(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Rounds = 3
		if _, err := b.Begin(t.Context(), "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Updating)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Updating)
		b.Close()
		b.world.Newest("one").Finish(nil)
		b.start()
		b.is("one", state.Updating)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		if v, _ := b.Cluster("one"); len(v.Last.Runs) != 3 {
			t.Errorf("%+v", v.Last)
		}
		b.world.Hold = make(chan struct{})
		if _, err := b.Begin(t.Context(), "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.is("one", state.Unavailable)
		if v, _ := b.Cluster("one"); v.Fault.Code != "manager.not-begun" {
			t.Errorf("%+v", v.Fault)
		}
		b.world.Hold, b.world.Rounds = nil, 1
		b.world.Refuse("one", &event.Fault{Class: event.ClassAuth, Code: "ssh.auth"})
		if _, err := b.Continue(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Unavailable)
		if v, _ := b.Cluster("one"); v.Fault.Code != "ssh.auth" {
			t.Errorf("%+v", v.Fault)
		}
	})
}

// The end of the server is no cancel: a run that is just beginning is left alone, also the second of an update, and the
// next server finds it. A cancel ends it.
func TestTheServerEndsWhileARunBegins(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Rounds, b.world.Late = 2, make(chan struct{})
		if _, err := b.Begin(t.Context(), "one", Update, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Updating)
		first := b.world.Newest("one")
		b.restart()
		b.same("one", state.Updating, Operation{Epoch: 2}, first)
		first.Finish(nil)
		b.is("one", state.Updating)
		second := b.world.Newest("one")
		b.restart()
		b.same("one", state.Updating, Operation{Epoch: 2}, first, second)
		second.Finish(nil)
		b.is("one", state.Running)
		if _, err := b.Begin(t.Context(), "one", Renew, Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Updating)
		if _, err := b.Cancel(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Unavailable)
		if v, _ := b.Cluster("one"); v.Fault == nil || v.Fault.Code != "run.interrupted" || v.Failed.Kind != Renew {
			t.Errorf("%+v %+v", v.Fault, v.Failed)
		}
	})
}
