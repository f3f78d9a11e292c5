package deb

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// maxProblems that are told of one request.
const maxProblems = 100

// problem is what makes a request unresolvable.
type problem struct {
	chain []string // from a root to p
	block
	otherChain []string
}

// problems lists everything that is wrong with what was chosen.
func (s *solver) problems() []problem {
	var out []problem
	for _, r := range s.missing {
		out = append(out, problem{block: block{clause: Clause{r}}})
	}
	if s.alone {
		return out
	}
	var list []*state
	for _, m := range []any{s.states, s.unknown} {
		switch m := m.(type) {
		case map[uint32]*state:
			for _, st := range m {
				list = append(list, st)
			}
		case map[string]*state:
			for _, st := range m {
				list = append(list, st)
			}
		}
	}
	slices.SortFunc(list, func(a, b *state) int { return cmp.Compare(a.name, b.name) })
	for _, st := range list {
		if st.chosen != nil {
			out = append(out, s.wrong(st)...)
		}
	}
	slices.SortStableFunc(out, func(a, b problem) int { return slices.Compare(a.chain, b.chain) })
	return slices.CompactFunc(out, func(a, b problem) bool {
		return slices.Equal(a.chain, b.chain) && a.text() == b.text()
	})
}

func (p problem) text() string {
	if p.clause != nil {
		return p.clause.String()
	}
	return p.relation.String()
}

// wrong says what is wrong with one of the chosen. A baseline is taken for whole: it is only asked whether what is new
// harms it.
func (s *solver) wrong(st *state) []problem {
	var out []problem
	p := st.chosen
	for cl := range clauses(p) {
		if s.satisfied(cl) || !st.install && !slices.ContainsFunc(cl, func(r Relation) bool { return s.had(r) }) {
			continue
		}
		out = append(out, s.deepest(problem{chain: s.chain(p), block: block{p: p, clause: cl}}))
	}
	for r := range exclusions(p) {
		for _, q := range s.excluded(p, r, chosenOf) {
			if st.install || s.of(q).install {
				out = append(out, problem{chain: s.chain(p), block: block{p: p, other: q, relation: r},
					otherChain: s.chain(q)})
			}
		}
	}
	return out
}

// had says whether the baseline satisfied the relation.
func (s *solver) had(r Relation) bool {
	found := false
	s.each(r, currentOf, func(*Package) bool {
		found = true
		return false
	})
	return found
}

// deepest follows a clause that could not be satisfied through the packages that could not be chosen for it, the first
// of each clause, to the reason of it all.
func (s *solver) deepest(pr problem) problem {
	seen := map[*state]bool{}
	for pr.clause != nil {
		var next *state
		for _, r := range pr.clause {
			if id, ok := s.x.ids[r.Name]; ok {
				next = s.numbered(id)
				for i := s.x.names[id].given; i >= 0 && next.why == nil; i = s.x.given[i].next {
					next = s.numbered(s.x.list[s.x.given[i].owner].name)
				}
			}
			if next != nil && next.why != nil {
				break
			}
		}
		if next == nil || next.why == nil || seen[next] || next.why.p == nil {
			return pr
		}
		seen[next] = true
		why := *next.why
		if why.p.Name != next.name { // another excludes it
			pr.chain = append(pr.chain, next.name)
			return problem{chain: s.chain(why.p), block: why, otherChain: pr.chain}
		}
		pr.chain = append(pr.chain, next.name)
		if why.other != nil {
			return problem{chain: pr.chain, block: why, otherChain: s.chain(why.other)}
		}
		pr.block = why
	}
	return pr
}

// older looks for a version that is not the candidate and would satisfy a clause that nothing does. It says whether
// there is one.
func (s *solver) older(override map[uint32]int32, problems []problem) bool {
	found := false
	for _, pr := range problems {
		for _, r := range pr.clause {
			id, ok := s.x.ids[r.Name]
			if !ok {
				continue
			}
			if _, over := override[id]; over || s.numbered(id).current != nil {
				continue
			}
			if i := s.x.candidate(id, r.holds); i >= 0 && s.x.matches(s.load(i), r) && i != s.x.candidate(id, nil) {
				override[id] = i
				found = true
				break
			}
		}
	}
	return found
}

func (s *solver) fault(problems []problem) error {
	var faults []*event.Fault
	for _, pr := range problems[:min(len(problems), maxProblems)] {
		arch := s.x.arch
		switch {
		case pr.p == nil:
			faults = append(faults, event.NewFault(event.ClassFailed, "deb.no-package", nil, "package",
				pr.clause.String(), "arch", arch))
		case pr.clause != nil:
			faults = append(faults, event.NewFault(event.ClassFailed, "deb.unresolved", nil, "package", pr.p.String(),
				"needs", pr.clause.String(),
				"chain", arrows(pr.chain), "arch", arch))
		case pr.other != nil:
			faults = append(faults, event.NewFault(event.ClassFailed, "deb.conflict", nil, "package", pr.p.String(),
				"other", pr.other.String(),
				"relation", pr.relation.String(), "chain", arrows(pr.chain), "other_chain", arrows(pr.otherChain),
				"arch", arch))
		}
	}
	return join(faults, s.x.arch)
}

func arrows(chain []string) string { return strings.Join(chain, " → ") }
