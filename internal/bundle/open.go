package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
)

// Archive is a bundle file whose head was read.
type Archive struct {
	path     string
	manifest *Manifest
	text     []byte // manifest.json
	full     []byte // manifest.json of the full bundle; text, but for a difference
	size     int64
	modified time.Time
	parts    []Part
}

// Manifest of the bundle. It is what the file says of itself: only Verify and Stage prove it.
func (a *Archive) Manifest() *Manifest { return a.manifest }

// Path of the bundle as it was given to Open: a file, or the name of its parts.
func (a *Archive) Path() string { return a.path }

// Sums is what SHA256SUMS of the bundle must say, by its manifest: the text that is signed. Reading the bundle proves
// that it says so.
func (a *Archive) Sums() []byte { return SumsText(a.text, a.manifest) }

// Size of the bundle in bytes, all its parts together.
func (a *Archive) Size() int64 { return a.size }

// Parts of the bundle, in their order; none if it is one file.
func (a *Archive) Parts() []Part { return a.parts }

// ID is the sha256 of manifest.json: bundles with the same ID hold the same members, images.tar included, for its blobs
// are in the manifest by digest. A difference has the ID of the full bundle that it makes.
func (a *Archive) ID() string { return ID(a.full) }

// Open reads the head of a bundle, which is its manifest, and closes the file again. path may be that of the first part
// of a split bundle, or of the whole one that only its parts are there of. The faults are of class bundle:
// "bundle.open", "bundle.not-gzip", "bundle.not-tar", "bundle.text", "bundle.truncated", "bundle.no-manifest" for
// archives of other tools, "bundle.order", "bundle.format", "bundle.manifest", and for parts "bundle.part-missing",
// "bundle.part-extra", "bundle.part-empty", "bundle.part-first", "bundle.part-sums".
func Open(path string) (*Archive, error) {
	a, err := open(context.Background(), path)
	return a, inFile(path, err)
}

func open(ctx context.Context, path string) (*Archive, error) {
	s, err := newStream(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	a := &Archive{path: path, size: s.src.size, modified: s.src.modified, parts: s.src.list()}
	if a.manifest, a.text, err = s.manifest(); err != nil {
		return nil, s.src.blame(err)
	}
	a.full, err = fullText(a.manifest, a.text)
	return a, err
}

// fullText is manifest.json of the full bundle that a manifest with that text describes.
func fullText(m *Manifest, text []byte) ([]byte, error) {
	if m.Base == nil {
		return text, nil
	}
	return EncodeManifest(m.Full())
}

// inFile names the bundle file in the fault.
func inFile(path string, err error) error {
	if err == nil {
		return nil
	}
	f := asBundleFault(err)
	if f == nil {
		return err
	}
	if f.Args == nil {
		f.Args = map[string]string{}
	}
	if f.Args["file"] == "" {
		f.Args["file"] = path
	}
	return f
}

// stream is a bundle being read from its beginning: file or parts, gzip, tar. It counts what passes on each level.
type stream struct {
	ctx   context.Context
	src   *source
	buf   *bufio.Reader
	tr    *tar.Reader
	raw   *countingReader // bytes of the file
	plain *countingReader // bytes of the tar
	dirs  int             // directories seen
	other *tar.Header     // the member whose path was refused
}

// What is unpacked of an archive before its manifest is known, and of one that turns out to have none.
const (
	headBudget    = MaxManifest + 1<<20
	unknownBudget = 64 << 20
)

var errBudget = errors.New("there is more in it than manifest.json says")

type countingReader struct {
	ctx   context.Context
	r     io.Reader
	n     int64
	limit int64 // 0: none
	tick  func(n int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if c.limit > 0 {
		if c.n >= c.limit {
			return 0, errBudget
		}
		p = p[:min(int64(len(p)), c.limit-c.n)]
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.tick != nil {
		c.tick(c.n)
	}
	return n, err
}

func newStream(ctx context.Context, path string, progress func(done, total int64)) (*stream, error) {
	src, err := findSource(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &stream{ctx: ctx, src: src}
	s.raw = &countingReader{ctx: ctx, r: src}
	if progress != nil {
		s.raw.tick = func(n int64) { progress(n, src.size) }
	}
	s.buf = bufio.NewReaderSize(s.raw, 256<<10)
	var head []byte
	if !src.split { // of parts, which one is damaged is told by how far was read
		head, _ = s.buf.Peek(512)
	}
	z, err := gzip.NewReader(s.buf)
	if errors.Is(err, gzip.ErrHeader) && len(head) > 0 && isText(head) {
		defer src.Close()
		return nil, src.blame(fault("bundle.text", nil))
	}
	if err != nil {
		defer src.Close()
		return nil, src.blame(s.gzipFault(err))
	}
	z.Multistream(false)
	s.plain = &countingReader{ctx: ctx, r: z, limit: headBudget}
	s.tr = tar.NewReader(s.plain)
	return s, nil
}

// isText says whether a file begins as one that people write.
func isText(head []byte) bool {
	for i := range utf8.UTFMax { // the last character may be cut
		if i < len(head) && utf8.Valid(head[:len(head)-i]) {
			return !bytes.ContainsFunc(head[:len(head)-i],
				func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r\f", r) || r == 0x7f })
		}
	}
	return false
}

// gzipFault says why a file has no gzip header.
func (s *stream) gzipFault(err error) error {
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault("bundle.truncated", nil, "member", ManifestName, "at", fmt.Sprint(s.raw.n))
	case asBundleFault(err) != nil:
		return err
	case errors.Is(err, gzip.ErrHeader):
		return fault("bundle.not-gzip", err)
	}
	return fault("bundle.open", pathless(err))
}

// manifest reads the first member. From then on no more is unpacked than the manifest accounts for.
func (s *stream) manifest() (*Manifest, []byte, error) {
	hdr, err := s.next()
	if f := asBundleFault(err); f != nil && f.Code == "bundle.damaged" && errors.Is(err, tar.ErrHeader) && s.dirs == 0 {
		return nil, nil, fault("bundle.not-tar", tar.ErrHeader) // nothing of an archive was there yet
	}
	if err != nil && s.other != nil && (CheckPath(MeantPath(s.other.Name)) == nil || ofImages(s.other.Name)) {
		hdr, err = s.other, nil // a path as people pack it, not one that leads anywhere
	}
	if err != nil {
		return nil, nil, err
	}
	if hdr == nil || hdr.Name != ManifestName {
		return nil, nil, s.unknownLayout(hdr)
	}
	text, err := s.document(hdr, MaxManifest)
	if err != nil {
		return nil, nil, err
	}
	m, err := ParseManifest(text)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRatio(m, s.src.size); err != nil {
		return nil, nil, err
	}
	// A header with its extended records is 512 to 4096 bytes, a directory's too; a payload is filled up to 512.
	const perHeader = 4096
	s.plain.limit = headBudget + int64(len(m.Members)+MaxMembers)*perHeader
	for _, e := range m.Members {
		s.plain.limit += e.Size
	}
	return m, text, nil
}

// pathless drops the path from err: the fault names the file itself.
func pathless(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (s *stream) close() { s.src.Close() }

// next goes to the next member that is not a directory; nil at the end. It refuses what no bundle has: links, devices,
// sparse files, unsafe paths.
func (s *stream) next() (*tar.Header, error) {
	for {
		hdr, err := s.tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, s.readFault(err, "")
		}
		name := strings.TrimPrefix(hdr.Name, "./")
		if hdr.Typeflag == tar.TypeDir {
			if err := CheckPath(strings.TrimSuffix(name, "/")); err != nil && name != "" {
				s.other = hdr
				return nil, err
			}
			if s.dirs++; s.dirs > MaxMembers {
				return nil, fault("bundle.damaged", errors.New("too many directories"), "member", name)
			}
			continue
		}
		if err := CheckPath(hdr.Name); err != nil {
			s.other = hdr
			return nil, err
		}
		if hdr.Typeflag != tar.TypeReg {
			return nil, fault("bundle.member-type", nil, "member", hdr.Name, "type", typeName(hdr.Typeflag))
		}
		for k := range hdr.PAXRecords {
			if k != "path" && k != "size" {
				return nil, fault("bundle.member-type", nil, "member", hdr.Name, "type", k)
			}
		}
		return hdr, nil
	}
}

func typeName(t byte) string {
	switch t {
	case tar.TypeLink:
		return "hard link"
	case tar.TypeSymlink:
		return "symbolic link"
	case tar.TypeChar, tar.TypeBlock:
		return "device"
	case tar.TypeFifo:
		return "fifo"
	case tar.TypeGNUSparse:
		return "sparse file"
	}
	return fmt.Sprintf("type %q", string(rune(t)))
}

// document reads a small member whole.
func (s *stream) document(hdr *tar.Header, limit int64) ([]byte, error) {
	if hdr.Size > limit {
		return nil, fault("bundle.member-size", nil, "member", hdr.Name, "got", fmt.Sprint(hdr.Size), "want",
			fmt.Sprint(limit))
	}
	data, err := io.ReadAll(s.tr)
	if err != nil {
		return nil, s.readFault(err, hdr.Name)
	}
	return data, nil
}

// readFault names what a read error of the archive means.
func (s *stream) readFault(err error, member string) error {
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case asBundleFault(err) != nil:
		return asBundleFault(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault("bundle.truncated", nil, "member", member, "at", fmt.Sprint(s.raw.n))
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, tar.ErrHeader):
		return fault("bundle.damaged", err, "member", member)
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return fault("bundle.read", pathless(err), "member", member)
	}
	return fault("bundle.damaged", err, "member", member)
}
