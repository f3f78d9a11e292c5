package manager

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

const (
	connectAgain = 10 * time.Second // the design's
	// healthEvery is how often each API server is asked. With the time that a Runner gives an answer, Running and
	// Unreachable are within 30 seconds of the truth, which takes two answers.
	healthEvery = 10 * time.Second
	scanEvery   = 2 * time.Second
	// patience is how long a run may take to end after it was told to stop: then its steps are broken off.
	patience = time.Minute
)

// Options of a Manager. All but Report and Follow have to be there.
type Options struct {
	Store  Store
	Runner Runner
	Clock  Clock
	// Report is told of what nobody waits for, such as a record that cannot be written; nil: nobody listens.
	Report func(cluster string, err error)
	// Follow is told of each operation that begins here, and of each that has ended, with how; nil: nobody is.
	Follow func(cluster string, o Operation, how *Outcome)
}

// Manager has all clusters.
type Manager struct {
	store  Store
	runner Runner
	clock  Clock
	report func(string, error)
	// followed is told of operations.
	followed func(string, Operation, *Outcome)

	life   context.Context
	end    context.CancelFunc
	all    sync.WaitGroup
	scan   sync.Mutex        // one scan at a time
	tidied map[string]string // by cluster: the run that removed it; the scan's

	mu       sync.Mutex // of the fields below; never held while anything is waited for
	clusters map[string]*cluster
	sorted   []*cluster         // those of clusters by name; never written
	news     chan struct{}      // closed when there are new changes
	doubtful map[string]*Record // by cluster: what was perhaps written
}

// New loads the clusters and begins to look after them. Close ends that, and no run.
func New(ctx context.Context, o Options) (*Manager, error) {
	m := &Manager{store: o.Store, runner: o.Runner, clock: o.Clock, report: o.Report, followed: o.Follow,
		clusters: map[string]*cluster{}, news: make(chan struct{}), tidied: map[string]string{},
		doubtful: map[string]*Record{}}
	if m.report == nil {
		m.report = func(string, error) {}
	}
	if m.followed == nil {
		m.followed = func(string, Operation, *Outcome) {}
	}
	m.life, m.end = context.WithCancel(context.WithoutCancel(ctx))
	records, err := m.store.Load(ctx)
	if err == nil {
		err = m.Scan(ctx, records...)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	m.all.Go(func() { m.every(scanEvery, func() error { return m.Scan(m.life) }) })
	m.all.Go(func() { m.every(healthEvery/2, func() error { m.look(healthEvery / 2); return nil }) })
	return m, nil
}

// Close ends the looking after the clusters. Runs continue.
func (m *Manager) Close() {
	m.end()
	m.all.Wait()
}

// Ready says whether the manager works: New has read the clusters, Close was not called, and the store answers.
func (m *Manager) Ready(ctx context.Context) error {
	if err := m.life.Err(); err != nil {
		return err
	}
	_, err := m.store.Changes(ctx, math.MaxInt64, 1)
	return err
}

func (m *Manager) every(d time.Duration, do func() error) {
	for m.clock.Sleep(m.life, d) == nil {
		if err := do(); err != nil && m.life.Err() == nil {
			m.report("", err)
		}
	}
}

// look asks the API servers of all clusters that have one whether they answer. It begins with one after the other, over
// all of the time that it has, and waits for none: many that are silent are found out as soon as one is.
func (m *Manager) look(in time.Duration) {
	all := slices.DeleteFunc(slices.Clone(m.each()), func(c *cluster) bool { return !c.shown.Load().State.Ready() })
	for i, c := range all {
		c.ask()
		left := len(all) - i
		pause := in / time.Duration(left)
		if in -= pause; m.clock.Sleep(m.life, pause) != nil {
			return
		}
	}
	_ = m.clock.Sleep(m.life, in)
}

// each returns the clusters by name.
func (m *Manager) each() []*cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sorted == nil {
		m.sorted = slices.SortedFunc(maps.Values(m.clusters), func(a, b *cluster) int {
			return strings.Compare(a.name, b.name)
		})
	}
	return m.sorted
}

func (m *Manager) get(name string) (*cluster, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clusters[name]; c != nil {
		return c, nil
	}
	return nil, unknown(name)
}

// add makes a cluster of a record, unless there is one of that name.
func (m *Manager) add(rec Record) (*cluster, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clusters[rec.Name] != nil {
		return nil, Taken(rec.Name)
	}
	c := m.newCluster(rec)
	m.clusters[rec.Name], m.sorted = c, nil
	return c, nil
}

// Taken is the fault of a name that another cluster has.
func Taken(name string) error {
	return event.NewFault(event.ClassLocked, "manager.taken", nil, "cluster", name)
}

func (m *Manager) forget(c *cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clusters[c.name] == c {
		delete(m.clusters, c.name)
		m.sorted = nil
	}
}

// drop takes a cluster back that was never written down.
func (m *Manager) drop(c *cluster) {
	c.gone = true
	m.forget(c)
}

func (m *Manager) changed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.news)
	m.news = make(chan struct{})
}

// Changes gives the changes after a number, waiting for one if there is none yet. Who is slow reads what is written: no
// queue holds up a cluster.
func (m *Manager) Changes(ctx context.Context, after uint64) ([]Change, error) {
	for {
		m.mu.Lock()
		news := m.news
		m.mu.Unlock()
		out, err := m.store.Changes(ctx, after, 256)
		if err != nil || len(out) > 0 {
			return out, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.life.Done():
			return nil, m.life.Err()
		}
	}
}

// Clusters returns all clusters, by name. The views are shared: do not change them.
func (m *Manager) Clusters() []*View {
	all := m.each()
	out := make([]*View, 0, len(all))
	for _, c := range all {
		if v := c.shown.Load(); v.Revision > 0 {
			out = append(out, v)
		}
	}
	return out
}

// Cluster is one of them.
func (m *Manager) Cluster(name string) (View, error) {
	c, err := m.get(name)
	if err != nil {
		return View{}, err
	}
	v := c.shown.Load()
	if v.Revision == 0 || v.Gone {
		return View{}, unknown(name)
	}
	return *v, nil
}

// Health is the history of a cluster before a number (0: up to now), the newest first, at most n.
func (m *Manager) Health(ctx context.Context, name string, before uint64, n int) ([]Health, error) {
	if _, err := m.Cluster(name); err != nil {
		return nil, err
	}
	return m.store.Health(ctx, name, before, n)
}

// Request is what somebody asks for.
type Request struct {
	By string
	// Revision that the record has to have; 0: any.
	Revision uint64
	// Wanted becomes the record's; nil leaves it.
	Wanted json.RawMessage
	// Request is the operation's.
	Request json.RawMessage
	// Final is the operation's.
	Final bool
	// Check is called with the record by the goroutine of the cluster, before anything is changed; nil: nothing is
	// checked. It does not wait for anything.
	Check func(Record) error
	// Prepare is called after everything was checked and before anything is written down, for what has to be there
	// before, such as a private key; nil: nothing. What it makes is harmless where it is not used, or Undo undoes it.
	Prepare func() error
	// Undo is called by the goroutine of the cluster, before anything else can begin, if an operation for which Prepare
	// was called does not: not of a Create, and not while that is in doubt (ErrWriteUnconfirmed); nil: nothing is
	// undone.
	Undo func() error
}

func (q Request) operation(k Kind) Operation {
	return Operation{Kind: k, By: q.By, Request: q.Request, Final: q.Final}
}

// ready is what is checked of every request.
func (q Request) ready(r Record) error {
	if q.Revision != 0 && q.Revision != r.Revision {
		return event.NewFault(event.ClassLocked, "manager.revision", nil, "cluster", r.Name)
	}
	if q.Check != nil {
		if err := q.Check(r); err != nil {
			return err
		}
	}
	if q.Prepare != nil {
		return q.Prepare()
	}
	return nil
}

// Has says whether there is a cluster.
func (m *Manager) Has(name string) bool {
	_, err := m.Cluster(name)
	return err == nil
}

// Create makes a cluster.
func (m *Manager) Create(ctx context.Context, name string, q Request) (View, error) {
	former, err := m.free(ctx, name)
	if err != nil {
		return View{}, err
	}
	rec := Record{Name: name, Wanted: q.Wanted, Created: m.clock.Now(), LastRunOfPredecessor: former}
	if former != "" {
		rec.Begins = rec.Created
	}
	c, err := m.add(rec)
	if err != nil {
		return View{}, err
	}
	return c.create(ctx, q)
}

// create is the first message of a cluster that is made.
func (c *cluster) create(ctx context.Context, q Request) (View, error) {
	return c.act(context.WithoutCancel(ctx), func(ctx context.Context) error { // the name is not left to nobody
		err := q.ready(c.rec)
		if err == nil {
			err = c.begin(ctx, state.Create, q.operation(Create), nil)
		}
		if err != nil && c.rec.Revision == 0 {
			c.untold()
		}
		return err
	})
}

// free refuses a name that another cluster has, also one that the command line made a moment ago. It gives the newest
// run of the clusters that had the name before.
func (m *Manager) free(ctx context.Context, name string) (former string, err error) {
	f, err := m.runner.Find(ctx, name)
	if err == nil && (f.Installed || f.Live) {
		err = Taken(name)
	}
	return f.Run, err
}

// act has something done by the cluster's goroutine, and gives what the cluster is then.
func (c *cluster) act(ctx context.Context, do func(context.Context) error) (View, error) {
	if err := c.do(ctx, do); err != nil {
		if errors.Is(err, ErrRevision) {
			err = event.NewFault(event.ClassLocked, "manager.revision", nil, "cluster", c.name)
		}
		return View{}, err
	}
	return *c.shown.Load(), nil
}

// Begin begins an operation of a cluster that exists: any but Create, Delete and Snapshot with its transition by the
// design, and what continues one that failed.
func (m *Manager) Begin(ctx context.Context, name string, k Kind, q Request) (View, error) {
	c, err := m.get(name)
	if err != nil {
		return View{}, err
	}
	return c.act(ctx, func(ctx context.Context) error { return c.operate(ctx, k, q) })
}

// Possible refuses what Begin would refuse for the state or the revision, before something is done for it.
func (m *Manager) Possible(ctx context.Context, name string, k Kind, revision uint64) error {
	c, err := m.get(name)
	if err != nil {
		return err
	}
	_, err = c.act(ctx, func(context.Context) error {
		if err := c.fits(k); err != nil {
			return err
		}
		return Request{Revision: revision}.ready(c.rec)
	})
	return err
}

func (c *cluster) operate(ctx context.Context, k Kind, q Request) error {
	if err := c.fits(k); err != nil { // before what is asked for is checked: nobody can change it now
		return err
	}
	prepared, doubt := false, false
	if prepare := q.Prepare; prepare != nil {
		q.Prepare = func() error { prepared = true; return prepare() }
	}
	err := q.ready(c.rec)
	if err == nil {
		err = c.begin(ctx, c.eventOf(k), q.operation(k), func(r *Record) {
			if q.Wanted != nil {
				r.Wanted = q.Wanted
			}
		})
		doubt = err != nil && c.m.doubt(c.name) != nil
	}
	switch {
	case doubt:
		return errors.Join(err, ErrWriteUnconfirmed)
	case err != nil && prepared && q.Undo != nil:
		return errors.Join(err, q.Undo())
	}
	return err
}

// fits refuses what is not possible in the state that the cluster is in.
func (c *cluster) fits(k Kind) error {
	ok := c.state.Ready()
	if !k.Quiet() {
		_, err := state.Full(c.state, c.eventOf(k))
		ok = err == nil
	}
	if !ok || c.rec.Operation != nil {
		return c.refused(string(k))
	}
	return nil
}

// eventOf is the event that begins an operation.
func (c *cluster) eventOf(k Kind) state.Event {
	switch {
	case k == Delete && c.state == state.Connecting:
		return state.DeleteConnecting
	case k == Delete:
		return state.Delete
	case k == Create:
		return state.ContinueCreate
	case k == Restore && (c.state == state.Unreachable || c.state == state.Connecting):
		return state.Repair
	}
	return state.Update
}

// Continue continues what failed or was canceled, as it was wanted: Record.Continued. Where nothing did, the API server
// is asked again.
func (m *Manager) Continue(ctx context.Context, name string, q Request) (View, error) {
	c, err := m.get(name)
	if err != nil {
		return View{}, err
	}
	return c.act(ctx, func(ctx context.Context) error {
		k := c.rec.Continued()
		if c.state != state.Unavailable || c.rec.Operation != nil {
			return c.refused("continue")
		}
		if k == "" {
			return c.reconnect(ctx, q)
		}
		if q.Request == nil {
			q.Request = c.rec.Failed.Request
		}
		return c.operate(ctx, k, q)
	})
}

// reconnect asks the API server again, until it answers.
func (c *cluster) reconnect(ctx context.Context, q Request) error {
	err := q.ready(c.rec)
	if err == nil {
		err = c.apply(ctx, state.Reconnect, func(r *Record) { r.Fault = nil })
	}
	if err == nil {
		c.connect()
	}
	return err
}

// Cancel cancels what goes on. It returns when that was told; the cluster is unavailable when it has ended.
func (m *Manager) Cancel(ctx context.Context, name string, q Request) (View, error) {
	c, err := m.get(name)
	if err != nil {
		return View{}, err
	}
	return c.act(ctx, func(ctx context.Context) error {
		if err := q.ready(c.rec); err != nil {
			return err
		}
		return c.cancel(ctx)
	})
}
