package deb

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What a .deb may have at most before its control file is found. The control archives of Debian's largest packages
// (which list conffiles and md5sums) have some megabytes.
const (
	maxControlMember  = 32 << 20 // bytes of control.tar as it is packed
	maxControlTar     = 128 << 20
	maxControlFile    = 1 << 20
	maxControlEntries = 10000
	maxDictionary     = 64 << 20 // bytes of a zstd window
)

// ReadControl reads the control file of a .deb (deb(5): an ar archive of debian-binary, control.tar and data.tar). It
// reads no further than it must, and holds what it reads to bounds.
func ReadControl(r io.Reader) (Stanza, error) {
	magic := make([]byte, 8)
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != "!<arch>\n" {
		return nil, errors.New("not an ar archive")
	}
	name, size, err := arHeader(r)
	if err != nil {
		return nil, err
	}
	if name != "debian-binary" || size > 64 {
		return nil, errors.New("not a .deb: debian-binary does not come first")
	}
	version, err := arMember(r, size)
	if err != nil || !bytes.HasPrefix(version, []byte("2.")) {
		return nil, fmt.Errorf("not a .deb of format 2: %.20q", version)
	}
	for {
		if name, size, err = arHeader(r); err != nil {
			return nil, err
		}
		ext, ok := strings.CutPrefix(name, "control.tar")
		if !ok {
			if !strings.HasPrefix(name, "_") { // deb(5): members with an underscore may come before
				return nil, fmt.Errorf("member %.20q where control.tar is due", name)
			}
			if size > maxControlMember {
				return nil, fmt.Errorf("member %.20q of %d bytes", name, size)
			}
			if _, err = arMember(r, size); err != nil {
				return nil, err
			}
			continue
		}
		if size > maxControlMember {
			return nil, fmt.Errorf("%s of %d bytes", name, size)
		}
		data, err := arMember(r, size)
		if err != nil {
			return nil, err
		}
		return controlTar(data, ext)
	}
}

// arHeader reads the header of a member: 60 bytes in columns.
func arHeader(r io.Reader) (name string, size int64, err error) {
	var h [60]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return "", 0, fmt.Errorf("ar header: %w", err)
	}
	if h[58] != '`' || h[59] != '\n' {
		return "", 0, errors.New("ar header: no end mark")
	}
	name = strings.TrimSuffix(strings.TrimRight(string(h[:16]), " "), "/")
	size, err = strconv.ParseInt(strings.TrimRight(string(h[48:58]), " "), 10, 64)
	if err != nil || size < 0 {
		return "", 0, errors.New("ar header: size")
	}
	return name, size, nil
}

// arMember reads a member and the byte that pads it to an even length.
func arMember(r io.Reader, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, size+size&1))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("ar member: %w", err)
	}
	return data[:size], nil
}

func controlTar(data []byte, ext string) (Stanza, error) {
	var plain io.Reader = bytes.NewReader(data)
	switch ext {
	case "":
	case ".gz":
		z, err := gzip.NewReader(plain)
		if err != nil {
			return nil, err
		}
		plain = z
	case ".xz":
		z, err := xz.NewReader(plain) // takes as much memory as is unpacked, whatever the header says
		if err != nil {
			return nil, err
		}
		plain = z
	case ".zst":
		z, err := zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxControlTar),
			zstd.WithDecoderMaxWindow(maxDictionary))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		plain = z
	default:
		return nil, fmt.Errorf("control.tar%.10s: unknown compression", ext)
	}
	t := tar.NewReader(io.LimitReader(plain, maxControlTar))
	for range maxControlEntries {
		h, err := t.Next()
		if err != nil {
			return nil, fmt.Errorf("control.tar: %w", err)
		}
		if path.Clean(h.Name) != "control" || h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > maxControlFile {
			return nil, fmt.Errorf("control file of %d bytes", h.Size)
		}
		return oneStanza(t)
	}
	return nil, errors.New("control.tar: no control file")
}

func oneStanza(r io.Reader) (Stanza, error) {
	var s Stanza
	err := ReadStanzas(r, func(t Stanza) error {
		if s != nil {
			return errors.New("two paragraphs")
		}
		s = t
		return nil
	})
	if err == nil && s == nil {
		err = errors.New("an empty control file")
	}
	return s, err
}

// CheckDeb holds what a .deb says of itself against the metadata that it was chosen by. Faults: "deb.file" when it is
// no .deb, "deb.wrong-arch", "deb.mismatch".
func CheckDeb(r io.Reader, want *Package) error {
	s, err := ReadControl(r)
	if err != nil {
		return event.NewFault(event.ClassFailed, "deb.file", err, "file", want.File())
	}
	if got := s.Get("Architecture"); got != want.Arch {
		return event.NewFault(event.ClassFailed, "deb.wrong-arch", nil, "file", want.File(), "got", got, "arch",
			want.Arch)
	}
	if name, version := s.Get("Package"), s.Get("Version"); name != want.Name || version != want.Version {
		return event.NewFault(event.ClassFailed, "deb.mismatch", nil, "file", want.File(), "got", name+" "+version,
			"package", want.String())
	}
	return nil
}

// maxLocalFiles of a directory.
const maxLocalFiles = 20000

// AddFiles reads the *.deb files of a directory that has no metadata (not those of directories below it) into the
// index, sorted by name: what they say of themselves, their sizes and sums. The Filename of each is "./" and its name.
// Files for other architectures are passed over. Faults: "deb.file" with the file, "deb.packages".
func (x *Index) AddFiles(ctx context.Context, fsys fs.FS, repo Repository) error {
	list, err := fs.Glob(fsys, "*.deb")
	if err == nil && len(list) > maxLocalFiles {
		err = fmt.Errorf("more than %d files", maxLocalFiles)
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "deb.packages", err, "repository", redacted(repo.URL))
	}
	var text bytes.Buffer
	for _, name := range list {
		s, err := localStanza(ctx, fsys, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && !safeFilename(name) {
			err = errors.New("the file's name has characters that no package's has")
		}
		if err != nil {
			return event.NewFault(event.ClassFailed, "deb.file", err, "file", name)
		}
		text.WriteString(MetaOf(&Package{Stanza: s}, name) + "\n")
	}
	return x.AddFrom(&text, repo)
}

// localStanza is what a Packages file would have for the file.
func localStanza(ctx context.Context, fsys fs.FS, name string) (Stanza, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("not a regular file"))
	}
	sum, n := sha256.New(), &counter{ctx: ctx}
	in := io.TeeReader(f, io.MultiWriter(n, sum))
	s, err := ReadControl(in)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, err
	}
	var out Stanza
	for _, f := range s {
		switch strings.ToLower(f.Name) {
		case "filename", "size", "sha256", "status":
		default:
			out = append(out, f)
		}
	}
	return append(out, Field{"Filename", "./" + name}, Field{"Size", fmt.Sprint(n.n)},
		Field{"SHA256", hex.EncodeToString(sum.Sum(nil))}), nil
}

// counter counts bytes until its context ends.
type counter struct {
	ctx context.Context
	n   int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), c.ctx.Err()
}
