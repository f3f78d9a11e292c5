package manager

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/manager/state"
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
		if err := c.do(ctx, func(ctx context.Context) error { return c.load(ctx, f) }); err != nil {
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
		if until, was := forgotten[f.Name]; was && f.Run <= until || !f.Installed && (!f.Live || f.Kind == Delete) {
			continue
		}
		if err := m.adopt(ctx, f); err != nil {
			m.report(f.Name, err)
		}
	}
	return nil
}

// adopt takes a cluster over that the command line made.
func (m *Manager) adopt(ctx context.Context, f Found) error {
	c, err := m.add(Record{Name: f.Name, Created: m.clock.Now(), Made: f.Installed && f.unwell() == nil})
	if err != nil { // somebody just created it here
		return nil
	}
	return c.do(ctx, func(ctx context.Context) error {
		err := c.load(ctx, f)
		if err != nil {
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
	case c.rec.Unavailable && c.rec.Fault != nil: // else an import that was not answered yet
		return c.apply(ctx, state.LoadUnavailable, nil)
	case c.rec.Revision == 0 && f.unwell() != nil:
		return c.apply(ctx, state.LoadUnavailable, func(r *Record) { r.Unavailable, r.Fault = true, f.unwell() })
	}
	err := c.apply(ctx, state.DoInit, nil)
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
	case k == Create && !c.rec.Made:
		return state.FoundCreate
	}
	return state.FoundUpdate
}

// takeOver makes a run that goes on the cluster's operation: its own, which outlived the server, or somebody else's.
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
	edit := func(r *Record) {
		if r.Operation == nil {
			r.Epoch++
			r.Operation = &Operation{Epoch: r.Epoch, Kind: kind, Began: c.m.clock.Now(), Found: true}
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
	} else if kind.Quiet() { // the server starts
		if err = c.apply(ctx, state.DoInit, edit); err == nil {
			c.connect()
		}
	} else {
		if c.release != nil { // it was connecting
			c.release()
			c.release = nil
		}
		err = c.apply(ctx, c.foundEvent(kind), edit)
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
	out := Outcome{f.Fault}
	if !began {
		out = Outcome{event.NewFault(event.ClassInterrupted, "manager.not-begun", nil, "cluster", c.name)}
	}
	if o.Kind.Quiet() {
		if err := c.apply(ctx, state.DoInit, func(r *Record) {
			r.Last, r.Operation, r.Fault = cloned(r.Operation), nil, out.Fault
		}); err != nil {
			return err
		}
		c.connect()
		return nil
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

// found takes what a scan saw of the cluster.
func (c *cluster) found(f Found) {
	o := c.rec.Operation
	switch {
	case c.rec.Kubeconfig || c.gone:
	case f.Live && o == nil && (c.rec.Last == nil || f.Run > c.rec.Last.Run()):
		if c.state == state.Canceling { // the connecting ends first
			return
		}
		if err := c.takeOver(c.life, f); err != nil {
			c.m.report(c.name, err)
		}
	case !f.Live && o == nil && !f.Installed && f.Kind == Delete && f.Fault == nil &&
		(c.rec.Last == nil || f.Run > c.rec.Last.After):
		c.vanish(f) // the command line has cleaned it up between two scans
	}
}

// vanish deletes the record of a cluster that is no more.
func (c *cluster) vanish(f Found) {
	if _, err := state.Full(c.state, state.Delete); err != nil {
		return
	}
	ch := Change{At: c.m.clock.Now(), Cluster: c.name, Event: state.Delete, From: c.state, To: state.Destroy,
		Revision: c.rec.Revision, Broadcast: "deleted"}
	if err := c.m.store.Delete(c.life, c.name, c.rec.Revision, f.Run, ch); err != nil {
		c.m.report(c.name, err)
		return
	}
	c.state, c.gone = state.Destroy, true
	c.show()
	c.m.forget(c)
	c.m.changed([]Change{ch})
}
