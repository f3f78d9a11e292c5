package manager

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// Scan looks at the state directory: what the command line made or works on appears by itself. records are those that
// were just loaded.
func (m *Manager) Scan(ctx context.Context, records ...Record) error {
	m.scan.Lock()
	defer m.scan.Unlock()
	found, err := m.runner.Scan(ctx)
	if err != nil {
		return err
	}
	byName := map[string]Found{}
	for _, f := range found {
		byName[f.Name] = f
	}
	for _, r := range records {
		c, err := m.add(r)
		if err != nil {
			return err
		}
		f := byName[r.Name]
		if err := c.do(ctx, func(ctx context.Context) error {
			if err := c.recall(ctx); err != nil {
				return err
			}
			return c.load(ctx, f)
		}); err != nil {
			return err
		}
	}
	forgotten, err := m.store.Forgotten(ctx)
	if err != nil {
		return err
	}
	for _, f := range found {
		if c, err := m.get(f.Name); err == nil {
			c.post(func() { c.found(f) })
			continue
		}
		until, was := forgotten[f.Name]
		if was && f.Run > until && f.cleaned() {
			m.tidy(f)
		}
		if was && f.Run <= until || !f.Installed && (!f.Live || f.Kind == Delete) {
			continue
		}
		if err := m.adopt(ctx, f); err != nil {
			m.report(f.Name, err)
		}
	}
	return nil
}

// cleaned says whether the newest run has removed the cluster from its machines.
func (f Found) cleaned() bool { return f.Kind == Delete && !f.Live && !f.Installed && f.Fault == nil }

// tidy removes what was kept for a cluster that was deleted here, and is no more on its machines by now: once.
func (m *Manager) tidy(f Found) {
	if m.tidied[f.Name] == f.Run {
		return
	}
	c, err := m.add(Record{Name: f.Name}) // nobody creates it now
	if err != nil {
		return
	}
	m.tidied[f.Name] = f.Run
	c.removed()
	_ = c.do(m.life, func(context.Context) error { m.drop(c); return nil })
}

// adopt takes a cluster over that the command line made.
func (m *Manager) adopt(ctx context.Context, f Found) error {
	former, ended := m.runner.Former(ctx, f.Name)
	c, err := m.add(Record{Name: f.Name, Created: m.clock.Now(), LastRunOfPredecessor: former, Begins: ended,
		EverRan: f.Installed && (f.unwell() == nil || f.unwell().Kind != Create)})
	if err != nil { // somebody just created it here
		return nil
	}
	return c.do(ctx, func(ctx context.Context) error {
		err := c.load(ctx, f)
		if err != nil && c.rec.Revision == 0 {
			m.drop(c)
		}
		return err
	})
}

// load is the first thing that a cluster does: it finds out what it is from its record and from what is in the state
// directory. Connecting is written down like every change.
func (c *cluster) load(ctx context.Context, f Found) error {
	o := c.rec.Operation
	switch {
	case f.Live && (o == nil || f.Run > o.After):
		return c.takeOver(ctx, f)
	case o != nil:
		return c.resolve(ctx, f)
	case c.rec.Revision > 0 && !c.rec.Kubeconfig && f.Run > c.rec.LastKnownRun: // it ended while no server was there
		return c.takeOver(ctx, f)
	case c.rec.Unavailable && c.rec.Fault != nil: // else an import that was not answered yet
		return c.apply(ctx, state.LoadUnavailable, nil)
	case c.rec.Revision == 0 && f.unwell() != nil:
		return c.apply(ctx, state.LoadUnavailable, func(r *Record) {
			r.Unavailable, r.Fault, r.LastKnownRun = true, f.unwell().Fault, f.Run
			r.Failed = &Operation{Kind: f.unwell().Kind, Found: true, Began: r.Created, Runs: []string{f.unwell().Run}}
		})
	}
	edit := func(r *Record) { r.LastKnownRun = f.Run }
	if c.rec.Revision > 0 {
		edit = nil
	}
	err := c.apply(ctx, state.DoInit, edit)
	if err == nil {
		c.connect()
	}
	return err
}

// foundEvent is what a run means that is found at work.
func (c *cluster) foundEvent(k Kind) state.Event {
	switch {
	case c.rec.Operation != nil && c.rec.Operation.Canceling && c.state == state.Init:
		return state.FoundCancel
	case k == Delete:
		return state.FoundDelete
	case k == Create && !c.rec.EverRan:
		return state.FoundCreate
	}
	return state.FoundUpdate
}

// takeOver makes a run that goes on, or that has ended unseen, the cluster's operation: its own, which outlived the
// server, or somebody else's.
func (c *cluster) takeOver(ctx context.Context, f Found) error {
	run, err := c.m.runner.Attach(ctx, c.name, f.Run)
	if err != nil {
		return err
	}
	own := c.rec.Operation
	kind := f.Kind
	if own != nil {
		kind = own.Kind
	}
	before := c.before()
	edit := func(r *Record) {
		if r.Operation == nil {
			r.Epoch++
			r.Operation = &Operation{Epoch: r.Epoch, Kind: kind, Began: c.m.clock.Now(), Found: true, Before: before}
		}
		if r.Operation.Run() != f.Run {
			r.Operation.Runs = append(r.Operation.Runs, f.Run)
		}
		if !kind.Quiet() {
			r.Unavailable, r.Fault = true, nil
		}
	}
	if kind.Quiet() && c.state != state.Init {
		err = c.write(ctx, c.state, edit)
	} else if kind.Quiet() && before == state.Unavailable { // the server starts
		err = c.apply(ctx, state.LoadUnavailable, edit)
	} else if kind.Quiet() {
		if err = c.apply(ctx, state.DoInit, edit); err == nil {
			c.connect()
		}
	} else if err = c.apply(ctx, c.foundEvent(kind), edit); err == nil {
		c.part()
	}
	if err == nil {
		c.attach(c.rec.Epoch, run)
	}
	return err
}

// resolve ends an operation whose run ended while no server was there, or that never came to one: as its log says.
func (c *cluster) resolve(ctx context.Context, f Found) error {
	o := c.rec.Operation
	began := f.Run > o.After && f.Run != ""
	out := Outcome{f.Fault, f.Unchanged}
	if began {
		c.newest = f.Run
	} else {
		out = Outcome{Fault: event.NewFault(event.ClassInterrupted, "manager.not-begun", nil, "cluster", c.name)}
	}
	if o.Kind.Quiet() {
		return c.resolveQuiet(ctx, out)
	}
	e := map[Kind]state.Event{Create: state.FoundCreate, Delete: state.FoundDelete}[o.Kind]
	if e == "" {
		e = state.FoundUpdate
	}
	if o.Canceling {
		e = state.FoundCancel
	}
	if err := c.apply(ctx, e, func(r *Record) {
		if began && r.Operation.Run() != f.Run {
			r.Operation.Runs = append(r.Operation.Runs, f.Run)
		}
	}); err != nil {
		return err
	}
	if began && out.Fault == nil && o.Kind == Update && !o.Found {
		if !o.Canceling {
			c.launch() // what is left of it
			return nil
		}
		out.Fault = c.canceled()
	}
	return c.finish(ctx, out)
}

// resolveQuiet ends a quiet operation: the cluster is loaded as if there had been none.
func (c *cluster) resolveQuiet(ctx context.Context, out Outcome) error {
	o, e := c.rec.Operation, state.DoInit
	if c.before() == state.Unavailable {
		e = state.LoadUnavailable
	}
	err := c.apply(ctx, e, func(r *Record) {
		r.Last, r.Operation, r.LastKnownRun = cloned(r.Operation), nil, max(r.LastKnownRun, o.After, o.Run(), c.newest)
		if e == state.DoInit && !r.Unavailable { // of an import that was not answered yet it says nothing
			r.Fault = out.Fault
		}
	})
	if err == nil && e == state.DoInit {
		c.connect()
	}
	return err
}

// found takes what a scan saw of the cluster: also a run that began and ended between two scans. While nothing of it is
// written down, it belongs to who asked for its name: what there is of an earlier one of that name is none of it.
func (c *cluster) found(f Found) {
	if c.rec.Revision == 0 || c.rec.Kubeconfig || c.gone || c.rec.Operation != nil || f.Run <= c.rec.LastKnownRun ||
		c.state == state.Canceling { // the connecting ends first
		return
	}
	if err := c.takeOver(c.life, f); err != nil {
		c.m.report(c.name, err)
	}
}

// Import takes a cluster over that exists: from the state directory, or one of which there is a kubeconfig only.
func (m *Manager) Import(ctx context.Context, name string, kubeconfig bool, q Request) (View, error) {
	f, err := m.runner.Find(ctx, name)
	switch {
	case err != nil:
		return View{}, err
	case kubeconfig && f.Installed:
		return View{}, Taken(name)
	case !kubeconfig && !f.Installed:
		return View{}, event.NewFault(event.ClassUsage, "manager.nothing-to-import", nil, "cluster", name)
	}
	rec := Record{Name: name, Wanted: q.Wanted, Kubeconfig: kubeconfig, Created: m.clock.Now(), LastKnownRun: f.Run}
	if f.Live { // the next scan takes it over
		rec.LastKnownRun = ""
	}
	if rec.LastRunOfPredecessor, rec.Begins = m.runner.Former(ctx, name); kubeconfig { // nothing there is of it
		rec.LastRunOfPredecessor = f.Run
	}
	c, err := m.add(rec)
	if err != nil {
		return View{}, err
	}
	return c.imported(ctx, q)
}

// imported is the first message of a cluster that is taken over.
func (c *cluster) imported(ctx context.Context, q Request) (View, error) {
	return c.act(context.WithoutCancel(ctx), func(ctx context.Context) error {
		err := q.ready(c.rec)
		if err == nil { // unavailable until it has answered once
			err = c.apply(ctx, state.DoInit, func(r *Record) { r.Unavailable = true })
		}
		switch {
		case err == nil:
			c.connect()
		case c.rec.Revision > 0: // it was written before
		case c.rec.Kubeconfig:
			c.untold()
		default:
			c.m.drop(c)
		}
		return err
	})
}
