package image

import (
	"archive/tar"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// span is where a blob lies on disk: Size bytes from Offset on in the file Path.
type span struct {
	Path         string
	Offset, Size int64
}

// open reads the bytes of the place; a file that became shorter gives io.ErrUnexpectedEOF.
func (p span) open() (io.ReadCloser, error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return nil, err
	}
	return &section{io.NewSectionReader(f, p.Offset, p.Size), f, p.Size}, nil
}

type section struct {
	*io.SectionReader
	io.Closer
	left int64
}

func (s *section) Read(b []byte) (int, error) {
	n, err := s.SectionReader.Read(b)
	s.left -= int64(n)
	if errors.Is(err, io.EOF) && s.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// store finds the files of a source by their clean relative names; fs.ErrNotExist if it has none of that name.
type store interface {
	find(name string) (span, error)
	close() error
}

// dirStore is a directory. Links may not lead out of it.
type dirStore struct {
	root *os.Root
}

func (d dirStore) find(name string) (span, error) {
	st, err := d.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return span{}, err
	}
	if !st.Mode().IsRegular() {
		return span{}, fmt.Errorf("%s is not a regular file", name)
	}
	return span{Path: filepath.Join(d.root.Name(), filepath.FromSlash(name)), Size: st.Size()}, nil
}

func (d dirStore) close() error { return d.root.Close() }

const (
	maxMembers = 200_000
	maxLinks   = 8
	// A compressed archive may unpack to so many times its size and a bit: layers that are plain shrink by ten, not by
	// a thousand.
	maxRatio = 200
	ratioBit = 256 << 20
)

// unpacked is how much something compressed may unpack to.
func unpacked(size int64) int64 { return size*maxRatio + ratioBit }

// tarStore is a tar file. Old docker save writes a repeated layer as a link to the first one; links are followed within
// the archive and only there.
type tarStore struct {
	path    string
	members map[string]member
	temp    string // to remove, "" if the file is not ours
}

type member struct {
	place span
	link  string // clean name of what it links to
}

func (t *tarStore) close() error {
	if t.temp == "" {
		return nil
	}
	return os.Remove(t.temp)
}

func (t *tarStore) find(name string) (span, error) {
	for range maxLinks {
		m, ok := t.members[name]
		if !ok {
			return span{}, &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
		}
		if m.link == "" {
			return m.place, nil
		}
		name = m.link
	}
	return span{}, fmt.Errorf("%s is a link to a link without end", name)
}

// openTar indexes a tar file, plain or compressed by gzip, zstd, xz or bzip2; a compressed one is unpacked to a
// temporary file in temp first, for its blobs are read at random.
func openTar(ctx context.Context, file, temp string) (*tarStore, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &tarStore{path: file, members: map[string]member{}}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	packed, end, err := decompressed(f)
	if err != nil {
		return nil, err
	}
	defer end()
	if packed != nil {
		plain, err := unpack(ctx, packed, temp, unpacked(st.Size()))
		if err != nil {
			return nil, err
		}
		defer plain.Close()
		f, t.path, t.temp = plain, plain.Name(), plain.Name()
	}
	if err := t.index(ctx, f); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// maxWindow is how much memory a zstd archive may ask for: what zstd --long writes, and K3s.
const maxWindow = 128 << 20

// decompressed returns the content of a compressed file, nil if the file is not compressed. The caller calls end.
func decompressed(f *os.File) (r io.Reader, end func(), err error) {
	end = func() {}
	magic := make([]byte, 6)
	n, _ := f.ReadAt(magic, 0) // shorter ones are no archive
	is := func(begin string) bool { return strings.HasPrefix(string(magic[:n]), begin) }
	switch {
	case is("\x1f\x8b"):
		r, err = gzip.NewReader(f)
	case is("\x28\xb5\x2f\xfd"):
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, end, err
		}
		return z, z.Close, nil
	case is("\xfd7zXZ\x00"):
		r, err = xz.NewReader(f)
	case is("BZh"):
		r = bzip2.NewReader(f)
	}
	return r, end, err
}

// unpack unpacks no more than limit bytes; what it has written by then goes away.
func unpack(ctx context.Context, packed io.Reader, temp string, limit int64) (_ *os.File, err error) {
	out, err := os.CreateTemp(temp, "eggo-images-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			out.Close()
			os.Remove(out.Name())
		}
	}()
	n, err := io.Copy(out, &ctxReader{ctx, io.LimitReader(packed, limit+1)})
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, fmt.Errorf("it unpacks to more than %d bytes", limit)
	}
	_, err = out.Seek(0, io.SeekStart)
	return out, err
}

// index reads the headers of all members.
func (t *tarStore) index(ctx context.Context, f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	tr := tar.NewReader(f)
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n >= maxMembers {
			return fmt.Errorf("it has more than %d members", maxMembers)
		}
		pos, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if err := t.add(hdr, span{Path: t.path, Offset: pos, Size: hdr.Size}, st.Size()); err != nil {
			return err
		}
	}
}

func (t *tarStore) add(hdr *tar.Header, p span, end int64) error {
	name, err := within("", hdr.Name)
	if err != nil {
		return err
	}
	m := member{place: p}
	switch hdr.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeReg:
		if sparse(hdr) {
			return fmt.Errorf("%q is a sparse file", hdr.Name)
		}
		if p.Size > end-p.Offset {
			return io.ErrUnexpectedEOF
		}
	case tar.TypeSymlink:
		m.link, err = within(path.Dir(name), hdr.Linkname)
	case tar.TypeLink:
		m.link, err = within("", hdr.Linkname)
	default:
		return fmt.Errorf("%q is neither a file nor a directory nor a link", hdr.Name)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", hdr.Name, err)
	}
	if _, twice := t.members[name]; twice {
		return fmt.Errorf("%q is there twice", hdr.Name)
	}
	t.members[name] = m
	return nil
}

// within cleans a name relative to a directory of the archive and refuses what leads out of it.
func within(dir, name string) (string, error) {
	if len(name) > 4096 || strings.ContainsAny(name, "\x00\\") || path.IsAbs(name) {
		return "", fmt.Errorf("the path %.200q leads out of the archive", name)
	}
	clean := path.Join(dir, name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("the path %.200q leads out of the archive", name)
	}
	return clean, nil
}
