package state

import (
	"sort"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Row of a table of where the time went: all steps of the same title, or of the same phase.
type Row struct {
	Title event.Msg // holes that differ from host to host keep the first host's values
	Phase string
	Steps int           // that ran
	Sum   time.Duration // over the hosts
	Max   time.Duration // the slowest host
	Host  string        // which that was
	Wall  time.Duration // during which at least one of them ran
}

// Timings of the steps that have ended after they had run, in the order of the plan.
func (s *State) Timings() []event.Timing {
	var out []event.Timing
	for _, st := range s.order {
		if st.Try == 0 || st.Outcome == "" {
			continue
		}
		out = append(out, event.Timing{Step: st.ID, Phase: st.Phase, Host: st.Host, Lane: st.Lane, Title: st.Title,
			Needs: st.Needs, Start: st.Start, End: st.End})
	}
	return out
}

// CriticalPath is the chain of steps that the end of the run waited for (see event.CriticalPath).
func (s *State) CriticalPath() []event.Timing { return event.CriticalPath(s.Timings(), s.barriers) }

// LongestChain is the chain of needs that took longest in sum (see event.LongestChain).
func (s *State) LongestChain() []event.Timing { return event.LongestChain(s.Timings(), s.barriers) }

// ByTitle is the table by step title (within a phase), the longest wall time first.
func (s *State) ByTitle() []Row {
	return s.rows(func(t event.Timing) string { return t.Phase + "\x00" + t.Title.Key })
}

// ByPhase is the table by phase, in the order of the plan.
func (s *State) ByPhase() []Row {
	rows := s.rows(func(t event.Timing) string { return t.Phase })
	at := map[string]int{}
	for i, p := range s.Phases {
		at[p.ID] = i
	}
	sort.SliceStable(rows, func(i, j int) bool { return at[rows[i].Phase] < at[rows[j].Phase] })
	for i := range rows {
		rows[i].Title = s.phase(rows[i].Phase).Title
	}
	return rows
}

func (s *State) rows(key func(event.Timing) string) []Row {
	var order []string
	groups := map[string][]event.Timing{}
	for _, t := range s.Timings() {
		k := key(t)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], t)
	}
	rows := make([]Row, 0, len(order))
	for _, k := range order {
		g := groups[k]
		row := Row{Title: g[0].Title, Phase: g[0].Phase, Steps: len(g), Wall: wall(g), Host: g[0].Host}
		for _, t := range g {
			row.Sum += t.Took()
			if t.Took() > row.Max {
				row.Max, row.Host = t.Took(), t.Host
			}
		}
		rows = append(rows, row)
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].Wall > rows[j].Wall })
	return rows
}

// wall is the length of the union of the steps' times.
func wall(g []event.Timing) time.Duration {
	g = append([]event.Timing(nil), g...)
	sort.Slice(g, func(i, j int) bool { return g[i].Start.Before(g[j].Start) })
	var sum time.Duration
	var end time.Time
	for _, t := range g {
		if t.Start.After(end) {
			end = t.Start
		}
		if t.End.After(end) {
			sum += t.End.Sub(end)
			end = t.End
		}
	}
	return sum
}
