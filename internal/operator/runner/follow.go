package runner

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// handle is a run that is followed.
type handle interface {
	Stop() error
	Abort() error
	Decide(step string, d event.Decision) error
}

// followPause is how long it takes until a watch that ended is begun again, and until an answer to a question that is
// not open yet is tried again.
const followPause = time.Second

// following gives a run what people write into the spec of its Operation while it lives, and the end of the pod.
type following struct {
	r      *runner
	cancel context.CancelFunc // ends a run that has not begun
	begun  chan handle        // has room for one
	stop   context.CancelFunc
	over   chan struct{}

	run    handle                     // nil before the run has begun
	stops  bool                       // it was stopped
	aborts bool                       // it was aborted
	used   map[string]v1.StepDecision // answers that were given, by step
}

// follow begins to follow the Operation of a run. cancel ends the run before it has begun.
func follow(ctx context.Context, r *runner, cancel context.CancelFunc) *following {
	f := &following{r: r, cancel: cancel, begun: make(chan handle, 1), over: make(chan struct{}),
		used: map[string]v1.StepDecision{}}
	ctx, f.stop = context.WithCancel(ctx)
	specs := make(chan v1.OperationSpec)
	go f.watch(ctx, specs)
	go func() {
		defer close(f.over)
		f.loop(ctx, specs)
	}()
	return f
}

// begin hands over the run when it has begun.
func (f *following) begin(h handle) { f.begun <- h }

// end ends the following.
func (f *following) end() {
	f.stop()
	<-f.over
}

func (f *following) loop(ctx context.Context, specs <-chan v1.OperationSpec) {
	terminate := f.r.o.Terminate
	var spec v1.OperationSpec
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case f.run = <-f.begun:
		case <-terminate:
			terminate = nil
			f.obey(v1.StopSteps)
		case spec = <-specs:
			if spec.Stop != "" {
				f.r.board.stopped()
			}
		case <-f.r.board.asked:
		case <-tick.C:
		}
		f.obey(spec.Stop)
		f.decide(spec.Decisions)
	}
}

// obey stops the run as was asked for, once.
func (f *following) obey(kind v1.StopKind) {
	f.stops = f.stops || kind != ""
	switch {
	case !f.stops:
	case f.run == nil:
		f.cancel()
	case kind == v1.StopAbort && !f.aborts:
		f.aborts = f.run.Abort() == nil
	default:
		_ = f.run.Stop() // again does nothing
	}
}

// decide answers the open questions that there is a decision for. Each decision counts once: after a step was tried
// again and has failed again, the same decision counts when it was removed from the spec in between.
func (f *following) decide(list []v1.StepDecision) {
	by := map[string]v1.StepDecision{}
	for _, d := range list {
		by[d.Step] = d
	}
	for step, d := range f.used {
		if by[step] != d {
			delete(f.used, step)
		}
	}
	if f.run == nil {
		return
	}
	for _, step := range f.r.board.open() {
		d, wanted := by[step]
		if _, given := f.used[step]; !wanted || given {
			continue
		}
		if f.run.Decide(step, event.Decision(d.Decision)) == nil {
			f.used[step] = d
		}
	}
}

// watch sends the spec of the Operation whenever it may have changed. An Operation that is being deleted, or is gone,
// is one that is to stop.
func (f *following) watch(ctx context.Context, to chan<- v1.OperationSpec) {
	send := func(op *v1.Operation) {
		spec := op.Spec
		if op.DeletionTimestamp != nil && spec.Stop == "" {
			spec.Stop = v1.StopSteps
		}
		select {
		case to <- spec:
		case <-ctx.Done():
		}
	}
	o := f.r.o
	for ctx.Err() == nil {
		w, err := o.Client.Watch(ctx, &v1.OperationList{}, client.InNamespace(o.Namespace),
			client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", o.Operation)})
		if err == nil {
			is := &v1.Operation{}
			err = o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Operation}, is)
			switch {
			case err == nil:
				send(is)
				f.changes(ctx, w, send)
			case client.IgnoreNotFound(err) == nil:
				send(&v1.Operation{Spec: v1.OperationSpec{Stop: v1.StopSteps}})
			}
			w.Stop()
		}
		t := time.NewTimer(followPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// changes sends what a watch reports until it ends.
func (f *following) changes(ctx context.Context, w watch.Interface, send func(*v1.Operation)) {
	for {
		select {
		case e, open := <-w.ResultChan():
			op, is := e.Object.(*v1.Operation)
			switch {
			case !open || e.Type == watch.Error:
				return
			case !is || op.Name != f.r.o.Operation:
			case e.Type == watch.Deleted:
				return
			default:
				send(op)
			}
		case <-ctx.Done():
			return
		}
	}
}
