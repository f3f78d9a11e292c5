package manager_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// What comes late, of an operation that is over, is nothing to the one that goes on, and nothing to a cluster at rest.

// operation begins an operation and gives it with its run.
func (b *bench) operation(name string, k Kind) (Operation, Run) {
	b.t.Helper()
	if _, err := b.Begin(b.t.Context(), name, k, Request{}); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
	v, err := b.Cluster(name)
	if err != nil || v.Operation == nil {
		b.t.Fatal(v.State, err)
	}
	return *v.Operation, b.world.Newest(name)
}

// same compares the operation that goes on, its runs and the state.
func (b *bench) same(name string, s state.State, o Operation, runs ...Run) {
	b.t.Helper()
	b.is(name, s)
	v, _ := b.Cluster(name)
	if v.Operation == nil || v.Operation.Epoch != o.Epoch {
		b.t.Fatalf("the operation is %+v, want %+v", v.Operation, o)
	}
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID())
	}
	if !slices.Equal(v.Operation.Runs, ids) {
		b.t.Errorf("it came to the runs %v, want %v", v.Operation.Runs, ids)
	}
}

// The end of a run is heard of twice: the second time when the next operation goes on, and when nothing does.
func TestTheEndOfARunComesLate(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		first, run := b.operation("one", Update)
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Unavailable)
		b.RunEnded("one", first.Epoch, run) // nothing goes on
		b.is("one", state.Unavailable)
		next, its := b.operation("one", Update)
		b.RunEnded("one", first.Epoch, run)
		b.same("one", state.Updating, next, its)
		b.RunEnded("one", next.Epoch, run) // a run before, of the same operation
		b.same("one", state.Updating, next, its)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		if v, _ := b.Cluster("one"); v.Fault != nil || !slices.Equal(v.Last.Runs, []string{its.ID()}) {
			t.Errorf("%+v %+v", v.Last, v.Fault)
		}
	})
}

// The end of an update's first run comes again while its second goes on: no third is begun beside it.
func TestTheEndOfARunComesTwice(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Rounds = 3
		o, first := b.operation("one", Update)
		b.world.Newest("one").Finish(nil)
		synctest.Wait()
		second := b.world.Newest("one")
		b.RunEnded("one", o.Epoch, first)
		b.same("one", state.Updating, o, first, second)
		if b.world.Most != 1 {
			t.Errorf("%d runs at once", b.world.Most)
		}
	})
}

// That a run began, or could not, is heard of when another operation goes on.
func TestTheBeginningOfARunComesLate(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		first, run := b.operation("one", Update)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		b.Launched("one", first.Epoch, run, nil) // nothing goes on
		b.is("one", state.Running)
		next, its := b.operation("one", Update)
		for _, err := range []error{nil, broken()} {
			b.Launched("one", first.Epoch, run, err)
			b.same("one", state.Updating, next, its)
		}
		b.Launched("one", first.Epoch, nil, nil) // nothing was left to do
		b.same("one", state.Updating, next, its)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
	})
}

// The run of an operation could not be written down, and the operation ended. When that is tried again the next one
// goes on: the run is none of its runs.
func TestWhatIsWrittenLaterIsOfItsOperation(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.store.Break = b.store.Writes + 2 // the transition is written, the run is not
		_, first := b.operation("one", Renew)
		b.store.Repair()
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		next, its := b.operation("one", Update)
		if first.ID() == its.ID() {
			t.Fatal("one run")
		}
		time.Sleep(6 * time.Second) // it is tried again
		b.same("one", state.Updating, next, its)
	})
}

// An API server is asked, and an operation begins and ends before it answers. Its answer is of the cluster before: one
// that does not come after it is the first, and not the second.
func TestAnAnswerComesLate(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		b.world.Silence = 37 * time.Second
		b.world.Down("one", broken())
		time.Sleep(10 * time.Second) // it is being asked
		b.operation("one", Update)
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		time.Sleep(75 * time.Second) // the late answer, and the next
		b.is("one", state.Running)
		time.Sleep(55 * time.Second) // and another
		b.is("one", state.Unreachable)
		var seen []state.Event
		changes, err := b.store.Changes(t.Context(), 0, 100)
		for _, c := range changes {
			seen = append(seen, c.Event)
		}
		if !slices.Equal(seen, []state.Event{state.Create, state.CreateSuccess, state.Update, state.UpdateSuccess,
			state.InfoFailed}) || err != nil {
			t.Error(seen, err)
		}
	})
}

// The epochs of a cluster rise with its operations, also with those that are found.
func TestEpochsRise(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		var last uint64
		for _, k := range []Kind{Update, Snapshot, Restore, Upgrade, Renew} {
			o, _ := b.operation("one", k)
			if o.Epoch <= last {
				t.Errorf("%s has the epoch %d after %d", k, o.Epoch, last)
			}
			last = o.Epoch
			b.world.Newest("one").Finish(nil)
			b.is("one", state.Running)
		}
		b.world.Begin("one", Update)
		time.Sleep(3 * time.Second)
		v, _ := b.Cluster("one")
		if v.Operation == nil || !v.Operation.Found || v.Epoch <= last || v.Operation.Epoch != v.Epoch {
			t.Errorf("%d %+v", v.Epoch, v.Operation)
		}
		b.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
		b.is("one", state.Unavailable)
	})
}
