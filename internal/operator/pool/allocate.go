package pool

import (
	"math/bits"
	"slices"
	"strings"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// Candidate is a Machine as the allocator sees it.
type Candidate struct {
	Name, UID, IP string
	Labels        map[string]string
	Arch          string // amd64 or arm64; "" if it is not known yet
	Ready         bool   // it was reached, and is suitable for a node
	Clean         bool   // nothing of another installation is on it
	Maintenance   bool
	Release       bool   // v1.AnnotationRelease is on it
	Taken         string // the cluster that has it, or of which a binding names it; "" if it is free
}

// Need is a number of machines with one role.
type Need struct {
	Role   v1.Role
	Number int
	Labels map[string]string // that each of the machines must have
}

// Wanted are the requirements of a cluster: Needs, or Names in their place.
type Wanted struct {
	Cluster string
	Needs   []Need // at most one of each role
	Names   []v1.ClusterMachine
	Archs   []string // of the bundles; none: any architecture
}

// Why is the reason why a machine cannot be given to a cluster.
type Why string

// The reasons. Each machine counts for the first that applies to it.
const (
	WhyLabels      Why = "labels"      // it lacks a label
	WhyMissing     Why = "missing"     // there is no Machine of the name
	WhyBound       Why = "bound"       // another cluster has it
	WhyMaintenance Why = "maintenance" // it is in maintenance
	WhyNotClean    Why = "not-clean"   // it is in quarantine, or has another installation
	WhyNotReady    Why = "not-ready"   // it was not reached, or is not suitable
	WhyArch        Why = "arch"        // no bundle is for its architecture
)

// Shortage is a requirement that the pool cannot satisfy.
type Shortage struct {
	Role v1.Role // of a Need
	Name string  // of a machine that is required by name
	Want int     // machines that are required
	Have int     // machines that the cluster has for it
	Free int     // machines of the pool that could be taken for it; another requirement may need some of them
	Why  map[Why]int
}

// Allocation is the result of Allocate.
type Allocation struct {
	// Machines are all of the cluster, the oldest claim first. With Short, they are those that it had.
	Machines []v1.BoundMachine
	Short    []Shortage // what is missing; nothing is claimed or released then
	// Held are machines that should leave and cannot, because etcd would lose its quorum.
	Held []string
}

// Allocate decides which machines a cluster has. It claims all machines that are required, or none: if the requirements
// can be satisfied at all, they are, whatever labels overlap. The same arguments give the same result.
//
// A machine that the cluster has stays, also when its labels change, it fails or it is in maintenance. Machines beyond
// the number leave: first those to be released, then those that are not ready, then the newest. A machine that is not
// ready and has to be released is replaced, if there is another one. No machine leaves without which etcd would lose
// its quorum, and none before the machines that are required were claimed.
func Allocate(w Wanted, bound []v1.BoundMachine, pool []Candidate) Allocation {
	a := allocator{wanted: w, pool: slices.Clone(pool), byName: map[string]int{}}
	slices.SortFunc(a.pool, func(x, y Candidate) int { return strings.Compare(x.Name, y.Name) })
	for i, c := range a.pool {
		a.byName[c.Name] = i
	}
	for _, m := range bound {
		m.Roles = slices.Clone(m.Roles)
		a.machines = append(a.machines, m)
	}
	a.had = len(a.machines)
	if len(w.Names) > 0 {
		a.byNames()
	} else {
		a.byNumbers()
	}
	if len(a.short) > 0 {
		return Allocation{Machines: slices.Clone(bound), Short: a.short}
	}
	return Allocation{Machines: a.machines, Held: a.held}
}

type allocator struct {
	wanted   Wanted
	pool     []Candidate // by name
	byName   map[string]int
	machines []v1.BoundMachine // as they will be
	had      int               // how many of them the cluster had
	short    []Shortage
	held     []string
}

// why returns why the cluster cannot get a machine; "" if it can. The labels of a need are not part of it.
func (a *allocator) why(c Candidate) Why {
	switch {
	case c.Taken != "":
		return WhyBound
	case c.Maintenance:
		return WhyMaintenance
	case !c.Ready:
		return WhyNotReady
	case !c.Clean:
		return WhyNotClean
	case len(a.wanted.Archs) > 0 && !slices.Contains(a.wanted.Archs, c.Arch):
		return WhyArch
	}
	return ""
}

// candidate returns the machine of a claim, if there still is one with its UID.
func (a *allocator) candidate(m v1.BoundMachine) (Candidate, bool) {
	i, is := a.byName[m.Name]
	if !is || a.pool[i].UID != m.UID {
		return Candidate{}, false
	}
	return a.pool[i], true
}

// lost reports whether a machine that the cluster has is to be replaced: it no longer exists, or it is not ready and is
// to be released.
func (a *allocator) lost(m v1.BoundMachine) bool {
	c, is := a.candidate(m)
	return !is || c.Release && !c.Ready
}

// byNames claims the machines that are required by name, and releases the others.
func (a *allocator) byNames() {
	var fresh []v1.BoundMachine
	wanted := map[string]bool{}
	for _, n := range a.wanted.Names {
		wanted[n.Name] = true
		at := slices.IndexFunc(a.machines, func(m v1.BoundMachine) bool { return m.Name == n.Name && !m.Leaving })
		if at >= 0 {
			a.machines[at].Roles = slices.Clone(n.Roles)
			continue
		}
		why := WhyMissing
		i, is := a.byName[n.Name]
		if is {
			why = a.why(a.pool[i])
		}
		if why != "" {
			a.short = append(a.short, Shortage{Name: n.Name, Want: 1, Why: map[Why]int{why: 1}})
			continue
		}
		fresh = append(fresh, v1.BoundMachine{Name: n.Name, UID: a.pool[i].UID, Roles: slices.Clone(n.Roles)})
	}
	if len(a.short) > 0 {
		return
	}
	a.machines = append(a.machines, fresh...)
	var leaving []int
	for i, m := range a.machines {
		if !wanted[m.Name] && !m.Leaving {
			leaving = append(leaving, i)
		}
	}
	a.leave(leaving)
}

// byNumbers claims machines for each need, and releases those beyond its number.
func (a *allocator) byNumbers() {
	needs := slices.Clone(a.wanted.Needs)
	order := []v1.Role{v1.RoleMaster, v1.RoleEtcd, v1.RoleLoadBalance, v1.RoleWorker}
	slices.SortStableFunc(needs, func(x, y Need) int {
		return slices.Index(order, x.Role) - slices.Index(order, y.Role)
	})
	for _, role := range order { // a role that is not required any more
		if !slices.ContainsFunc(needs, func(n Need) bool { return n.Role == role }) {
			needs = append(needs, Need{Role: role})
		}
	}
	// Replaced only if all can be: first with the lost machines as missing, else with them as they are.
	if a.claim(needs, a.lost) {
		return
	}
	if a.claim(needs, func(v1.BoundMachine) bool { return false }) {
		a.short = nil
	}
}

// claim claims what is missing for the needs, without those of the cluster's machines that do not count. It reports
// whether it was possible; if not, nothing was claimed.
func (a *allocator) claim(needs []Need, skip func(v1.BoundMachine) bool) bool {
	have, missing := make([][]int, len(needs)), make([]int, len(needs))
	var leaving []int
	for i, m := range a.machines {
		at := slices.IndexFunc(needs, func(n Need) bool { return n.Role == MainRole(m.Roles) })
		switch {
		case m.Leaving:
		case at < 0 || skip(m):
			leaving = append(leaving, i)
		default:
			have[at] = append(have[at], i)
		}
	}
	for i, n := range needs {
		missing[i] = n.Number - len(have[i])
	}
	chosen, ok := a.match(needs, missing)
	if !ok {
		a.short = a.shortages(needs, have, missing)
		return false
	}
	for i, n := range needs {
		for _, c := range chosen[i] {
			a.machines = append(a.machines, v1.BoundMachine{Name: c.Name, UID: c.UID, Roles: a.roles(n.Role)})
		}
		leaving = append(leaving, a.tooMany(have[i], -missing[i])...)
	}
	a.leave(leaving)
	return true
}

// roles returns all roles of a machine that is claimed for one: as in the original eggops, a control plane is a worker
// too, and a member of etcd unless there are machines for that.
func (a *allocator) roles(of v1.Role) []v1.Role {
	if of != v1.RoleMaster {
		return []v1.Role{of}
	}
	out := []v1.Role{v1.RoleMaster, v1.RoleWorker}
	if !slices.ContainsFunc(a.wanted.Needs, func(n Need) bool { return n.Role == v1.RoleEtcd && n.Number > 0 }) {
		out = append(out, v1.RoleEtcd)
	}
	return out
}

// match finds machines for what is missing of each need. Machines that fit the same needs are one class, so whether
// all needs can be satisfied is Hall's condition over at most 2^4 sets of needs.
func (a *allocator) match(needs []Need, missing []int) (chosen [][]Candidate, ok bool) {
	classes := make([][]Candidate, 1<<len(needs))
	for _, c := range a.pool {
		if a.why(c) != "" {
			continue
		}
		mask := 0
		for i, n := range needs {
			if missing[i] > 0 && hasLabels(c.Labels, n.Labels) {
				mask |= 1 << i
			}
		}
		classes[mask] = append(classes[mask], c)
	}
	left := slices.Clone(missing)
	if !feasible(classes, left) {
		return nil, false
	}
	// The machines that fit the fewest needs first.
	masks := make([]int, 0, len(classes))
	for mask := range classes {
		masks = append(masks, mask)
	}
	slices.SortStableFunc(masks, func(x, y int) int {
		return bits.OnesCount(uint(x)) - bits.OnesCount(uint(y))
	})
	chosen = make([][]Candidate, len(needs))
	for i := range needs {
		for left[i] > 0 {
			left[i]--
			for _, mask := range masks {
				class := classes[mask]
				if mask&(1<<i) == 0 || len(class) == 0 {
					continue
				}
				classes[mask] = class[1:]
				if feasible(classes, left) {
					chosen[i] = append(chosen[i], class[0])
					break
				}
				classes[mask] = class
			}
		}
	}
	return chosen, true
}

// feasible reports whether the machines of the classes can satisfy all that is missing: for each set of needs there
// are as many machines that fit one of them.
func feasible(classes [][]Candidate, missing []int) bool {
	for set := range 1 << len(missing) {
		want, have := 0, 0
		for i, n := range missing {
			if set&(1<<i) != 0 {
				want += max(0, n)
			}
		}
		for mask, class := range classes {
			if mask&set != 0 {
				have += len(class)
			}
		}
		if have < want {
			return false
		}
	}
	return true
}

// shortages describes each need for which machines are missing.
func (a *allocator) shortages(needs []Need, have [][]int, missing []int) (out []Shortage) {
	for i, n := range needs {
		if missing[i] <= 0 {
			continue
		}
		s := Shortage{Role: n.Role, Want: n.Number, Have: len(have[i]), Why: map[Why]int{}}
		for _, c := range a.pool {
			why := a.why(c)
			switch {
			case c.Taken == a.wanted.Cluster && c.Taken != "": // is counted in Have, or leaves
			case !hasLabels(c.Labels, n.Labels):
				s.Why[WhyLabels]++
			case why != "":
				s.Why[why]++
			default:
				s.Free++
			}
		}
		out = append(out, s)
	}
	return out
}

// tooMany returns as many of the cluster's machines for one need as are too many.
func (a *allocator) tooMany(have []int, count int) []int {
	if count <= 0 {
		return nil
	}
	rank := func(i int) int {
		switch c, is := a.candidate(a.machines[i]); {
		case !is || c.Release:
			return 0
		case !c.Ready:
			return 1
		}
		return 2
	}
	order := slices.Clone(have)
	slices.SortFunc(order, func(x, y int) int {
		if d := rank(x) - rank(y); d != 0 {
			return d
		}
		return y - x // the newest claim is the last one
	})
	return order[:min(count, len(order))]
}

// leave marks machines as leaving, one after the other, as long as etcd keeps its quorum without them. Machines that
// were claimed now join before others leave, which they only can while etcd has a quorum.
func (a *allocator) leave(list []int) {
	role := v1.RoleMaster // has etcd, if no machine has the role
	if slices.ContainsFunc(a.machines, func(m v1.BoundMachine) bool { return slices.Contains(m.Roles, v1.RoleEtcd) }) {
		role = v1.RoleEtcd
	}
	isReady := func(m v1.BoundMachine) int { c, is := a.candidate(m); return bit(is && c.Ready) }
	members, ready, fresh := 0, 0, 0
	for i, m := range a.machines {
		switch {
		case m.Leaving || !slices.Contains(m.Roles, role):
		case i >= a.had:
			fresh++
		default:
			members, ready = members+1, ready+isReady(m)
		}
	}
	quorum := ready >= members/2+1
	members, ready = members+fresh, ready+fresh
	// Members that are not ready first: the quorum of the rest is smaller then.
	slices.SortStableFunc(list, func(x, y int) int { return isReady(a.machines[x]) - isReady(a.machines[y]) })
	for _, i := range list {
		m := &a.machines[i]
		if slices.Contains(m.Roles, role) {
			rest := ready - isReady(*m)
			if !quorum || members < 2 || rest < (members-1)/2+1 {
				a.held = append(a.held, m.Name)
				continue
			}
			members, ready = members-1, rest
		}
		m.Leaving = true
	}
	slices.Sort(a.held)
}

// MainRole returns the role for which a machine with these roles was claimed.
func MainRole(roles []v1.Role) v1.Role {
	for _, r := range []v1.Role{v1.RoleMaster, v1.RoleEtcd, v1.RoleLoadBalance} {
		if slices.Contains(roles, r) {
			return r
		}
	}
	return v1.RoleWorker
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hasLabels reports whether a machine has all labels that are wanted.
func hasLabels(labels, want map[string]string) bool {
	for k, v := range want {
		if got, is := labels[k]; !is || got != v {
			return false
		}
	}
	return true
}
