package rpm

import (
	"context"
	"errors"
	"slices"
	"sort"
)

// universe is all that a set of roots could lead to: a variable for each package that could be chosen, and clauses over
// them of which each must hold. A literal is the number of a variable, negative for "not".
type universe struct {
	ctx   context.Context
	x     *Index
	o     *selection
	vars  map[*Package]int32
	pkgs  []*Package // by variable; none has 0
	queue []int32    // variables whose package's requirements are not read yet
	todo  []bool     // by variable: it is, or was, in the queue

	clauses  []clause
	jobs     int // clauses from here on are roots and packages to be kept
	literals int // in all clauses
	groups   map[string][]int32
	byDep    map[*Dep][]int32
	byRich   map[richKey][][]int32
}

// clause: not the head, or one of the literals. Its list may be shared with others.
type clause struct {
	head int32 // the package that asks; 0: none
	list []int32
	dep  *Dep // that is asked for
	why  reasonKind
	w    [2]int32 // places of the two watched literals, the head being the first
}

type reasonKind uint8

const (
	becauseRequires reasonKind = iota
	becauseRoot
	becauseKept
	becauseConflicts
	becauseObsoletes
	becauseSameName
	becauseLearnt
)

// selection is what a question adds to the index.
type selection struct {
	excluded  func(*Package) bool
	installed map[*Package]bool
	made      map[string][]*Package // capability → made-up packages of the baseline
}

// maxLiterals bounds the work that a hostile repository can ask for.
const maxLiterals = 64 << 20

var errTooLarge = errors.New("the dependencies lead to more than can be looked at")

func newUniverse(ctx context.Context, x *Index, o *selection) *universe {
	return &universe{ctx: ctx, x: x, o: o, vars: map[*Package]int32{}, pkgs: make([]*Package, 1), todo: make([]bool, 1),
		groups: map[string][]int32{},
		byDep:  map[*Dep][]int32{}, byRich: map[richKey][][]int32{}}
}

// variable returns that of the package.
func (u *universe) variable(p *Package) int32 {
	v, ok := u.vars[p]
	if !ok {
		v = int32(len(u.pkgs))
		u.vars[p] = v
		u.pkgs = append(u.pkgs, p)
		u.todo = append(u.todo, false)
		u.groups[u.group(p)] = append(u.groups[u.group(p)], v)
	}
	return v
}

// group names those of which only one can be installed: of one name, and of one architecture where several are.
func (u *universe) group(p *Package) string {
	if p.Arch == u.x.arch || p.Arch == "noarch" {
		return p.Name
	}
	return p.Name + "." + p.Arch
}

// want has the package's requirements read.
func (u *universe) want(v int32) {
	if !u.todo[v] {
		u.todo[v] = true
		u.queue = append(u.queue, v)
	}
}

// candidates returns the variables of the packages that satisfy a simple dependency, in the order of the index.
func (u *universe) candidates(d *Dep) []int32 {
	if list, ok := u.byDep[d]; ok {
		return list
	}
	var list []int32
	for _, p := range u.x.lookup(d) {
		if u.o.installed[p] || !u.o.excluded(p) {
			list = append(list, u.variable(p))
		}
	}
	for _, p := range u.o.made[d.Name] {
		if p.satisfies(d) {
			list = append(list, u.variable(p))
		}
	}
	u.byDep[d] = list
	return list
}

func (u *universe) add(c clause) error {
	u.clauses = append(u.clauses, c)
	if u.literals += len(c.list) + 1; u.literals > maxLiterals {
		return errTooLarge
	}
	return nil
}

// expand reads the requirements of all that may be needed, until nothing new comes.
func (u *universe) expand() error {
	for i := 0; i < len(u.queue); i++ {
		if i%256 == 0 {
			if err := u.ctx.Err(); err != nil {
				return err
			}
		}
		if err := u.requirements(u.queue[i]); err != nil {
			return err
		}
	}
	u.queue = u.queue[:0]
	return nil
}

func (u *universe) requirements(v int32) error {
	p := u.pkgs[v]
	for _, d := range p.requires {
		if d.ignored() {
			continue
		}
		cnf, err := u.normal(d, false)
		if err != nil && !errors.Is(err, errUnreadable) {
			return err
		}
		if err != nil {
			cnf = [][]int32{nil} // cannot be satisfied
		}
		for _, list := range cnf {
			if slices.Contains(list, v) {
				continue
			}
			// What is installed is believed to stand as it does, whatever the repositories know of its needs.
			if u.o.installed[p] && !u.holdsInstalled(list) {
				continue
			}
			for _, l := range list {
				if l > 0 {
					u.want(l)
				}
			}
			if err := u.add(clause{head: v, list: list, dep: d}); err != nil {
				return err
			}
		}
	}
	for _, d := range p.conflicts {
		if !d.rich() {
			continue
		}
		cnf, err := u.normal(d, true)
		if errors.Is(err, errUnreadable) {
			continue
		}
		if err != nil {
			return err
		}
		for _, list := range cnf {
			if slices.Contains(list, -v) || u.o.installed[p] && !u.holdsInstalled(list) {
				continue
			}
			for _, l := range list {
				if l > 0 {
					u.want(l)
				}
			}
			if err := u.add(clause{head: v, list: list, dep: d, why: becauseConflicts}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *universe) holdsInstalled(list []int32) bool {
	for _, l := range list {
		if l > 0 && u.o.installed[u.pkgs[l]] || l < 0 && !u.o.installed[u.pkgs[-l]] {
			return true
		}
	}
	return false
}

// exclusions adds what the packages say against each other: two of the universe cannot both be chosen.
func (u *universe) exclusions() error {
	for v := int32(1); v < int32(len(u.pkgs)); v++ {
		p := u.pkgs[v]
		for _, d := range p.conflicts {
			if d.rich() {
				continue
			}
			for _, q := range u.x.lookup(d) {
				if err := u.against(v, q, d, becauseConflicts); err != nil {
					return err
				}
			}
			for _, q := range u.o.made[d.Name] {
				if q.satisfies(d) {
					if err := u.against(v, q, d, becauseConflicts); err != nil {
						return err
					}
				}
			}
		}
		for _, d := range p.obsoletes {
			for _, q := range u.named(d.Name) {
				if q.Name != p.Name && d.holds(q.EVR()) {
					if err := u.against(v, q, d, becauseObsoletes); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// named returns the packages of that name, the baseline's made-up one too.
func (u *universe) named(name string) []*Package {
	list := u.x.byName[name]
	for _, q := range u.o.made[name] {
		if q.Name == name {
			list = append(list[:len(list):len(list)], q)
		}
	}
	return list
}

func (u *universe) against(v int32, q *Package, d *Dep, why reasonKind) error {
	w, ok := u.vars[q]
	if !ok || w == v || u.o.installed[u.pkgs[v]] && u.o.installed[q] {
		return nil
	}
	return u.add(clause{head: v, list: []int32{-w}, dep: d, why: why})
}

var errUnreadable = errors.New("a rich dependency that cannot be read")

// normal brings a dependency, or its negation, into the form of clauses.
func (u *universe) normal(d *Dep, negated bool) ([][]int32, error) {
	if !d.rich() {
		return u.leaf(u.candidates(d), negated), nil
	}
	key := richKey{d, negated}
	if list, ok := u.byRich[key]; ok {
		return list, nil
	}
	e, err := u.x.expression(d)
	if err != nil {
		return nil, errUnreadable
	}
	list, err := u.cnf(e, negated)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		u.literals += len(c)
	}
	if u.literals > maxLiterals {
		return nil, errTooLarge
	}
	u.byRich[key] = list
	return list, nil
}

type richKey struct {
	dep     *Dep
	negated bool
}

func (u *universe) leaf(list []int32, negated bool) [][]int32 {
	if !negated {
		return [][]int32{list}
	}
	var out [][]int32
	for _, v := range list {
		out = append(out, []int32{-v})
	}
	return out
}

// cnf is normal for an expression. "with" and "without" are about one package and so stand for a set of packages; the
// others combine.
func (u *universe) cnf(e *expr, negated bool) ([][]int32, error) {
	sub := func(i int, neg bool) ([][]int32, error) { return u.cnf(e.args[i], neg) }
	switch {
	case e.op == "" || e.op == "with" || e.op == "without":
		return u.leaf(u.set(e), negated), nil
	case (e.op == "and") != negated && (e.op == "and" || e.op == "or"):
		var all [][]int32
		for i := range e.args {
			c, err := sub(i, negated)
			if err != nil {
				return nil, err
			}
			all = append(all, c...)
		}
		return all, nil
	case e.op == "and" || e.op == "or":
		all := [][]int32{nil}
		for i := range e.args {
			c, err := sub(i, negated)
			if err == nil {
				all, err = u.product(all, c)
			}
			if err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	if e.op == "not" {
		return sub(0, !negated)
	}
	// a if b else c: (a or not b) and (c or b). a unless b else c: (a and not b) or (c and b), which is the same as (a
	// or b) and (c or not b) when c is there. Without c: a or not b; a and not b.
	and, or := func(a, b *expr) *expr { return &expr{op: "and", args: []*expr{a, b}} },
		func(a, b *expr) *expr { return &expr{op: "or", args: []*expr{a, b}} }
	a, b := e.args[0], e.args[1]
	not := func(x *expr) *expr { return &expr{op: "not", args: []*expr{x}} }
	var whole *expr
	switch {
	case e.op == "if" && len(e.args) == 3:
		whole = and(or(a, not(b)), or(e.args[2], b))
	case e.op == "if":
		whole = or(a, not(b))
	case len(e.args) == 3:
		whole = or(and(a, not(b)), and(e.args[2], b))
	default:
		whole = and(a, not(b))
	}
	return u.cnf(whole, negated)
}

const maxProduct = 20000 // clauses of one rich dependency

func (u *universe) product(a, b [][]int32) ([][]int32, error) {
	if len(a)*len(b) > maxProduct {
		return nil, errTooLarge
	}
	var out [][]int32
	total := 0
	for _, p := range a {
		for _, q := range b {
			if total += len(p) + len(q); total > maxProduct*100 {
				return nil, errTooLarge
			}
			list := append(slices.Clone(p), q...)
			slices.SortFunc(list, func(a, b int32) int { return int(u.place(a) - u.place(b)) })
			list = slices.Compact(list)
			if !slices.ContainsFunc(list, func(l int32) bool { return l > 0 && slices.Contains(list, -l) }) {
				out = append(out, list)
			}
		}
	}
	return out, nil
}

// set is the packages that satisfy an expression by themselves.
func (u *universe) set(e *expr) []int32 {
	if e.op == "" {
		return u.candidates(e.dep)
	}
	list := slices.Clone(u.set(e.args[0]))
	for _, a := range e.args[1:] {
		other := u.set(a)
		has := map[int32]bool{}
		for _, v := range other {
			has[v] = true
		}
		switch e.op {
		case "with", "and":
			list = slices.DeleteFunc(list, func(v int32) bool { return !has[v] })
		case "without":
			list = slices.DeleteFunc(list, func(v int32) bool { return has[v] })
		case "or":
			list = append(slices.DeleteFunc(list, func(v int32) bool { return has[v] }), other...)
			slices.SortFunc(list, func(a, b int32) int { return int(u.place(a) - u.place(b)) })
		}
	}
	return list
}

// place of a literal is its package's in the index, negative for "not".
func (u *universe) place(l int32) int32 {
	if l < 0 {
		return -u.pkgs[-l].id
	}
	return u.pkgs[l].id
}

// order sorts the clauses as libsolv has its rules, for where one choice bears on another the first one decides: those
// of the packages that came last first, and among a package's own by the order of the candidates.
func (u *universe) order() {
	sort.SliceStable(u.clauses, func(i, j int) bool {
		a, b := &u.clauses[i], &u.clauses[j]
		if a.head != b.head {
			return u.pkgs[a.head].id > u.pkgs[b.head].id
		}
		for k := 0; k < len(a.list) && k < len(b.list); k++ {
			if x, y := u.place(a.list[k]), u.place(b.list[k]); x != y {
				return x < y
			}
		}
		return len(a.list) < len(b.list)
	})
	u.jobs = len(u.clauses)
}
