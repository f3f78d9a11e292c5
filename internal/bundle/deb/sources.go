package deb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// SourceEntry is one suite of one repository in a machine's apt sources, as sources.list(5) describes them.
type SourceEntry struct {
	File string // below the root of the file system
	Line int    // where the entry begins

	URL           string // without a slash at its end; may hold a password
	Suite         string // a flat repository's directory, "." for the root
	Flat          bool
	Components    []string
	Architectures []string // that the entry is limited to; nil: all
	SignedBy      []string // paths of keyrings, or fingerprints
	Key           []byte   // an armoured keyring inside the entry
	Trusted       bool     // trusted=yes: may be unsigned
	IgnoreExpiry  bool     // check-valid-until=no

	Skip string // why it cannot be taken: "source", "disabled", or the URL's scheme; "" for one that can
}

// What a machine's sources may be at most.
const (
	maxSourceFile    = 1 << 20 // bytes
	maxSourceFiles   = 1000
	maxSourceEntries = 10000
)

// ParseSources reads etc/apt/sources.list and etc/apt/sources.list.d/*.list and *.sources below the root of fsys, in
// apt's order: one entry for each suite and URL. Entries that cannot be taken (sources of packages, disabled ones,
// schemes other than http, https and file) are there too and say why. $(ARCH) in suites is left as it is; see
// SourceEntry.For. Fault "deb.sources" with the file and line.
func ParseSources(fsys fs.FS) ([]SourceEntry, error) {
	files := []string{"etc/apt/sources.list"}
	const dir = "etc/apt/sources.list.d"
	list, err := fs.ReadDir(fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, sourcesFault(dir, 0, err)
	}
	if len(list) > maxSourceFiles {
		return nil, sourcesFault(dir, 0, fmt.Errorf("more than %d files", maxSourceFiles))
	}
	for _, e := range list {
		if n := e.Name(); (strings.HasSuffix(n, ".list") || strings.HasSuffix(n, ".sources")) && validSourceFile(n) {
			files = append(files, dir+"/"+n)
		}
	}
	var out []SourceEntry
	for _, name := range files {
		data, err := readBounded(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		p := sources{file: name}
		if err == nil && strings.HasSuffix(name, ".sources") {
			err = p.deb822(data)
		} else if err == nil {
			err = p.lines(data)
		}
		if err == nil && len(out)+len(p.out) > maxSourceEntries {
			err = fmt.Errorf("more than %d entries", maxSourceEntries)
		}
		if err != nil {
			return nil, sourcesFault(name, p.line, err)
		}
		out = append(out, p.out...)
	}
	return out, nil
}

// For says whether the entry has packages for the architecture, and returns the entry with $(ARCH) replaced.
func (e SourceEntry) For(arch string) (SourceEntry, bool) {
	e.Suite = strings.ReplaceAll(e.Suite, "$(ARCH)", arch)
	e.URL = strings.ReplaceAll(e.URL, "$(ARCH)", arch)
	return e, e.Skip == "" && (len(e.Architectures) == 0 || slices.Contains(e.Architectures, arch))
}

// Base is the URL of the directory of the suite's Release file, with a slash at its end.
func (e SourceEntry) Base() string {
	if e.Flat {
		return SuiteURL(e.URL, e.Suite+"/")
	}
	return SuiteURL(e.URL, e.Suite)
}

// IsFlat reports whether a suite is the directory of a flat repository, as apt decides it: by the slash at its end.
func IsFlat(suite string) bool { return strings.HasSuffix(suite, "/") }

// SuiteURL returns the URL of the directory with the Release file of a suite, with a slash at its end. The directory of
// a flat repository is relative to the repository's URL, and "/" and "./" are that URL itself. The files of packages
// are always relative to the repository's URL.
func SuiteURL(repository, suite string) string {
	repository = strings.TrimRight(repository, "/")
	if !IsFlat(suite) {
		return repository + "/dists/" + suite + "/"
	}
	return repository + strings.TrimSuffix(path.Clean("/"+suite), "/") + "/"
}

// CheckSuite returns an error if a suite does not fit its components, or leads out of its repository.
func CheckSuite(suite string, components []string) error {
	switch {
	case suite == "" || strings.Contains("/"+suite+"/", "/../") || strings.ContainsFunc(suite, control):
		return errors.New("neither a suite nor a directory of a flat repository")
	case suite == ".":
		return errors.New("the directory of a flat repository must end with a slash: ./")
	case IsFlat(suite) && len(components) > 0:
		return errors.New("a suite that ends with a slash is the directory of a flat repository, " +
			"which has no components")
	case !IsFlat(suite) && len(components) == 0:
		return errors.New("components are missing, such as main; the suite of a flat repository ends with a slash, " +
			"such as ./")
	}
	return nil
}

func sourcesFault(file string, line int, err error) error {
	return event.NewFault(event.ClassUsage, "deb.sources", err, "file", file, "line", fmt.Sprint(line))
}

// validSourceFile is apt's rule for names in its directories: others are not read.
func validSourceFile(n string) bool {
	return strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == "" && n[0] != '.'
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSourceFile+1))
	if err == nil && len(data) > maxSourceFile {
		err = fmt.Errorf("more than %d bytes", maxSourceFile)
	}
	return data, err
}

type sources struct {
	file string
	line int
	out  []SourceEntry
}

// lines reads the one-line format. Errors do not repeat the line, which may hold a password.
func (p *sources) lines(data []byte) error {
	for line := range bytes.Lines(data) {
		p.line++
		words, options, err := splitSource(string(bytes.TrimSpace(line)))
		if err != nil {
			return err
		}
		if len(words) == 0 {
			continue
		}
		if words[0] != "deb" && words[0] != "deb-src" {
			return fmt.Errorf("type %.20q", words[0])
		}
		if len(words) < 3 {
			return errors.New("no URL or suite")
		}
		e := SourceEntry{File: p.file, Line: p.line}
		if words[0] == "deb-src" {
			e.Skip = "source"
		}
		archs := archOption{}
		for _, o := range options {
			if err := e.option(o, &archs); err != nil {
				return err
			}
		}
		e.Architectures = archs.list()
		if err := p.add(e, words[1], words[2], words[3:]); err != nil {
			return err
		}
	}
	return nil
}

// splitSource splits a line into its words, and the options in brackets into theirs.
func splitSource(line string) (words, options []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' {
			return words, options, nil
		}
		if line[0] == '[' && len(words) == 1 && options == nil {
			in, rest, ok := strings.Cut(line[1:], "]")
			if !ok {
				return nil, nil, errors.New("options without an end")
			}
			options, line = append([]string{}, strings.Fields(in)...), rest
			continue
		}
		word, rest, err := sourceWord(line)
		if err != nil {
			return nil, nil, err
		}
		words, line = append(words, word), rest
	}
}

// sourceWord cuts the first word off. Within quotes and brackets (a cdrom's name) spaces and # belong to it.
func sourceWord(line string) (word, rest string, err error) {
	var b strings.Builder
	quote, depth := false, 0
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch c {
		case '"':
			quote = !quote
			continue
		case '[':
			depth++
		case ']':
			depth--
		case ' ', '\t', '#':
			if !quote && depth <= 0 {
				return b.String(), line[i:], nil
			}
		}
		b.WriteByte(c)
	}
	if quote {
		return "", "", errors.New("a quote without an end")
	}
	return b.String(), "", nil
}

// archOption collects arch, arch+ and arch-.
type archOption struct{ set, plus, minus []string }

func (a archOption) list() []string {
	var out []string
	for _, n := range slices.Concat(a.set, a.plus) {
		if !slices.Contains(a.minus, n) && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// option takes "name=value"; those that do not concern a reader of packages are passed over.
func (e *SourceEntry) option(o string, archs *archOption) error {
	name, value, ok := strings.Cut(o, "=")
	if !ok || name == "" {
		return fmt.Errorf("option %.40q", o)
	}
	values := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", \t\n", r) })
	switch strings.ToLower(name) {
	case "arch":
		archs.set = values
	case "arch+":
		archs.plus = values
	case "arch-":
		archs.minus = values
	case "signed-by":
		e.SignedBy = values
	case "trusted":
		e.Trusted = isYes(value)
	case "check-valid-until":
		e.IgnoreExpiry = isNo(value)
	}
	return nil
}

func isYes(v string) bool {
	return slices.Contains([]string{"yes", "true", "with", "on", "enable", "1"}, strings.ToLower(strings.TrimSpace(v)))
}

func isNo(v string) bool {
	return slices.Contains([]string{"no", "false", "without", "off", "disable", "0"},
		strings.ToLower(strings.TrimSpace(v)))
}

// deb822 reads the format of paragraphs.
func (p *sources) deb822(data []byte) error {
	starts := paragraphLines(data)
	return ReadStanzas(bytes.NewReader(data), func(s Stanza) error {
		if len(starts) > 0 {
			p.line, starts = starts[0], starts[1:]
		}
		return p.paragraph(s)
	})
}

// paragraphLines are the numbers of the lines that paragraphs begin on.
func paragraphLines(data []byte) []int {
	var starts []int
	n, inside := 0, false
	for line := range bytes.Lines(data) {
		n++
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			inside = false
		case line[0] != '#' && !inside:
			starts, inside = append(starts, n), true
		}
	}
	return starts
}

func (p *sources) paragraph(s Stanza) error {
	e := SourceEntry{File: p.file, Line: p.line}
	types := strings.Fields(s.Get("Types"))
	urls, suites, components := strings.Fields(s.Get("URIs")), strings.Fields(s.Get("Suites")),
		strings.Fields(s.Get("Components"))
	if len(types) == 0 || len(urls) == 0 || len(suites) == 0 {
		return errors.New("no Types, URIs or Suites")
	}
	if len(types)*len(urls)*len(suites) > maxSourceEntries {
		return fmt.Errorf("more than %d entries", maxSourceEntries)
	}
	archs := archOption{}
	for _, o := range [][2]string{{"Architectures", "arch"}, {"Architectures-Add", "arch+"},
		{"Architectures-Remove", "arch-"},
		{"Trusted", "trusted"}, {"Check-Valid-Until", "check-valid-until"}} {
		if v := s.Get(o[0]); v != "" {
			if err := e.option(o[1]+"="+v, &archs); err != nil {
				return err
			}
		}
	}
	e.Architectures = archs.list()
	if v := s.Get("Signed-By"); strings.Contains(v, "-----BEGIN") {
		e.Key = inlineKey(v)
	} else {
		e.SignedBy = strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(", \t\n", r) })
	}
	if isNo(s.Get("Enabled")) {
		e.Skip = "disabled"
	}
	for _, t := range types {
		one := e
		switch {
		case t != "deb" && t != "deb-src":
			return fmt.Errorf("type %.20q", t)
		case t == "deb-src" && one.Skip == "":
			one.Skip = "source"
		}
		for _, u := range urls {
			for _, suite := range suites {
				if err := p.add(one, u, suite, components); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// inlineKey restores an armoured key: each line begins with a space, an empty one is a dot.
func inlineKey(v string) []byte {
	var b bytes.Buffer
	for line := range strings.SplitSeq(strings.TrimSpace(v), "\n") {
		if line = strings.TrimSpace(line); line == "." {
			line = ""
		}
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

// add makes an entry of a URL and a suite.
func (p *sources) add(e SourceEntry, raw, suite string, components []string) error {
	scheme, _, ok := strings.Cut(raw, ":")
	if !ok || scheme == "" || strings.ContainsFunc(raw, control) {
		return errors.New("not a URL")
	}
	if e.URL = strings.TrimRight(raw, "/"); e.Skip == "" &&
		!slices.Contains([]string{"http", "https", "file"}, scheme) {
		e.Skip = scheme
	}
	if _, err := url.Parse(raw); err != nil && e.Skip == "" {
		return errors.New("not a URL")
	}
	if err := CheckSuite(suite, components); err != nil {
		return fmt.Errorf("suite %.40q: %w", suite, err)
	}
	e.Flat = IsFlat(suite)
	if e.Suite = strings.TrimPrefix(path.Clean(suite), "/"); e.Suite == "" {
		e.Suite = "."
	}
	for _, c := range components {
		if badPath(c) {
			return fmt.Errorf("component %.40q", c)
		}
	}
	e.Components = components
	p.out = append(p.out, e)
	return nil
}

// badPath says whether a part of a repository's path would lead out of it or is no text.
func badPath(s string) bool {
	return s == "" || path.IsAbs(s) || strings.Contains("/"+s+"/", "/../") || strings.ContainsFunc(s, control)
}
