package manager_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// settled is long enough for scans, looks and what is tried again.
const settled = 45 * time.Second

// model does to a cluster what can happen to it, and has the reference say what comes of it.
type model struct {
	*bench
	reference
	rnd   *rand.Rand
	crash bool // the process dies of this step
	mixed bool // an operation ended in the step that the process died of: nobody knows which came first
	// stopping is what was to be stopped before the newest step, without a restart since.
	stopping *work
	// meanwhile a run began and ended that no server saw.
	meanwhile bool
	log       []string
}

const (
	only = "one"
	none = state.State("none") // there is no such cluster
)

// ask has somebody ask for something. may: it is possible; then do is what comes of it.
func (m *model) ask(may bool, do func(), request func() error) {
	m.t.Helper()
	err := request()
	lost := code(err) == "internal" && m.crash
	if (err == nil || lost) != may {
		m.t.Fatalf("it is possible: %v, and the answer %v\n%v", may, err, m.log)
	}
	if may && (err == nil || m.store.Torn) { // else nothing was written
		do()
	}
	synctest.Wait()
	m.log = append(m.log, code(err))
}

// operate has somebody begin an operation. refused: it cannot begin a run.
func (m *model) operate(k Kind, refused bool) {
	m.t.Helper()
	ctx, final := m.t.Context(), k == Restore && m.rnd.IntN(2) == 0
	free := m.world.Free(ctx, only) == nil
	may := m.may(k) && free && (k == Create) == (m.phase == nothing)
	if f, _ := m.world.Find(ctx, only); k == Create {
		may = may && !f.Installed
	}
	m.run(may, work{kind: k, final: final}, refused, func() error {
		if k == Create {
			return second(m.Create(ctx, only, Request{}))
		}
		return second(m.Begin(ctx, only, k, Request{Final: final}))
	})
}

// run is ask for what begins a run.
func (m *model) run(may bool, w work, refused bool, request func() error) {
	m.t.Helper()
	if refused {
		m.world.Refuse(only, login())
		defer m.world.Refuse(only, nil)
	}
	count := len(m.world.Runs(only))
	m.ask(may, func() { m.begin(w) }, request)
	switch all := m.world.Runs(only); {
	case !may || m.work == nil || m.crash && m.store.Break == 1: // none began
	case refused && m.crash && !m.store.Torn: // that could not be written down, and is not known after a restart
	case refused:
		m.ended(login(), true)
		m.mixed = m.crash
	case len(all) > count:
		m.began(all[count])
		m.runs = append(m.runs, w.kind)
	}
}

func login() *event.Fault { return &event.Fault{Class: event.ClassAuth, Code: "ssh.auth"} }

// goOn has somebody continue the cluster.
func (m *model) goOn() {
	m.t.Helper()
	may, k := m.phase == unavailable && m.work == nil, m.continued()
	request := func() error { return second(m.Continue(m.t.Context(), only, Request{})) }
	if !may || k == "" {
		m.ask(may, func() { m.phase = connecting }, request)
		return
	}
	m.run(m.may(k) || k == Create, work{kind: k}, false, request)
}

// cancelAll has somebody cancel what goes on.
func (m *model) cancelAll() {
	m.t.Helper()
	w := m.work
	may := w != nil && (w.kind.Quiet() || !w.canceling) || w == nil && m.phase == connecting
	m.ask(may, func() {
		if w == nil {
			m.phase = unavailable
		} else {
			w.canceling = true
		}
	}, func() error { return second(m.Cancel(m.t.Context(), only, Request{})) })
}

// follow tells the reference how runs ended, and that an update came to the next one.
func (m *model) follow() {
	for w := m.work; w != nil && w.run != nil && closed(w.run.Done()); w = m.work {
		out, all := w.run.Outcome(), m.world.Runs(only)
		if out.Fault == nil && w.kind == Update && !w.found && !w.canceling && w.came < max(m.world.Rounds, 1) {
			if len(all) == len(m.runs) { // the server has to begin it
				return
			}
			m.runs = append(m.runs, Update)
			m.began(all[len(m.runs)-1])
			continue
		}
		m.ended(out.Fault, out.Unchanged)
		m.mixed = m.crash
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seen tells the reference of a run that nobody has asked for here.
func (m *model) seen(starting bool) {
	r := m.world.Newest(only)
	if r == nil || m.work != nil || closed(r.Done()) && !m.meanwhile || m.phase == nothing && r.ID() <= m.until {
		return
	}
	f, _ := m.world.Find(m.t.Context(), only)
	m.found(r, f.Installed, starting)
	m.meanwhile = false
	m.follow()
}

// check waits until all is quiet, and compares the cluster and its runs with the reference.
func (m *model) check() {
	m.t.Helper()
	m.follow()
	if m.crash { // the process dies of it, and comes again
		m.Close()
		m.store.Repair()
		m.start()
		synctest.Wait()
		m.restarted()
		m.follow()
	}
	m.seen(m.crash)
	time.Sleep(settled)
	synctest.Wait()
	m.follow()
	m.rest()
	v, err := m.Cluster(only)
	if err != nil {
		v.State = none
	}
	if m.mixed && m.down && m.phase == connecting && v.State == state.Unreachable {
		m.phase = ready
	}
	died := m.crash
	m.crash, m.mixed = false, false
	if want := m.state(); v.State != want {
		m.t.Fatalf("the cluster is %q, want %q\n%+v\n%v", v.State, want, v.Fault, m.log)
	}
	if got := m.kinds(only); !slices.Equal(got, m.runs) || m.world.Most > 1 {
		m.t.Fatalf("the runs %v, at most %d at once; want %v\n%v", got, m.world.Most, m.runs, m.log)
	}
	if w, o := m.work, v.Operation; (w == nil) != (o == nil) ||
		w != nil && (w.kind != o.Kind || w.canceling != o.Canceling || w.found != o.Found || w.came != len(o.Runs)) {
		m.t.Fatalf("%+v goes on, want %+v\n%v", o, w, m.log)
	}
	if !died && m.work != nil && m.work.canceling && m.stopping == m.work {
		m.t.Fatalf("%+v was canceled a minute ago, and goes on\n%v", m.work, m.log)
	}
	if m.stopping = nil; m.work != nil && m.work.canceling {
		m.stopping = m.work
	}
	if m.work != nil && closed(m.work.run.Done()) {
		m.t.Fatalf("the run of %+v is over, and nothing follows\n%v", m.work, m.log)
	}
	if m.phase == unavailable && m.work == nil && v.Continued() != m.continued() {
		m.t.Fatalf("%q continues it, want %q\n%v", v.Continued(), m.continued(), m.log)
	}
}

// step is one thing that happens.
func (m *model) step() {
	m.t.Helper()
	ctx, newest := m.t.Context(), m.world.Newest(only)
	f, _ := m.world.Find(ctx, only)
	what := m.rnd.IntN(20)
	switch { // else little would happen
	case m.phase == nothing && what%3 > 0:
		what = map[bool]int{false: 0, true: 10}[f.Installed]
	case m.work != nil && what < 7:
		what = []int{8, 8, 11, 14, 17, 18, 19}[what]
	}
	m.log = append(m.log, strconv.Itoa(what))
	switch what {
	case 0, 1:
		m.operate(Create, false)
	case 2, 3:
		m.operate([]Kind{Update, Restore, Upgrade, Renew, Delete, Snapshot}[m.rnd.IntN(6)], true)
	case 4, 5, 6:
		m.operate([]Kind{Update, Restore, Upgrade, Renew, Delete, Snapshot}[m.rnd.IntN(6)], false)
	case 7:
		m.goOn()
	case 8:
		m.cancelAll()
	case 9:
		until := ""
		if newest != nil {
			until = newest.ID()
		}
		m.ask(m.may(Delete), func() { m.reference = reference{down: m.down, runs: m.runs, until: until} },
			func() error { return second(m.Forget(ctx, only, Request{})) })
	case 10:
		m.ask(m.phase == nothing && f.Installed, func() { m.phase, m.made, m.failed = connecting, false, nil },
			func() error { return second(m.Import(ctx, only, false, Request{})) })
	case 11, 12, 13:
		if newest != nil {
			newest.Finish([]*event.Fault{nil, nil, broken(), refused()}[m.rnd.IntN(4)])
		}
	case 14:
		if newest != nil {
			newest.Refuse(refused())
		}
	case 15:
		m.down = m.rnd.IntN(2) == 0
		m.world.Down(only, map[bool]*event.Fault{true: broken()}[m.down])
	case 16:
		k := []Kind{Create, Update, Upgrade, Restore, Delete, Backup}[m.rnd.IntN(6)]
		if !f.Live && (k != Backup || f.Installed) {
			m.world.Begin(only, k)
			m.runs = append(m.runs, k)
		}
	case 17:
		m.crash = true
	case 18, 19: // while no server is there
		m.crash = true
		m.Close()
		if !f.Live && m.phase != nothing {
			k := []Kind{Update, Restore, Delete, Backup}[m.rnd.IntN(4)]
			newest, m.meanwhile = m.world.Begin(only, k), true
			m.runs = append(m.runs, k)
		}
		if newest != nil {
			newest.Finish(map[bool]*event.Fault{true: broken()}[what == 18])
		}
	}
	synctest.Wait()
}

// Random events, with crashes at random writes, before them and after them: whatever happens, the cluster is what the
// reference says, and the runs are those that it says. In the end all of it can be brought to Running.
func TestModel(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			w := &managertest.World{Stubborn: seed%2 == 0, Rounds: 1 + seed/2%2}
			m := &model{bench: begin(t, w, &managertest.Memory{}), rnd: rand.New(rand.NewPCG(uint64(seed), 3))}
			m.log = []string{"seed " + strconv.Itoa(seed)}
			defer func() { m.Close() }()
			for range 40 {
				if m.rnd.IntN(4) == 0 {
					m.store.Repair()
					m.store.Break, m.store.Torn = 1+m.rnd.IntN(2), m.rnd.IntN(2) == 0
					m.crash = true
					m.log = append(m.log, fmt.Sprint("break ", m.store.Break, m.store.Torn))
				}
				m.step()
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
