// Package managertest has a world without machines, for tests of the manager and of what stands on it: runs that go on
// whatever becomes of the manager, and a store in memory that a test can break.
package managertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// Clock is the machine's, which is that of the bubble in a synctest.
type Clock struct{}

// Now implements manager.Clock.
func (Clock) Now() time.Time { return time.Now() }

// Sleep implements manager.Clock.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// World has the runs of all clusters. It implements manager.Runner.
type World struct {
	mu    sync.Mutex
	all   map[string]*site
	count int
	// Hold keeps Start waiting, until its context ends or Hold is closed; nil: it does not wait.
	Hold chan struct{}
	// Late keeps Start waiting when its run has begun, as Hold does before.
	Late chan struct{}
	// Takes is how long a run takes that nobody ends; 0: until Finish. Fails gives how it ends; nil: well.
	Takes time.Duration
	Fails func(cluster string, n int) *event.Fault
	// Stubborn runs do not hear Stop.
	Stubborn bool
	// Most is how many runs of one cluster went on at once, ever.
	Most int
	// Silence is how long an API server that is down is waited for.
	Silence time.Duration
	// Rounds of an update: how many runs it comes to; 0: one.
	Rounds int
	tidied []string
}

// site is the machines of a cluster.
type site struct {
	runs      []*Run
	installed bool
	down      *event.Fault // why the API server does not answer
	refused   *event.Fault // why the next Start is refused
}

// Run is a run in the world.
type Run struct {
	w       *World
	site    *site
	id      string
	Cluster string
	Kind    manager.Kind
	done    chan struct{}
	fault   *event.Fault // when done is closed
	stopped bool
	changed bool // something on a node
}

func (w *World) site(name string) *site {
	if w.all == nil {
		w.all = map[string]*site{}
	}
	if w.all[name] == nil {
		w.all[name] = &site{}
	}
	return w.all[name]
}

// Begin begins a run as the command line would.
func (w *World) Begin(cluster string, k manager.Kind) *Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.site(cluster)
	w.count++
	r := &Run{w: w, site: s, id: fmt.Sprintf("20261121T%06dZ-run", w.count), Cluster: cluster, Kind: k,
		done: make(chan struct{}), changed: true}
	s.runs = append(s.runs, r)
	live := 0
	for _, o := range s.runs {
		if !o.over() {
			live++
		}
	}
	if w.Most = max(w.Most, live); w.Takes > 0 {
		n := len(s.runs)
		time.AfterFunc(w.Takes, func() {
			var f *event.Fault
			if w.Fails != nil {
				f = w.Fails(cluster, n)
			}
			r.Finish(f)
		})
	}
	return r
}

func (r *Run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Finish ends the run, which has changed something.
func (r *Run) Finish(f *event.Fault) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.finish(f)
}

// Refuse ends the run before it has changed anything.
func (r *Run) Refuse(f *event.Fault) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.changed = false
	r.finish(f)
}

func (r *Run) finish(f *event.Fault) {
	if r.over() {
		return
	}
	if r.fault = f; f == nil && !r.Kind.Quiet() {
		r.site.installed = r.Kind != manager.Delete
	}
	close(r.done)
}

// ID implements manager.Run.
func (r *Run) ID() string { return r.id }

// Done implements manager.Run.
func (r *Run) Done() <-chan struct{} { return r.done }

// Outcome implements manager.Run.
func (r *Run) Outcome() manager.Outcome {
	return manager.Outcome{Fault: r.fault, Unchanged: !r.changed}
}

// Stop implements manager.Run.
func (r *Run) Stop() error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.stopped = true; !r.w.Stubborn {
		r.finish(&event.Fault{Class: event.ClassInterrupted, Code: "run.interrupted"})
	}
	return nil
}

// Abort implements manager.Run.
func (r *Run) Abort() error {
	r.Finish(&event.Fault{Class: event.ClassInterrupted, Code: "run.interrupted"})
	return nil
}

// Stopped says whether the run was told to stop.
func (r *Run) Stopped() bool {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return r.stopped
}

// Newest is the newest run of a cluster, nil if there is none.
func (w *World) Newest(cluster string) *Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.site(cluster); len(s.runs) > 0 {
		return s.runs[len(s.runs)-1]
	}
	return nil
}

// Runs are the runs of a cluster that ever began, in their order.
func (w *World) Runs(cluster string) []*Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.site(cluster).runs)
}

// Loud is the newest run of a cluster that is not quiet, nil if there is none.
func (w *World) Loud(cluster string) *Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range slices.Backward(w.site(cluster).runs) {
		if !r.Kind.Quiet() {
			return r
		}
	}
	return nil
}

// Down makes the API server of a cluster answer no more, or again (nil).
func (w *World) Down(cluster string, f *event.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.site(cluster).down = f
}

// Refuse makes the next Start of a cluster fail.
func (w *World) Refuse(cluster string, f *event.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.site(cluster).refused = f
}

// Install has a cluster made by the command line.
func (w *World) Install(cluster string) { w.Begin(cluster, manager.Create).Finish(nil) }

// Free implements manager.Runner.
func (w *World) Free(_ context.Context, cluster string) error {
	if r := w.Newest(cluster); r != nil && !r.over() {
		return &event.Fault{Class: event.ClassLocked, Code: "lock.cluster-held"}
	}
	return nil
}

// Attach implements manager.Runner.
func (w *World) Attach(_ context.Context, cluster, run string) (manager.Run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.site(cluster).runs {
		if r.id == run {
			return r, nil
		}
	}
	return nil, errors.New("no such run")
}

// Scan implements manager.Runner.
func (w *World) Scan(ctx context.Context) ([]manager.Found, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []manager.Found
	for _, name := range slices.Sorted(maps.Keys(w.all)) {
		if f := w.find(name); f.Run != "" {
			out = append(out, f)
		}
	}
	return out, ctx.Err()
}

// Find implements manager.Runner.
func (w *World) Find(_ context.Context, cluster string) (manager.Found, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.find(cluster), nil
}

func (w *World) find(name string) manager.Found {
	s := w.site(name)
	f := manager.Found{Name: name, Installed: s.installed}
	if len(s.runs) > 0 {
		r := s.runs[len(s.runs)-1]
		f.Run, f.Kind, f.Live = r.id, r.Kind, !r.over()
		if !f.Live {
			f.Fault, f.Unchanged = r.fault, !r.changed
		}
	}
	return f
}

// Former implements manager.Runner.
func (w *World) Former(_ context.Context, cluster string) (run string, ended time.Time) {
	for _, r := range w.Runs(cluster) {
		if r.Kind == manager.Delete && r.over() && r.fault == nil {
			run = r.id
		}
	}
	return run, time.Time{}
}

// Removed implements manager.Runner.
func (w *World) Removed(cluster string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tidied = append(w.tidied, cluster)
	return nil
}

// Tidied are the clusters that nothing is kept for any more.
func (w *World) Tidied() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.tidied)
}

// Reach implements manager.Runner.
func (w *World) Reach(ctx context.Context, r manager.Record) error {
	w.mu.Lock()
	down := w.site(r.Name).down
	w.mu.Unlock()
	if down != nil && w.Silence > 0 {
		_ = Clock{}.Sleep(ctx, w.Silence)
	}
	if down != nil {
		return down
	}
	return ctx.Err()
}

// Memory is a store. It implements manager.Store.
type Memory struct {
	mu        sync.Mutex
	records   map[string]manager.Record
	forgotten map[string]string
	changes   []manager.Change
	health    map[string][]manager.Health
	// Writes counts those that were asked for. From the one with the number Break on all fail, and nothing can be read;
	// Torn: that one is done all the same, and nobody hears of it; Brief: only that one fails.
	Writes, Break int
	Torn, Brief   bool
}

// ErrBroken is what a broken store says.
var ErrBroken = errors.New("the store is broken")

// Repair makes the store whole again.
func (s *Memory) Repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Writes, s.Break = 0, 0
}

// Tear breaks the store with the next write, which is done all the same.
func (s *Memory) Tear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Writes, s.Break, s.Torn = 0, 1, true
}

// Fill has the next write fail, and nothing else.
func (s *Memory) Fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Writes, s.Break, s.Torn, s.Brief = 0, 1, false, true
}

func (s *Memory) write(do func()) error {
	s.Writes++
	switch {
	case s.Break == 0 || s.Writes < s.Break || s.Brief && s.Writes > s.Break:
		do()
		return nil
	case s.Torn && s.Writes == s.Break:
		do()
	}
	return ErrBroken
}

// Load implements manager.Store.
func (s *Memory) Load(context.Context) ([]manager.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Break > 0 && s.Writes >= s.Break && !s.Brief {
		return nil, ErrBroken
	}
	var out []manager.Record
	for _, r := range s.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b manager.Record) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Save implements manager.Store.
func (s *Memory) Save(_ context.Context, r manager.Record, was uint64, changes ...manager.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[r.Name].Revision != was {
		return manager.ErrRevision
	}
	return s.write(func() {
		if s.records == nil {
			s.records = map[string]manager.Record{}
		}
		s.records[r.Name] = r
		delete(s.forgotten, r.Name)
		s.append(changes)
	})
}

// Delete implements manager.Store.
func (s *Memory) Delete(_ context.Context, name string, was uint64, until string, changes ...manager.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[name].Revision != was {
		return manager.ErrRevision
	}
	return s.write(func() {
		if s.forgotten == nil {
			s.forgotten = map[string]string{}
		}
		delete(s.records, name)
		s.forgotten[name] = until
		s.append(changes)
		delete(s.health, name)
	})
}

func (s *Memory) append(changes []manager.Change) {
	for _, c := range changes {
		c.Seq = uint64(len(s.changes)) + 1
		s.changes = append(s.changes, c)
		if s.health == nil {
			s.health = map[string][]manager.Health{}
		}
		s.noted(c)
	}
}

// noted keeps the history of a cluster as the database does.
func (s *Memory) noted(c manager.Change) {
	list := s.health[c.Cluster]
	if n := len(list); n > 1 && c.From == state.Connecting && c.To == state.Running &&
		list[n-1].State == state.Connecting && list[n-2].State == state.Running &&
		c.At.Sub(list[n-1].At) < manager.SteadyFor {
		list = list[:n-1]
	}
	if n := len(list); n == 0 || list[n-1].State != c.To {
		list = append(list, manager.Health{Seq: c.Seq, At: c.At, State: c.To, Reason: c.Reason})
	}
	s.health[c.Cluster] = list
}

// Health implements manager.Store.
func (s *Memory) Health(_ context.Context, cluster string, before uint64, n int) ([]manager.Health, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []manager.Health
	for _, h := range slices.Backward(s.health[cluster]) {
		if (before == 0 || h.Seq < before) && len(out) < n {
			out = append(out, h)
		}
	}
	return out, nil
}

// Forgotten implements manager.Store.
func (s *Memory) Forgotten(context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.forgotten), nil
}

// Changes implements manager.Store.
func (s *Memory) Changes(_ context.Context, after uint64, n int) ([]manager.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after >= uint64(len(s.changes)) {
		return nil, nil
	}
	out := s.changes[after:]
	return slices.Clone(out[:min(n, len(out))]), nil
}
