package rpm

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Index holds the packages of several repositories for one architecture. Read all of them with Add, then ask Closure.
// It is not for use by several goroutines at once.
type Index struct {
	arch   string
	arches map[string]bool
	t      *table
	list   []*Package
	byName map[string][]*Package

	ready     bool                  // what follows is made from the packages when it is first needed
	providers map[string][]*Package // capability → packages, in their order
	paths     map[string][]*Package // path that a requirement names → packages
	looked    map[string]bool       // paths that filelists were searched for
	byDep     map[*Dep][]*Package
	rich      map[*Dep]*expr

	hidden map[string]bool // NEVRA of modules' packages that are not active
	active map[string]bool // NEVRA of active modules' packages
	owned  map[string]bool // names of packages that an active module has
}

// NewIndex makes an empty index for an architecture in rpm's words (x86_64, aarch64); noarch is always in. Packages of
// other architectures are passed over unless they are named too (i686 beside x86_64).
func NewIndex(arch string, also ...string) *Index {
	x := &Index{arch: arch, arches: map[string]bool{arch: true, "noarch": true}, t: newTable(),
		byName: map[string][]*Package{},
		looked: map[string]bool{}, hidden: map[string]bool{}, active: map[string]bool{}, owned: map[string]bool{}}
	for _, a := range also {
		x.arches[a] = true
	}
	return x
}

// Len is the number of packages.
func (x *Index) Len() int { return len(x.list) }

// DefaultPriority is that of a repository which does not say one.
const DefaultPriority = 99

// Add reads a primary.xml. The lower the priority, the better: where several packages would do, only those of the best
// repository among theirs are looked at, as dnf does it. Order matters as in dnf's configuration: between equals the
// earlier is taken. An entry that is not whole is an error, for the file was signed. Fault: "rpm.primary".
func (x *Index) Add(r io.Reader, repository string, priority int) error {
	err := readPrimary(r, x.t, func(arch string) bool { return x.arches[arch] }, func(p *Package) error {
		p.Repository, p.priority = repository, int32(priority)
		return x.insert(p)
	})
	if err != nil {
		return event.NewFault(event.ClassFailed, "rpm.primary", err, "repository", repository)
	}
	return nil
}

// AddPackages adds packages of which only the files are at hand (ReadPackage). Those of other architectures are passed
// over.
func (x *Index) AddPackages(list []*Package, repository string, priority int) error {
	for _, q := range list {
		if !x.arches[q.Arch] {
			continue
		}
		p := *q
		p.Repository, p.priority = repository, int32(priority)
		err := p.valid()
		if err == nil {
			err = x.insert(&p)
		}
		if err != nil {
			return event.NewFault(event.ClassFailed, "rpm.primary", err, "repository", repository)
		}
	}
	return nil
}

func (x *Index) insert(p *Package) error {
	if len(x.list) == maxPackages {
		return fmt.Errorf("more than %d packages", maxPackages)
	}
	x.ready = false
	p.id = int32(len(x.list) + 1)
	x.list = append(x.list, p)
	x.byName[p.Name] = append(x.byName[p.Name], p)
	return nil
}

// AddFilelists reads the filelists.xml of a repository that was added, and keeps of it the paths that Wanted named.
// Fault: "rpm.filelists".
func (x *Index) AddFilelists(r io.Reader, repository string, wanted []string) error {
	want := map[string]bool{}
	for _, w := range wanted {
		want[w] = true
	}
	bySum := map[string]*Package{}
	for _, p := range x.list {
		if p.Repository == repository {
			bySum[p.Sum.Hex] = p
		}
	}
	err := readFilelists(r, func(path []byte) bool { return want[string(path)] }, func(pkgid string, f file) {
		p := bySum[pkgid]
		if p == nil || slices.ContainsFunc(p.files, func(g file) bool { return g.path == f.path }) {
			return
		}
		p.files = append(p.files[:len(p.files):len(p.files)], f)
		x.ready = false
	})
	if err != nil {
		return event.NewFault(event.ClassFailed, "rpm.filelists", err, "repository", repository)
	}
	return nil
}

// prepare makes the tables that questions are answered from.
func (x *Index) prepare() {
	if x.ready {
		return
	}
	x.ready = true
	x.providers, x.byDep, x.rich = map[string][]*Package{}, map[*Dep][]*Package{}, map[*Dep]*expr{}
	x.paths = map[string][]*Package{}
	for _, d := range x.t.deps {
		x.wantPaths(d.Name)
	}
	for _, p := range x.list {
		for _, d := range [][]*Dep{p.requires, p.conflicts, p.supplements, p.recommends} {
			for _, d := range d {
				x.wantPaths(d.Name)
			}
		}
	}
	for _, p := range x.list {
		x.provide(p.Name, p)
		for _, d := range p.provides {
			x.provide(d.Name, p)
		}
		for _, f := range p.files {
			if _, ok := x.paths[f.path]; ok {
				x.paths[f.path] = append(x.paths[f.path], p)
			}
		}
	}
}

func (x *Index) provide(name string, p *Package) {
	if list := x.providers[name]; len(list) == 0 || list[len(list)-1] != p {
		x.providers[name] = append(list, p)
	}
}

// wantPaths notes the paths in a capability, which may be a rich one.
func (x *Index) wantPaths(name string) {
	if strings.HasPrefix(name, "/") {
		x.paths[name] = nil
	}
	if !strings.HasPrefix(name, "(") || !strings.Contains(name, "/") {
		return
	}
	if e, err := parseRich(name); err == nil {
		e.names(func(d *Dep) { x.wantPaths(d.Name) })
	}
}

// visible says that a package is not one of a module's inactive stream, nor hidden by an active one's package of the
// same name.
func (x *Index) visible(p *Package) bool {
	if len(x.hidden)+len(x.owned) == 0 {
		return true
	}
	n := p.NEVRA()
	return x.active[n] || !x.hidden[n] && !x.owned[p.Name]
}

// lookup returns the visible packages that satisfy a simple dependency, in the order of the index. The result is
// shared.
func (x *Index) lookup(d *Dep) []*Package {
	if list, ok := x.byDep[d]; ok {
		return list
	}
	var list []*Package
	for _, p := range x.providers[d.Name] {
		if x.visible(p) && p.satisfies(d) {
			list = append(list, p)
		}
	}
	if strings.HasPrefix(d.Name, "/") {
		for _, p := range x.paths[d.Name] {
			if x.visible(p) && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
		slices.SortFunc(list, byID)
	}
	x.byDep[d] = list
	return list
}

func byID(a, b *Package) int { return int(a.id - b.id) }

// satisfies says whether the package provides the capability, its own name with its version included.
func (p *Package) satisfies(d *Dep) bool {
	if p.Name == d.Name && d.holds(p.EVR()) {
		return true
	}
	for _, v := range p.provides {
		if v.Name == d.Name && d.overlaps(v) {
			return true
		}
	}
	return strings.HasPrefix(d.Name, "/") && slices.ContainsFunc(p.files, func(f file) bool { return f.path == d.Name })
}

// expression is the dependency as an expression.
func (x *Index) expression(d *Dep) (*expr, error) {
	if !d.rich() {
		return &expr{dep: d}, nil
	}
	if e, ok := x.rich[d]; ok {
		if e == nil {
			return nil, errors.New("the dependency cannot be read")
		}
		return e, nil
	}
	e, err := parseRich(d.Name)
	if err != nil {
		x.rich[d] = nil
		return nil, err
	}
	// One copy of each capability, so that it is looked up once.
	e.intern(x.t)
	x.rich[d] = e
	return e, nil
}

func (e *expr) intern(t *table) {
	if e.dep != nil {
		e.dep = t.dep(*e.dep)
	}
	for _, a := range e.args {
		a.intern(t)
	}
}
