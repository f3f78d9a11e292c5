package deb

import (
	"sort"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Closure resolves the named packages with everything that they (pre-)depend on, into an empty system: what is chosen already
// satisfies; else the first alternative that exists is taken, a package of that name before one that provides it, the newest version.
// The result is sorted by name. Recommended packages are not taken, essential ones only when something depends on them.
//
// Faults: "deb.no-package" for a root that is not there, "deb.unresolved" with the chain from a root to the relationship that nothing
// satisfies, "deb.conflict" when two of the chosen exclude each other.
func (x *Index) Closure(roots []string) ([]*Package, error) {
	c := &closure{x: x, chosen: map[string]*Package{}, provided: map[string][]*Package{}, why: map[*Package]*Package{}}
	for _, r := range roots {
		p := c.best(Relation{Name: r})
		if p == nil {
			return nil, event.NewFault(event.ClassFailed, "deb.no-package", nil, "package", r, "arch", x.arch)
		}
		c.choose(p, nil)
	}
	for i := 0; i < len(c.queue); i++ {
		p := c.queue[i]
		for _, clauses := range [][]Clause{p.PreDepends, p.Depends} {
			for _, cl := range clauses {
				if err := c.satisfy(p, cl); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := c.conflicts(); err != nil {
		return nil, err
	}
	out := append([]*Package(nil), c.queue...)
	sort.Slice(out, func(a, b int) bool { return out[a].Name < out[b].Name })
	return out, nil
}

type closure struct {
	x        *Index
	chosen   map[string]*Package
	provided map[string][]*Package
	why      map[*Package]*Package // who asked for it first
	queue    []*Package
}

func (c *closure) choose(p, by *Package) {
	if c.chosen[p.Name] != nil {
		return
	}
	c.chosen[p.Name] = p
	c.why[p] = by
	for _, v := range p.Provides {
		c.provided[v.Name] = append(c.provided[v.Name], p)
	}
	c.queue = append(c.queue, p)
}

func (c *closure) satisfy(p *Package, cl Clause) error {
	for _, r := range cl {
		if c.satisfied(r) {
			return nil
		}
	}
	for _, r := range cl {
		q := c.best(r)
		if q == nil || c.chosen[q.Name] != nil && c.chosen[q.Name] != q {
			continue
		}
		c.choose(q, p)
		return nil
	}
	return event.NewFault(event.ClassFailed, "deb.unresolved", nil, "package", p.String(), "needs", cl.String(), "chain", c.chain(p),
		"arch", c.x.arch)
}

func (c *closure) satisfied(r Relation) bool {
	if p := c.chosen[r.Name]; p != nil && c.x.matches(p, r) {
		return true
	}
	for _, p := range c.provided[r.Name] {
		if c.x.provides(p, r) {
			return true
		}
	}
	return false
}

// best is what a relation would be satisfied with, nil if there is nothing.
func (c *closure) best(r Relation) *Package {
	var best *Package
	for _, p := range c.x.byName[r.Name] {
		if c.x.matches(p, r) && (best == nil || Compare(p.Version, best.Version) > 0) {
			best = p
		}
	}
	if best != nil {
		return best
	}
	for _, p := range c.x.providers[r.Name] {
		if c.x.provides(p, r) && c.newest(p) && (best == nil || betterProvider(p, best)) {
			best = p
		}
	}
	return best
}

// newest says that p is the version that would be installed if p's name were asked for.
func (c *closure) newest(p *Package) bool {
	for _, q := range c.x.byName[p.Name] {
		if Compare(q.Version, p.Version) > 0 {
			return false
		}
	}
	return true
}

// betterProvider orders providers of a virtual package as apt does when nothing else decides: essential ones, then by priority; the
// rest by name, so that the answer does not depend on the order of the metadata.
func betterProvider(a, b *Package) bool {
	if a.Essential != b.Essential {
		return a.Essential
	}
	if pa, pb := priority(a.Priority), priority(b.Priority); pa != pb {
		return pa < pb
	}
	if a.Name != b.Name {
		if len(a.Name) != len(b.Name) {
			return len(a.Name) < len(b.Name)
		}
		return a.Name < b.Name
	}
	return Compare(a.Version, b.Version) > 0
}

func priority(p string) int {
	for i, n := range []string{"required", "important", "standard", "optional", "extra"} {
		if p == n {
			return i
		}
	}
	return 5
}

// matches says whether the package of that very name satisfies the relation, version and Multi-Arch qualifier included. Packages of
// other architectures are not in the index.
func (x *Index) matches(p *Package, r Relation) bool {
	return x.qualified(p, r) && r.holds(p.Version)
}

func (x *Index) qualified(p *Package, r Relation) bool {
	switch r.Qualifier {
	case "", "native":
		return true
	case "any":
		return p.MultiArch == "allowed"
	case "all":
		return p.Arch == "all"
	}
	return r.Qualifier == x.arch
}

// provides says whether the package satisfies the relation by its Provides: a versioned relation needs a versioned one.
func (x *Index) provides(p *Package, r Relation) bool {
	for _, v := range p.Provides {
		if v.Name != r.Name || !x.qualified(p, r) {
			continue
		}
		if r.Op == "" || v.Op == "=" && r.holds(v.Version) {
			return true
		}
	}
	return false
}

// chain names the way from a root to p.
func (c *closure) chain(p *Package) string {
	var names []string
	for ; p != nil; p = c.why[p] {
		names = append([]string{p.Name}, names...)
	}
	return strings.Join(names, " → ")
}

func (c *closure) conflicts() error {
	for _, p := range c.queue {
		for _, list := range [][]Clause{p.Conflicts, p.Breaks} {
			for _, cl := range list {
				for _, r := range cl {
					if q := c.excluded(p, r); q != nil {
						return event.NewFault(event.ClassFailed, "deb.conflict", nil, "package", p.String(), "other", q.String(), "relation", r.String(),
							"chain", c.chain(p), "other_chain", c.chain(q), "arch", c.x.arch)
					}
				}
			}
		}
	}
	return nil
}

// excluded returns a chosen package other than p that the conflict is about.
func (c *closure) excluded(p *Package, r Relation) *Package {
	if q := c.chosen[r.Name]; q != nil && q != p && r.holds(q.Version) {
		return q
	}
	for _, q := range c.provided[r.Name] {
		if q != p && c.x.provides(q, r) {
			return q
		}
	}
	return nil
}
