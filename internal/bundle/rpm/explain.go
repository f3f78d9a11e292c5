package rpm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Missing is a capability that nothing provides, and the way from a root to the package that requires it.
type Missing struct {
	Needs string
	Chain []string
}

func (m Missing) String() string { return m.Needs + " (" + strings.Join(m.Chain, " → ") + ")" }

// MissingError is in the fault "rpm.unresolvable": all that is missing.
type MissingError []Missing

func (e MissingError) Error() string { return fmt.Sprintf("%d capabilities are missing", len(e)) }

const maxMissing = 100 // told at once

// explain makes the fault for a contradiction: capabilities that nothing provides, if that is the reason, or two
// packages that exclude each other.
func (q *question) explain(s *solver, err error) error {
	if m := q.missing(s); len(m) > 0 {
		var list []string
		for _, one := range m {
			list = append(list, one.String())
		}
		return event.NewFault(event.ClassFailed, "rpm.unresolvable", m, "needs", strings.Join(list, "; "), "count",
			fmt.Sprint(len(m)), "arch", q.x.arch)
	}
	if errors.Is(err, errGaveUp) {
		return event.NewFault(event.ClassFailed, "rpm.too-large", err, "arch", q.x.arch)
	}
	a, b, why := q.excluding(s)
	if a == nil {
		return event.NewFault(event.ClassFailed, "rpm.too-large", err, "arch", q.x.arch)
	}
	chain, otherChain := strings.Join(q.chain(s, a), " → "), strings.Join(q.chain(s, b), " → ")
	if why == "" {
		return event.NewFault(event.ClassFailed, "rpm.two-versions", nil, "package", a.String(), "other", b.String(),
			"chain", chain,
			"other_chain", otherChain, "arch", q.x.arch)
	}
	return event.NewFault(event.ClassFailed, "rpm.conflict", nil, "package", a.String(), "other", b.String(),
		"relation", why,
		"chain", chain, "other_chain", otherChain, "arch", q.x.arch)
}

// missing finds what nothing provides among the needs of the roots that cannot be installed for that reason.
func (q *question) missing(s *solver) MissingError {
	dead := s.dead()
	var out MissingError
	seen := map[int32]bool{}
	var visit func(v int32, chain []string)
	down := func(c *clause, chain []string) {
		var best []int32
		for _, l := range c.list {
			if l < 0 || !dead[l] {
				return
			}
			best = append(best, l)
		}
		if len(best) > 0 {
			visit(s.prefer(s.filter(best))[0], chain)
			return
		}
		m := Missing{Needs: c.dep.String(), Chain: chain}
		if len(out) < maxMissing && !slices.ContainsFunc(out, func(o Missing) bool { return o.Needs == m.Needs }) {
			out = append(out, m)
		}
	}
	byHead := map[int32][]*clause{}
	for i := range s.clauses {
		if c := &s.clauses[i]; c.why == becauseRequires {
			byHead[c.head] = append(byHead[c.head], c)
		}
	}
	visit = func(v int32, chain []string) {
		if seen[v] {
			return
		}
		seen[v] = true
		chain = append(slices.Clone(chain), s.pkgs[v].Name)
		for _, c := range byHead[v] {
			down(c, chain)
		}
	}
	for i := s.jobs; i < len(s.clauses); i++ {
		if c := &s.clauses[i]; c.why == becauseRoot {
			down(c, nil)
		}
	}
	return out
}

// dead finds the packages that cannot be installed because something that they require, directly or not, is not there.
func (s *solver) dead() []bool {
	dead := make([]bool, len(s.pkgs))
	left := make([]int, len(s.clauses)) // literals that may yet be true
	users := map[int32][]int32{}
	var todo []int32
	kill := func(v int32) {
		if v != 0 && !dead[v] {
			dead[v] = true
			todo = append(todo, v)
		}
	}
	for i := range s.clauses {
		c := &s.clauses[i]
		if c.why != becauseRequires {
			continue
		}
		left[i] = len(c.list)
		for _, l := range c.list {
			if l > 0 {
				users[l] = append(users[l], int32(i))
			}
		}
		if len(c.list) == 0 {
			kill(c.head)
		}
	}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range users[v] {
			if left[i]--; left[i] == 0 {
				kill(s.clauses[i].head)
			}
		}
	}
	return dead
}

// excluding finds, going back from the last contradiction, two packages that both have to be chosen and exclude each
// other.
func (q *question) excluding(s *solver) (a, b *Package, why string) {
	seen := map[int32]bool{}
	todo := slices.Clone(s.last)
	if len(todo) == 2 && todo[0] < 0 && todo[1] < 0 {
		if a, b, why := s.exclusion(-todo[0], -todo[1]); a != nil {
			return a, b, why
		}
	}
	for len(todo) > 0 {
		l := todo[0]
		todo = todo[1:]
		v := variableOf(l)
		if seen[v] {
			continue
		}
		seen[v] = true
		r := s.reason[v]
		if r.group != 0 {
			if a, b, why := s.exclusion(r.group, v); a != nil {
				return a, b, why
			}
		}
		if r.clause != 0 {
			if c := &s.clauses[r.clause-1]; c.head != 0 && len(c.list) == 1 && c.list[0] < 0 {
				if a, b, why := s.exclusion(c.head, -c.list[0]); a != nil {
					return a, b, why
				}
			}
		}
		todo = append(todo, s.causes(l)...)
	}
	// A rich conflict is about more than two.
	for i := range s.clauses {
		c := &s.clauses[i]
		if c.why != becauseConflicts || slices.ContainsFunc(s.literalsOf(c),
			func(l int32) bool { return s.val(l) >= 0 }) {
			continue
		}
		for _, l := range c.list {
			if l < 0 {
				return s.pkgs[c.head], s.pkgs[-l], "Conflicts: " + c.dep.String()
			}
		}
	}
	return nil, nil, ""
}

// exclusion says why two packages exclude each other; "" when only one of a name can be installed.
func (s *solver) exclusion(v, w int32) (a, b *Package, why string) {
	a, b = s.pkgs[v], s.pkgs[w]
	if s.group(a) == s.group(b) {
		return a, b, ""
	}
	for i := range s.clauses {
		c := &s.clauses[i]
		if len(c.list) != 1 || c.list[0] >= 0 || c.why != becauseConflicts && c.why != becauseObsoletes {
			continue
		}
		x, y := c.head, -c.list[0]
		if x == w && y == v {
			x, y, a, b = v, w, b, a
		}
		if x == v && y == w {
			return a, b, map[reasonKind]string{becauseConflicts: "Conflicts: ",
				becauseObsoletes: "Obsoletes: "}[c.why] + c.dep.String()
		}
	}
	return nil, nil, ""
}

// chain names a way from a root to the package: the shortest one over what is required.
func (q *question) chain(s *solver, p *Package) []string {
	by := map[int32]int32{}
	var todo []int32
	visit := func(v, from int32) {
		if _, ok := by[v]; !ok {
			by[v] = from
			todo = append(todo, v)
		}
	}
	byHead := map[int32][]int32{}
	for i := range s.clauses {
		c := &s.clauses[i]
		for _, l := range c.list {
			if l > 0 && c.why == becauseRoot {
				visit(l, 0)
			} else if l > 0 && c.why == becauseRequires {
				byHead[c.head] = append(byHead[c.head], l)
			}
		}
	}
	for i := 0; i < len(todo); i++ {
		for _, l := range byHead[todo[i]] {
			visit(l, todo[i])
		}
	}
	var names []string
	for v := s.vars[p]; v != 0; v = by[v] {
		names = append([]string{s.pkgs[v].Name}, names...)
	}
	return names
}
