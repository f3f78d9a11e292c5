package state

import (
	"cmp"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Rank orders hosts: trouble before work, work before rest.
type Rank int

// The ranks.
const (
	RankAsked Rank = iota
	RankFailed
	RankBlocked
	RankLost
	RankRetry
	RankFine
)

// RetryLong is the pause before a next try from which on it counts as trouble: those that ask every second whether
// something is there yet are not in any.
const RetryLong = 5 * time.Second

// HostStatus is how a host stands in the run, for every board.
type HostStatus struct {
	Rank Rank
	// State is asked, failed, blocked, lost, retry, stopped, running, done or waiting.
	State string
	// Step is what a board shows of the host: the one that waits for a decision, that failed, that runs, or that ended
	// last; nil before the first.
	Step *Step
}

// HostStatus returns how a host stands.
func (s *State) HostStatus(h *Host) HostStatus {
	doing := h.Doing()
	at := func(r Rank, state string, st *Step) HostStatus { return HostStatus{r, state, st} }
	asked := h.asked()
	switch o := h.Outcome(); {
	case asked != nil:
		return at(RankAsked, "asked", asked)
	case o == event.Failed || o == event.Unknown:
		return at(RankFailed, "failed", cmp.Or(s.failed(h.Name), doing))
	case o == event.Blocked:
		return at(RankBlocked, "blocked", doing)
	case h.Connection == "lost" && s.Ended == nil:
		return at(RankLost, "lost", doing)
	case doing != nil && doing.Running() && doing.Delay >= RetryLong:
		return at(RankRetry, "retry", doing)
	case o == event.Interrupted:
		return at(RankFine, "stopped", doing)
	case len(h.Active) > 0:
		return at(RankFine, "running", doing)
	case h.Total > 0 && h.Ended == h.Total:
		return at(RankFine, "done", doing)
	}
	return at(RankFine, "waiting", doing)
}

// asked is the step of the host that waits for a decision, nil if none does.
func (h *Host) asked() *Step {
	for _, st := range h.Active {
		if st.Asked {
			return st
		}
	}
	return nil
}

// failed is the newest failure on the host.
func (s *State) failed(host string) *Step {
	for _, f := range slices.Backward(s.Failures) {
		if f.Step.Host == host && f.Step.Outcome != event.Ignored {
			return f.Step
		}
	}
	return nil
}

// Shown says whether a board shows the host: the control host only where something is done on it.
func (h *Host) Shown() bool { return h.Name != "" || h.Total > 0 }
