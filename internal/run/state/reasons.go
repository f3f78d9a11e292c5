package state

import "github.com/eggo-k8s/eggo/internal/run/event"

// CheckFailed is the code of a fault that says only how many findings there are.
const CheckFailed = "preflight.failed"

// Reason is one thing that made a run fail.
type Reason struct {
	Step  *Step // that failed; nil: nothing more is known than what was found
	Host  string
	Fault event.Fault
	// Found: it is a finding of a check.
	Found bool
}

// Reasons are what made the run fail, in their order: the faults of its steps and, in place of a check that failed, the
// errors that it found.
func (s *State) Reasons() []Reason {
	var out []Reason
	for _, f := range s.Failures {
		switch {
		case f.Step.Outcome != event.Failed && f.Step.Outcome != event.Unknown:
		case f.Fault.Code == CheckFailed && len(s.FoundBy(f.Step)) > 0:
			out = append(out, s.FoundBy(f.Step)...)
		default:
			out = append(out, Reason{Step: f.Step, Host: f.Step.Host, Fault: f.Fault})
		}
	}
	if len(out) == 0 && s.Ended != nil && s.Ended.Fault != nil && s.Ended.Fault.Code == CheckFailed {
		return s.FoundBy(nil)
	}
	return out
}

// FoundBy are the errors that the newest try of a check found; of no step: all.
func (s *State) FoundBy(st *Step) []Reason {
	var out []Reason
	from := 0
	if st != nil {
		from = st.told
	}
	for _, f := range s.Findings[from:] {
		if f.Severity == event.Error {
			out = append(out, Reason{Step: st, Host: f.Host, Fault: f.Fault, Found: true})
		}
	}
	return out
}
