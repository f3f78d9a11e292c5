package deb

import "slices"

// The rule by which apt 2.x completes a selection ("MarkInstall" in its documentation of the resolver), told in short:
// a package's negative relationships are looked at first, then each clause that nothing satisfies yet takes the first
// solution that can be had, with all that it needs in turn, depth first. What can not be had is never tried again. What
// is asked for, and what it needs for want of any alternative, is protected: nothing that excludes it can be chosen any
// more. There is no backtracking over choices.
//
// Following the same order makes the same choices, which matters: a node's apt is to install from the bundle what was
// resolved here.

// state is what becomes of one name.
type state struct {
	id        uint32
	name      string
	candidate *Package // what would be installed; nil: nothing can be
	current   *Package // what the baseline has
	chosen    *Package // what is there in the end
	install   bool     // chosen is to be packed
	protected bool
	held      bool
	root      *Relation // as it was asked for
	by        *Package  // who asked for it first
	why       *block    // why there is no candidate any more
}

// block is the reason why a package cannot be chosen: nothing satisfies the clause, or it excludes another, or another
// excludes it.
type block struct {
	p        *Package
	clause   Clause
	other    *Package
	relation Relation
}

type solver struct {
	x        *Index
	states   map[uint32]*state
	unknown  map[string]*state // of names that only the baseline has
	loaded   map[int32]*Package
	foreign  map[string][]*Package // what packages of the baseline that are not in the index provide
	base     []*state
	override map[uint32]int32 // candidates by name that are not the best, for a relationship that needs them
	discards bool             // something that was chosen was given up
	alone    bool             // roots only
	missing  []Relation       // roots that are not there
	steps    int
	err      error
}

// Bounds on hostile metadata: how deep one choice may lead to the next, and how many may be tried altogether.
const (
	maxDepth = 3000
	maxSteps = 1 << 20
)

// mark chooses the candidate of a name; with deps, also what it needs. It says whether that was possible.
func (s *solver) mark(st *state, by *Package, deps bool, depth int) bool {
	user := by == nil
	if s.steps++; depth > maxDepth || s.steps > maxSteps {
		return false
	}
	keepOnly := st.protected && !st.install && st.candidate != nil && st.candidate == st.current
	if !keepOnly && !user && !st.install && (st.protected || st.held) || st.candidate == nil {
		return false
	}
	p := st.candidate
	if !st.protected && !s.broken(st.chosen) {
		if p == st.current {
			s.choose(st, p, by)
			return true
		} else if st.install {
			return true
		}
	}
	if deps && p != st.current && !s.possible(st) {
		return false
	}
	if user {
		s.choose(st, p, by)
	}
	early := !st.protected && !user // fail at the first trouble; else do as much as can be done, to tell all of it
	ok := true
	if !deps {
		s.choose(st, p, by)
		return true
	}
	install, remove := s.collect(st)
	upgrade, fine := s.exclude(st, remove, user)
	if !fine {
		if early {
			return false
		}
		ok = false
	}
	upgrade = s.dependents(st, upgrade)
	if !user {
		s.choose(st, p, by)
	}
	already := st.protected
	st.protected = true
	defer func() { st.protected = already }()
	for _, u := range upgrade {
		if !u.install && !s.mark(u, p, true, depth+1) {
			if early {
				s.discard(st, &block{p: p, other: u.chosen})
				return false
			}
			ok = false
			if !already {
				break
			}
		}
	}
	if failed := s.depend(st, install, already, user, depth); failed != nil {
		if early {
			s.discard(st, &block{p: p, clause: failed})
			return false
		}
		ok = false
	}
	return ok
}

func (s *solver) choose(st *state, p, by *Package) {
	if st.install && st.chosen == p {
		return
	}
	if st.by == nil && st.root == nil {
		st.by = by
	}
	st.chosen, st.install = p, p != st.current
}

// unmark takes a choice back.
func (s *solver) unmark(st *state) {
	s.discards = s.discards || st.install
	st.chosen, st.install, st.by = st.current, false, nil
}

// discard takes a choice back and its candidate for good.
func (s *solver) discard(st *state, why *block) {
	s.unmark(st)
	st.candidate = st.current
	if st.why == nil {
		st.why = why
	}
}

// possible says whether each clause of the candidate could be satisfied with what can be had now; else there is no
// candidate any more.
func (s *solver) possible(st *state) bool {
	for cl := range clauses(st.candidate) {
		if s.satisfied(cl) || len(s.solutions(cl, false)) > 0 {
			continue
		}
		if st.protected {
			continue // it is broken then; the rest of its trouble is to be known too
		}
		s.discard(st, &block{p: st.candidate, clause: cl})
		return false
	}
	return true
}

// collect returns what is to be looked at for a candidate: clauses that want something, relations that exclude
// something.
func (s *solver) collect(st *state) (install []Clause, remove []Relation) {
	for cl := range clauses(st.candidate) {
		if st.protected || !s.satisfied(cl) {
			install = append(install, cl)
		}
	}
	for r := range exclusions(st.candidate) {
		if st.protected || len(s.excluded(st.candidate, r, chosenOf)) > 0 {
			remove = append(remove, r)
		}
	}
	return install, remove
}

// exclude unmarks what the candidate excludes, and returns what of the baseline is to be upgraded for it.
func (s *solver) exclude(st *state, remove []Relation, user bool) (upgrade []*state, ok bool) {
	ok = true
	var bad []*state
	for _, r := range remove {
		for _, q := range s.sorted(s.excluded(st.candidate, r, candidateOf), r) {
			t := s.of(q)
			if t.candidate != q {
				continue
			}
			why := &block{p: st.candidate, other: q, relation: r}
			switch {
			case t.current == q, t.install && t.protected:
				if ok = false; st.why == nil {
					st.why = why
				}
			case st.protected:
				s.discard(t, why)
				if t.current == nil {
					t.protected = true
				}
			default:
				s.unmark(t)
				bad = append(bad, t)
			}
			if !ok && !st.protected && !user {
				return nil, false
			}
		}
		for _, q := range s.excluded(st.candidate, r, currentOf) {
			t := s.of(q)
			switch {
			case t.candidate == t.current: // looked at above
			case t.candidate != nil && !slices.Contains(bad, t):
				upgrade = append(upgrade, t)
			default:
				if ok = false; !st.protected && !user {
					return nil, false
				}
			}
		}
	}
	return upgrade, ok
}

// dependents adds what of the baseline must be upgraded because it needs the very version that is replaced.
func (s *solver) dependents(st *state, upgrade []*state) []*state {
	if st.current == nil || st.current == st.candidate {
		return upgrade
	}
	for _, t := range s.base {
		if t.install || t == st || slices.Contains(upgrade, t) {
			continue
		}
		for cl := range clauses(t.current) {
			if slices.ContainsFunc(cl, func(r Relation) bool {
				return s.meets(st.current, r) && !s.meets(st.candidate, r)
			}) {
				upgrade = append(upgrade, t)
				break
			}
		}
	}
	return upgrade
}

// depend satisfies clauses. It returns the one that could not be.
func (s *solver) depend(st *state, install []Clause, already, user bool, depth int) (failed Clause) {
	for _, cl := range install {
		found := s.satisfied(cl)
		if found && !already {
			continue
		}
		if found {
			if only := s.onlySolution(cl); only != nil && !only.protected {
				only.protected = true
				if !s.mark(only, st.candidate, true, depth+1) {
					failed = cl
				}
			}
			continue
		}
		list := s.solutions(cl, true)
		for _, q := range list {
			t := s.of(q)
			if t.candidate != q {
				continue
			}
			if already && len(list) == 1 {
				if !s.mark(t, st.candidate, false, depth+1) {
					continue
				}
				t.protected = true
			}
			if s.mark(t, st.candidate, true, depth+1) {
				found = true
				break
			}
		}
		if !found {
			if failed = cl; !already && !user {
				return failed
			}
		}
	}
	return failed
}
