package deb

import (
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// DefaultPriority is the priority of a repository that has none of its own, as in apt_preferences(5).
const DefaultPriority = 500

// Repository is where packages come from. Of a package that several have, the version from the one of the highest
// priority is the candidate, whatever the others' versions are; among equals the highest version.
type Repository struct {
	URL      string
	Priority int // 0: DefaultPriority; a negative one: its packages are never chosen
}

func (r Repository) priority() int {
	if r.Priority == 0 {
		return DefaultPriority
	}
	return r.Priority
}

// Index holds the packages of several repositories for one architecture. It keeps little more than names, versions and
// relationships, and the stanzas compressed: some 30 MB for the whole of Debian. It is not safe for concurrent use.
type Index struct {
	arch  string
	ids   map[string]uint32 // names in the order in which they were first mentioned, which is apt's last tie-breaker
	names []name
	list  []entry
	given []given
	text  arena
	block [][]byte // compressed
	repos []Repository
	count int
}

// name is a package's or a virtual package's.
type name struct {
	text    string
	entries int32 // the last of its versions in Index.list, then by entry.next; -1: none
	given   int32 // the last that provides it in Index.given; -1: none
}

// given is one Provides.
type given struct{ owner, next int32 }

// entry is one version of a package. Its texts in the arena are the version and the fields of relTexts.
type entry struct {
	name         uint32
	text         uint32
	next         int32
	block        uint32
	at, size     uint32 // of its stanza in the block
	repo         uint16
	priority     uint8 // in priorities; what is beyond them: none
	multi        uint8
	all          bool
	essential    bool
	important    bool // Protected: yes, or its older name
	discontinued bool // another repository's same version stands for it
}

// The texts of an entry in the arena.
const (
	textVersion = iota
	textPreDepends
	textDepends
	textConflicts
	textBreaks
	textProvides
)

var (
	multiArch  = [...]string{"", "same", "foreign", "allowed"}
	priorities = [...]string{"required", "important", "standard", "optional", "extra"}
)

// NewIndex makes an empty index for an architecture in Debian's terms (amd64, arm64).
func NewIndex(arch string) *Index { return &Index{arch: arch, ids: map[string]uint32{}} }

// Len is the number of packages.
func (x *Index) Len() int { return x.count }

// Limits of one index; Debian has some 64,000 packages, which name some 130,000 others.
const (
	maxPackages = 1 << 20
	maxNames    = 1 << 23
	maxEntry    = 4 << 20 // bytes of one package's stanza
	maxRepos    = 1 << 15
)

// Add reads a Packages file of a repository of the default priority; see AddFrom.
func (x *Index) Add(r io.Reader, repository string) error {
	return x.AddFrom(r, Repository{URL: repository})
}

// AddFrom reads a Packages file. Packages of other architectures are passed over. An entry that is not whole is an
// error (fault "deb.packages"), for the file was signed. The same version of a package from several repositories is the
// first's, unless a later one has a higher priority.
func (x *Index) AddFrom(r io.Reader, repo Repository) error {
	l, err := x.loader(repo)
	if err == nil {
		err = l.read(r)
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "deb.packages", err, "repository", redacted(repo.URL))
	}
	return nil
}

// id returns the number of a name, which it gets if it is new.
func (x *Index) id(n string) (uint32, error) {
	if id, ok := x.ids[n]; ok {
		return id, nil
	}
	if len(x.names) >= maxNames {
		return 0, fmt.Errorf("more than %d names", maxNames)
	}
	id := uint32(len(x.names))
	n = strings.Clone(n)
	x.ids[n] = id
	x.names = append(x.names, name{n, -1, -1})
	return id, nil
}

// insert adds a version whose entry is whole but for its place in the lists. It says whether it was new.
func (x *Index) insert(e entry, version string) bool {
	for i := x.names[e.name].entries; i >= 0; i = x.list[i].next {
		q := &x.list[i]
		if q.discontinued || q.all != e.all || x.text.get(q.text, textVersion) != version {
			continue
		}
		if x.repos[q.repo].priority() >= x.repos[e.repo].priority() {
			return false
		}
		q.discontinued = true
		x.count--
	}
	e.next = x.names[e.name].entries
	x.names[e.name].entries = int32(len(x.list))
	x.list = append(x.list, e)
	x.count++
	return true
}

// candidate returns the entry that stands for a name: of the highest priority, then the highest version, then the
// first; -1: none. With only, just entries that it accepts are looked at.
func (x *Index) candidate(id uint32, only func(version string) bool) int32 {
	best, bestVersion := int32(-1), ""
	for i := x.names[id].entries; i >= 0; i = x.list[i].next {
		e := &x.list[i]
		p := x.repos[e.repo].priority()
		if e.discontinued || p < 0 {
			continue
		}
		v := x.text.get(e.text, textVersion)
		if only != nil && !only(v) {
			continue
		}
		if best >= 0 {
			if bp := x.repos[x.list[best].repo].priority(); bp > p || bp == p && Compare(bestVersion, v) > 0 {
				continue
			}
		}
		best, bestVersion = i, v
	}
	return best
}

// light makes a package of what the index has at hand: all but Filename, SHA256, Size and Stanza.
func (x *Index) light(i int32) (*Package, error) {
	e := &x.list[i]
	p := &Package{Name: x.names[e.name].text, Version: x.text.get(e.text, textVersion), Arch: x.arch,
		MultiArch: multiArch[e.multi],
		Essential: e.essential, important: e.important, Repository: x.repos[e.repo].URL, entry: i}
	if e.all {
		p.Arch = "all"
	}
	if int(e.priority) < len(priorities) {
		p.Priority = priorities[e.priority]
	}
	return p, p.relate(func(n int) string { return x.text.get(e.text, n) }, x.arch)
}

// relate parses the relationships that text returns.
func (p *Package) relate(text func(n int) string, arch string) error {
	var err error
	for n, to := range []*[]Clause{nil, &p.PreDepends, &p.Depends, &p.Conflicts, &p.Breaks} {
		if to == nil {
			continue
		}
		if *to, err = ParseRelations(text(n), arch); err != nil {
			return err
		}
	}
	return eachRelation(text(textProvides), arch, func(_ int, r Relation) { p.Provides = append(p.Provides, r) })
}

// complete returns the packages with all that their stanzas say, in the same order.
func (x *Index) complete(list []*Package) ([]*Package, error) {
	dec, err := newDecoder()
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	blocks := map[uint32][]byte{}
	out := make([]*Package, len(list))
	for i, p := range list {
		e := &x.list[p.entry]
		s, err := x.stanza(e, dec, blocks)
		if err != nil {
			return nil, err
		}
		if out[i], err = parsePackage(s, x.arch); err != nil {
			return nil, err
		}
		out[i].Repository, out[i].entry = p.Repository, p.entry
	}
	return out, nil
}

func (x *Index) stanza(e *entry, dec *zstd.Decoder, blocks map[uint32][]byte) (Stanza, error) {
	b, ok := blocks[e.block]
	if !ok {
		var err error
		if b, err = dec.DecodeAll(x.block[e.block], nil); err != nil {
			return nil, err
		}
		blocks[e.block] = b
	}
	var s Stanza
	err := ReadStanzas(strings.NewReader(string(b[e.at:e.at+e.size])), func(t Stanza) error {
		s = t
		return nil
	})
	return s, err
}
