package rpm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// RepomdPath is where a repository's index of its metadata is; its detached signature is beside it, with ".asc" after
// the name.
const RepomdPath = "repodata/repomd.xml"

// Kinds of metadata.
const (
	Primary   = "primary"   // the packages
	Filelists = "filelists" // all files of all packages
	Modules   = "modules"   // streams, of distributions that have them
)

// Repomd is a repository's repomd.xml.
type Repomd struct {
	Revision   string
	Repository string // URL, for faults
	entries    map[string]Entry
}

// Entry is one file of the metadata.
type Entry struct {
	Type     string
	Location string // below the repository's URL
	Sum      Sum    // of the file
	OpenSum  Sum    // of what it unpacks to; zero if it is not said
	Size     int64  // bytes, -1 if it is not said
	OpenSize int64  // bytes, -1 if it is not said
}

// Sum is a checksum, sha256 or sha512. Weaker ones are refused.
type Sum struct{ Type, Hex string }

func (s Sum) zero() bool { return s.Hex == "" }

// New returns a hash to check the sum with.
func (s Sum) New() hash.Hash {
	if s.Type == "sha512" {
		return sha512.New()
	}
	return sha256.New()
}

func parseSum(typ []byte, text string) (Sum, error) {
	s := Sum{string(typ), strings.TrimSpace(text)}
	n, known := map[string]int{"sha256": 64, "sha512": 128}[s.Type]
	if !known {
		return Sum{}, fmt.Errorf("checksum of type %.20q: only sha256 and sha512 are strong enough", typ)
	}
	if len(s.Hex) != n || strings.Trim(s.Hex, "0123456789abcdef") != "" {
		return Sum{}, fmt.Errorf("checksum %.140q", s.Hex)
	}
	return s, nil
}

// What is read of metadata at most. The largest primary.xml of a distribution has some 300 MB, filelists.xml 1 GB.
const (
	MaxRepomd    = 4 << 20 // bytes of repomd.xml
	maxEntries   = 200
	maxPrimary   = 2 << 30
	maxFilelists = 8 << 30
	maxModules   = 64 << 20
)

// VerifyRepomd says whether sig, the text of repomd.xml.asc, is a good signature over repomd.xml by a key of the ring.
// Fault: "rpm.repomd-signature".
func VerifyRepomd(data, sig []byte, keys openpgp.EntityList, repository string, now time.Time) error {
	if err := verifyDetached(data, sig, keys, now); err != nil {
		return event.NewFault(event.ClassFailed, "rpm.repomd-signature", err, "repository", repository)
	}
	return nil
}

// ParseRepomd reads repomd.xml. Metadata in SQLite, deltas and other kinds are passed over. Fault: "rpm.repomd".
func ParseRepomd(data []byte, repository string) (*Repomd, error) {
	m := &Repomd{Repository: repository, entries: map[string]Entry{}}
	if err := m.parse(data); err != nil {
		return nil, event.NewFault(event.ClassFailed, "rpm.repomd", err, "repository", repository)
	}
	return m, nil
}

func (m *Repomd) parse(data []byte) error {
	if len(data) > MaxRepomd {
		return fmt.Errorf("more than %d bytes", MaxRepomd)
	}
	x := newScanner(bytes.NewReader(data))
	if err := x.root("repomd"); err != nil {
		return err
	}
	for {
		t, err := x.next()
		switch {
		case err != nil:
			return err
		case t == tokEnd:
			if _, ok := m.entries[Primary]; !ok {
				return errors.New("no primary metadata")
			}
			return x.finish()
		case t != tokStart:
		case string(x.name) == "revision":
			if m.Revision, err = x.content(200); err != nil {
				return err
			}
		case string(x.name) == "data":
			if err := m.data(x, string(x.attr("type"))); err != nil {
				return err
			}
		default:
			if err := x.skip(); err != nil {
				return err
			}
		}
	}
}

func (m *Repomd) data(x *scanner, typ string) error {
	if typ != Primary && typ != Filelists && typ != Modules {
		return x.skip()
	}
	if _, twice := m.entries[typ]; twice {
		return fmt.Errorf("two entries for %s", typ)
	}
	e := Entry{Type: typ, Size: -1, OpenSize: -1}
	for {
		t, err := x.next()
		if err == nil && t == tokEnd {
			break
		}
		if err == nil && t == tokStart {
			err = e.field(x)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", typ, err)
		}
	}
	if e.Sum.zero() || !safeLocation(e.Location) {
		return fmt.Errorf("%s: checksum or location %.200q", typ, e.Location)
	}
	m.entries[typ] = e
	return nil
}

func (e *Entry) field(x *scanner) (err error) {
	name := string(x.name)
	switch name {
	case "location":
		if len(x.attr("base")) > 0 {
			return errors.New("metadata at another place than the repository")
		}
		e.Location = string(x.attr("href"))
		return x.skip()
	case "checksum", "open-checksum":
		typ := append([]byte(nil), x.attr("type")...)
		text, err := x.content(1000)
		if err != nil {
			return err
		}
		sum, err := parseSum(typ, text)
		if name == "checksum" {
			e.Sum = sum
		} else {
			e.OpenSum = sum
		}
		return err
	case "size", "open-size":
		text, err := x.content(100)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s %.40q", name, text)
		}
		if name == "size" {
			e.Size = n
		} else {
			e.OpenSize = n
		}
		return nil
	}
	return x.skip()
}

// Choose returns the entry for Primary, Filelists or Modules. Only primary metadata is there always.
func (m *Repomd) Choose(typ string) (Entry, bool) {
	e, ok := m.entries[typ]
	return e, ok
}

func (e Entry) limit() int64 {
	n := map[string]int64{Primary: maxPrimary, Filelists: maxFilelists, Modules: maxModules}[e.Type]
	if e.OpenSize >= 0 {
		n = min(n, e.OpenSize)
	}
	return n
}

// Open returns a reader of the unpacked file; r has the file as it was fetched (its own checksum is the caller's to
// check). The reader fails beyond the size that repomd.xml says (or that any metadata may have), and at its end when
// the checksum of the unpacked file is not the one of repomd.xml.
func (e Entry) Open(r io.Reader) (io.ReadCloser, error) {
	var in io.Reader
	closer := func() {}
	switch path.Ext(e.Location) {
	case ".gz":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		in = z
	case ".xz":
		z, err := xz.NewReader(r) // its dictionary may be announced large, but only what is written of it takes memory
		if err != nil {
			return nil, err
		}
		in = z
	case ".zst", ".zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20),
			zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, err
		}
		in, closer = z, z.Close
	case ".xml", ".yaml":
		in = r
	default:
		return nil, fmt.Errorf("unknown compression of %.200q", e.Location)
	}
	c := &checkedReader{r: in, left: e.limit(), close: closer}
	if !e.OpenSum.zero() {
		c.sum, c.want = e.OpenSum.New(), e.OpenSum.Hex
	}
	return c, nil
}

// checkedReader fails beyond its limit, where io.LimitReader would end in silence, and at the end if the sum is
// another.
type checkedReader struct {
	r     io.Reader
	left  int64
	sum   hash.Hash
	want  string
	close func()
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errors.New("unpacks to more than repomd.xml says")
	}
	if c.sum != nil {
		c.sum.Write(p[:n])
		if err == io.EOF && hex.EncodeToString(c.sum.Sum(nil)) != c.want {
			return 0, errors.New("the unpacked metadata is not what repomd.xml says")
		}
	}
	return n, err
}

func (c *checkedReader) Close() error {
	c.close()
	return nil
}

// safeLocation accepts what lies below the repository and ends in a plain name.
func safeLocation(s string) bool {
	s = strings.TrimPrefix(s, "./")
	if s == "" || len(s) > 1024 || path.IsAbs(s) || path.Clean(s) != s || s == "." || s == ".." ||
		strings.HasPrefix(s, "../") {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~^%:=@,{}()-/") == ""
}
