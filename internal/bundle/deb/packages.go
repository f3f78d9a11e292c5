package deb

import (
	"fmt"
	"path"
	"strconv"
	"strings"
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
	Chain  []string // of a chosen one: names of packages from a root to this one

	entry     int32 // in the index, -1: not from there
	important bool
}

func (p *Package) String() string { return p.Name + " " + p.Version }

// File is the base name of the package's file.
func (p *Package) File() string { return path.Base(p.Filename) }

// parsePackage reads a stanza of a Packages file.
func parsePackage(s Stanza, arch string) (*Package, error) {
	p := &Package{
		Name: s.Get("Package"), Version: s.Get("Version"), Arch: s.Get("Architecture"), MultiArch: s.Get("Multi-Arch"),
		Priority: s.Get("Priority"), Essential: s.Get("Essential") == "yes", Filename: s.Get("Filename"),
		SHA256: s.Get("SHA256"),
	}
	err := checkEntry(p.Name, []byte(p.Version), []byte(p.SHA256), []byte(s.Get("Size")), []byte(p.Filename))
	if err != nil {
		return nil, err
	}
	if p.Size, err = strconv.ParseInt(s.Get("Size"), 10, 64); err != nil {
		return nil, err
	}
	fields := map[int]string{textPreDepends: "Pre-Depends", textDepends: "Depends", textConflicts: "Conflicts",
		textBreaks:   "Breaks",
		textProvides: "Provides"}
	if err := p.relate(func(n int) string { return s.Get(fields[n]) }, arch); err != nil {
		return nil, fmt.Errorf("package %q: %w", p.Name, err)
	}
	p.Stanza = s
	return p, nil
}

// validVersion accepts what dpkg takes for a version, and underscores, which some archives have.
func validVersion(v string) bool {
	if v == "" || len(v) > 1000 {
		return false
	}
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case isDigit(c), c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', strings.IndexByte(".-+~:_", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// safeFilename accepts what lies below the repository and ends in a plain name.
func safeFilename(f string) bool {
	f = strings.TrimPrefix(f, "./")
	if f == "" || path.IsAbs(f) || path.Clean(f) != f || strings.HasPrefix(f, "..") || !strings.HasSuffix(f, ".deb") {
		return false
	}
	return strings.Trim(f, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~%:=-/") == ""
}
