package operation

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// run is one run in this process.
type run struct {
	*prepared
	log     *journal.Writer
	resumed bool
}

// Start begins a run in this process. It returns when the run has its directory and its lock; what goes wrong before is
// the error, and is in no log. The end of ctx aborts the run.
func Start(ctx context.Context, q request.Request, d Deps) (*Handle, error) {
	p, err := prepare(ctx, q, d)
	if err != nil {
		return nil, err
	}
	r := &run{prepared: p}
	if err := r.open(ctx); err != nil {
		if r.log != nil { // there is no run
			err = errors.Join(err, r.log.Discard())
			r.log = nil
		}
		return nil, errors.Join(err, r.close())
	}
	ctx, cancel := whileHeld(ctx, r.lock, r.cluster.Name)
	l := &local{run: r.is(), stop: make(chan struct{}), cancel: cancel, asked: &asked{}, over: make(chan struct{})}
	go func() {
		defer close(l.over)
		defer cancel()
		l.result, l.err = r.execute(ctx, l)
		_ = r.close() // the end is in the log, or its absence is the error
	}()
	return &Handle{l}, nil
}

// is the run as others name it.
func (r *run) is() Run {
	return Run{Ref: request.Ref{Cluster: r.cluster.Name, Run: r.log.ID()}, Dir: r.log.Dir()}
}

// open takes the cluster's lock and opens the event log. Nothing has been touched when it fails.
func (r *run) open(ctx context.Context) (err error) {
	d, verb := r.deps, string(r.request.Verb())
	if r.files, err = d.Store.Open(ctx, r.cluster.Name); err != nil {
		return err
	}
	me := d.holder(verb)
	r.holder = me.String() + " " + r.cluster.Name
	r.fence.By = r.holder
	runs := r.files.Journal()
	if r.lock, err = r.files.Lock(ctx, me); err != nil {
		return err
	}
	if err := here(r.cluster.Name, r.files); err != nil {
		return err
	}
	if err := r.loadOwn(r.files); err != nil {
		return err
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	point, err := runs.Resume(verb, r.digest)
	if err != nil {
		return err
	}
	r.resumed = point.Run != ""
	if r.log, err = runs.NewRun(verb, d.clock().Now(), request.QuietVerbs()...); err != nil {
		return err
	}
	if err := r.lock.Writes(r.log.ID()); err != nil {
		return err
	}
	text, err := r.absolute()
	if err != nil {
		return err
	}
	if err := r.files.CopyConfig(r.log.ID(), text); err != nil {
		return err
	}
	sinks := []event.Sink{r.log}
	if d.Sink != nil {
		sinks = append(sinks, d.Sink)
	}
	r.bus = event.NewBus(d.clock().Now, sinks...)
	if d.Opened != nil {
		return d.Opened(r.is())
	}
	return nil
}

// close ends connections, log and lock.
func (r *run) close() error {
	var all []error
	r.prepared.close()
	if r.log != nil {
		all = append(all, r.log.Close())
	}
	if r.lock != nil {
		all = append(all, r.lock.Unlock())
	}
	return errors.Join(all...)
}

// execute runs the plan, says how it ended, and gives the fault of the run.
func (r *run) execute(ctx context.Context, l *local) (Result, error) {
	w, err := r.shape(ctx)
	if err != nil {
		return r.end(ctx, err)
	}
	if err := r.emit(r.started(w)); err != nil {
		return unlogged(err)
	}
	clock := r.deps.clock()
	opts := engine.Options{Emit: r.emit, Limits: phases.Limits(), Stop: l.stop, Now: clock.Now, Sleep: clock.Sleep}
	failure := r.request.Base().OnFailure
	if o := r.deps.Answers.OnFailure; o != nil && !failure.Undo { // which nobody decides
		failure = *o
	}
	decisions(failure, r.deps, l.asked, &opts)
	srv, err := control.Serve(r.log.Dir(), l)
	switch {
	case err == nil:
		defer srv.Close()
	case failure.Ask: // else a run that cannot be reached is a run all the same
		return unlogged(err)
	}
	sum, err := engine.Run(ctx, w.plan(r.phasesEnv()), opts)
	if w.tidy != nil && !isLost(r.lock) {
		w.tidy()
	}
	end := event.RunEnded{Outcome: event.OK, Changed: len(sum.Changed)}
	log := event.M("next.log", "path", filepath.Join(r.log.Dir(), "events.jsonl"))
	fault := mostSevere(ctx, err, sum)
	switch {
	case fault != nil:
		end.Outcome, end.Exit, end.Fault = event.Failed, int(exitcode.OfClass(fault.Class)), fault
		if fault.Class == event.ClassInterrupted {
			end.Outcome = event.Interrupted
		}
		last := event.Calling("next.resume", r.call(r.resumes()))
		if w.undo != nil && r.kept && end.Outcome == event.Failed {
			if end.Reverted, last, err = r.undo(ctx, l, w.undo); err != nil {
				end.Fault = event.AsFault(err)
			}
			if end.Reverted && fault.Code == "run.failed" { // the same command does not continue it
				end.Fault = event.NewFault(fault.Class, "run.reverted", nil, "count", fault.Args["count"])
			}
		}
		end.Next = []event.Msg{log, last}
	default:
		if len(sum.Changed) > 0 {
			end.Outcome = event.Changed
		}
		if w.done != nil {
			if err := w.done(ctx); err != nil {
				return unlogged(err)
			}
		}
		if w.next != nil {
			end.Next = w.next()
		}
		end.Next = append(end.Next, log)
		if err := r.prune(ctx); err != nil {
			return unlogged(err)
		}
	}
	return r.ended(end)
}

// started is the first event. It is not before the request is shaped: its digest is that of the deploy.yaml that
// the run follows.
func (r *run) started(w *work) event.RunStarted {
	return event.RunStarted{
		Run: r.log.ID(), Cluster: r.cluster.Name, Verb: string(r.request.Verb()), Version: r.deps.Version,
		Config: r.digest, File: r.file, Resumed: r.resumed, Nodes: w.nodes, Options: options(r.request),
	}
}

// end ends a run that came to no plan: the fault goes to the event log too.
func (r *run) end(ctx context.Context, err error) (Result, error) {
	first := event.RunStarted{
		Run: r.log.ID(), Cluster: r.cluster.Name, Verb: string(r.request.Verb()), Version: r.deps.Version,
		Config: r.digest, Options: options(r.request),
	}
	if err := r.emit(first); err != nil {
		return unlogged(err)
	}
	end := event.RunEnded{Outcome: event.Failed, Fault: event.AsFault(err)}
	if ctx.Err() != nil { // whatever was broken off by that
		end.Outcome, end.Fault = event.Interrupted, interrupted(ctx)
	}
	end.Exit = int(exitcode.OfClass(end.Fault.Class))
	return r.ended(end)
}

// ended logs the end. Where that cannot be, whoever reads the log does not know of it.
func (r *run) ended(end event.RunEnded) (Result, error) {
	if err := r.emit(end); err != nil {
		return unlogged(err)
	}
	out := Result{Outcome: end.Outcome, Fault: end.Fault, Changed: end.Changed, Logged: true}
	if end.Fault != nil {
		return out, end.Fault
	}
	return out, nil
}

// unlogged is the end of a run that the log does not have.
func unlogged(err error) (Result, error) {
	return Result{Outcome: event.Failed, Fault: event.AsFault(err)}, err
}

// options are what who continues the run takes over. What allows unsigned bundles holds for the run that it was given
// to, and for no other; hooks of nodes are those nodes' own.
func options(q request.Request) *event.RunOptions {
	c := q.Base()
	o := event.RunOptions{Limit: c.Limit, OnFailure: c.OnFailure.String()}
	if c.Trust.Signers != "" {
		o.Signers = absolute(c.Trust.Signers)
	}
	if !c.Hooks.OfNodes {
		for _, f := range c.Hooks.Before {
			o.Before = append(o.Before, absolute(f)) // a role behind the comma stays where it is
		}
		for _, f := range c.Hooks.After {
			o.After = append(o.After, absolute(f))
		}
	}
	switch u := q.(type) {
	case request.Upgrade:
		o.Upgrade = u.Options()
	case request.Back:
		if u.Drain != 0 || u.Batch != "" {
			o.Upgrade = u.Options()
		}
	}
	if o.Upgrade == nil && len(o.Flags()) == 0 {
		return nil
	}
	return &o
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// prune removes, after a run that ended well, the unpacked bundles that no cluster uses any more, and says so in the
// log. That it cannot is no fault of the run.
func (r *run) prune(ctx context.Context) error {
	gone, err := r.bundles.Prune(ctx, r.files, func() ([]string, error) { return r.deps.Store.Stages(ctx) })
	if len(gone) > 0 {
		bytes := int64(0)
		for _, g := range gone {
			bytes += g.Bytes
		}
		size := strconv.FormatInt((bytes+1<<20-1)>>20, 10) + " MiB"
		text := event.M("notice.stages-pruned", "count", strconv.Itoa(len(gone)), "size", size)
		if err := r.emit(event.Notice{Text: text}); err != nil {
			return err
		}
	}
	if err != nil {
		return r.emit(event.Notice{Text: event.M("notice.stages-kept", "cause", event.Clean(err.Error()))})
	}
	return nil
}

// mostSevere is the fault that stands for the run: an interruption, then the class that says most about what to do.
func mostSevere(ctx context.Context, err error, sum engine.Summary) *event.Fault {
	if err == nil && len(sum.Failed) == 0 {
		return nil
	}
	if f := event.AsFault(err); f != nil && f.Code == "engine.left-out" {
		return f
	}
	if ctx.Err() != nil || event.AsFault(err) != nil && event.AsFault(err).Class == event.ClassInterrupted {
		return interrupted(ctx)
	}
	var first *event.Fault
	for _, class := range []event.Class{event.ClassLocked, event.ClassAuth, event.ClassBundle, event.ClassPreflight} {
		for _, f := range sum.Failed {
			if f.Fault != nil && f.Fault.Class == class && len(sum.Changed) == 0 {
				return f.Fault
			}
		}
	}
	partial := len(sum.Failed) > 0
	for _, f := range sum.Failed {
		if f.Fault == nil {
			continue
		}
		if first == nil {
			first = f.Fault
		}
		partial = partial && f.Fault.Class == event.ClassPartial
	}
	if first == nil {
		return event.AsFault(err)
	}
	class := event.ClassFailed
	if partial {
		class = event.ClassPartial
	}
	return event.NewFault(class, "run.failed", nil, "count", strconv.Itoa(len(sum.Failed)))
}
