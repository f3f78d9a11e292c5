package manager_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// life is the life of a cluster, with a manager that dies when its store breaks, and comes again.
type life struct {
	*bench
	crashed bool
}

// A whole life with a crash at every single write of it, before the write and after it. Each operation comes to one
// run, whether its request has to be repeated, or what was written down to be continued, or neither.
func TestCrashAtEveryWrite(t *testing.T) {
	for _, torn := range []bool{false, true} {
		for at := 1; ; at++ {
			reached := false
			synctest.Test(t, func(t *testing.T) {
				l := &life{bench: begin(t, &managertest.World{}, &managertest.Memory{Break: at, Torn: torn})}
				defer func() { l.Close() }()
				l.tell()
				if reached = l.crashed; t.Failed() {
					t.Fatalf("the crash was at write %d, done: %v", at, torn)
				}
			})
			if !reached {
				if at < 30 {
					t.Errorf("a whole life has %d writes only", at)
				}
				break
			}
		}
	}
}

func (l *life) tell() {
	l.t.Helper()
	ctx := l.t.Context()
	l.operates(Create, func() error { return second(l.Create(ctx, only, Request{})) })
	l.finishes(state.Running)
	for _, k := range []Kind{Update, Renew, Upgrade, Restore, Snapshot} {
		l.operates(k, func() error { return second(l.Begin(ctx, only, k, Request{})) })
		l.finishes(state.Running)
	}
	l.operates(Update, func() error { return second(l.Begin(ctx, only, Update, Request{})) })
	l.asks(func() error { return second(l.Cancel(ctx, only, Request{})) },
		func(v View) bool { return v.State == state.Unavailable })
	l.operates(Update, func() error { return second(l.Continue(ctx, only, Request{})) })
	l.finishes(state.Running)
	l.asks(func() error { return second(l.Forget(ctx, only, Request{})) },
		func(v View) bool { return v.State == none })
	l.asks(func() error { return second(l.Import(ctx, only, false, Request{})) },
		func(v View) bool { return v.State == state.Running })
	l.operates(Delete, func() error { return second(l.Begin(ctx, only, Delete, Request{})) })
	l.finishes(none)
	want := []Kind{Create, Update, Renew, Upgrade, Restore, Snapshot, Update, Update, Delete}
	if got := l.kinds(only); !slices.Equal(got, want) || l.world.Most != 1 {
		l.t.Errorf("the runs %v, %d at once; want %v", got, l.world.Most, want)
	}
}

// revives has the manager die and come again, if the store is broken.
func (l *life) revives() {
	synctest.Wait()
	if l.store.Break > 0 && l.store.Writes >= l.store.Break {
		l.crashed = true
		l.Close()
		l.store.Repair()
		l.start()
		time.Sleep(settled)
		synctest.Wait()
	}
}

func (l *life) view() View {
	v, err := l.Cluster(only)
	if err != nil {
		v.State = none
	}
	return v
}

// asks asks for something, and once more if a crash has lost it.
func (l *life) asks(request func() error, done func(View) bool) {
	l.t.Helper()
	err := request()
	if l.revives(); err != nil && !done(l.view()) {
		err = request()
		if synctest.Wait(); err != nil {
			l.t.Error(err)
		}
	}
	if v := l.view(); !done(v) {
		l.t.Errorf("it is %s, %+v goes on, %+v", v.State, v.Operation, v.Fault)
	}
}

// operates begins an operation. One that was written down and not begun is continued, if its kind is one of those.
func (l *life) operates(k Kind, request func() error) {
	l.t.Helper()
	l.asks(func() error {
		if v := l.view(); v.Fault != nil && v.Fault.Code == "manager.not-begun" && v.State == state.Unavailable {
			return second(l.Continue(l.t.Context(), only, Request{}))
		}
		return request()
	}, func(v View) bool { return v.Operation != nil && v.Operation.Kind == k && len(v.Operation.Runs) == 1 })
}

// finishes ends the run of an operation.
func (l *life) finishes(want state.State) {
	l.t.Helper()
	l.world.Newest(only).Finish(nil)
	l.revives()
	if v := l.view(); v.State != want || v.Operation != nil {
		l.t.Errorf("it is %s, want %s; %+v goes on, %+v", v.State, want, v.Operation, v.Fault)
	}
}
