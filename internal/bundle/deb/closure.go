package deb

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Mode says how much of what packages need is resolved with them.
type Mode int

// The modes.
const (
	Full Mode = iota // all that they (pre-)depend on, less what the baseline has
	None             // the named packages alone
)

// Request is what to resolve.
type Request struct {
	Roots    []string // "name", "name=version" or "name (op version)"
	Mode     Mode
	Baseline *Baseline // what the target has already; nil: nothing
}

// maxOverrides bounds how often resolving starts again with another version of some package.
const maxOverrides = 32

// maxRepairs bounds how far one package that cannot stay takes back others.
const maxRepairs = 1000

// Closure resolves the named packages with everything that they (pre-)depend on, into an empty system.
func (x *Index) Closure(roots []string) ([]*Package, error) { return x.Resolve(Request{Roots: roots}) }

// Resolve chooses packages as apt would, sorted by name: what is chosen already satisfies; else the first alternative
// that can be had is taken, a package of that name before one that provides it. Of each package only the candidate is
// considered (see Repository); where a relationship needs an older version and nothing else would do, that one becomes
// the candidate. Recommended packages are not taken, essential ones only when something depends on them. What the
// baseline has counts as chosen and is not in the result, unless a newer version is needed; then what needs the very
// version that is replaced is taken again too. Nothing of the baseline is removed.
//
// Faults: "deb.root" for what names no package, "deb.baseline", "deb.no-package" for a root that is not there,
// "deb.unresolved" with the chain from a root to the relationship that nothing satisfies, "deb.conflict" when two that
// are needed exclude each other; when there are several of these, "deb.unresolvable" with all of them in words, and
// each in Problems.
func (x *Index) Resolve(q Request) ([]*Package, error) {
	roots, err := x.roots(q.Roots)
	if err != nil {
		return nil, err
	}
	override := map[uint32]int32{}
	for i := range roots {
		if err := x.pin(override, roots[i]); err != nil {
			return nil, err
		}
	}
	for {
		s := x.solver(q.Baseline, override)
		s.run(roots, q.Mode)
		if f := (*event.Fault)(nil); errors.As(s.err, &f) {
			return nil, f
		} else if s.err != nil {
			return nil, event.NewFault(event.ClassFailed, "deb.packages", s.err, "repository", x.arch)
		}
		problems := s.problems()
		if len(problems) == 0 {
			return s.result()
		}
		if len(override) >= maxOverrides+len(roots) || !s.older(override, problems) {
			return nil, s.fault(problems)
		}
	}
}

func (x *Index) roots(texts []string) ([]Relation, error) {
	var roots []Relation
	var faults []*event.Fault
	for _, t := range texts {
		rel := t
		if name, version, ok := strings.Cut(t, "="); ok && !strings.Contains(t, "(") {
			rel = name + " (= " + version + ")"
		}
		cl, err := ParseRelations(rel, x.arch)
		if err != nil || len(cl) != 1 || len(cl[0]) != 1 {
			faults = append(faults, event.NewFault(event.ClassUsage, "deb.root", err, "package", t))
			continue
		}
		if r := cl[0][0]; !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	return roots, join(faults, x.arch)
}

// pin makes the best version that a root accepts its candidate.
func (x *Index) pin(override map[uint32]int32, r Relation) error {
	id, ok := x.ids[r.Name]
	if !ok || r.Op == "" {
		return nil
	}
	if i := x.candidate(id, r.holds); i >= 0 {
		if j, ok := override[id]; ok && i != j {
			return event.NewFault(event.ClassUsage, "deb.root", errors.New("two versions"), "package", r.String())
		}
		override[id] = i
	}
	return nil
}

func (x *Index) solver(base *Baseline, override map[uint32]int32) *solver {
	s := &solver{x: x, states: map[uint32]*state{}, unknown: map[string]*state{}, loaded: map[int32]*Package{},
		foreign: map[string][]*Package{}, override: override}
	if base != nil {
		s.install(base)
	}
	return s
}

// run marks the roots, first all of them alone, then with what they need.
func (s *solver) run(roots []Relation, mode Mode) {
	var list []*state
	for i, r := range roots {
		st := s.root(r)
		if st == nil {
			s.missing = append(s.missing, r)
			continue
		}
		st.root, st.protected = &roots[i], true
		if st.current != nil && s.meets(st.current, r) {
			continue
		}
		s.mark(st, nil, false, 0)
		list = append(list, st)
	}
	if mode == None {
		s.alone = true
		return
	}
	for _, st := range list {
		s.mark(st, nil, true, 0)
	}
	if s.discards {
		s.repair(list)
		s.sweep(slices.Clone(list))
	}
}

// root returns what a root stands for: the package of that name, or the first that provides it.
func (s *solver) root(r Relation) *state {
	for _, which := range []func(*state) *Package{currentOf, candidateOf} {
		var list []*Package
		s.each(r, which, func(p *Package) bool {
			list = append(list, p)
			return true
		})
		if len(list) > 0 {
			return s.of(s.sorted(list, r)[0])
		}
	}
	return nil
}

// repair takes back what was chosen but cannot stay, and what needs it, as long as no root is among that.
func (s *solver) repair(roots []*state) {
	kept := map[*state]state{}
	for range maxRepairs {
		again := false
		for _, st := range s.packed() {
			if !s.broken(st.chosen) {
				continue
			}
			if again = true; slices.Contains(roots, st) {
				for was, as := range kept {
					*was = as
				}
				return
			}
			kept[st] = *st
			s.unmark(st)
		}
		if !again {
			return
		}
	}
}

// packed are the states of what is to be packed, by name.
func (s *solver) packed() []*state {
	var list []*state
	for _, st := range s.states {
		if st.install {
			list = append(list, st)
		}
	}
	slices.SortFunc(list, func(a, b *state) int { return cmp.Compare(a.name, b.name) })
	return list
}

// sweep takes back what was chosen on a way that was given up: all that no root leads to, not even by a recommendation
// or suggestion of what is chosen, as apt's search for packages that are no longer required goes.
func (s *solver) sweep(roots []*state) {
	packed := s.packed()
	for _, st := range packed {
		if st.chosen.Essential || st.chosen.important {
			roots = append(roots, st)
		}
	}
	wanted := s.reached(roots, func(p *Package) []Clause { return append(slices.Collect(clauses(p)), s.wishes(p)...) })
	for _, st := range packed {
		if !wanted[st] {
			s.unmark(st)
		}
	}
}

// reached returns what of the chosen the roots lead to by the clauses that next returns.
func (s *solver) reached(roots []*state, next func(*Package) []Clause) map[*state]bool {
	reached := map[*state]bool{}
	queue := slices.Clone(roots)
	for i := 0; i < len(queue); i++ {
		st := queue[i]
		if reached[st] || st.chosen == nil {
			continue
		}
		reached[st] = true
		for _, cl := range next(st.chosen) {
			for _, r := range cl {
				s.each(r, chosenOf, func(p *Package) bool {
					queue = append(queue, s.of(p))
					return true
				})
			}
		}
	}
	return reached
}

// wishes are what a package recommends and suggests. A field that is not well formed says nothing.
func (s *solver) wishes(p *Package) []Clause {
	if p.entry < 0 {
		return nil
	}
	full, err := s.x.complete([]*Package{p})
	if err != nil {
		s.err = err
		return nil
	}
	var out []Clause
	for _, f := range []string{"Recommends", "Suggests"} {
		if cl, err := ParseRelations(full[0].Stanza.Get(f), s.x.arch); err == nil {
			out = append(out, cl...)
		}
	}
	return out
}

func (s *solver) result() ([]*Package, error) {
	var list []*Package
	for _, st := range s.packed() {
		list = append(list, st.chosen)
	}
	out, err := s.x.complete(list)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "deb.packages", err, "repository", s.x.arch)
	}
	for i, p := range list {
		out[i].Chain = s.chain(p)
	}
	return out, nil
}

// chain names the way from a root to p.
func (s *solver) chain(p *Package) []string {
	var names []string
	for ; p != nil && len(names) < maxDepth; p = s.of(p).by {
		names = append(names, p.Name)
	}
	slices.Reverse(names)
	return names
}

// Problems lists the faults in an error of Resolve one by one.
func Problems(err error) []*event.Fault {
	f := event.AsFault(err)
	if f == nil {
		return nil
	}
	if all, ok := f.Err.(interface{ Unwrap() []error }); ok && f.Code == "deb.unresolvable" {
		var out []*event.Fault
		for _, e := range all.Unwrap() {
			out = append(out, event.AsFault(e))
		}
		return out
	}
	return []*event.Fault{f}
}

// join makes one fault of several.
func join(faults []*event.Fault, arch string) error {
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return faults[0]
	}
	var errs []error
	var words []string
	for _, f := range faults {
		errs = append(errs, f)
		words = append(words, inWords(f))
	}
	f := event.NewFault(faults[0].Class, "deb.unresolvable", errors.Join(errs...), "count", strconv.Itoa(len(faults)),
		"arch", arch,
		"problems", strings.Join(words, "; "))
	f.Cause = ""
	return f
}

// inWords tells a problem without a language: "a → b → c | d" for what is missing, "a → b ⨯ c" for what excludes
// another.
func inWords(f *event.Fault) string {
	switch f.Code {
	case "deb.unresolved":
		return f.Args["chain"] + " → " + f.Args["needs"]
	case "deb.conflict":
		return f.Args["chain"] + " ⨯ " + f.Args["other_chain"] + " (" + f.Args["relation"] + ")"
	}
	return f.Args["package"]
}
