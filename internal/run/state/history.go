package state

import (
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// History is how long the steps of earlier runs took, by kind: the same step of any machine.
type History map[string]time.Duration

// quiet is how long a node may be silent before it is said what is waited for.
const quiet = 30 * time.Second

// quietBetween is the same for one whose step gives notice of how far it is.
const quietBetween = 2 * time.Minute

// Learn makes a history out of earlier runs: the median of each kind of step over all their machines. What found its
// work done already says nothing about how long the work takes, and a step that was tried again or failed none about
// how long it takes when all is well.
func Learn(runs ...*State) History {
	took := map[string][]time.Duration{}
	for _, s := range runs {
		for _, st := range s.order {
			if st.Outcome == event.Changed && st.Try == 1 {
				took[kind(st)] = append(took[kind(st)], st.Took)
			}
		}
	}
	h := History{}
	for k, list := range took {
		slices.Sort(list)
		h[k] = list[len(list)/2]
	}
	return h
}

// Usual is how long such a step usually takes; false when nobody knows.
func (h History) Usual(st *Step) (time.Duration, bool) {
	d, ok := h[kind(st)]
	return d, ok
}

func kind(st *Step) string { return strings.TrimSuffix(st.ID, "/"+st.Host) }

// Until is when what a message waits for is over, as far as it says so.
func Until(m event.Msg) (time.Time, bool) {
	end, err := time.Parse(time.RFC3339, m.Args[event.Until])
	return end, err == nil
}

// Stall is a node that has shown no sign of life for a while.
type Stall struct {
	Step  *Step         // that has run longest there
	Since time.Duration // that the step runs
	Quiet time.Duration // that nothing came from the node
	Usual time.Duration // that such a step takes; 0 when nobody knows
}

// Silent says whether nothing has come from the node for so long that a person wonders what it waits for: none of its
// running steps has shown a sign of life, and each has run longer than it usually does. A node that waits for a
// decision is not silent.
func (h History) Silent(n *Host, now time.Time) (Stall, bool) {
	x := Stall{}
	for _, st := range n.Active {
		usual, _ := h.Usual(st)
		since := now.Sub(st.Since())
		if st.Asked || since <= usual {
			return Stall{}, false
		}
		if x.Step == nil || since > x.Since {
			x.Step, x.Since, x.Usual = st, since, usual
		}
	}
	x.Quiet = now.Sub(n.Heard)
	limit := quiet
	if x.Step != nil && x.Step.Said != nil { // one that says now and then how far it is, as a soak does
		limit = quietBetween
		if end, ok := Until(*x.Step.Said); ok {
			limit = max(limit, end.Sub(n.Heard)+quietBetween)
		}
	}
	return x, x.Step != nil && x.Quiet >= limit
}
