package runs

import (
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/runstate"
)

// mostReasons is how many reasons are kept of a run. On a thousand nodes the same may be wrong.
const mostReasons = 100

// Why is why a run failed, by its log.
type Why struct {
	// Code is that of the fault that it ended with; "" if it has not ended, or has ended well.
	Code string
	// Unchanged: it changed nothing.
	Unchanged bool
	Reasons   []Reason
}

// Reason is a finding of preflight, or a step that failed.
type Reason struct {
	Step  *event.Msg // its title; nil: no step failed by this
	Fault event.Fault
}

// Why reads why a run failed. The log of a run that is over is read once.
func (r *Runner) Why(cluster, run string) Why {
	if run == "" {
		return Why{}
	}
	dir := filepath.Join(r.o.Root, cluster, "runs", run)
	r.mu.Lock()
	known, is := r.why[dir]
	r.mu.Unlock()
	if is {
		return known
	}
	s := runstate.New()
	for rec, err := range journal.Read(dir) {
		if err != nil {
			break // of a damaged log, what is known
		}
		s.Apply(rec)
	}
	if s.Ended == nil {
		return Why{}
	}
	out := whyOf(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why[dir] = out
	return out
}

func whyOf(s *runstate.State) Why {
	if s.Ended.Fault == nil {
		return Why{}
	}
	out := Why{Code: s.Ended.Fault.Code, Unchanged: s.Changed == 0}
	for _, x := range s.Reasons() {
		one := Reason{Fault: x.Fault}
		if one.Fault.On(x.Host); !x.Found {
			one.Step = &x.Step.Title
		}
		if one.Fault.Code == out.Code && one.Fault.Node == s.Ended.Fault.Node { // it is said already
			continue
		}
		if out.Reasons = append(out.Reasons, one); len(out.Reasons) == mostReasons {
			break
		}
	}
	return out
}
