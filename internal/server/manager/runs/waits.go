package runs

import (
	"path/filepath"
	"sync"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// asking is what is known of the newest run of a cluster's operation: its log is read on from where it was read last.
type asking struct {
	mu    sync.Mutex
	run   string
	at    journal.Position
	state *state.State
}

// Waits are the steps of a run of a cluster that goes on which wait for a decision. Run "": none goes on, and nothing
// is kept of one.
func (r *Runner) Waits(cluster, run string) []request.Wait {
	r.mu.Lock()
	a := r.asked[cluster]
	switch {
	case run == "":
		delete(r.asked, cluster)
		a = nil
	case a == nil || a.run != run:
		a = &asking{run: run, state: state.New()}
		r.asked[cluster] = a
	}
	r.mu.Unlock()
	if a == nil {
		return nil
	}
	return a.waits(filepath.Join(r.o.Root, cluster, "runs", run))
}

func (a *asking) waits(dir string) (out []request.Wait) {
	a.mu.Lock()
	defer a.mu.Unlock()
	log, done, err := journal.OpenReaderAt(dir, a.at)
	if err != nil { // it is about to be written, or cannot be read
		return nil
	}
	defer done()
	for {
		rec, err := log.Next()
		if err != nil { // of a damaged log, what is known
			break
		}
		a.state.Apply(rec)
	}
	a.at = log.Position()
	for _, q := range a.state.Open {
		fault := q.Fault // the state goes on
		out = append(out, request.Wait{Step: q.Step.ID, Node: q.Step.Host, Since: q.Since, Fault: &fault,
			Title: q.Step.Title})
	}
	return out
}
