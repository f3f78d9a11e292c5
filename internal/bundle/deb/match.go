package deb

import (
	"cmp"
	"iter"
	"slices"
)

// clauses are what a package needs, in the order in which it is looked at.
func clauses(p *Package) iter.Seq[Clause] {
	return func(yield func(Clause) bool) {
		for _, list := range [][]Clause{p.PreDepends, p.Depends} {
			for _, cl := range list {
				if !yield(cl) {
					return
				}
			}
		}
	}
}

// exclusions are what a package cannot stand beside. They have no alternatives.
func exclusions(p *Package) iter.Seq[Relation] {
	return func(yield func(Relation) bool) {
		for _, list := range [][]Clause{p.Conflicts, p.Breaks} {
			for _, cl := range list {
				for _, r := range cl {
					if !yield(r) {
						return
					}
				}
			}
		}
	}
}

// Which of a name's packages is meant.
func candidateOf(st *state) *Package { return st.candidate }
func chosenOf(st *state) *Package    { return st.chosen }
func currentOf(st *state) *Package   { return st.current }

// matches says whether the package of that very name satisfies the relation, version and Multi-Arch qualifier included.
// Packages of other architectures are not in the index.
func (x *Index) matches(p *Package, r Relation) bool {
	if p.Name != r.Name || !r.holds(p.Version) {
		return false
	}
	switch r.Qualifier {
	case "", "native", x.arch:
		return true
	case "any":
		return p.MultiArch == "allowed"
	case "all":
		return p.Arch == "all"
	}
	return false
}

// provides says whether the package satisfies the relation by its Provides: a versioned relation needs a versioned one.
func (x *Index) provides(p *Package, r Relation) bool {
	for _, v := range p.Provides {
		if v.Name != r.Name || v.Op != "" && v.Op != "=" || r.Op != "" && (v.Op == "" || !r.holds(v.Version)) {
			continue
		}
		switch r.Qualifier {
		case "", "native", x.arch:
			if v.Qualifier == "" || v.Qualifier == "native" || v.Qualifier == x.arch {
				return true
			}
		case "any":
			if v.Qualifier == "any" || v.Qualifier == "" && p.MultiArch == "allowed" {
				return true
			}
		case "all":
			if p.Arch == "all" && v.Qualifier == "" {
				return true
			}
		}
	}
	return false
}

// meets says whether the package satisfies the relation in either way.
func (s *solver) meets(p *Package, r Relation) bool { return s.x.matches(p, r) || s.x.provides(p, r) }

// of returns the state of a package's name.
func (s *solver) of(p *Package) *state { return s.state(p.Name) }

func (s *solver) state(name string) *state {
	id, ok := s.x.ids[name]
	if !ok { // only the baseline has it
		if s.unknown[name] == nil {
			s.unknown[name] = &state{name: name}
		}
		return s.unknown[name]
	}
	return s.numbered(id)
}

// numbered returns the state of a name of the index.
func (s *solver) numbered(id uint32) *state {
	if st := s.states[id]; st != nil {
		return st
	}
	i, over := s.override[id]
	if !over {
		i = s.x.candidate(id, nil)
	}
	st := &state{id: id, name: s.x.names[id].text}
	if i >= 0 {
		st.candidate = s.load(i)
	}
	s.states[id] = st
	return st
}

// load makes a package of an entry, once.
func (s *solver) load(i int32) *Package {
	if p := s.loaded[i]; p != nil {
		return p
	}
	p, err := s.x.light(i)
	if err != nil {
		s.err = err // the relationships were read once already: not to be expected
	}
	s.loaded[i] = p
	return p
}

// each calls f for every package that satisfies the relation, the one of that name first; of each name only the one
// that which says.
func (s *solver) each(r Relation, which func(*state) *Package, f func(*Package) bool) {
	for _, p := range s.foreign[r.Name] {
		if which(s.of(p)) == p && (s.x.matches(p, r) || s.x.provides(p, r)) && !f(p) {
			return
		}
	}
	id, ok := s.x.ids[r.Name]
	if !ok {
		return
	}
	if s.x.names[id].entries >= 0 {
		if p := which(s.state(r.Name)); p != nil && p.entry >= 0 && s.x.matches(p, r) && !f(p) {
			return
		}
	}
	for i := s.x.names[id].given; i >= 0; i = s.x.given[i].next {
		o := s.x.given[i].owner
		if p := which(s.numbered(s.x.list[o].name)); p != nil && p.entry == o && s.x.provides(p, r) && !f(p) {
			return
		}
	}
}

func (s *solver) satisfied(cl Clause) bool {
	found := false
	for _, r := range cl {
		s.each(r, chosenOf, func(*Package) bool {
			found = true
			return false
		})
		if found {
			break
		}
	}
	return found
}

// broken says whether something that p needs is missing, or something that it excludes is there.
func (s *solver) broken(p *Package) bool {
	if p == nil {
		return false
	}
	for cl := range clauses(p) {
		if !s.satisfied(cl) {
			return true
		}
	}
	for r := range exclusions(p) {
		if len(s.excluded(p, r, chosenOf)) > 0 {
			return true
		}
	}
	return false
}

// excluded returns the packages that r, a negative relation of p, is about. None is excluded by a package of its own
// name.
func (s *solver) excluded(p *Package, r Relation, which func(*state) *Package) []*Package {
	var out []*Package
	s.each(r, which, func(q *Package) bool {
		if q.Name != p.Name {
			out = append(out, q)
		}
		return true
	})
	return out
}

// solutions returns the candidates that satisfy a clause, in the order in which they are tried if sorted: those of
// which the baseline has an older version, then each alternative's.
func (s *solver) solutions(cl Clause, sorted bool) []*Package {
	var upgrades, news []*Package
	for _, r := range cl {
		var list []*Package
		s.each(r, candidateOf, func(p *Package) bool {
			list = append(list, p)
			return true
		})
		if sorted {
			list = s.sorted(list, r)
		}
		for _, p := range list {
			if s.of(p).current != nil {
				upgrades = append(upgrades, p)
			} else {
				news = append(news, p)
			}
		}
	}
	all := slices.Compact(append(upgrades, news...))
	return slices.DeleteFunc(all, func(p *Package) bool {
		st := s.of(p)
		return st.protected && !st.install && st.current == nil
	})
}

// onlySolution returns the one package that satisfies the clause, be it a candidate or of the baseline; nil if there
// are several.
func (s *solver) onlySolution(cl Clause) *state {
	var only *Package
	several := false
	for _, r := range cl {
		for _, which := range []func(*state) *Package{candidateOf, currentOf} {
			s.each(r, which, func(p *Package) bool {
				if st := s.of(p); st.protected && !st.install && st.current == nil {
					return true
				}
				several = several || only != nil && only != p
				only = p
				return !several
			})
		}
	}
	if several || only == nil {
		return nil
	}
	return s.of(only)
}

// sorted orders packages that satisfy r as apt does: protected ones, those there already, that of the very name,
// essential and important ones, by priority, and at last that whose name was mentioned last in the metadata.
func (s *solver) sorted(list []*Package, r Relation) []*Package {
	yes := func(b bool) int {
		if b {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b *Package) int {
		sa, sb := s.of(a), s.of(b)
		named := func(p *Package) bool { return r.Qualifier == "" && p.Name == r.Name }
		return cmp.Or(
			cmp.Compare(yes(sa.protected), yes(sb.protected)),
			cmp.Compare(yes(sa.current != nil), yes(sb.current != nil)),
			cmp.Compare(yes(named(a)), yes(named(b))),
			cmp.Compare(yes(a.Essential), yes(b.Essential)),
			cmp.Compare(yes(a.important), yes(b.important)),
			cmp.Compare(priority(a.Priority), priority(b.Priority)),
			cmp.Compare(sb.id, sa.id),
		)
	})
	return list
}

// priority is apt's number of a Priority field: none is before all, an unknown one is "extra".
func priority(p string) int {
	if i := slices.Index(priorities[:], p); i >= 0 {
		return i + 1
	}
	if p == "" {
		return 0
	}
	return len(priorities)
}
