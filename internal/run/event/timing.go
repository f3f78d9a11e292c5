package event

import (
	"slices"
	"sort"
	"time"
)

// Timing is when a step ran, all its tries together. It is the material for the questions of where the time went.
type Timing struct {
	Step  string
	Phase string
	Host  string
	Lane  string
	Title Msg
	Needs []string
	Start time.Time
	End   time.Time
}

// Took is the time from the first start to the end.
func (t Timing) Took() time.Duration { return t.End.Sub(t.Start) }

// CriticalPath is the chain of steps, in order of time, that the run's end waited for: back from the step that ended
// last, each time to the one that ended last among those that it needed and those that its host was busy with before in
// the same lane. Shortening a step that is not in it makes no run shorter. Who needed a barrier needed all that it
// needs.
func CriticalPath(steps []Timing, barriers []Barrier) []Timing {
	if len(steps) == 0 {
		return nil
	}
	byID := make(map[string]int, len(steps))
	type lane struct{ host, lane string }
	lanes := map[lane][]int{}
	last := 0
	for i, s := range steps {
		byID[s.Step] = i
		lanes[lane{s.Host, s.Lane}] = append(lanes[lane{s.Host, s.Lane}], i)
		if s.End.After(steps[last].End) {
			last = i
		}
	}
	for _, list := range lanes {
		sort.SliceStable(list, func(a, b int) bool { return steps[list[a]].End.Before(steps[list[b]].End) })
	}
	path := []Timing{}
	seen := map[int]bool{}
	for at := last; at >= 0; {
		seen[at] = true
		path = append(path, steps[at])
		s := steps[at]
		best := -1
		consider := func(i int) {
			if !seen[i] && !steps[i].End.After(s.Start) && (best < 0 || steps[i].End.After(steps[best].End)) {
				best = i
			}
		}
		through(s.Needs, barriers, map[string]bool{}, func(id string) {
			if i, ok := byID[id]; ok {
				consider(i)
			}
		})
		same := lanes[lane{s.Host, s.Lane}]
		for k := sort.Search(len(same), func(k int) bool {
			return steps[same[k]].End.After(s.Start)
		}) - 1; k >= 0; k-- {
			if !seen[same[k]] {
				consider(same[k])
				break
			}
		}
		at = best
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// through calls f for each step that is needed, itself or by way of barriers, each of which is gone through once.
func through(needs []string, barriers []Barrier, gone map[string]bool, f func(id string)) {
	for _, n := range needs {
		b := slices.IndexFunc(barriers, func(b Barrier) bool { return b.ID == n })
		switch {
		case b < 0:
			f(n)
		case !gone[n]:
			gone[n] = true
			through(barriers[b].Needs, barriers, gone, f)
		}
	}
}

// LongestChain is the chain of needs whose steps took longest in sum: no number of hands makes the run shorter than
// that.
func LongestChain(steps []Timing, barriers []Barrier) []Timing {
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	// A step starts after those that it needs have ended, so the order of starts (then of ends) is an order of the
	// graph.
	sort.SliceStable(order, func(a, b int) bool {
		x, y := steps[order[a]], steps[order[b]]
		if !x.Start.Equal(y.Start) {
			return x.Start.Before(y.Start)
		}
		return x.End.Before(y.End)
	})
	byID := make(map[string]int, len(steps))
	for i, s := range steps {
		byID[s.Step] = i
	}
	sum := make([]time.Duration, len(steps))
	from := make([]int, len(steps))
	best := -1
	// The step behind a barrier that the longest chain ends in: found when the first one that needs it comes, for then
	// all that it needs has ended.
	behind := map[string]int{}
	var last func(id string) (int, bool)
	last = func(id string) (int, bool) {
		if j, ok := byID[id]; ok {
			return j, true
		}
		if _, known := behind[id]; !known {
			behind[id] = -1
			if b := slices.IndexFunc(barriers, func(b Barrier) bool { return b.ID == id }); b >= 0 {
				for _, n := range barriers[b].Needs {
					if j, ok := last(n); ok && (behind[id] < 0 || sum[j] > sum[behind[id]]) {
						behind[id] = j
					}
				}
			}
		}
		return behind[id], behind[id] >= 0
	}
	for _, i := range order {
		from[i], sum[i] = -1, steps[i].Took()
		for _, n := range steps[i].Needs {
			if j, ok := last(n); ok && sum[j]+steps[i].Took() > sum[i] {
				from[i], sum[i] = j, sum[j]+steps[i].Took()
			}
		}
		if best < 0 || sum[i] > sum[best] {
			best = i
		}
	}
	var chain []Timing
	for i := best; i >= 0; i = from[i] {
		chain = append([]Timing{steps[i]}, chain...)
	}
	return chain
}
