package manager_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/database"
	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/records"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// A store may report a write as failed that it has done. What was done is found out, and nothing is stuck until a
// restart.

// kinds are the runs of a cluster, in their order.
func (b *bench) kinds(name string) (out []Kind) {
	for _, r := range b.world.Runs(name) {
		out = append(out, r.Kind)
	}
	return out
}

// mend makes the store whole again, a moment later.
func (b *bench) mend() { time.Sleep(time.Second); b.store.Repair() }

// Each write of a life is reported as failed, one after the other. Whoever asks does not notice: it was done.
func TestAWriteThatWasDoneAllTheSame(t *testing.T) {
	for at := 1; ; at++ {
		reached := false
		story(t, func(t *testing.T, b *bench) {
			b.store.Break, b.store.Torn, b.store.Brief = at, true, true
			b.running("one")
			for _, k := range []Kind{Update, Snapshot, Delete} {
				b.operation("one", k)
				b.world.Newest("one").Finish(nil)
				synctest.Wait()
			}
			b.is("one", "")
			if got := b.kinds("one"); !slices.Equal(got, []Kind{Create, Update, Snapshot, Delete}) {
				t.Errorf("write %d: %v", at, got)
			}
			reached = b.store.Writes >= at
		})
		if !reached {
			if at != 13 {
				t.Errorf("a life has %d writes", at-1)
			}
			return
		}
	}
}

// The end of an operation is written, and nobody hears of it for a while.
func TestAnEndThatNobodyHeardOf(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.operation("one", Update)
		b.store.Tear()
		b.world.Newest("one").Finish(nil)
		time.Sleep(time.Minute)
		b.is("one", state.Updating)
		b.store.Repair()
		time.Sleep(6 * time.Second)
		b.is("one", state.Running)
		b.operation("one", Delete)
		b.store.Tear()
		b.world.Newest("one").Finish(nil)
		time.Sleep(time.Minute)
		b.is("one", state.Destroy)
		b.store.Repair()
		time.Sleep(6 * time.Second)
		b.is("one", "")
		if !slices.Contains(b.world.Tidied(), "one") {
			t.Error("something is kept of it")
		}
		b.running("one")
	})
}

// An operation is written, and who asked for it is told that it failed: no run was begun. It is as after a restart.
func TestABeginningThatNobodyHeardOf(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.running("one")
		for range 2 {
			b.store.Tear()
			if _, err := b.Begin(ctx, "one", Update, Request{}); code(err) != "internal" {
				t.Error(err)
			}
			if _, err := b.Begin(ctx, "one", Update, Request{}); code(err) != "internal" { // it cannot be read
				t.Error(err)
			}
			b.mend()
			if _, err := b.Begin(ctx, "one", Update, Request{}); code(err) != "manager.revision" {
				t.Error(err)
			}
			b.is("one", state.Unavailable)
			if v, _ := b.Cluster("one"); v.Fault == nil || v.Fault.Code != "manager.not-begun" {
				t.Errorf("%+v", v.Fault)
			}
			if _, err := b.Continue(ctx, "one", Request{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			b.world.Newest("one").Finish(nil)
			b.is("one", state.Running)
		}
		if got := b.kinds("one"); !slices.Equal(got, []Kind{Create, Update, Update}) {
			t.Error(got)
		}
	})
}

// The first record of a cluster is written, and who asked for it is told that it failed: the name is not lost.
func TestANameThatNobodyHeardOf(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.store.Tear()
		if _, err := b.Create(ctx, "one", Request{}); code(err) != "internal" || len(b.world.Tidied()) > 0 {
			t.Error(err, b.world.Tidied())
		}
		b.is("one", "")
		b.mend()
		if _, err := b.Create(ctx, "one", Request{}); code(err) != "manager.revision" {
			t.Error(err)
		}
		b.is("one", state.Unavailable)
		if v, err := b.Continue(ctx, "one", Request{}); err != nil || v.State != state.Creating {
			t.Error(v.State, err)
		}
		synctest.Wait()
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		b.store.Tear()
		if _, err := b.Import(ctx, "far", true, Request{}); code(err) != "internal" {
			t.Error(err)
		}
		b.mend()
		if _, err := b.Import(ctx, "far", true, Request{}); code(err) != "manager.revision" {
			t.Error(err)
		}
		b.is("far", state.Running)
	})
	story(t, func(t *testing.T, b *bench) { // the command line's
		b.world.Install("two")
		b.store.Tear()
		time.Sleep(10 * time.Second)
		b.mend()
		time.Sleep(3 * time.Second)
		b.is("two", state.Running)
	})
	story(t, func(t *testing.T, b *bench) { // it was not written
		b.store.Break = 1
		if _, err := b.Create(t.Context(), "one", Request{}); code(err) != "internal" {
			t.Error(err)
		}
		b.mend()
		b.running("one")
	})
}

// A cancel is written, and who asked for it is told that it failed.
func TestACancelThatNobodyHeardOf(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.operation("one", Update)
		b.store.Tear()
		if _, err := b.Cancel(t.Context(), "one", Request{}); code(err) != "internal" {
			t.Error(err)
		}
		b.is("one", state.Updating)
		b.mend()
		if _, err := b.Cancel(t.Context(), "one", Request{}); err != nil { // as it is written
			t.Error(err)
		}
		b.is("one", state.Unavailable)
		if !b.world.Newest("one").Stopped() {
			t.Error("the run was not told")
		}
		if got := b.kinds("one"); !slices.Equal(got, []Kind{Create, Update}) {
			t.Error(got)
		}
	})
	story(t, func(t *testing.T, b *bench) { // its run ends before anybody asks again
		b.running("one")
		b.operation("one", Renew)
		b.store.Tear()
		_, _ = b.Cancel(t.Context(), "one", Request{})
		b.mend()
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		if v, _ := b.Cluster("one"); !v.Last.Canceling || v.Fault != nil {
			t.Errorf("%+v %+v", v.Last, v.Fault)
		}
		time.Sleep(10 * time.Second)
		b.is("one", state.Running)
	})
	story(t, func(t *testing.T, b *bench) { // of what has not begun
		b.running("one")
		b.world.Hold = make(chan struct{})
		if _, err := b.Begin(t.Context(), "one", Renew, Request{}); err != nil {
			t.Fatal(err)
		}
		b.store.Tear()
		_, _ = b.Cancel(t.Context(), "one", Request{})
		b.mend()
		close(b.world.Hold) // the run is to be written down, and what was written is found
		b.is("one", state.Unavailable)
		if r := b.world.Newest("one"); r.Kind != Renew || !r.Stopped() {
			t.Errorf("%+v", r)
		}
	})
}

// A deletion is done, and who asked for it is told that it failed.
func TestADeletionThatNobodyHeardOf(t *testing.T) {
	for what, again := range map[string]func(*bench) (View, error){
		"":                func(b *bench) (View, error) { return b.Forget(b.t.Context(), "one", Request{}) },
		"manager.unknown": func(b *bench) (View, error) { return b.Begin(b.t.Context(), "one", Update, Request{}) },
	} {
		story(t, func(t *testing.T, b *bench) {
			b.running("one")
			b.store.Tear()
			if _, err := b.Forget(t.Context(), "one", Request{}); code(err) != "internal" {
				t.Error(err)
			}
			b.is("one", state.Running)
			b.store.Repair()
			if _, err := again(b); code(err) != what {
				t.Errorf("%v, want %q", err, what)
			}
			b.is("one", "")
			if _, err := b.Import(t.Context(), "one", false, Request{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// What somebody else has written is not gone on from, whatever was in doubt.
func TestARecordOfSomebodyElse(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		v, _ := b.Cluster("one")
		b.store.Break = b.store.Writes + 1
		_, _ = b.Begin(t.Context(), "one", Update, Request{})
		b.store.Repair()
		was := v.Revision
		v.Revision++
		if err := b.store.Save(t.Context(), v.Record, was); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := b.Begin(t.Context(), "one", Update, Request{}); code(err) != "manager.revision" {
				t.Error(err)
			}
			b.is("one", state.Running)
		}
	})
}

// deaf is a store that reports a write as failed after it was committed.
type deaf struct {
	*records.Store
	next bool
}

func (s *deaf) Save(ctx context.Context, r Record, was uint64, changes ...Change) error {
	err := s.Store.Save(ctx, r, was, changes...)
	if s.next && err == nil {
		s.next, err = false, managertest.ErrBroken
	}
	return err
}

// Also what a database gives back is recognised, with all that a record can have.
func TestWhatADatabaseHasIsRecognised(t *testing.T) {
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	kept, err := records.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &deaf{Store: kept}
	m, err := New(t.Context(), Options{Store: s, Runner: &managertest.World{}, Clock: managertest.Clock{}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	wanted := json.RawMessage("{\n  \"deploy\": \"<a> & b\\u2028\"\n}")
	s.next = true
	v, err := m.Create(t.Context(), "one", Request{By: "ann", Wanted: wanted, Request: wanted})
	if err != nil || s.next || v.State != state.Creating || v.Operation.By != "ann" {
		t.Errorf("%+v %v", v, err)
	}
}
