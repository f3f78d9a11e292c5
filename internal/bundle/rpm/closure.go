package rpm

import (
	"context"
	"errors"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options of a closure.
type Options struct {
	Baseline []Installed // what the target has; none: an empty root
	NoDeps   bool        // the roots alone
	Exclude  []string    // packages never to be taken: names or name.arch, with * and ?
}

// Closure resolves the roots (names of packages, or capabilities as ParseDep reads them: "name = 1.2-3", "/usr/bin/x")
// with everything that they require, as dnf does without weak dependencies: what is chosen already satisfies; else the
// best of those that provide it, by repository priority, version, Obsoletes and name. What the baseline has counts as
// chosen and is not in the result, unless it is too old for something, when the newer one is. The result is sorted by
// name.
//
// Faults: "rpm.no-package" for roots that nothing provides, "rpm.unresolvable" with everything that is missing and the
// chains from the roots to it (Missing has them one by one), "rpm.conflict" when two that are needed exclude each
// other, "rpm.too-large".
func (x *Index) Closure(ctx context.Context, roots []string, o Options) ([]*Package, error) {
	q, err := x.ask(roots, o)
	if err != nil {
		return nil, err
	}
	u := newUniverse(ctx, x, q.selection)
	if o.NoDeps {
		return q.alone(ctx, u)
	}
	if err := q.fill(u); err != nil {
		return nil, x.hard(err)
	}
	s := newSolver(u)
	err = s.run(ctx)
	switch {
	case errors.Is(err, errContradiction), errors.Is(err, errGaveUp):
		return nil, q.explain(s, err)
	case err != nil:
		return nil, x.hard(err)
	}
	var out []*Package
	for v := int32(1); v < int32(len(u.pkgs)); v++ {
		if s.value[v] > 0 && !q.installed[u.pkgs[v]] {
			out = append(out, u.pkgs[v])
		}
	}
	return sorted(out), nil
}

func sorted(list []*Package) []*Package {
	sort.Slice(list, func(i, j int) bool {
		return list[i].Name < list[j].Name || list[i].Name == list[j].Name && list[i].Arch < list[j].Arch
	})
	return list
}

func (x *Index) hard(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return event.NewFault(event.ClassFailed, "rpm.too-large", err, "arch", x.arch)
}

// Wanted returns the paths that something which the roots could lead to requires and that no primary.xml has:
// filelists.xml of the repositories has to be read for them (AddFilelists), after which there may be further ones.
// Without any, that file is not needed.
func (x *Index) Wanted(ctx context.Context, roots []string, o Options) ([]string, error) {
	q, err := x.ask(roots, o)
	if err != nil || o.NoDeps {
		return nil, err
	}
	u := newUniverse(ctx, x, q.selection)
	if err := q.fill(u); err != nil {
		return nil, x.hard(err)
	}
	var out []string
	note := func(d *Dep) {
		if strings.HasPrefix(d.Name, "/") && len(x.lookup(d)) == 0 && !x.looked[d.Name] {
			x.looked[d.Name] = true
			out = append(out, d.Name)
		}
	}
	for v, p := range u.pkgs {
		if !u.todo[v] {
			continue
		}
		for _, d := range p.requires {
			if e, err := x.expression(d); err == nil {
				e.names(note)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// question is a set of roots under options.
type question struct {
	*selection
	x        *Index
	roots    []*Dep
	obsolete map[string][]*Package
}

func (x *Index) ask(roots []string, o Options) (*question, error) {
	x.prepare()
	for _, g := range o.Exclude {
		if _, err := path.Match(g, ""); err != nil {
			return nil, event.NewFault(event.ClassUsage, "rpm.exclude", err, "pattern", g)
		}
	}
	q := &question{x: x, selection: &selection{installed: map[*Package]bool{}, made: map[string][]*Package{}}}
	q.excluded = func(p *Package) bool {
		return slices.ContainsFunc(o.Exclude, func(g string) bool {
			byName, _ := path.Match(g, p.Name)
			byArch, _ := path.Match(g, p.Name+"."+p.Arch)
			return byName || byArch
		})
	}
	q.baseline(o.Baseline)
	var missing []string
	for _, r := range roots {
		d, err := ParseDep(r)
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "rpm.root", err, "package", r)
		}
		d = x.t.dep(*d)
		x.lookPath(d)
		if !q.known(d) {
			missing = append(missing, r)
		}
		q.roots = append(q.roots, d)
	}
	if len(missing) > 0 {
		return nil, event.NewFault(event.ClassFailed, "rpm.no-package", nil, "package", strings.Join(missing, ", "),
			"arch", x.arch)
	}
	return q, nil
}

// known says whether any package could be a root for it.
func (q *question) known(d *Dep) bool {
	if d.rich() {
		return true
	}
	return slices.ContainsFunc(q.x.lookup(d), func(p *Package) bool { return !q.excluded(p) || q.installed[p] }) ||
		slices.ContainsFunc(q.made[d.Name], func(p *Package) bool { return p.satisfies(d) })
}

// lookPath finds the packages with a path that no package requires.
func (x *Index) lookPath(d *Dep) {
	if _, ok := x.paths[d.Name]; ok || !strings.HasPrefix(d.Name, "/") {
		return
	}
	x.paths[d.Name] = nil
	delete(x.byDep, d)
	for _, p := range x.list {
		if p.satisfies(d) {
			x.paths[d.Name] = append(x.paths[d.Name], p)
		}
	}
}

// candidatesFor are the packages that a root stands for, as dnf takes its arguments: those of that name and what
// obsoletes them, else those that provide it.
func (q *question) candidatesFor(u *universe, d *Dep) []int32 {
	all := u.candidates(d)
	named := slices.DeleteFunc(slices.Clone(all), func(v int32) bool { return u.pkgs[v].Name != d.Name })
	if len(named) == 0 {
		return all
	}
	if d.Op != 0 {
		return named // a version was asked for
	}
	for _, v := range slices.Clone(named) {
		for _, w := range q.obsoleters(u, u.pkgs[v]) {
			if !slices.Contains(named, w) {
				named = append(named, w)
			}
		}
	}
	return named
}

// fill makes the clauses: of all that may be needed, of the roots, and of what is installed.
func (q *question) fill(u *universe) error {
	var jobs []clause
	for _, d := range q.roots {
		var lists [][]int32
		if d.rich() {
			var err error
			if lists, err = u.normal(d, false); err != nil {
				return err
			}
		} else {
			lists = [][]int32{q.candidatesFor(u, d)}
		}
		for _, list := range lists {
			jobs = append(jobs, clause{list: list, dep: d, why: becauseRoot})
		}
	}
	for _, p := range q.baselineList() {
		jobs = append(jobs, clause{list: q.keep(u, p), dep: &Dep{Name: p.Name, Op: EQ, EVR: p.EVR()}, why: becauseKept})
	}
	for _, j := range jobs {
		for _, l := range j.list {
			if l > 0 {
				u.want(l)
			}
		}
	}
	if err := u.expand(); err != nil {
		return err
	}
	if err := u.exclusions(); err != nil {
		return err
	}
	u.order()
	for _, j := range jobs {
		if err := u.add(j); err != nil {
			return err
		}
	}
	return nil
}

// keep is what an installed package may become: it stays, or a newer one of its name or one that obsoletes it comes in
// its place.
func (q *question) keep(u *universe, p *Package) []int32 {
	list := []int32{u.variable(p)}
	for _, n := range q.x.byName[p.Name] {
		if q.x.visible(n) && !q.excluded(n) && n != p && Compare(n.EVR(), p.EVR()) > 0 && u.group(n) == u.group(p) {
			list = append(list, u.variable(n))
		}
	}
	return append(list, q.obsoleters(u, p)...)
}

func (q *question) obsoleters(u *universe, p *Package) []int32 {
	var list []int32
	for _, n := range q.byObsolete()[p.Name] {
		if n.Name != p.Name && q.x.visible(n) && !q.excluded(n) &&
			slices.ContainsFunc(n.obsoletes, func(o *Dep) bool { return o.Name == p.Name && o.holds(p.EVR()) }) {
			list = append(list, u.variable(n))
		}
	}
	return list
}

// alone chooses for each root the best package, without what it requires.
func (q *question) alone(ctx context.Context, u *universe) ([]*Package, error) {
	var lists [][]int32
	for _, d := range q.roots {
		lists = append(lists, q.candidatesFor(u, d))
	}
	s := newSolver(u)
	for _, list := range lists {
		if slices.ContainsFunc(list, func(v int32) bool { return s.value[v] > 0 || q.installed[u.pkgs[v]] }) ||
			len(list) == 0 {
			continue
		}
		if err := s.decide(ctx, s.prefer(s.filter(list))[0]); err != nil {
			return nil, q.explain(s, err)
		}
	}
	var out []*Package
	for _, l := range s.trail {
		if l > 0 {
			out = append(out, u.pkgs[l])
		}
	}
	return sorted(out), nil
}
