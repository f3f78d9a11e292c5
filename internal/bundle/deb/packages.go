package deb

import (
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Package is one entry of a Packages file.
type Package struct {
	Name, Version, Arch string
	MultiArch           string // same, foreign, allowed or ""
	Priority            string
	Essential           bool
	Filename            string // below the repository's URL
	SHA256              string
	Size                int64
	Repository          string // URL

	PreDepends, Depends []Clause
	Provides            []Relation
	Conflicts, Breaks   []Clause

	Stanza Stanza
}

func (p *Package) String() string { return p.Name + " " + p.Version }

// File is the base name of the package's file.
func (p *Package) File() string { return path.Base(p.Filename) }

// Index holds the packages of several repositories for one architecture.
type Index struct {
	arch      string
	byName    map[string][]*Package
	providers map[string][]*Package // virtual name → packages that provide it, in the order they came
	count     int
}

// NewIndex makes an empty index for an architecture in Debian's terms (amd64, arm64).
func NewIndex(arch string) *Index {
	return &Index{arch: arch, byName: map[string][]*Package{}, providers: map[string][]*Package{}}
}

// Len is the number of packages.
func (x *Index) Len() int { return x.count }

// maxPackages of one index; Debian has some 64,000.
const maxPackages = 1 << 20

// Add reads a Packages file. Packages of other architectures are passed over. An entry that is not whole is an error, for the file was
// signed.
func (x *Index) Add(r io.Reader, repository string) error {
	err := ReadStanzas(r, func(s Stanza) error {
		a := s.Get("Architecture")
		if a != x.arch && a != "all" {
			return nil
		}
		if x.count++; x.count > maxPackages {
			return fmt.Errorf("more than %d packages", maxPackages)
		}
		p, err := parsePackage(s, x.arch)
		if err != nil {
			return err
		}
		p.Repository = repository
		x.insert(p)
		return nil
	})
	if err != nil {
		return event.NewFault(event.ClassFailed, "deb.packages", err, "repository", repository)
	}
	return nil
}

func (x *Index) insert(p *Package) {
	for _, q := range x.byName[p.Name] {
		if q.Version == p.Version && q.Arch == p.Arch {
			return // the same in two suites
		}
	}
	x.byName[p.Name] = append(x.byName[p.Name], p)
	for _, v := range p.Provides {
		x.providers[v.Name] = append(x.providers[v.Name], p)
	}
}

func parsePackage(s Stanza, arch string) (*Package, error) {
	p := &Package{
		Name: s.Get("Package"), Version: s.Get("Version"), Arch: s.Get("Architecture"), MultiArch: s.Get("Multi-Arch"),
		Priority: s.Get("Priority"), Essential: s.Get("Essential") == "yes", Filename: s.Get("Filename"), SHA256: s.Get("SHA256"),
	}
	fail := func(what string, err error) (*Package, error) {
		return nil, fmt.Errorf("package %q: %s: %w", p.Name, what, err)
	}
	if !validName(p.Name) || p.Version == "" || strings.ContainsAny(p.Version, " \t\n/") {
		return fail("name or version", fmt.Errorf("%q %q", p.Name, p.Version))
	}
	if b, err := hex.DecodeString(p.SHA256); err != nil || len(b) != 32 || strings.ToLower(p.SHA256) != p.SHA256 {
		return fail("SHA256", fmt.Errorf("%q", p.SHA256))
	}
	var err error
	if p.Size, err = strconv.ParseInt(s.Get("Size"), 10, 64); err != nil || p.Size <= 0 {
		return fail("Size", fmt.Errorf("%q", s.Get("Size")))
	}
	if !safeFilename(p.Filename) {
		return fail("Filename", fmt.Errorf("%q", p.Filename))
	}
	for _, f := range []struct {
		name string
		to   *[]Clause
	}{{"Pre-Depends", &p.PreDepends}, {"Depends", &p.Depends}, {"Conflicts", &p.Conflicts}, {"Breaks", &p.Breaks}} {
		if *f.to, err = ParseRelations(s.Get(f.name), arch); err != nil {
			return fail(f.name, err)
		}
	}
	provides, err := ParseRelations(s.Get("Provides"), arch)
	if err != nil {
		return fail("Provides", err)
	}
	for _, c := range provides {
		p.Provides = append(p.Provides, c...)
	}
	p.Stanza = s
	return p, nil
}

// safeFilename accepts what lies below the repository and ends in a plain name.
func safeFilename(f string) bool {
	f = strings.TrimPrefix(f, "./")
	if f == "" || path.IsAbs(f) || path.Clean(f) != f || strings.HasPrefix(f, "..") || !strings.HasSuffix(f, ".deb") {
		return false
	}
	return strings.Trim(f, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~%:=-/") == ""
}

// WritePackages writes the metadata of a flat repository (files at its root) that apt reads: the packages' own stanzas, in the given
// order, with Filename changed.
func WritePackages(w io.Writer, list []*Package, file func(*Package) string) error {
	for _, p := range list {
		s := make(Stanza, 0, len(p.Stanza))
		for _, f := range p.Stanza {
			if strings.EqualFold(f.Name, "Filename") {
				f.Value = "./" + file(p)
			}
			s = append(s, f)
		}
		if _, err := s.WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}
