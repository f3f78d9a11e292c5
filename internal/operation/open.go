package operation

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// lookAgain is how often an attached run is looked at: who writes it is known to the kernel, which tells nobody.
const lookAgain = 200 * time.Millisecond

// Open attaches to a run of any process, running or over. The end of ctx ends the attachment and nothing else.
func Open(ctx context.Context, st Store, ref request.Ref) (*Handle, error) {
	files, err := st.Read(ctx, ref.Cluster)
	if err != nil {
		return nil, err
	}
	runs := files.Journal()
	ids, err := runs.Runs()
	if err == nil && !slices.Contains(ids, ref.Run) {
		err = event.NewFault(event.ClassUsage, "usage.no-run", nil, "run", ref.Run, "dir", st.Where())
	}
	if err != nil {
		files.Close()
		return nil, err
	}
	a := &attached{run: Run{ref, runs.RunDir(ref.Run)}, over: make(chan struct{})}
	if !runs.Writing(ref.Run) {
		files.Close()
		close(a.over)
		return &Handle{a}, nil
	}
	go a.watch(ctx, files, runs)
	return &Handle{a}, nil
}

// attached is a run of another process.
type attached struct {
	run  Run
	over chan struct{} // closed when nobody writes it any more, or the attachment has ended
	err  error         // then: of the attachment
}

func (a *attached) watch(ctx context.Context, files Files, runs *journal.Cluster) {
	defer close(a.over)
	defer files.Close()
	for runs.Writing(a.run.Run) {
		if a.err = (machine{}).Sleep(ctx, lookAgain); a.err != nil {
			return
		}
	}
}

func (a *attached) client() control.Client { return control.Client{Dir: a.run.Dir} }
func (a *attached) halt() error            { return a.client().Stop() }
func (a *attached) abort() error           { return a.client().Abort() }

func (a *attached) decide(step string, d event.Decision) error { return a.client().Decide(step, d) }
func (a *attached) done() <-chan struct{}                      { return a.over }
func (a *attached) started(context.Context) (Run, error)       { return a.run, nil }

// outcome is as the log says.
func (a *attached) outcome() (Result, error) {
	if a.err != nil {
		return Result{}, a.err
	}
	return readOutcome(a.run.Dir)
}
