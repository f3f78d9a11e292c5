package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// Staged is a verified bundle unpacked on the jump host.
type Staged struct {
	dir       string
	manifest  *Manifest
	imagesSum string
	opts      options
	used      *flock.Flock // shared by all that use the stage
}

// File is something to upload: Size in bytes, SHA256 in lower-case hex.
type File struct {
	Size   int64
	SHA256 string
	Open   func() (io.ReadSeekCloser, error)
}

// Manifest of the bundle, verified.
func (s *Staged) Manifest() *Manifest { return s.manifest }

// Dir is the directory that the stage is in.
func (s *Staged) Dir() string { return s.dir }

// Open opens a member. A member that the bundle does not have is the fault "bundle.missing".
func (s *Staged) Open(member string) (io.ReadSeekCloser, error) {
	if _, _, err := s.Sum(member); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Join(s.dir, membersDir))
	if err != nil {
		return nil, fault("bundle.read", pathless(err), "member", member, "file", s.dir)
	}
	defer root.Close()
	f, err := root.Open(member)
	if err != nil {
		return nil, fault("bundle.read", pathless(err), "member", member, "file", s.dir)
	}
	return f, nil
}

// Sum is a member's sha256 and size in bytes; images.tar's sum was taken when it was staged.
func (s *Staged) Sum(member string) (sha string, size int64, err error) {
	m, ok := s.manifest.Member(member)
	if !ok {
		return "", 0, fault("bundle.missing", nil, "member", member, "file", s.dir)
	}
	if m.Kind == Images {
		return s.imagesSum, m.Size, nil
	}
	return m.SHA256, m.Size, nil
}

// File is a member as something to upload.
func (s *Staged) File(member string) (File, error) {
	sum, size, err := s.Sum(member)
	if err != nil {
		return File{}, err
	}
	return File{Size: size, SHA256: sum, Open: func() (io.ReadSeekCloser, error) { return s.Open(member) }}, nil
}

// Images is an archive like images.tar with only the named images, the same bytes for the same names whatever their
// order. It is made once, every blob verified on the way, and kept in the stage.
func (s *Staged) Images(ctx context.Context, names []string) (File, error) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	f, err := s.subset(ctx, names)
	return f, inFile(s.dir, err)
}

func (s *Staged) subset(ctx context.Context, names []string) (_ File, err error) {
	if len(names) == len(s.manifest.Images) && !slices.ContainsFunc(s.manifest.Images,
		func(im Image) bool { return !slices.Contains(names, im.Name) }) {
		return s.File(s.manifest.ImagesPath())
	}
	src, err := s.Open(s.manifest.ImagesPath())
	if err != nil {
		return File{}, err
	}
	defer src.Close()
	ra, ok := src.(io.ReaderAt)
	if !ok {
		return File{}, fault("bundle.read", errors.New("cannot be read at random"), "member", ImagesName)
	}
	m, _ := s.manifest.Member(s.manifest.ImagesPath())
	arch, err := image.NewArchive(ctx, ra, m.Size)
	if err != nil {
		return File{}, err
	}
	layout, err := arch.Subset(names)
	if err != nil {
		return File{}, err
	}
	defer func() { err = s.opts.full(err, s.dir, layout.Size()) }()
	dir := filepath.Join(s.dir, subsetsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return File{}, storeFault(err, ImagesName)
	}
	file := filepath.Join(dir, sumHex([]byte(strings.Join(names, "\n")))+".tar")
	lock := flock.New(file+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return File{}, errors.Join(ctx.Err(), err)
	}
	defer lock.Unlock() //nolint:errcheck // released with the process in any case
	sum, err := keptSubset(file, layout.Size())
	if err != nil {
		return File{}, err
	}
	if sum == "" {
		if err := s.opts.room(s.dir, layout.Size()); err != nil {
			return File{}, err
		}
		if sum, err = writeSubset(ctx, file, layout, arch); err != nil {
			os.Remove(file)
			return File{}, err
		}
	}
	return File{Size: layout.Size(), SHA256: sum, Open: func() (io.ReadSeekCloser, error) { return os.Open(file) }}, nil
}

// keptSubset returns the sum of a subset that was finished earlier, "" when there is none.
func keptSubset(file string, size int64) (string, error) {
	sum, err := os.ReadFile(file + ".sha256")
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isSum(string(sum)) {
		return "", nil
	}
	if err != nil {
		return "", fault("bundle.read", pathless(err), "member", ImagesName)
	}
	if st, err := os.Stat(file); err != nil || st.Size() != size {
		return "", nil
	}
	return string(sum), nil
}

func writeSubset(ctx context.Context, file string, layout *image.Layout, arch *image.Archive) (string, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", storeFault(err, ImagesName)
	}
	h := sha256.New()
	err = layout.Write(ctx, io.MultiWriter(&writeErrors{w: f}, h), arch.Open)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		if we := (writeError{}); errors.As(err, &we) {
			return "", storeFault(we.error, ImagesName)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if f := asBundleFault(err); f != nil {
			return "", f
		}
		return "", fault("bundle.read", pathless(err), "member", ImagesName)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if err := writeFileSync(file+".sha256", []byte(sum)); err != nil {
		return "", storeFault(err, ImagesName)
	}
	return sum, nil
}

func (f File) String() string { return fmt.Sprintf("%s (%d bytes)", f.SHA256, f.Size) }
