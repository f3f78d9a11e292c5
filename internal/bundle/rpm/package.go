package rpm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Package is one package of a repository.
type Package struct {
	Name, Epoch, Version, Release, Arch string
	Location                            string // below the repository's URL (or Base)
	Base                                string // URL that Location is below when it is not the repository's; usually ""
	Repository                          string // as given to Index.Add
	Size                                int64  // bytes of the file
	SHA256                              string // of the file; "" when the repository has only a sha512
	Sum                                 Sum    // of the file

	Summary, License, SourceRPM string
	FileTime, BuildTime         int64 // seconds since 1970
	Installed, Archive          int64 // bytes unpacked, as an archive
	HeaderStart, HeaderEnd      int64 // bytes range of the header in the file

	provides, requires, conflicts, obsoletes []*Dep
	// only to choose between packages that are equally good; never followed
	recommends, supplements []*Dep
	files                   []file

	id       int32 // order in the index; 0: made up for an installed package that no repository has
	priority int32
}

// file is a path of a package. kind is "", "dir" or "ghost".
type file struct{ path, kind string }

// EVR of the package.
func (p *Package) EVR() EVR { return EVR{p.Epoch, p.Version, p.Release} }

func (p *Package) String() string { return p.Name + "-" + p.EVR().String() + "." + p.Arch }

// NEVRA is the package's full name with its epoch, 0 too, as modules name it.
func (p *Package) NEVRA() string {
	return p.Name + "-" + orZero(p.Epoch) + ":" + p.Version + "-" + p.Release + "." + p.Arch
}

func orZero(epoch string) string {
	if epoch == "" {
		return "0"
	}
	return epoch
}

// File is the name of the package's file, which is the same in the repository and in the bundle:
// name-version-release.arch.rpm.
func (p *Package) File() string {
	return p.Name + "-" + p.Version + "-" + p.Release + "." + p.Arch + ".rpm"
}

// Provides, Requires, Conflicts and Obsoletes say what the package declares, as rpm prints it.
func (p *Package) Provides() []string  { return strs(p.provides) }
func (p *Package) Requires() []string  { return strs(p.requires) }  // see Provides
func (p *Package) Conflicts() []string { return strs(p.conflicts) } // see Provides
func (p *Package) Obsoletes() []string { return strs(p.obsoletes) } // see Provides

func strs(list []*Dep) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.String())
	}
	return out
}

// Bounds of one package. The kernel provides some thousands of symbols, a documentation package has some ten thousand
// files.
const (
	maxDeps     = 100000
	maxFiles    = 500000
	maxText     = 64 << 10
	maxPath     = 4096
	maxNameLen  = 200
	maxPackages = 1 << 20 // of one index
)

// valid checks what file names, sums and comparisons rely on.
func (p *Package) valid() error {
	switch {
	case !nameChars(p.Name, "._+-") || p.Name[0] == '-' || p.Name[0] == '.':
		return fmt.Errorf("name %.200q", p.Name)
	case strings.Trim(p.Epoch, "0123456789") != "" || len(p.Epoch) > 10:
		return fmt.Errorf("%s: epoch %.200q", p.Name, p.Epoch)
	case !nameChars(p.Version, "._+~^"):
		return fmt.Errorf("%s: version %.200q", p.Name, p.Version)
	case !nameChars(p.Release, "._+~^"):
		return fmt.Errorf("%s: release %.200q", p.Name, p.Release)
	case !nameChars(p.Arch, "_"):
		return fmt.Errorf("%s: architecture %.200q", p.Name, p.Arch)
	case len(p.File()) > 255:
		return fmt.Errorf("%s: file name of more than 255 bytes", p.Name)
	case !safeLocation(p.Location) || !strings.HasSuffix(p.Location, ".rpm"):
		return fmt.Errorf("%s: location %.200q", p.Name, p.Location)
	case p.Base != "" && !strings.HasPrefix(p.Base, "https://") && !strings.HasPrefix(p.Base, "http://"):
		return fmt.Errorf("%s: location at %.200q", p.Name, p.Base)
	case p.Sum.zero():
		return fmt.Errorf("%s: no checksum", p.Name)
	case p.Size <= 0:
		return fmt.Errorf("%s: size %d", p.Name, p.Size)
	case p.FileTime < 0 || p.BuildTime < 0 || p.Installed < 0 || p.Archive < 0 || p.HeaderStart < 0 ||
		p.HeaderEnd < p.HeaderStart:
		return fmt.Errorf("%s: a negative number", p.Name)
	}
	return nil
}

// nameChars says that s is of letters, digits and the others, not empty, and not too long.
func nameChars(s, others string) bool {
	if s == "" || len(s) > maxNameLen {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !digit(s[i]) && !alpha(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}

// printable says that s is UTF-8 without control characters.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
		}
	}
	return true
}

// clean makes a text of one printable line.
func clean(s string) string {
	if printable(s) && strings.TrimSpace(s) == s {
		return s
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// table keeps one copy of each string and dependency: a repository repeats most of them many times.
type table struct {
	strings map[string]string
	deps    map[string]*Dep // by their parts, separated by zeros
	slab    []Dep
	key     []byte
	scratch []*Dep
}

func newTable() *table { return &table{strings: map[string]string{}, deps: map[string]*Dep{}} }

// str returns the one copy of the string.
func (t *table) str(b []byte) string {
	if s, ok := t.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	t.strings[s] = s
	return s
}

// dep returns the one copy of the dependency.
func (t *table) dep(d Dep) *Dep {
	p, _ := t.intern([]byte(d.Name), d.Op, []byte(d.EVR.Epoch), []byte(d.EVR.Version), []byte(d.EVR.Release))
	return p
}

// intern returns the one copy of the dependency with these parts, and whether it was not there before. Its strings are
// parts of one.
func (t *table) intern(name []byte, op Op, epoch, version, release []byte) (d *Dep, fresh bool) {
	if string(epoch) == "0" {
		epoch = nil
	}
	k := append(t.key[:0], name...)
	if op != 0 {
		k = append(k, 0, byte(op))
		k = append(append(k, epoch...), 0)
		k = append(append(k, version...), 0)
		k = append(k, release...)
	}
	t.key = k
	if d, ok := t.deps[string(k)]; ok {
		return d, false
	}
	if len(t.slab) == 0 {
		t.slab = make([]Dep, 1024)
	}
	d = &t.slab[0]
	t.slab = t.slab[1:]
	s := string(k)
	d.Name, d.Op = s[:len(name)], op
	if op != 0 {
		at := len(name) + 2
		d.EVR.Epoch = s[at : at+len(epoch)]
		at += len(epoch) + 1
		d.EVR.Version = s[at : at+len(version)]
		d.EVR.Release = s[at+len(version)+1:]
	}
	t.deps[s] = d
	return d, true
}
