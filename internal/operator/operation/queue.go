package operation

import (
	"cmp"
	"slices"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
)

// queue returns the position of each Operation that waits, by UID: 0 may begin now, 1 is the next one. At most limit
// run at a time, and one of each cluster. Namespaces get a fair share: of those that wait, the next one is of the
// namespace of which the fewest run or are before it; then the older one counts.
func queue(all []eggov1.Operation, begun func(*eggov1.Operation) bool, limit int) map[string]int {
	type cluster struct{ namespace, name string }
	of := func(o *eggov1.Operation) cluster { return cluster{o.Namespace, o.Spec.ClusterRef.Name} }
	var waiting []*eggov1.Operation
	busy, share, running := map[cluster]bool{}, map[string]int{}, 0
	for i := range all {
		o := &all[i]
		switch {
		case o.Status.Phase.Ended():
		case begun(o):
			busy[of(o)] = true
			share[o.Namespace]++
			running++
		default:
			waiting = append(waiting, o)
		}
	}
	slices.SortFunc(waiting, func(a, b *eggov1.Operation) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	out := map[string]int{}
	position := 0
	for len(waiting) > 0 {
		next := 0
		for i, o := range waiting {
			if share[o.Namespace] < share[waiting[next].Namespace] {
				next = i
			}
		}
		o := waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		share[o.Namespace]++
		if running < limit && position == 0 && !busy[of(o)] {
			busy[of(o)] = true
			running++
			out[string(o.UID)] = 0
			continue
		}
		if running < limit && busy[of(o)] { // it waits for its own cluster, and is in the way of no other
			out[string(o.UID)] = 1
			continue
		}
		position++
		out[string(o.UID)] = position
	}
	return out
}
