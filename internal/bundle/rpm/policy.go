package rpm

import (
	"context"
	"slices"
	"sort"
	"strings"
)

// run chooses until all clauses hold. The roots come first, then what is installed stays, then what is required is
// chosen; of choices that turned out to be unneeded because another candidate was chosen later, the first is made
// again.
func (s *solver) run(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	for {
		if err := s.decideJobs(ctx); err != nil {
			return err
		}
		if err := s.keepInstalled(ctx); err != nil {
			return err
		}
		if err := s.decideRequirements(ctx); err != nil {
			return err
		}
		if s.anythingOpen() {
			continue // something was taken back
		}
		again, err := s.minimize(ctx)
		if err != nil || !again {
			return err
		}
	}
}

func (s *solver) anythingOpen() bool {
	for i := range s.clauses {
		if s.open(&s.clauses[i]) != nil {
			return true
		}
	}
	return false
}

// decideJobs chooses for the roots in their order: one that is installed already before any other.
func (s *solver) decideJobs(ctx context.Context) error {
	for i := s.jobs; i < len(s.clauses); i++ {
		if s.clauses[i].why != becauseRoot {
			continue
		}
		list := s.open(&s.clauses[i])
		if list == nil {
			continue
		}
		if have := slices.DeleteFunc(slices.Clone(list),
			func(v int32) bool { return !s.o.installed[s.pkgs[v]] }); len(have) > 0 {
			list = have
		}
		if err := s.choose(ctx, list); err != nil {
			return err
		}
		i = s.jobs - 1 // what was learnt may have taken back an earlier one
	}
	return nil
}

func (s *solver) keepInstalled(ctx context.Context) error {
	for v := int32(1); v < int32(len(s.pkgs)); v++ {
		if s.o.installed[s.pkgs[v]] && s.value[v] == 0 {
			if err := s.decide(ctx, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// decideRequirements goes round the clauses. Those of which policy leaves one candidate are decided at once; the others
// wait until there is nothing else to be done.
func (s *solver) decideRequirements(ctx context.Context) error {
	base := s.depth
	postponed := -1
	choosing := false
	for i, checked := 0, 0; ; i, checked = i+1, checked+1 {
		if checked >= len(s.clauses) {
			if postponed < 0 || choosing {
				return nil
			}
			i, checked, choosing = postponed, 0, true
		}
		if i >= len(s.clauses) {
			i = 0
		}
		if i == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c := &s.clauses[i]
		if s.steps += len(c.list); s.steps > maxSteps {
			return errGaveUp
		}
		list := s.open(c)
		if list == nil {
			continue
		}
		if !choosing {
			if list = s.filter(list); len(list) > 1 {
				if postponed < 0 {
					postponed = i
				}
				continue
			}
		}
		if err := s.choose(ctx, list); err != nil {
			return err
		}
		if s.depth < base {
			return nil // roots were taken back
		}
		checked = -1
	}
}

// choose takes the best of the candidates.
func (s *solver) choose(ctx context.Context, list []int32) error {
	list = s.prefer(s.filter(list))
	if len(list) > 1 {
		s.branches = append(s.branches, branch{others: slices.Clone(list[1:]), taken: list[0], level: s.depth})
	}
	return s.decide(ctx, list[0])
}

// minimize makes the first choice again of which another candidate was chosen later, this time for that one; or for one
// that what was chosen recommends.
func (s *solver) minimize(ctx context.Context) (bool, error) {
	at, pick := -1, -1
	for i := len(s.branches) - 1; i >= 0; i-- {
		b := &s.branches[i]
		recommended := -1
		later := false
		for k, v := range b.others {
			if v <= 0 {
				continue
			}
			if s.value[v] > 0 && s.level[v] > b.level {
				at, pick, later = i, k, true
				break
			}
			if recommended < 0 && s.recommended(v) {
				recommended = k
			}
		}
		if !later && recommended >= 0 && s.value[b.taken] > 0 && s.level[b.taken] == b.level+1 &&
			!s.recommended(b.taken) {
			at, pick = i, recommended
		}
	}
	if at < 0 {
		return false, nil
	}
	b := s.branches[at]
	v := b.others[pick]
	s.revert(b.level)
	b.others[pick], b.taken = 0, v
	s.branches = append(s.branches, b)
	return true, s.decide(ctx, v)
}

// filter leaves those candidates that policy has no reason to pass over: of the best repository, of the best
// architecture, the newest of each name, none that another one obsoletes; and if some are recommended by what is
// chosen, only these.
func (s *solver) filter(list []int32) []int32 {
	if len(list) < 2 {
		return list
	}
	best := s.priority(list[0])
	native := false
	for _, v := range list {
		best = min(best, s.priority(v))
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v int32) bool { return s.priority(v) != best })
	for _, v := range list {
		native = native || s.pkgs[v].Arch == s.x.arch
	}
	if native {
		list = slices.DeleteFunc(list, func(v int32) bool {
			return s.pkgs[v].Arch != s.x.arch && s.pkgs[v].Arch != "noarch"
		})
	}
	list = s.unobsoleted(s.newest(list))
	if len(list) < 2 {
		return list
	}
	if rec := slices.DeleteFunc(slices.Clone(list), func(v int32) bool { return !s.recommended(v) }); len(rec) > 0 {
		return rec
	}
	return list
}

// priority of a candidate; what is installed is as good as the best.
func (s *solver) priority(v int32) int32 {
	if s.o.installed[s.pkgs[v]] {
		return -1 << 31
	}
	return s.pkgs[v].priority
}

// newest leaves one package for each name, sorted by name.
func (s *solver) newest(list []int32) []int32 {
	sort.SliceStable(list, func(i, j int) bool {
		a, b := s.pkgs[list[i]], s.pkgs[list[j]]
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		if c := Compare(a.EVR(), b.EVR()); c != 0 {
			return c > 0
		}
		if ia, ib := s.o.installed[a], s.o.installed[b]; ia != ib {
			return ia
		}
		return a.id < b.id
	})
	return slices.CompactFunc(list, func(a, b int32) bool { return s.pkgs[a].Name == s.pkgs[b].Name })
}

// unobsoleted drops a candidate that another one obsoletes, unless they obsolete each other in a circle.
func (s *solver) unobsoleted(list []int32) []int32 {
	replaces := map[int32][]int32{}
	byName := map[string]int32{}
	for _, v := range list {
		byName[s.pkgs[v].Name] = v
	}
	any := false
	for _, v := range list {
		for _, d := range s.pkgs[v].obsoletes {
			if w, ok := byName[d.Name]; ok && w != v && d.holds(s.pkgs[w].EVR()) {
				replaces[v] = append(replaces[v], w)
				any = true
			}
		}
	}
	if !any {
		return list
	}
	reaches := func(from, to int32) bool {
		seen := map[int32]bool{from: true}
		for todo := []int32{from}; len(todo) > 0; {
			v := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, w := range replaces[v] {
				if w == to {
					return true
				}
				if !seen[w] {
					seen[w] = true
					todo = append(todo, w)
				}
			}
		}
		return false
	}
	gone := map[int32]bool{}
	for _, v := range list {
		for _, w := range replaces[v] {
			gone[w] = gone[w] || !reaches(w, v)
		}
	}
	return slices.DeleteFunc(list, func(v int32) bool { return gone[v] })
}

// prefer orders equally good candidates: those of which the repositories have a newer version go back, then those that
// provide an older version of what another one provides too; else they are in the order of their names. What is
// installed comes first.
func (s *solver) prefer(list []int32) []int32 {
	if len(list) < 2 {
		return list
	}
	fresh := slices.DeleteFunc(slices.Clone(list), func(v int32) bool { return s.outdated(v) })
	stale := slices.DeleteFunc(slices.Clone(list), func(v int32) bool { return !s.outdated(v) })
	list = s.byProvided(append(fresh, stale...))
	sort.SliceStable(list, func(i, j int) bool {
		return s.o.installed[s.pkgs[list[i]]] && !s.o.installed[s.pkgs[list[j]]]
	})
	return list
}

func (s *solver) outdated(v int32) bool {
	p := s.pkgs[v]
	if s.o.installed[p] {
		return false
	}
	for _, q := range s.x.byName[p.Name] {
		if q == p || q.Arch != p.Arch || !s.x.visible(q) || s.o.excluded(q) || q.priority > p.priority {
			continue
		}
		if q.priority < p.priority || Compare(q.EVR(), p.EVR()) > 0 {
			return true
		}
	}
	return false
}

// byProvided puts those back that provide an older version of a capability than another candidate does.
func (s *solver) byProvided(list []int32) []int32 {
	type entry struct {
		at int
		d  *Dep
	}
	byName := map[string][]entry{}
	var names []string
	for i, v := range list {
		for _, d := range s.pkgs[v].provides {
			if d.Op != EQ && d.Op != LT && d.Op != LT|EQ || d.Op == EQ && looksLikeHash(d.EVR.String()) {
				continue
			}
			if byName[d.Name] == nil {
				names = append(names, d.Name)
			}
			byName[d.Name] = append(byName[d.Name], entry{i, d})
		}
	}
	bad := make([]int, len(list))
	for _, n := range names {
		es := byName[n]
		sort.SliceStable(es, func(i, j int) bool {
			if c := Compare(es[i].d.EVR, es[j].d.EVR); c != 0 {
				return c > 0
			}
			return es[i].d.Op != LT && es[j].d.Op == LT
		})
		worse := 0
		for i, e := range es {
			if i > 0 && es[i-1].at != e.at {
				c, release := compare(e.d.EVR, es[i-1].d.EVR)
				if c < 0 && !release || c == 0 && e.d.Op == LT && es[i-1].d.Op != LT {
					worse++
				}
			}
			bad[e.at] += worse
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return bad[order[i]] < bad[order[j]] })
	out := make([]int32, 0, len(list))
	for _, i := range order {
		out = append(out, list[i])
	}
	return out
}

// looksLikeHash is about the versions that a hash makes unique: their order means nothing.
func looksLikeHash(s string) bool { return len(s) >= 4 && strings.Trim(s, "abcdef0123456789") == "" }

// recommended says whether something chosen recommends the package, or the package supplements what is chosen.
func (s *solver) recommended(v int32) bool {
	p := s.pkgs[v]
	for _, d := range p.supplements {
		if e, err := s.x.expression(d); err == nil && s.holds(e) {
			return true
		}
	}
	for _, l := range s.trail {
		if l < 0 {
			continue
		}
		for _, d := range s.pkgs[l].recommends {
			found := false
			if e, err := s.x.expression(d); err == nil {
				e.names(func(d *Dep) { found = found || p.satisfies(d) })
			}
			if found {
				return true
			}
		}
	}
	return false
}

// holds says whether an expression is true of what is chosen so far.
func (s *solver) holds(e *expr) bool {
	arg := func(i int) bool { return s.holds(e.args[i]) }
	switch e.op {
	case "and":
		return !slices.ContainsFunc(e.args, func(a *expr) bool { return !s.holds(a) })
	case "or":
		return slices.ContainsFunc(e.args, s.holds)
	case "if":
		return !arg(1) && (len(e.args) < 3 || arg(2)) || arg(1) && arg(0)
	case "unless":
		return !arg(1) && arg(0) || arg(1) && len(e.args) == 3 && arg(2)
	}
	return slices.ContainsFunc(s.chosenOf(e), func(p *Package) bool { return s.value[s.vars[p]] > 0 })
}

// chosenOf is the set of an expression among the packages that have variables.
func (s *solver) chosenOf(e *expr) []*Package {
	if e.op == "" {
		return slices.DeleteFunc(slices.Clone(s.x.lookup(e.dep)), func(p *Package) bool { return s.vars[p] == 0 })
	}
	list := s.chosenOf(e.args[0])
	other := s.chosenOf(e.args[1])
	return slices.DeleteFunc(list, func(p *Package) bool { return slices.Contains(other, p) != (e.op == "with") })
}
