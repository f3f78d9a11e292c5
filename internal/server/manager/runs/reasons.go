package runs

import (
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
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

// Why reads why a run failed. Its log is read again only when it has changed: that of a run that was killed has no end
// that could be waited for.
func (r *Runner) Why(cluster, run string) Why {
	if run == "" {
		return Why{}
	}
	dir := filepath.Join(r.o.Root, cluster, "runs", run)
	out, _ := r.why.of(dir, stats(filepath.Join(dir, "events.jsonl")), func() (Why, error) {
		s := state.New()
		for rec, err := range journal.Read(dir) {
			if err != nil {
				break // of a damaged log, what is known
			}
			s.Apply(rec)
		}
		return whyOf(s), nil
	})
	return out
}

func whyOf(s *state.State) Why {
	if s.Ended == nil || s.Ended.Fault == nil {
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
