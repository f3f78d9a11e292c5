package manager_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	. "github.com/eggo-k8s/eggo/internal/manager"
	"github.com/eggo-k8s/eggo/internal/manager/managertest"
	"github.com/eggo-k8s/eggo/internal/manager/state"
)

// settled is long enough for scans, looks and what is tried again.
const settled = 45 * time.Second

// model knows what the clusters have to be, from what happened to the machines alone.
type model struct {
	*bench
	rnd      *rand.Rand
	down     bool
	forgot   string          // the newest run when it was forgotten
	canceled map[string]bool // runs that were to be canceled
	perhaps  string          // a run that may be one of them
	crashed  bool            // since the newest run began: what was asked for may not have begun
	log      []string
}

const (
	only = "one"
	none = state.State("none") // there is no such cluster
)

// want is the state that the cluster has to have when all is quiet; also, where a crash leaves two ways.
func (m *model) want(v View) (want, also state.State) {
	r := m.world.Loud(only)
	f, _ := m.world.Find(m.t.Context(), only)
	if r != nil { // a quiet one changes no state
		f.Kind, f.Fault = r.Kind, r.Outcome().Fault
		f.Live = f.Live && f.Run == r.ID()
	}
	if m.crashed && (v.State == state.Unavailable || v.State == none) {
		also = v.State
	}
	switch {
	case r == nil && m.crashed:
		return v.State, also
	case r == nil:
		return none, also
	case f.Live && m.canceled[r.ID()]:
		return state.Canceling, also
	case f.Live && m.perhaps == r.ID() && v.State == state.Canceling:
		return state.Canceling, also
	case f.Kind == Delete && !f.Installed && v.State == none: // nothing that a record could be made of
		return none, also
	case f.Live && f.Kind == Delete:
		return state.Destroy, also
	case f.Live && f.Kind == Create && !v.Made:
		return state.Creating, also
	case f.Live:
		return state.Updating, also
	case m.forgot == r.ID(), f.Kind == Delete && f.Fault == nil:
		return none, also
	case f.Fault == nil && m.canceled[r.ID()] && f.Kind == Update && v.State == state.Unavailable:
		return state.Unavailable, also // what is left of it was not begun
	case f.Fault == nil && m.perhaps == r.ID() && v.State == state.Unavailable:
		return state.Unavailable, also
	case f.Fault == nil && m.down && v.State == state.Connecting:
		return state.Connecting, also
	case f.Fault == nil && m.down:
		return state.Unreachable, also
	case f.Fault == nil:
		return state.Running, also
	}
	return state.Unavailable, also
}

func (m *model) check() {
	m.t.Helper()
	time.Sleep(settled)
	synctest.Wait()
	v, err := m.Cluster(only)
	if err != nil {
		v.State = none
	}
	want, also := m.want(v)
	if v.State != want && v.State != also {
		m.t.Fatalf("the cluster is %q, want %q or %q\n%+v\n%v", v.State, want, also, v.Fault, m.log)
	}
	if m.world.Most > 1 {
		m.t.Fatalf("%d runs at once\n%v", m.world.Most, m.log)
	}
}

// step is one thing that happens.
func (m *model) step() {
	ctx, newest := m.t.Context(), m.world.Newest(only)
	before := ""
	if loud := m.world.Loud(only); loud != nil {
		before = loud.ID()
	}
	what := m.rnd.IntN(14)
	var err error
	switch what {
	case 0, 1:
		_, err = m.Create(ctx, only, Request{})
	case 2:
		_, err = m.Begin(ctx, only, Update, Request{})
	case 3:
		_, err = m.Continue(ctx, only, Request{})
	case 4:
		f, _ := m.world.Find(ctx, only)
		if _, err = m.Cancel(ctx, only, Request{}); f.Live && err == nil {
			m.canceled[before] = true
		} else if err == nil { // the connecting
			m.perhaps = before
		} else if f.Live && m.store.Torn && m.store.Break > 0 && code(err) == "internal" {
			m.perhaps = before // written, and nobody heard of it
		}
	case 5:
		_, err = m.Begin(ctx, only, Delete, Request{})
	case 6:
		if _, err = m.Forget(ctx, only, Request{}); err == nil || m.store.Torn && code(err) == "internal" {
			m.forgot = before
		}
	case 7, 8:
		if newest != nil {
			newest.Finish(map[bool]*event.Fault{true: broken()}[m.rnd.IntN(2) == 0])
		}
	case 9:
		m.down = m.rnd.IntN(2) == 0
		m.world.Down(only, map[bool]*event.Fault{true: broken()}[m.down])
	case 10:
		if m.world.Free(ctx, only) == nil {
			m.world.Begin(only, []Kind{Create, Update, Delete}[m.rnd.IntN(3)])
		}
	case 11:
		m.restart()
	case 12:
		_, err = m.Begin(ctx, only, Snapshot, Request{})
	case 13:
		if f, _ := m.world.Find(ctx, only); f.Installed && !f.Live && m.forgot != before {
			m.world.Begin(only, Backup)
		}
	}
	synctest.Wait()
	m.log = append(m.log, fmt.Sprintf("%d:%s", what, code(err)))
	if r := m.world.Loud(only); r != nil && r.ID() != before {
		m.crashed = false
	}
}

// Random events, with crashes at random writes, before them and after them: whatever happens, the cluster is what its
// machines say, and one installer works on it at most. In the end all of it can be brought to Running.
func TestModel(t *testing.T) {
	seeds := 120
	if testing.Short() {
		seeds = 25
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			m := &model{bench: begin(t, &managertest.World{Stubborn: seed%2 == 0}, &managertest.Memory{}),
				rnd: rand.New(rand.NewPCG(uint64(seed), 3)), canceled: map[string]bool{}}
			m.log = []string{"seed " + strconv.Itoa(seed)}
			defer func() { m.Close() }()
			for range 40 {
				if m.rnd.IntN(4) == 0 {
					m.store.Repair()
					m.store.Break, m.store.Torn = 1+m.rnd.IntN(2), m.rnd.IntN(2) == 0
					m.crashed = true
					m.log = append(m.log, "break")
				}
				m.step()
				if m.store.Break > 0 { // the process dies of it, and comes again
					m.Close()
					m.store.Repair()
					m.start()
				}
				m.check()
			}
			m.toRunning()
		})
	}
}

// toRunning does what an operator would, until the cluster runs.
func (m *model) toRunning() {
	m.t.Helper()
	m.world.Down(only, nil)
	for range 20 {
		if r := m.world.Newest(only); r != nil {
			r.Finish(nil)
		}
		time.Sleep(settled)
		synctest.Wait()
		v, err := m.Cluster(only)
		switch {
		case err != nil:
			if _, err := m.Create(m.t.Context(), only, Request{}); code(err) == "manager.taken" { // forgotten
				_, _ = m.Import(m.t.Context(), only, false, Request{})
			}
		case v.State == state.Running:
			return
		case v.State == state.Unavailable:
			if _, err := m.Continue(m.t.Context(), only, Request{}); err != nil {
				m.t.Fatalf("%v\n%v", err, m.log)
			}
		}
	}
	m.t.Fatalf("it never ran\n%v", m.log)
}

// A whole life with a crash at every single write of it, before the write and after it. Nothing is begun twice, and the
// story can be told to its end.
func TestCrashAtEveryWrite(t *testing.T) {
	for _, torn := range []bool{false, true} {
		for at := 1; ; at++ {
			reached := false
			synctest.Test(t, func(t *testing.T) {
				b := begin(t, &managertest.World{}, &managertest.Memory{Break: at, Torn: torn})
				defer func() { b.Close() }()
				reached = b.wholeLife()
			})
			if !reached {
				if at < 8 {
					t.Errorf("a whole life has %d writes only", at)
				}
				break
			}
		}
	}
}

// wholeLife creates, updates, cancels, continues and deletes. When the store breaks the manager dies and comes again.
// It says whether the store broke.
func (b *bench) wholeLife() (crashed bool) {
	ctx := b.t.Context()
	until := func(want state.State, do func() error) {
		b.t.Helper()
		for range 10 {
			if err := do(); err == nil {
				synctest.Wait()
			}
			if b.store.Break > 0 && b.store.Writes >= b.store.Break {
				crashed = true
				b.Close()
				b.store.Repair()
				b.start()
			}
			time.Sleep(settled)
			synctest.Wait()
			v, err := b.Cluster(only)
			if err != nil && want == "" || err == nil && v.State == want {
				return
			}
			if err == nil && v.State == state.Unavailable {
				_, _ = b.Continue(ctx, only, Request{})
				synctest.Wait()
				if r := b.world.Newest(only); want == state.Running && r != nil {
					r.Finish(nil)
				}
			}
		}
		b.t.Fatalf("never %q", want)
	}
	until(state.Creating, func() error { return second(b.Create(ctx, only, Request{})) })
	finish := func() error { b.world.Newest(only).Finish(nil); return nil }
	until(state.Running, finish)
	until(state.Updating, func() error { return second(b.Begin(ctx, only, Update, Request{})) })
	until(state.Running, finish)
	until(state.Updating, func() error { return second(b.Begin(ctx, only, Update, Request{})) })
	until(state.Unavailable, func() error { return second(b.Cancel(ctx, only, Request{})) })
	until(state.Running, func() error {
		_ = second(b.Continue(ctx, only, Request{}))
		synctest.Wait()
		return finish()
	})
	until(state.Destroy, func() error { return second(b.Begin(ctx, only, Delete, Request{})) })
	until("", finish)
	if b.world.Most != 1 {
		b.t.Errorf("%d runs at once", b.world.Most)
	}
	return crashed
}

// Two hundred clusters at once, each with a life of its own.
func TestTwoHundredClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, &managertest.World{Takes: 90 * time.Second, Fails: func(_ string, n int) *event.Fault {
			if n == 2 {
				return broken()
			}
			return nil
		}}, &managertest.Memory{})
		defer func() { b.Close() }()
		ctx := t.Context()
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				name := "c" + strconv.Itoa(i)
				for _, do := range []func() error{
					func() error { return second(b.Create(ctx, name, Request{})) },
					func() error { return second(b.Begin(ctx, name, Update, Request{})) }, // fails
					func() error { return second(b.Continue(ctx, name, Request{})) },
					func() error { return second(b.Begin(ctx, name, Snapshot, Request{})) },
				} {
					if err := do(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					time.Sleep(2 * time.Minute)
				}
			})
		}
		all.Wait()
		if got := b.Clusters(); len(got) != 200 {
			t.Fatal(len(got))
		}
		for _, v := range b.Clusters() {
			if v.State != state.Running || v.Operation != nil || len(v.Last.Runs) != 1 {
				t.Errorf("%s: %s %+v", v.Name, v.State, v.Last)
			}
		}
		if b.world.Most != 1 {
			t.Errorf("%d runs at once", b.world.Most)
		}
	})
}
