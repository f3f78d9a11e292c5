package manager

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// retryAfter is when something is tried again that must not be lost, such as the record of an operation that ended.
const retryAfter = 5 * time.Second

// cluster is one cluster. The fields below inbox belong to its goroutine.
type cluster struct {
	m      *Manager
	name   string
	inbox  chan func()
	over   chan struct{} // closed when nobody takes messages any more
	end    context.CancelFunc
	shown  atomic.Pointer[View]
	life   context.Context // ends with the cluster or the manager
	rec    Record
	state  state.State
	since  time.Time
	was    Health      // what it was before the server started, until that is compared with what it is
	failed int         // times in a row that the API server did not answer in this state
	asking atomic.Bool // the health loop's

	run     Run    // of the operation; nil before there is one
	newest  string // run that belongs to the operation
	release func() // cancels what is being begun
	gone    bool

	connecting uint64             // counts: what an earlier connecting finds out does not count
	leave      context.CancelFunc // ends the connecting
	trouble    *event.Fault       // why the API server did not answer last
}

func (m *Manager) newCluster(rec Record) *cluster {
	c := &cluster{m: m, name: rec.Name, inbox: make(chan func()), over: make(chan struct{}), rec: rec,
		state: state.Init, since: m.clock.Now()}
	c.life, c.end = context.WithCancel(m.life)
	c.show()
	m.all.Go(c.loop)
	return c
}

func (c *cluster) loop() {
	defer close(c.over)
	defer c.end()
	for !c.gone {
		select {
		case f := <-c.inbox:
			f()
		case <-c.life.Done():
			return
		}
	}
}

// post has something done by the goroutine of the cluster, if it still lives.
func (c *cluster) post(f func()) {
	select {
	case c.inbox <- f:
	case <-c.over:
	case <-c.life.Done():
	}
}

// do is post for who waits for the answer.
func (c *cluster) do(ctx context.Context, f func(context.Context) error) error {
	answer := make(chan error, 1)
	select {
	case c.inbox <- func() { answer <- f(ctx) }:
		return <-answer
	case <-c.over:
		return unknown(c.name)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func unknown(name string) error {
	return event.NewFault(event.ClassUsage, "manager.unknown", nil, "cluster", name)
}

// show makes what the cluster is visible to others.
func (c *cluster) show() {
	v := View{Record: c.rec, State: c.state, Since: c.since, Gone: c.gone}
	v.Operation, v.Last, v.Failed = cloned(c.rec.Operation), cloned(c.rec.Last), cloned(c.rec.Failed)
	if c.state == state.Connecting || c.state == state.Unreachable {
		v.Trouble = c.trouble
	}
	c.shown.Store(&v)
}

func cloned(o *Operation) *Operation {
	if o == nil {
		return nil
	}
	out := *o
	out.Runs = slices.Clone(o.Runs)
	return &out
}

// apply makes a transition. The record, as edit changes it, and the change are written in one transaction before
// anything is changed here. edit nil: the record stays as it is.
func (c *cluster) apply(ctx context.Context, e state.Event, edit func(*Record)) error {
	next, err := state.Full(c.state, e)
	if err != nil {
		return c.refused(string(e))
	}
	ch := Change{At: c.m.clock.Now(), Cluster: c.name, Event: e, From: c.state, To: next,
		Broadcast: broadcast(c.state, next)}
	return c.write(ctx, next, edit, ch)
}

// broadcast is what all are told about clusters that become ready, or are no more.
func broadcast(from, to state.State) string {
	switch {
	case !from.Ready() && to.Ready():
		return "added"
	case from.Ready() && !to.Ready():
		return "deleted"
	}
	return ""
}

func (c *cluster) write(ctx context.Context, next state.State, edit func(*Record), changes ...Change) error {
	rec := c.rec
	rec.Operation, rec.Last, rec.Failed = cloned(c.rec.Operation), cloned(c.rec.Last), cloned(c.rec.Failed)
	if edit != nil {
		edit(&rec)
	}
	if edit != nil || rec.Revision == 0 {
		rec.Revision++
	}
	for i := range changes {
		changes[i].Revision, changes[i].Reason = rec.Revision, c.reason(next, rec)
	}
	err := c.save(rec, func() error { return c.m.store.Save(ctx, rec, c.rec.Revision, changes...) })
	if err != nil {
		return err
	}
	if c.rec = rec; next != c.state {
		c.since = c.begins(next)
		c.state, c.failed = next, 0
	}
	c.show()
	c.m.changed()
	return nil
}

// begins is since when the cluster is in a state that it comes to. A start of the server is no change of the cluster:
// where the state is the same as before, it is so since then, also if the API server was asked first and answered soon.
func (c *cluster) begins(next state.State) time.Time {
	now, was := c.m.clock.Now(), c.was
	if c.state != state.Init || next != state.Connecting || was.State != state.Running {
		c.was = Health{}
	}
	if was.State != next || c.state != state.Init && now.Sub(c.since) >= SteadyFor {
		return now
	}
	return was.At
}

// recall reads what the cluster was before the server started.
func (c *cluster) recall(ctx context.Context) error {
	list, err := c.m.store.Health(ctx, c.name, 0, 100)
	for _, h := range list {
		if c.was.State != "" && c.was.State != h.State {
			break
		}
		c.was = h // the same for another reason
	}
	return err
}

// reason is why a cluster is in a state that is not well; nil: it is, or nothing is known.
func (c *cluster) reason(s state.State, rec Record) *event.Fault {
	switch s {
	case state.Unavailable:
		return rec.Fault
	case state.Unreachable, state.Connecting:
		return c.trouble
	}
	return nil
}

// refused says of what is not possible now which operation is in the way, or that the state is.
func (c *cluster) refused(what string) error {
	if o := c.rec.Operation; o != nil {
		return event.NewFault(event.ClassLocked, "manager.busy", nil, "cluster", c.name, "state", string(c.state),
			"kind", string(o.Kind))
	}
	return event.NewFault(event.ClassLocked, "manager.state", nil, "cluster", c.name, "state", string(c.state),
		"event", what)
}

// keep has something done that must not be lost: until it succeeds, or still says that it does not count any more.
func (c *cluster) keep(still func() bool, do func(context.Context) error) {
	if !still() || c.gone {
		return
	}
	err := do(c.life)
	if err == nil || c.life.Err() != nil {
		return
	}
	c.m.report(c.name, err)
	c.m.all.Go(func() {
		if c.m.clock.Sleep(c.life, retryAfter) == nil {
			c.post(func() { c.keep(still, do) })
		}
	})
}

// of says whether the operation of an epoch is the cluster's.
func (c *cluster) of(epoch uint64) func() bool { return func() bool { return c.rec.Epoch == epoch } }

// begin begins an operation of this server: the transition first, then the run.
func (c *cluster) begin(ctx context.Context, e state.Event, o Operation, edit func(*Record)) error {
	if c.rec.Kubeconfig && o.Kind != Delete {
		return event.NewFault(event.ClassUsage, "manager.kubeconfig-only", nil, "cluster", c.name)
	}
	if c.rec.Operation != nil { // a quiet one leaves the state as it is
		return c.refused(string(o.Kind))
	}
	if _, err := state.Full(c.state, e); err != nil && !o.Kind.Quiet() {
		return c.refused(string(o.Kind))
	}
	if err := c.m.runner.Free(ctx, c.name); err != nil {
		return err
	}
	newest, err := c.m.runner.Find(ctx, c.name)
	if err != nil {
		return err
	}
	o.After = newest.Run
	o.Epoch, o.Began, o.Before = c.rec.Epoch+1, c.m.clock.Now(), c.before()
	with := func(r *Record) {
		if edit != nil {
			edit(r)
		}
		r.Epoch, r.Operation = o.Epoch, &o
		if !o.Kind.Quiet() {
			r.Unavailable, r.Fault = true, nil
		}
	}
	if o.Kind.Quiet() {
		err = c.write(ctx, c.state, with)
	} else {
		err = c.apply(ctx, e, with)
	}
	if err == nil {
		if !o.Kind.Quiet() {
			c.part()
		}
		c.m.followed(c.name, o, nil)
		c.launch()
	}
	return err
}

// before is the state that an operation which begins now may return to.
func (c *cluster) before() state.State {
	switch {
	case c.state != state.Init:
		return c.state
	case c.rec.Unavailable && c.rec.Fault != nil:
		return state.Unavailable
	case c.rec.EverRan: // the server starts
		return state.Connecting
	}
	return ""
}

// launch begins the next run of the operation. It takes its time, so it is no message of the cluster; how it ended is.
func (c *cluster) launch() {
	rec := c.shown.Load().Record
	epoch := rec.Epoch
	ctx, cancel := context.WithCancelCause(c.life)
	c.run, c.release = nil, func() { cancel(ErrCanceled) }
	c.m.all.Go(func() {
		defer cancel(nil)
		run, err := c.m.runner.Start(ctx, rec)
		if c.life.Err() != nil { // the server ends: the run, if there is one, is found again
			return
		}
		c.post(func() { c.launched(epoch, run, err) })
	})
}

func (c *cluster) launched(epoch uint64, run Run, err error) {
	o := c.rec.Operation
	if c.rec.Epoch != epoch || o == nil { // cannot be: nobody ends an operation that is being begun
		return
	}
	c.release = nil
	switch {
	case err != nil:
		c.ended(epoch, Outcome{event.AsFault(err), true})
	case run == nil:
		c.ended(epoch, Outcome{})
	default:
		c.attach(epoch, run)
		c.keep(c.of(epoch), func(ctx context.Context) error {
			if c.rec.Operation == nil || slices.Contains(c.rec.Operation.Runs, run.ID()) {
				return nil
			}
			return c.write(ctx, c.state, func(r *Record) { r.Operation.Runs = append(r.Operation.Runs, run.ID()) })
		})
	}
}

// attach waits for the end of a run. One that is to be canceled is told so.
func (c *cluster) attach(epoch uint64, run Run) {
	c.run, c.newest = run, run.ID()
	if c.rec.Operation.Canceling {
		c.m.halt(c.life, run)
	}
	c.m.all.Go(func() {
		select {
		case <-run.Done():
			c.post(func() { c.runEnded(epoch, run) })
		case <-c.life.Done():
		}
	})
}

func (c *cluster) runEnded(epoch uint64, run Run) {
	if c.rec.Epoch != epoch || c.rec.Operation == nil || c.run != run { // of an operation before
		return
	}
	out, o := run.Outcome(), c.rec.Operation
	c.run = nil
	if out.Fault == nil && o.Kind == Update && !o.Found {
		if !o.Canceling {
			c.launch() // until nothing is left to do
			return
		}
		out.Fault = c.canceled()
	}
	c.ended(epoch, out)
}

// canceled is the fault of what was canceled.
func (c *cluster) canceled() *event.Fault {
	return event.NewFault(event.ClassInterrupted, "manager.canceled", nil, "cluster", c.name)
}

// ended ends the operation, with all that follows.
func (c *cluster) ended(epoch uint64, out Outcome) {
	c.keep(c.of(epoch), func(ctx context.Context) error {
		if c.rec.Operation == nil {
			return nil
		}
		return c.finish(ctx, out)
	})
}

// idle says whether an operation ended before its first change, so that the cluster is what it was before.
func (c *cluster) idle(out Outcome) bool {
	o := c.rec.Operation
	return out.Idle() && len(o.Runs) < 2 && o.Before != "" && !o.Final && c.state != state.Canceling
}

func (c *cluster) finish(ctx context.Context, out Outcome) (err error) {
	o, idle := c.rec.Operation, c.idle(out)
	defer func() {
		if err == nil {
			c.m.followed(c.name, *o, &out)
		}
	}()
	done := func(r *Record) {
		r.Last, r.Operation = cloned(r.Operation), nil
		r.LastKnownRun = max(r.LastKnownRun, o.After, o.Run(), c.newest)
		if o.Kind.Quiet() && r.Unavailable { // it says nothing of why the cluster is
			return
		}
		r.Fault = out.Fault
		switch {
		case o.Kind.Quiet():
		case out.Fault == nil:
			r.Unavailable, r.EverRan, r.Failed = false, true, nil
		case idle:
			r.Unavailable = o.Before == state.Unavailable
		default:
			r.Unavailable, r.Failed = true, cloned(r.Last)
		}
	}
	if o.Kind == Delete && out.Fault == nil {
		err = c.remove(ctx, state.DeleteCompleted)
		if err == nil {
			c.removed()
		}
		return err
	}
	if o.Kind.Quiet() {
		return c.write(ctx, c.state, done)
	}
	e := map[state.State]state.Event{state.Creating: state.CreateFailed, state.Updating: state.UpdateFailed,
		state.Destroy: state.DeleteFailed, state.Canceling: state.CancelSuccess}[c.state]
	if out.Fault == nil {
		e = map[state.State]state.Event{state.Creating: state.CreateSuccess, state.Updating: state.UpdateSuccess,
			state.Canceling: state.CancelTooLate}[c.state]
	}
	switch {
	case idle && o.Before.Ready():
		e = state.Unchanged
	case idle && o.Before == state.Connecting:
		e = state.Reconnect
	}
	err = c.apply(ctx, e, done)
	if err == nil && e == state.Reconnect {
		c.connect()
	}
	return err
}

// remove deletes the record. The state before it is Destroy, or becomes it with the deletion.
func (c *cluster) remove(ctx context.Context, e state.Event) error {
	until := c.rec.Operation.Run()
	if until == "" {
		f, err := c.m.runner.Find(ctx, c.name)
		if err != nil {
			return err
		}
		until = f.Run
	}
	ch := Change{At: c.m.clock.Now(), Cluster: c.name, Event: e, From: c.state, To: state.Destroy,
		Revision: c.rec.Revision, Broadcast: "deleted"}
	err := c.save(Record{}, func() error { return c.m.store.Delete(ctx, c.name, c.rec.Revision, until, ch) })
	if err == nil {
		c.deleted()
	}
	return err
}

// deleted is what follows when the record is no more.
func (c *cluster) deleted() {
	c.state, c.gone = state.Destroy, true
	c.show()
	c.m.forget(c)
	c.m.changed()
}

// cancel cancels what goes on. The cluster is unavailable when that has ended, and not before.
func (c *cluster) cancel(ctx context.Context) error {
	o := c.rec.Operation
	if o != nil && o.Kind.Quiet() {
		err := c.write(ctx, c.state, func(r *Record) { r.Operation.Canceling = true })
		if err == nil {
			c.stop()
		}
		return err
	}
	e := state.Cancel
	if c.state == state.Destroy {
		e = state.CancelDelete
	}
	if _, err := state.Full(c.state, e); err != nil { // nothing can be in the way of a cancel but the state
		return event.NewFault(event.ClassLocked, "manager.state", nil, "cluster", c.name, "state", string(c.state),
			"event", string(state.Cancel))
	}
	err := c.apply(ctx, e, func(r *Record) {
		r.Unavailable = true
		if r.Operation != nil {
			r.Operation.Canceling = true
		} else { // also after a restart: the connecting has no run whose end would say so
			r.Fault = c.canceled()
		}
	})
	if err == nil {
		c.stop()
		if c.leave != nil {
			c.leave()
		}
	}
	return err
}

// stop ends what goes on: a run, or the beginning of one.
func (c *cluster) stop() {
	if c.run != nil {
		c.m.halt(c.life, c.run)
	}
	if c.release != nil {
		c.release()
	}
}
