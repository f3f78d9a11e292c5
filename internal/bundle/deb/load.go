package deb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// loader reads a Packages file into an index without making more than the index keeps.
type loader struct {
	x     *Index
	repo  uint16
	enc   *zstd.Encoder
	block []byte // stanzas as they came, without comments, each with its lines' ends
	start int    // of the present stanza in block
	value [numFields]span
	cur   int // field of the present line, -1: one that is not needed
}

// span is a field's value in the block; its end is 0 when it is absent.
type span struct{ from, to int }

// The fields that the index needs. Those from fieldRecommends to fieldEnhances only mention names.
const (
	fieldPackage = iota
	fieldVersion
	fieldArch
	fieldMultiArch
	fieldPriority
	fieldEssential
	fieldProtected
	fieldImportant
	fieldFilename
	fieldSize
	fieldSHA256
	fieldPreDepends
	fieldDepends
	fieldConflicts
	fieldBreaks
	fieldRecommends
	fieldSuggests
	fieldReplaces
	fieldEnhances
	fieldProvides
	numFields
)

// fieldOf knows a field by its name in lower case.
func fieldOf(lower []byte) int {
	switch string(lower) {
	case "package":
		return fieldPackage
	case "version":
		return fieldVersion
	case "architecture":
		return fieldArch
	case "multi-arch":
		return fieldMultiArch
	case "priority":
		return fieldPriority
	case "essential":
		return fieldEssential
	case "protected":
		return fieldProtected
	case "important":
		return fieldImportant
	case "filename":
		return fieldFilename
	case "size":
		return fieldSize
	case "sha256":
		return fieldSHA256
	case "pre-depends":
		return fieldPreDepends
	case "depends":
		return fieldDepends
	case "conflicts":
		return fieldConflicts
	case "breaks":
		return fieldBreaks
	case "recommends":
		return fieldRecommends
	case "suggests":
		return fieldSuggests
	case "replaces":
		return fieldReplaces
	case "enhances":
		return fieldEnhances
	case "provides":
		return fieldProvides
	}
	return -1
}

func (x *Index) loader(repo Repository) (*loader, error) {
	i := slices.Index(x.repos, repo)
	if i < 0 {
		if len(x.repos) >= maxRepos {
			return nil, fmt.Errorf("more than %d repositories", maxRepos)
		}
		i = len(x.repos)
		x.repos = append(x.repos, repo)
	}
	enc, err := newEncoder()
	return &loader{x: x, repo: uint16(i), enc: enc, cur: -1}, err
}

func (l *loader) read(r io.Reader) error {
	// What was taken before an error is in the index, so its stanza must be too.
	defer func() {
		l.block = l.block[:l.start]
		l.flush()
	}()
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; sc.Scan(); n++ {
		if err := l.line(sc.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		return err
	}
	return l.end()
}

func (l *loader) line(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return l.end()
	}
	if line[0] == '#' {
		return nil
	}
	if len(l.block)-l.start+len(line) > maxEntry {
		return fmt.Errorf("paragraph of more than %d bytes", maxEntry)
	}
	at := len(l.block)
	l.block = append(append(l.block, line...), '\n')
	if line[0] == ' ' || line[0] == '\t' {
		if at == l.start {
			return errors.New("continuation without a field")
		}
		if l.cur >= 0 {
			l.value[l.cur].to = at + len(line)
		}
		return nil
	}
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || bytes.ContainsAny(line[:colon], " \t") {
		return errors.New("no field name")
	}
	l.cur = -1
	var lower [16]byte
	if colon <= len(lower) {
		for i, c := range line[:colon] {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			lower[i] = c
		}
		l.cur = fieldOf(lower[:colon])
	}
	if l.cur >= 0 {
		if l.value[l.cur].to > 0 {
			return fmt.Errorf("a second field %s", line[:colon])
		}
		l.value[l.cur] = span{at + colon + 1, at + len(line)}
	}
	return nil
}

func (l *loader) get(field int) []byte {
	return bytes.TrimSpace(l.block[l.value[field].from:l.value[field].to])
}

// end takes the paragraph that was read into the index.
func (l *loader) end() error {
	if len(l.block) == l.start {
		return nil
	}
	keep, err := l.take()
	if err != nil {
		return err
	}
	if !keep {
		l.block = l.block[:l.start]
	}
	l.start, l.cur, l.value = len(l.block), -1, [numFields]span{}
	if len(l.block) >= blockSize {
		l.flush()
	}
	return nil
}

func (l *loader) flush() {
	if len(l.block) > 0 {
		l.x.block = append(l.x.block, bytes.Clone(l.enc.EncodeAll(l.block, nil)))
	}
	l.block, l.start = l.block[:0], 0
}

func (l *loader) take() (bool, error) {
	arch := string(l.get(fieldArch))
	if arch != l.x.arch && arch != "all" {
		return false, nil
	}
	if l.x.count >= maxPackages {
		return false, fmt.Errorf("more than %d packages", maxPackages)
	}
	name := string(l.get(fieldPackage))
	fail := func(what string, err error) (bool, error) {
		return false, fmt.Errorf("package %q: %s: %w", name, what, err)
	}
	if err := checkEntry(name, l.get(fieldVersion), l.get(fieldSHA256), l.get(fieldSize),
		l.get(fieldFilename)); err != nil {
		return false, err
	}
	e := entry{block: uint32(len(l.x.block)), at: uint32(l.start), size: uint32(len(l.block) - l.start), repo: l.repo,
		all: arch == "all"}
	e.essential = string(l.get(fieldEssential)) == "yes"
	e.important = string(l.get(fieldProtected)) == "yes" || string(l.get(fieldImportant)) == "yes"
	e.priority = uint8(priority(string(l.get(fieldPriority))) - 1)
	if i := slices.Index(multiArch[:], string(l.get(fieldMultiArch))); i > 0 {
		e.multi = uint8(i)
	}
	var err error
	if e.name, err = l.x.id(name); err != nil {
		return fail("name", err)
	}
	for f := fieldPreDepends; f < fieldProvides; f++ {
		if err := l.mention(f); err != nil {
			return fail("relationships", err)
		}
	}
	provides, err := l.provides()
	if err != nil {
		return fail("Provides", err)
	}
	e.text, err = l.x.text.put(l.get(fieldVersion), l.get(fieldPreDepends), l.get(fieldDepends), l.get(fieldConflicts),
		l.get(fieldBreaks), l.get(fieldProvides))
	if err != nil {
		return fail("texts", err)
	}
	if !l.x.insert(e, string(l.get(fieldVersion))) {
		return false, nil
	}
	owner := int32(len(l.x.list) - 1)
	for _, id := range provides {
		l.x.given = append(l.x.given, given{owner, l.x.names[id].given})
		l.x.names[id].given = int32(len(l.x.given) - 1)
	}
	return true, nil
}

// mention gives every name of a relationship field its number. What the resolver goes by must be well formed; the rest
// may be as it is.
func (l *loader) mention(field int) error {
	var problem error
	err := eachRelation(string(l.get(field)), l.x.arch, func(_ int, r Relation) {
		if r.Qualifier != "any" && problem == nil {
			_, problem = l.x.id(r.Name)
		}
	})
	if err != nil && field <= fieldBreaks {
		return err
	}
	return problem
}

// provides are the names that the package provides, each once.
func (l *loader) provides() ([]uint32, error) {
	var ids []uint32
	var problem error
	err := eachRelation(string(l.get(fieldProvides)), l.x.arch, func(_ int, r Relation) {
		id, err := l.x.id(r.Name)
		if problem == nil {
			problem = err
		}
		ids = append(ids, id)
	})
	slices.Sort(ids)
	return slices.Compact(ids), errors.Join(err, problem)
}

// checkEntry holds the fields that decide what is fetched and how it is called against their rules.
func checkEntry(name string, version, sum, size, file []byte) error {
	if !validName(name) || !validVersion(string(version)) {
		return fmt.Errorf("package %q: name or version %q", name, version)
	}
	if len(sum) != 64 || len(bytes.Trim(sum, "0123456789abcdef")) > 0 {
		return fmt.Errorf("package %q: SHA256 %q", name, sum)
	}
	if n, err := strconv.ParseInt(string(size), 10, 64); err != nil || n <= 0 {
		return fmt.Errorf("package %q: Size %q", name, size)
	}
	if !safeFilename(string(file)) {
		return fmt.Errorf("package %q: Filename %q", name, file)
	}
	return nil
}
