package pool

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// satisfiable reports whether machines can satisfy needs: a matching with augmenting paths, as a second opinion.
func satisfiable(needs []Need, fits func(Need, Candidate) bool, pool []Candidate) bool {
	var slots []Need
	for _, n := range needs {
		for range n.Number {
			slots = append(slots, n)
		}
	}
	of := map[int]int{} // slot by candidate
	var augment func(slot int, seen map[int]bool) bool
	augment = func(slot int, seen map[int]bool) bool {
		for i, c := range pool {
			if seen[i] || !fits(slots[slot], c) {
				continue
			}
			seen[i] = true
			if other, taken := of[i]; !taken || augment(other, seen) {
				of[i] = slot
				return true
			}
		}
		return false
	}
	for slot := range slots {
		if !augment(slot, map[int]bool{}) {
			return false
		}
	}
	return true
}

// world is a pool, and the clusters that have its machines.
type world struct {
	r     *rand.Rand
	pool  []Candidate
	bound map[string][]v1.BoundMachine
	wants map[string][]Need
}

func newWorld(seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 1)), bound: map[string][]v1.BoundMachine{}, wants: map[string][]Need{}}
	for i := range 4 + w.r.IntN(12) {
		w.pool = append(w.pool, Candidate{Name: fmt.Sprintf("m%02d", i), UID: fmt.Sprintf("u%d", i), Arch: "amd64",
			Ready: w.r.IntN(5) > 0, Clean: w.r.IntN(8) > 0, Maintenance: w.r.IntN(10) == 0, Release: w.r.IntN(8) == 0,
			Labels: w.labels(2)})
	}
	return w
}

func (w *world) labels(most int) map[string]string {
	out := map[string]string{}
	for range w.r.IntN(most + 1) {
		out[[]string{"x", "y", "z"}[w.r.IntN(3)]] = []string{"1", "2"}[w.r.IntN(2)]
	}
	return out
}

// seen returns the pool with what is taken.
func (w *world) seen() []Candidate {
	out := slices.Clone(w.pool)
	for cluster, list := range w.bound {
		for _, m := range list {
			at := slices.IndexFunc(out, func(c Candidate) bool { return c.Name == m.Name })
			out[at].Taken = cluster
		}
	}
	return out
}

// step changes something, and allocates for one cluster.
func (w *world) step(t *testing.T, seed uint64) {
	cluster := fmt.Sprintf("c%d", w.r.IntN(3))
	if w.r.IntN(2) == 0 || w.wants[cluster] == nil {
		list := []Need{{v1.RoleMaster, 1 + w.r.IntN(3), w.labels(1)}, {v1.RoleWorker, w.r.IntN(4), w.labels(1)}}
		if w.r.IntN(3) == 0 {
			list = append(list, Need{v1.RoleEtcd, 1 + w.r.IntN(3), w.labels(1)})
		}
		w.wants[cluster] = list
	}
	c := &w.pool[w.r.IntN(len(w.pool))]
	switch w.r.IntN(4) {
	case 0:
		c.Ready = !c.Ready
	case 1:
		c.Release = !c.Release
	case 2: // what has left is gone
		w.bound[cluster] = slices.DeleteFunc(w.bound[cluster], func(m v1.BoundMachine) bool { return m.Leaving })
	}
	before, pool, needs := w.bound[cluster], w.seen(), w.wants[cluster]
	got := Allocate(Wanted{Cluster: cluster, Needs: needs}, before, pool)
	w.check(t, fmt.Sprint("seed ", seed, " ", cluster), needs, before, got, pool)
	w.bound[cluster] = got.Machines
	names := map[string]string{}
	for _, cluster := range slices.Sorted(maps.Keys(w.bound)) {
		for _, m := range w.bound[cluster] {
			if other := names[m.Name]; other != "" {
				t.Fatalf("seed %d: %s is in %s and %s", seed, m.Name, other, cluster)
			}
			names[m.Name] = cluster
		}
	}
}

// check checks one allocation: all or nothing, as many as can be, and only machines that may be given away.
func (w *world) check(t *testing.T, at string, needs []Need, before []v1.BoundMachine, got Allocation,
	pool []Candidate) {
	count := map[v1.Role]int{}
	for i, m := range got.Machines {
		if !m.Leaving {
			count[MainRole(m.Roles)]++
		}
		if i < len(before) {
			if before[i].Name != m.Name || before[i].Leaving && !m.Leaving {
				t.Fatalf("%s: claims were %s, are %s", at, spelled(before), spelled(got.Machines))
			}
			continue
		}
		c := pool[slices.IndexFunc(pool, func(c Candidate) bool { return c.Name == m.Name })]
		n := needs[slices.IndexFunc(needs, func(n Need) bool { return n.Role == MainRole(m.Roles) })]
		if c.Taken != "" || !c.Ready || !c.Clean || c.Maintenance || !hasLabels(c.Labels, n.Labels) {
			t.Fatalf("%s: %+v was given away for %+v", at, c, n)
		}
	}
	if len(got.Short) > 0 {
		if spelled(got.Machines) != spelled(before) {
			t.Fatalf("%s: something is missing, and the claims changed: %s, %s", at, spelled(before),
				spelled(got.Machines))
		}
		var missing []Need
		for _, n := range needs {
			for _, m := range before {
				if !m.Leaving && MainRole(m.Roles) == n.Role {
					n.Number--
				}
			}
			missing = append(missing, Need{n.Role, max(0, n.Number), n.Labels})
		}
		if satisfiable(missing, func(n Need, c Candidate) bool {
			return c.Taken == "" && c.Ready && c.Clean && !c.Maintenance && hasLabels(c.Labels, n.Labels)
		}, pool) {
			t.Fatalf("%s: %s for %+v, though it is possible", at, shorts(got.Short), missing)
		}
		return
	}
	for _, n := range needs {
		if have := count[n.Role]; have < n.Number || have > n.Number && len(got.Held) == 0 {
			t.Fatalf("%s: %d of %d %s: %s held %v", at, have, n.Number, n.Role, spelled(got.Machines), got.Held)
		}
	}
}

// Random pools and clusters: no machine is in two clusters, claims are all or nothing, and what can be satisfied is.
func TestAllocateRandomly(t *testing.T) {
	for seed := range uint64(400) {
		w := newWorld(seed)
		for range 25 {
			w.step(t, seed)
		}
	}
}
