package rpm

import (
	"context"
	"errors"
)

// solver finds a set of packages for which all clauses hold: what follows from one choice is drawn at once (unit
// propagation), a contradiction is learnt from and taken back (conflict-driven clause learning), and choices are made
// by policy in libsolv's order.
type solver struct {
	*universe
	value   []int8  // by variable: 1 chosen, -1 not to be chosen, 0 open
	level   []int32 // by variable: of the decision that it followed from
	reason  []reason
	trail   []int32
	head    int // of the trail, up to which consequences are drawn
	depth   int32
	watches map[int32][]int32 // literal → clauses that watch it
	seen    []bool

	branches  []branch
	conflicts int
	last      []int32 // the literals of the last contradiction, all false
	steps     int
}

// reason why a variable has its value: a clause, or another of its group that is chosen; zero for a decision.
type reason struct {
	clause int32 // 1 + its index
	group  int32 // the variable that excludes it
}

// branch is a choice that was made: the others that would have done.
type branch struct {
	others []int32
	taken  int32
	level  int32 // before the choice
}

var (
	errContradiction = errors.New("the packages exclude each other")
	errGaveUp        = errors.New("too many combinations were tried")
)

const (
	maxConflicts = 20000
	maxSteps     = 2 << 30
)

func newSolver(u *universe) *solver {
	n := len(u.pkgs)
	return &solver{universe: u, value: make([]int8, n), level: make([]int32, n), reason: make([]reason, n),
		watches: map[int32][]int32{}, seen: make([]bool, n)}
}

func (s *solver) val(l int32) int8 {
	if l < 0 {
		return -s.value[-l]
	}
	return s.value[l]
}

func (c *clause) len() int {
	if c.head != 0 {
		return len(c.list) + 1
	}
	return len(c.list)
}

func (c *clause) lit(i int32) int32 {
	if c.head == 0 {
		return c.list[i]
	}
	if i == 0 {
		return -c.head
	}
	return c.list[i-1]
}

func variableOf(l int32) int32 {
	if l < 0 {
		return -l
	}
	return l
}

// assign makes a literal true.
func (s *solver) assign(l int32, r reason) {
	v := variableOf(l)
	s.value[v] = 1
	if l < 0 {
		s.value[v] = -1
	}
	s.level[v], s.reason[v] = s.depth, r
	s.trail = append(s.trail, l)
}

// begin watches all clauses and draws what holds from the outset.
func (s *solver) begin() error {
	for i := range s.clauses {
		c := &s.clauses[i]
		switch c.len() {
		case 0:
			return errContradiction
		case 1:
			switch s.val(c.lit(0)) {
			case 0:
				s.assign(c.lit(0), reason{clause: int32(i) + 1})
			case -1:
				s.last = s.literalsOf(c)
				return errContradiction
			}
		default:
			s.watch(int32(i), 0, 1)
		}
	}
	if s.last = s.propagate(); s.last != nil {
		return errContradiction
	}
	return nil
}

func (s *solver) watch(i, a, b int32) {
	c := &s.clauses[i]
	c.w = [2]int32{a, b}
	for _, w := range c.w {
		s.watches[c.lit(w)] = append(s.watches[c.lit(w)], i)
	}
}

func (s *solver) literalsOf(c *clause) []int32 {
	out := make([]int32, 0, c.len())
	for i := range int32(c.len()) {
		out = append(out, c.lit(i))
	}
	return out
}

// propagate draws the consequences of the trail; the literals of a clause that cannot hold any more, or nil.
func (s *solver) propagate() []int32 {
	for ; s.head < len(s.trail); s.head++ {
		l := s.trail[s.head]
		if l > 0 {
			for _, other := range s.groups[s.group(s.pkgs[l])] {
				if other == l {
					continue
				}
				switch s.value[other] {
				case 1:
					return []int32{-l, -other}
				case 0:
					s.assign(-other, reason{group: l})
				}
			}
		}
		list := s.watches[-l]
		kept := list[:0]
		for k, i := range list {
			moved, conflict := s.visit(i, -l)
			if !moved {
				kept = append(kept, i)
			}
			if conflict {
				kept = append(kept, list[k+1:]...)
				s.watches[-l] = kept
				return s.literalsOf(&s.clauses[i])
			}
		}
		s.watches[-l] = kept
	}
	return nil
}

// visit looks at a clause of which the watched literal became false.
func (s *solver) visit(i, falsified int32) (moved, conflict bool) {
	c := &s.clauses[i]
	mine := 0
	if c.lit(c.w[0]) != falsified {
		mine = 1
	}
	other := c.lit(c.w[1-mine])
	if s.val(other) > 0 {
		return false, false
	}
	n := int32(c.len())
	for step, at := int32(0), c.w[mine]; step < n; step++ {
		if at++; at == n {
			at = 0
		}
		s.steps++
		if at != c.w[0] && at != c.w[1] && s.val(c.lit(at)) >= 0 {
			c.w[mine] = at
			s.watches[c.lit(at)] = append(s.watches[c.lit(at)], i)
			return true, false
		}
	}
	if s.val(other) < 0 {
		return false, true
	}
	s.assign(other, reason{clause: i + 1})
	return false, false
}

// decide chooses a package and draws the consequences; contradictions are learnt from and taken back.
func (s *solver) decide(ctx context.Context, v int32) error {
	s.depth++
	s.assign(v, reason{})
	for {
		conflict := s.propagate()
		if conflict == nil {
			return nil
		}
		s.last = conflict
		if s.depth == 0 {
			return errContradiction
		}
		if s.conflicts++; s.conflicts > maxConflicts || s.steps > maxSteps {
			return errGaveUp
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		learnt, back := s.analyze(conflict)
		s.revert(back)
		r := reason{}
		if len(learnt) > 1 {
			s.clauses = append(s.clauses, clause{list: learnt, why: becauseLearnt})
			s.watch(int32(len(s.clauses)-1), 0, 1)
			r.clause = int32(len(s.clauses))
		}
		s.assign(learnt[0], r)
	}
}

// causes are the literals, all false, that made l true.
func (s *solver) causes(l int32) []int32 {
	r := s.reason[variableOf(l)]
	switch {
	case r.group != 0:
		return []int32{-r.group}
	case r.clause != 0:
		return s.literalsOf(&s.clauses[r.clause-1])
	}
	return nil
}

// analyze finds the clause to learn, with the literal that it makes true first, and the level on which it does: that of
// the first unique implication point.
func (s *solver) analyze(conflict []int32) (learnt []int32, back int32) {
	learnt = []int32{0}
	open := 0
	var marked []int32
	mark := func(lits []int32, but int32) {
		for _, l := range lits {
			v := variableOf(l)
			if l == but || s.seen[v] || s.level[v] == 0 {
				continue
			}
			s.seen[v] = true
			marked = append(marked, v)
			if s.level[v] == s.depth {
				open++
			} else {
				learnt = append(learnt, l)
			}
		}
	}
	mark(conflict, 0)
	for i := len(s.trail) - 1; ; i-- {
		l := s.trail[i]
		if !s.seen[variableOf(l)] {
			continue
		}
		if open--; open == 0 {
			learnt[0] = -l
			break
		}
		mark(s.causes(l), l)
	}
	for _, v := range marked {
		s.seen[v] = false
	}
	for i := 1; i < len(learnt); i++ {
		if lv := s.level[variableOf(learnt[i])]; lv > back {
			back = lv
			learnt[1], learnt[i] = learnt[i], learnt[1]
		}
	}
	return learnt, back
}

// revert takes back everything beyond a level.
func (s *solver) revert(level int32) {
	n := len(s.trail)
	for n > 0 && s.level[variableOf(s.trail[n-1])] > level {
		n--
		v := variableOf(s.trail[n])
		s.value[v], s.reason[v] = 0, reason{}
	}
	s.trail = s.trail[:n]
	s.head = n
	s.depth = level
	for len(s.branches) > 0 && s.branches[len(s.branches)-1].level >= level {
		s.branches = s.branches[:len(s.branches)-1]
	}
}

// open returns the packages that could make a clause true which does not hold yet, nil if it holds or may come to hold
// otherwise.
func (s *solver) open(c *clause) []int32 {
	if c.head != 0 && s.value[c.head] <= 0 {
		return nil
	}
	var out []int32
	for _, l := range c.list {
		switch {
		case s.val(l) > 0 || l < 0 && s.value[-l] == 0:
			return nil
		case l > 0 && s.value[l] == 0:
			out = append(out, l)
		}
	}
	return out
}
