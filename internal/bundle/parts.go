package bundle

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What is read of a set of parts at most.
const (
	maxParts    = 9999
	maxPartSums = 4 << 20 // bytes of the sums file
)

// PartName is the file name of a bundle's part, counted from 1: NAME.tar.gz.001, after .999 comes .1000.
func PartName(bundle string, n int) string { return fmt.Sprintf("%s.%03d", bundle, n) }

// PartSumsName is the name of the file that lists the parts of a bundle with their sums, as sha256sum writes it.
func PartSumsName(bundle string) string { return bundle + ".sha256" }

var partPattern = regexp.MustCompile(`^(.*\.tar\.gz)\.([0-9]{3,4})$`)

// cutPart takes a part's name apart; n is 0 when it is none.
func cutPart(name string) (bundle string, n int) {
	m := partPattern.FindStringSubmatch(name)
	if m == nil {
		return name, 0
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || PartName(m[1], n) != name {
		return name, 0
	}
	return m[1], n
}

// SignatureOf is the name of the file that holds a bundle's signature, whether the whole or a part of it is named.
func SignatureOf(path string) string {
	whole, _ := wholeOf(path)
	return whole + ".sig"
}

// wholeOf is cutPart for a path, also where something was added to the name of the part.
func wholeOf(path string) (whole string, n int) {
	if whole, n = cutPart(path); n > 0 {
		return whole, n
	}
	dir, name := filepath.Split(path)
	base, n, _ := cutRenamed(name)
	return dir + base, n
}

// Part is a file of a bundle that was split.
type Part struct {
	File string `json:"file"`
	Size int64  `json:"size"`
}

// part is a file of a bundle, or all of it.
type part struct {
	path string
	n    int // counted from 1
	size int64
	sum  string // "" when no sums file says
}

func (p part) name() string { return filepath.Base(p.path) }

// source reads a bundle's file, or its parts one after the other. Each part is hashed while it is read, so that the
// damaged one is named.
type source struct {
	ctx      context.Context
	parts    []part
	split    bool
	whole    string // path of what the parts make
	beyond   string // the first part behind a gap in the numbers
	size     int64
	modified time.Time

	next   int // index of the part after the open one
	file   *os.File
	left   int64 // bytes of the open part that were not read
	hash   hash.Hash
	failed error
}

// findSource finds the file or the parts that path names: the file itself, else parts, by the name of the first one or
// of what they make. Something may have been added to the names of parts since they were made, see cleanName.
func findSource(ctx context.Context, path string) (*source, error) {
	s := &source{ctx: ctx}
	st, err := os.Stat(path)
	whole, n := cutPart(path)
	if err == nil {
		whole, n = wholeOf(path)
	}
	asked := filepath.Base(path)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return nil, fault("bundle.open", errors.New("not a regular file"))
	case err == nil && n == 0:
		s.parts, s.size, s.modified = []part{{path: path, n: 1, size: st.Size()}}, st.Size(), st.ModTime()
		return s, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fault("bundle.open", pathless(err))
	case err != nil:
		asked = ""
	}
	s.split, s.whole = true, whole
	parts, err2 := listParts(whole, asked)
	switch {
	case err2 != nil:
		return nil, fault("bundle.open", pathless(err2))
	case n > 1:
		first, _ := parts.pick(1)
		return nil, fault("bundle.part-first", nil, "part", filepath.Base(path), "first",
			cmp.Or(first, PartName(filepath.Base(whole), 1)))
	}
	if err := s.findParts(parts); err != nil {
		return nil, err
	}
	if len(s.parts) == 0 {
		return nil, cmp.Or(renamed(path), error(fault("bundle.open", pathless(err))))
	}
	return s, nil
}

// findParts lists the parts that are there and holds them against the sums file, if there is one.
func (s *source) findParts(there *set) error {
	if there.highest == 0 {
		return nil
	}
	sums, err := partSums(s.whole, there.clean)
	if err != nil {
		return err
	}
	base := there.base
	for n := 1; n <= max(there.highest, len(sums), 1); n++ {
		name, err := there.pick(n)
		switch {
		case err != nil:
			return err
		case len(sums) > 0 && n > len(sums):
			if there.exact[n] != "" {
				return fault("bundle.part-extra", nil, "part", name)
			}
			continue
		case name != "":
		case len(sums) > 0 || n == 1:
			return fault("bundle.part-missing", nil, "part", PartName(base, n))
		default: // the reading shows whether the archive ends before the gap
			s.beyond = PartName(base, there.behind(n))
			return nil
		}
		p := part{path: filepath.Join(filepath.Dir(s.whole), name), n: n}
		if err := s.add(p, sums); err != nil {
			return err
		}
	}
	return nil
}

// add adds a part that is there.
func (s *source) add(p part, sums []string) error {
	st, err := os.Stat(p.path)
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return fault("bundle.open", pathless(err), "file", p.path)
	}
	if p.size = st.Size(); p.size == 0 {
		return s.orNewer(fault("bundle.part-empty", nil, "part", p.name()), p)
	}
	if len(sums) > 0 {
		p.sum = sums[p.n-1]
	}
	s.parts = append(s.parts, p)
	s.size += p.size
	if st.ModTime().After(s.modified) {
		s.modified = st.ModTime()
	}
	return nil
}

// partSums reads the sums file of a set of parts, whose name may have been clean before something was added to it: one
// line a part, in their order. nil when there is none.
func partSums(whole, clean string) ([]string, error) {
	name := PartSumsName(whole)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		name = PartSumsName(filepath.Join(filepath.Dir(whole), clean))
	}
	bad := func(err error) error {
		return fault("bundle.part-sums", pathless(err), "sums", filepath.Base(name))
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, bad(err)
	}
	defer f.Close()
	var sums []string
	lines := bufio.NewScanner(io.LimitReader(f, maxPartSums))
	for lines.Scan() {
		sum, file, ok := strings.Cut(lines.Text(), " ")
		want := PartName(clean, len(sums)+1)
		named := len(file) > 0 && (file[1:] == want || file[1:] == PartName(filepath.Base(whole), len(sums)+1))
		if !ok || !isSum(sum) || !named || file[0] != ' ' && file[0] != '*' ||
			len(sums) == maxParts {
			return nil, bad(fmt.Errorf("line %d is not the sum of %s", len(sums)+1, want))
		}
		sums = append(sums, sum)
	}
	if err := lines.Err(); err != nil {
		return nil, bad(err)
	}
	if len(sums) == 0 {
		return nil, bad(io.ErrUnexpectedEOF)
	}
	return sums, nil
}

// list is the parts of a bundle that was split.
func (s *source) list() (out []Part) {
	for _, p := range s.parts {
		if s.split {
			out = append(out, Part{p.path, p.size})
		}
	}
	return out
}

func (s *source) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// current is the part that is open, or was read last.
func (s *source) current() part { return s.parts[max(s.next-1, 0)] }

func (s *source) open() error {
	p := s.parts[s.next]
	f, err := os.Open(p.path)
	if err != nil {
		return fault("bundle.open", pathless(err), "file", p.path)
	}
	st, err := f.Stat()
	if err != nil || st.Size() != p.size {
		f.Close()
		return fault("bundle.changed", err)
	}
	s.file, s.left, s.hash = f, p.size, nil
	if p.sum != "" {
		s.hash = sha256.New()
	}
	s.next++
	return nil
}

// Read goes on in the next part where one ends; there the sum of the one that ended is held against the sums file.
func (s *source) Read(b []byte) (int, error) {
	if s.failed != nil {
		return 0, s.failed
	}
	for s.left == 0 {
		if s.file != nil {
			if s.failed = s.finish(); s.failed != nil {
				return 0, s.failed
			}
		}
		if s.next == len(s.parts) {
			return 0, io.EOF
		}
		if s.failed = s.open(); s.failed != nil {
			return 0, s.failed
		}
	}
	n, err := s.file.Read(b[:min(int64(len(b)), s.left)])
	s.left -= int64(n)
	if s.hash != nil {
		s.hash.Write(b[:n])
	}
	if errors.Is(err, io.EOF) {
		if err = nil; n == 0 {
			err = fault("bundle.changed", nil) // shorter than when it was found
		}
	}
	s.failed = err
	return n, err
}

func (s *source) finish() error {
	p := s.current()
	if err := s.Close(); err != nil {
		return err
	}
	if s.hash == nil {
		return nil
	}
	if got := hex.EncodeToString(s.hash.Sum(nil)); got != p.sum {
		return s.orNewer(fault("bundle.part-sum", nil, "part", p.name(), "got", got, "want", p.sum), p)
	}
	return nil
}

// orNewer names the file that may be a better copy of a part that was found to be wrong.
func (s *source) orNewer(found error, p part) error {
	there, err := listParts(s.whole, "")
	if err != nil {
		return found
	}
	for _, name := range append(slices.Clone(there.others[p.n]), there.exact[p.n]) {
		if name != "" && name != p.name() {
			return fault("bundle.part-other", nil, "part", p.name(), "other", name, "name", PartName(there.base, p.n))
		}
	}
	return found
}

// partAt names the part that begins at an offset of the whole; "" when none does.
func (s *source) partAt(offset int64) string {
	for _, p := range s.parts {
		if offset == 0 {
			return p.name()
		}
		offset -= p.size
	}
	return ""
}

// blame turns what is wrong with the content of a split bundle into what is wrong with its parts. Where the sums are
// known, the part that is being read is read to its end for that: those before it were right.
func (s *source) blame(err error) error {
	f := (*event.Fault)(nil)
	if !s.split || s.ctx.Err() != nil || !errors.As(err, &f) {
		return err
	}
	switch f.Code {
	case "bundle.truncated", "bundle.damaged", "bundle.not-gzip", "bundle.not-tar", "bundle.text",
		"bundle.sum-mismatch", "bundle.blob-mismatch", "bundle.images-damaged",
		"bundle.member-type", "bundle.unsafe-path", "bundle.member-size", "bundle.unexpected", "bundle.order",
		"bundle.missing",
		"bundle.manifest", "bundle.no-manifest", "bundle.trailing-data", "bundle.duplicate", "bundle.format":
	default:
		return err
	}
	if s.parts[0].sum != "" {
		// Reading is ahead of what is understood: the damage may have been found already, behind bytes that were handed
		// out.
		if s.failed != nil || s.file == nil {
			return cmp.Or(s.failed, err)
		}
		if _, e := io.Copy(io.Discard, &countingReader{ctx: s.ctx, r: io.LimitReader(s, s.left)}); e == nil {
			s.failed = s.finish()
		}
		return cmp.Or(s.failed, err)
	}
	largest := int64(0)
	for _, p := range s.parts {
		largest = max(largest, p.size)
	}
	last := s.parts[len(s.parts)-1]
	for _, p := range s.parts[:len(s.parts)-1] {
		if p.size < largest {
			return s.orNewer(fault("bundle.part-size", nil, "part", p.name(), "got", fmt.Sprint(p.size), "want",
				fmt.Sprint(largest)), p)
		}
	}
	switch {
	case f.Code == "bundle.truncated" && (s.beyond != "" || last.size == largest):
		return fault("bundle.part-missing", nil, "part", PartName(filepath.Base(s.whole), last.n+1))
	case f.Code == "bundle.truncated":
		return s.orNewer(fault("bundle.part-truncated", nil, "part", last.name()), last)
	}
	cause := error(f)
	if m := f.Args["member"]; m != "" {
		cause = fmt.Errorf("%w (%s)", f, m)
	}
	return s.orNewer(fault("bundle.part-damaged", cause, "part", s.current().name()), s.current())
}
