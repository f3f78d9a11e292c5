package bundle

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Archive is a bundle file whose head was read.
type Archive struct {
	path     string
	manifest *Manifest
	text     []byte // manifest.json
	size     int64
	modified time.Time
}

// Manifest of the bundle. It is what the file says of itself: only Verify and Stage prove it.
func (a *Archive) Manifest() *Manifest { return a.manifest }

// Path of the bundle file as it was given to Open.
func (a *Archive) Path() string { return a.path }

// Size of the bundle file in bytes.
func (a *Archive) Size() int64 { return a.size }

// ID is the sha256 of manifest.json: bundles with the same ID hold the same members, images.tar included, for its blobs are in the
// manifest by digest.
func (a *Archive) ID() string { return sumHex(a.text) }

// Open reads the head of a bundle, which is its manifest, and closes the file again. The faults are of class bundle: "bundle.open",
// "bundle.not-gzip", "bundle.truncated", "bundle.no-manifest" for archives of other tools, "bundle.order", "bundle.format",
// "bundle.manifest".
func Open(path string) (*Archive, error) {
	a, err := open(path)
	return a, inFile(path, err)
}

func open(path string) (*Archive, error) {
	s, err := newStream(context.Background(), path, nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	hdr, err := s.next()
	if err != nil {
		return nil, err
	}
	if hdr == nil || hdr.Name != ManifestName {
		return nil, s.unknownLayout(hdr)
	}
	text, err := s.document(hdr, MaxManifest)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(text)
	if err != nil {
		return nil, err
	}
	return &Archive{path: path, manifest: m, text: text, size: s.size, modified: s.modified}, nil
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

// stream is a bundle file being read from its beginning: file, gzip, tar. It counts what passes on each level.
type stream struct {
	ctx      context.Context
	file     *os.File
	buf      *bufio.Reader
	tr       *tar.Reader
	raw      *countingReader // bytes of the file
	plain    *countingReader // bytes of the tar
	size     int64
	modified time.Time
}

type countingReader struct {
	ctx  context.Context
	r    io.Reader
	n    int64
	tick func(n int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.tick != nil {
		c.tick(c.n)
	}
	return n, err
}

func newStream(ctx context.Context, path string, progress func(done, total int64)) (*stream, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault("bundle.open", pathless(err))
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, fault("bundle.open", pathless(err))
	}
	s := &stream{ctx: ctx, file: f, size: st.Size(), modified: st.ModTime()}
	s.raw = &countingReader{ctx: ctx, r: f}
	if progress != nil {
		s.raw.tick = func(n int64) { progress(n, s.size) }
	}
	s.buf = bufio.NewReaderSize(s.raw, 256<<10)
	z, err := gzip.NewReader(s.buf)
	if err != nil {
		f.Close()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fault("bundle.truncated", nil, "member", ManifestName)
		}
		return nil, fault("bundle.not-gzip", err)
	}
	z.Multistream(false)
	s.plain = &countingReader{ctx: ctx, r: z}
	s.tr = tar.NewReader(s.plain)
	return s, nil
}

// pathless drops the path from err: the fault names the file itself.
func pathless(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (s *stream) close() { s.file.Close() }

// next goes to the next member that is not a directory; nil at the end. It refuses what no bundle has: links, devices, sparse files,
// unsafe paths.
func (s *stream) next() (*tar.Header, error) {
	for dirs := 0; ; {
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
				return nil, err
			}
			if dirs++; dirs > MaxMembers {
				return nil, fault("bundle.damaged", errors.New("too many directories"))
			}
			continue
		}
		if err := CheckPath(hdr.Name); err != nil {
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
		return nil, fault("bundle.member-size", nil, "member", hdr.Name, "got", fmt.Sprint(hdr.Size), "want", fmt.Sprint(limit))
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

// unknownLayout says what an archive is that does not begin with manifest.json. It looks at a few members only.
func (s *stream) unknownLayout(hdr *tar.Header) error {
	const budget = 64 << 20
	layout := "unknown"
	var names []string
	for i := 0; hdr != nil && i < 64 && s.plain.n < budget; i++ {
		if hdr.Name == ManifestName {
			return fault("bundle.order", nil, "member", ManifestName, "want", names[0])
		}
		names = append(names, strings.TrimPrefix(hdr.Name, "./"))
		var err error
		if hdr, err = s.rawNext(); err != nil {
			break
		}
	}
	typed := func(n string) bool {
		dir, _, ok := strings.Cut(n, "/")
		return ok && slices.Contains([]string{"pkg", "bin", "file", "dir", "image"}, dir)
	}
	flat := func(n string) bool {
		return n == ImagesName || strings.HasPrefix(n, "addons/") || strings.HasSuffix(n, ".deb") || strings.HasSuffix(n, ".rpm")
	}
	switch {
	case slices.ContainsFunc(names, typed):
		layout = "typed"
	case slices.ContainsFunc(names, flat):
		layout = "flat"
	}
	return fault("bundle.no-manifest", nil, "layout", layout)
}

// rawNext is next without its refusals, for looking at archives of other tools.
func (s *stream) rawNext() (*tar.Header, error) {
	for {
		hdr, err := s.tr.Next()
		if err != nil || hdr.Typeflag == tar.TypeReg {
			return hdr, err
		}
	}
}
