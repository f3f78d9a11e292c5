package rpm

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// readPrimary calls each for every package of a primary.xml. Packages for which admit says no (by their architecture)
// are only skimmed.
func readPrimary(r io.Reader, t *table, admit func(arch string) bool, each func(*Package) error) error {
	x := newScanner(r)
	if err := x.root("metadata"); err != nil {
		return err
	}
	for {
		tok, err := x.next()
		switch {
		case err != nil:
			return err
		case tok == tokEnd:
			return x.finish()
		case tok != tokStart:
		case string(x.name) != "package" || string(x.attr("type")) != "rpm":
			if err := x.skip(); err != nil {
				return err
			}
		default:
			p, err := readPackage(x, t, admit)
			if err != nil {
				return err
			}
			if p == nil {
				continue
			}
			if err := p.valid(); err != nil {
				return err
			}
			if err := each(p); err != nil {
				return err
			}
		}
	}
}

// readPackage reads the rest of a package element that was just begun; nil for one that is not admitted.
func readPackage(x *scanner, t *table, admit func(string) bool) (*Package, error) {
	pr := &packageReader{x: x, t: t, p: &Package{}}
	for depth := len(x.marks); ; {
		tok, err := x.next()
		if err != nil {
			return nil, err
		}
		if tok == tokEnd {
			return pr.p, nil
		}
		if tok != tokStart {
			continue
		}
		if err := pr.field(string(x.name)); err != nil {
			return nil, fmt.Errorf("package %.200q: %w", pr.p.Name, err)
		}
		if pr.p.Arch != "" && !admit(pr.p.Arch) {
			for len(x.marks) >= depth {
				if _, err := x.next(); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}
	}
}

type packageReader struct {
	x *scanner
	t *table
	p *Package
}

// field reads one element of a package.
func (pr *packageReader) field(name string) (err error) {
	x, p := pr.x, pr.p
	switch name {
	case "name":
		p.Name, err = pr.intern()
	case "arch":
		p.Arch, err = pr.intern()
	case "summary":
		var s string
		s, err = x.content(maxText)
		p.Summary = clean(s)
	case "version":
		p.Epoch, p.Version, p.Release = orZero(pr.t.str(x.attr("epoch"))), pr.t.str(x.attr("ver")),
			pr.t.str(x.attr("rel"))
		err = x.skip()
	case "checksum":
		typ := append([]byte(nil), x.attr("type")...)
		var s string
		if s, err = x.content(1000); err == nil {
			p.Sum, err = parseSum(typ, s)
		}
		if p.Sum.Type == "sha256" {
			p.SHA256 = p.Sum.Hex
		}
	case "time":
		err = errors.Join(number(x, "file", &p.FileTime), number(x, "build", &p.BuildTime), x.skip())
	case "size":
		err = errors.Join(number(x, "package", &p.Size), number(x, "installed", &p.Installed),
			number(x, "archive", &p.Archive), x.skip())
	case "location":
		p.Location, p.Base = string(x.attr("href")), string(x.attr("base"))
		err = x.skip()
	case "format":
		err = pr.format()
	default:
		err = x.skip()
	}
	return err
}

func number(x *scanner, attr string, to *int64) (err error) {
	if v := x.attr(attr); len(v) > 0 {
		if *to, err = strconv.ParseInt(string(v), 10, 64); err != nil {
			return fmt.Errorf("%s %.40q", attr, v)
		}
	}
	return nil
}

// intern reads a text that many packages have.
func (pr *packageReader) intern() (string, error) {
	s, err := pr.x.content(1000)
	return pr.t.str([]byte(s)), err
}

func (pr *packageReader) format() error {
	x, p := pr.x, pr.p
	for {
		tok, err := x.next()
		if err != nil {
			return err
		}
		if tok == tokEnd {
			return nil
		}
		if tok != tokStart {
			continue
		}
		switch string(x.name) {
		case "license":
			var s string
			s, err = x.content(maxText)
			p.License = pr.t.str([]byte(clean(s)))
		case "sourcerpm":
			var s string
			s, err = x.content(maxText)
			p.SourceRPM = clean(s)
		case "header-range":
			err = errors.Join(number(x, "start", &p.HeaderStart), number(x, "end", &p.HeaderEnd), x.skip())
		case "provides":
			p.provides, err = pr.deps()
		case "requires":
			p.requires, err = pr.deps()
		case "conflicts":
			p.conflicts, err = pr.deps()
		case "obsoletes":
			p.obsoletes, err = pr.deps()
		case "recommends":
			p.recommends, err = pr.deps()
		case "supplements":
			p.supplements, err = pr.deps()
		case "file":
			err = pr.file()
		default:
			err = x.skip()
		}
		if err != nil {
			return err
		}
	}
}

func (pr *packageReader) file() error {
	if len(pr.p.files) == maxFiles {
		return fmt.Errorf("more than %d files", maxFiles)
	}
	kind := pr.t.str(pr.x.attr("type"))
	path, err := pr.x.content(maxPath)
	if err != nil {
		return err
	}
	f := file{path, kind}
	if err := f.valid(); err != nil {
		return err
	}
	pr.p.files = append(pr.p.files, f)
	return nil
}

func (f file) valid() error {
	if f.kind != "" && f.kind != "dir" && f.kind != "ghost" {
		return fmt.Errorf("file of type %.40q", f.kind)
	}
	if f.path == "" || f.path[0] != '/' || len(f.path) > maxPath {
		return fmt.Errorf("file %.200q", f.path)
	}
	return nil
}

// deps reads the entries of one kind.
func (pr *packageReader) deps() ([]*Dep, error) {
	x, list := pr.x, pr.t.scratch[:0]
	for {
		tok, err := x.next()
		if err != nil {
			return nil, err
		}
		if tok == tokEnd {
			pr.t.scratch = list
			return slices.Clone(list), nil
		}
		if tok != tokStart {
			continue
		}
		if string(x.name) == "entry" {
			d, err := pr.entry()
			if err != nil {
				return nil, err
			}
			if len(list) == maxDeps {
				return nil, fmt.Errorf("more than %d entries", maxDeps)
			}
			list = append(list, d)
		}
		if err := x.skip(); err != nil {
			return nil, err
		}
	}
}

func (pr *packageReader) entry() (*Dep, error) {
	x := pr.x
	name := x.attr("name")
	op, ok := flagOf(x.attr("flags"))
	if !ok {
		return nil, fmt.Errorf("relation %.40q", x.attr("flags"))
	}
	if len(name) == 0 || len(name) > maxDepName {
		return nil, fmt.Errorf("capability %.200q", name)
	}
	d, fresh := pr.t.intern(name, op, x.attr("epoch"), x.attr("ver"), x.attr("rel"))
	if fresh {
		if err := d.valid(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// valid checks what is printed and compared. Other programs' names of capabilities are free.
func (d *Dep) valid() error {
	switch {
	case !printable(d.Name):
		return fmt.Errorf("capability %.200q", d.Name)
	case d.Op == 0:
		return nil
	case len(d.EVR.Epoch) > 10 || len(d.EVR.Version) > 1000 || len(d.EVR.Release) > 1000,
		!printable(d.EVR.Epoch), !printable(d.EVR.Version), !printable(d.EVR.Release):
		return fmt.Errorf("%.200q: version %.200q", d.Name, d.EVR)
	}
	return nil
}

// readFilelists calls each for every file of a filelists.xml that is wanted. Packages are named by their checksum
// there.
func readFilelists(r io.Reader, wanted func(path []byte) bool, each func(pkgid string, f file)) error {
	x := newScanner(r)
	if err := x.root("filelists"); err != nil {
		return err
	}
	var pkgid string
	for {
		tok, err := x.next()
		switch {
		case err != nil:
			return err
		case tok == tokEnd && len(x.marks) == 0:
			return x.finish()
		case tok != tokStart:
		case string(x.name) == "package":
			pkgid = string(x.attr("pkgid"))
		case string(x.name) == "file":
			kind := string(x.attr("type"))
			path, err := x.content(maxPath)
			if err != nil {
				return err
			}
			if f := (file{path, kind}); wanted([]byte(path)) {
				if err := f.valid(); err != nil {
					return err
				}
				each(pkgid, f)
			}
		default:
			if err := x.skip(); err != nil {
				return err
			}
		}
	}
}
