package deb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Baseline is the set of packages that a target has before anything is installed.
type Baseline struct {
	installed []installed
	known     int // packages that it names, installed or not
}

type installed struct {
	name, version, arch string
	held                bool
	stanza              Stanza // of a dpkg status file, with relationships; nil: only the name is known
}

// Len is the number of packages.
func (b *Baseline) Len() int { return len(b.installed) }

// maxInstalled packages of a baseline.
const maxInstalled = 1 << 17

// ReadBaseline reads what a system has, in one of three forms: a dpkg status file; lines of
//
//	dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\t${Status}\n'
//
// of which the fields from the second on may be missing; or a list of names, one a line, optionally with "=version".
// Empty lines and those that begin with # are passed over, and so is what is not installed (removed but configured,
// half-installed). Fault "deb.baseline".
func ReadBaseline(r io.Reader) (*Baseline, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(64 << 10)
	b := &Baseline{}
	var err error
	if bytes.HasPrefix(head, []byte("Package:")) || bytes.Contains(head, []byte("\nPackage:")) {
		err = b.status(br)
	} else {
		err = b.lines(br)
	}
	if err == nil && b.known == 0 {
		err = errors.New("no package in it")
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "deb.baseline", err)
	}
	return b, nil
}

func (b *Baseline) add(p installed, status string) error {
	if !validName(p.name) || p.version != "" && !validVersion(p.version) {
		return fmt.Errorf("package %q %q", p.name, p.version)
	}
	b.known++
	if status != "" {
		f := strings.Fields(status)
		if len(f) != 3 || f[2] != "installed" {
			return nil
		}
		p.held = f[0] == "hold"
	}
	if len(b.installed) >= maxInstalled {
		return fmt.Errorf("more than %d packages", maxInstalled)
	}
	b.installed = append(b.installed, p)
	return nil
}

func (b *Baseline) status(r io.Reader) error {
	return ReadStanzas(r, func(s Stanza) error {
		status := s.Get("Status")
		if status == "" {
			status = "install ok installed" // a Packages file will do
		}
		return b.add(installed{name: s.Get("Package"), version: s.Get("Version"), arch: s.Get("Architecture"),
			stanza: s}, status)
	})
}

func (b *Baseline) lines(r io.Reader) error {
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		p := installed{name: strings.TrimSpace(f[0])}
		status := ""
		switch {
		case len(f) > 4:
			return fmt.Errorf("line %d: %d fields", n, len(f))
		case len(f) == 1:
			p.name, p.version, _ = strings.Cut(p.name, "=")
		default:
			p.version = strings.TrimSpace(f[1])
			if len(f) > 2 {
				p.arch = strings.TrimSpace(f[2])
			}
			if len(f) > 3 {
				status = strings.TrimSpace(f[3])
			}
		}
		if name, arch, ok := strings.Cut(p.name, ":"); ok {
			p.name, p.arch = name, arch
		}
		if status != "" && p.version == "" {
			continue // known of, never installed
		}
		if err := b.add(p, status); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return sc.Err()
}

// install makes the baseline the solver's present state.
func (s *solver) install(b *Baseline) {
	for _, in := range b.installed {
		if in.arch != "" && in.arch != s.x.arch && in.arch != "all" {
			continue
		}
		st := s.state(in.name)
		if st.current != nil {
			continue
		}
		st.held = in.held
		st.current = s.present(in, st.candidate)
		st.chosen = st.current
		s.base = append(s.base, st)
		if st.candidate == nil || st.held || Compare(st.candidate.Version, st.current.Version) <= 0 {
			st.candidate = st.current // apt does not downgrade by itself
		}
		if p := st.current; p.entry < 0 {
			names := map[string]bool{p.Name: true}
			for _, v := range p.Provides {
				names[v.Name] = true
			}
			for n := range names {
				s.foreign[n] = append(s.foreign[n], p)
			}
		}
	}
}

// present makes the package that is there. Where only its name and version are known and no repository has that
// version, it is taken to provide what the candidate does, and to need what the candidate needs in its own version.
func (s *solver) present(in installed, candidate *Package) *Package {
	if in.version == "" && candidate != nil {
		return candidate
	}
	if id, ok := s.x.ids[in.name]; ok && in.stanza == nil {
		if i := s.x.candidate(id, func(v string) bool { return v == in.version }); i >= 0 {
			return s.load(i)
		}
	}
	p := &Package{Name: in.name, Version: in.version, Arch: in.arch, entry: -1}
	if in.stanza != nil {
		p.MultiArch, p.Priority, p.Essential = in.stanza.Get("Multi-Arch"), in.stanza.Get("Priority"),
			in.stanza.Get("Essential") == "yes"
		fields := [...]string{textPreDepends: "Pre-Depends", textDepends: "Depends", textConflicts: "Conflicts",
			textBreaks: "Breaks", textProvides: "Provides"}
		if err := p.relate(func(n int) string { return in.stanza.Get(fields[n]) }, s.x.arch); err != nil {
			s.err = event.NewFault(event.ClassUsage, "deb.baseline", fmt.Errorf("package %q: %w", in.name, err))
		}
		return p
	}
	if candidate != nil {
		own := func(r Relation) Relation {
			if r.Version == candidate.Version {
				r.Version = in.version
			}
			return r
		}
		p.MultiArch = candidate.MultiArch
		for _, v := range candidate.Provides {
			p.Provides = append(p.Provides, own(v))
		}
		for cl := range clauses(candidate) {
			if len(cl) == 1 && cl[0].Op == "=" && cl[0].Version == candidate.Version {
				p.Depends = append(p.Depends, Clause{own(cl[0])})
			}
		}
	}
	return p
}
