package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// The names in a stage beside the members, which stand under membersDir.
const (
	membersDir = "members"
	subsetsDir = "images"
	markerName = "complete.json"
)

// marker is written last, when everything else is on the disk.
type marker struct {
	Archive   string `json:"archive_id"`
	Size      int64  `json:"archive_size"`
	Modified  int64  `json:"archive_mtime_ns"`
	ImagesSum string `json:"images_sha256,omitempty"`
}

// Staged is a verified bundle unpacked on the jump host.
type Staged struct {
	dir       string
	manifest  *Manifest
	imagesSum string
}

// File is something to upload: Size in bytes, SHA256 in lower-case hex.
type File struct {
	Size   int64
	SHA256 string
	Open   func() (io.ReadSeekCloser, error)
}

// Stage unpacks a bundle under dir/<ID of the bundle>/ in one pass that verifies everything as Verify does. The stage counts only
// when its marker is there, which is written last: one that was cut off is made anew. A finished one is used again after a check of
// sizes, if the archive's size and time are the same. Two processes may stage the same bundle: the second waits for the first.
// Faults beside those of Verify: "bundle.no-space", "bundle.write".
func Stage(ctx context.Context, path, dir string, progress func(done, total int64)) (*Staged, error) {
	s, err := stage(ctx, path, dir, progress)
	return s, inFile(path, err)
}

func stage(ctx context.Context, path, dir string, progress func(done, total int64)) (*Staged, error) {
	a, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeFault(err, "")
	}
	lock := flock.New(filepath.Join(dir, a.ID()+".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, storeFault(err, "")
	}
	defer lock.Unlock() //nolint:errcheck // released with the process in any case

	home := filepath.Join(dir, a.ID())
	if s := reuse(a, home); s != nil {
		if progress != nil {
			progress(a.size, a.size)
		}
		return s, nil
	}
	if err := os.RemoveAll(home); err != nil {
		return nil, storeFault(err, "")
	}
	if err := os.MkdirAll(filepath.Join(home, membersDir), 0o700); err != nil {
		return nil, storeFault(err, "")
	}
	root, err := os.OpenRoot(filepath.Join(home, membersDir))
	if err != nil {
		return nil, storeFault(err, "")
	}
	defer root.Close()
	report, err := pass(ctx, path, progress, rootSink{root})
	if err != nil {
		return nil, err
	}
	if report.ID != a.ID() {
		return nil, fault("bundle.changed", nil)
	}
	mk := marker{Archive: report.ID, Size: a.size, Modified: a.modified.UnixNano(), ImagesSum: report.ImagesSum}
	if err := writeMarker(home, mk); err != nil {
		return nil, storeFault(err, markerName)
	}
	return &Staged{dir: home, manifest: report.Manifest, imagesSum: report.ImagesSum}, nil
}

func writeMarker(home string, mk marker) error {
	data, err := json.Marshal(mk)
	if err != nil {
		return err
	}
	return writeFileSync(filepath.Join(home, markerName), data)
}

// reuse returns the finished stage of a, or nil when there is none that can be trusted.
func reuse(a *Archive, home string) *Staged {
	data, err := os.ReadFile(filepath.Join(home, markerName))
	if err != nil {
		return nil
	}
	var mk marker
	if json.Unmarshal(data, &mk) != nil || mk.Archive != a.ID() || mk.Size != a.size || mk.Modified != a.modified.UnixNano() {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(home, membersDir, ManifestName))
	if err != nil || !bytes.Equal(text, a.text) {
		return nil
	}
	for _, m := range a.manifest.Members {
		st, err := os.Lstat(filepath.Join(home, membersDir, filepath.FromSlash(m.Path)))
		if err != nil || !st.Mode().IsRegular() || st.Size() != m.Size {
			return nil
		}
	}
	return &Staged{dir: home, manifest: a.manifest, imagesSum: mk.ImagesSum}
}

// rootSink writes members below a directory that no path can leave.
type rootSink struct{ root *os.Root }

func (r rootSink) create(member string) (io.Writer, func() error, error) {
	if d := path.Dir(member); d != "." {
		if err := r.root.MkdirAll(d, 0o700); err != nil {
			return nil, nil, storeFault(err, member)
		}
	}
	f, err := r.root.OpenFile(member, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, storeFault(err, member)
	}
	return f, func() error {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return storeFault(err, member)
		}
		return nil
	}, nil
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

// Images is an archive like images.tar with only the named images, the same bytes for the same names whatever their order. It is made
// once, every blob verified on the way, and kept in the stage.
func (s *Staged) Images(ctx context.Context, names []string) (File, error) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	f, err := s.subset(ctx, names)
	return f, inFile(s.dir, err)
}

func (s *Staged) subset(ctx context.Context, names []string) (File, error) {
	if len(names) == len(s.manifest.Images) && !slices.ContainsFunc(s.manifest.Images, func(im Image) bool { return !slices.Contains(names, im.Name) }) {
		return s.File(ImagesName)
	}
	src, err := s.Open(ImagesName)
	if err != nil {
		return File{}, err
	}
	defer src.Close()
	ra, ok := src.(io.ReaderAt)
	if !ok {
		return File{}, fault("bundle.read", errors.New("cannot be read at random"), "member", ImagesName)
	}
	m, _ := s.manifest.Member(ImagesName)
	arch, err := image.NewArchive(ctx, ra, m.Size)
	if err != nil {
		return File{}, err
	}
	layout, err := arch.Subset(names)
	if err != nil {
		return File{}, err
	}
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
		if sum, err = writeSubset(ctx, file, layout, arch); err != nil {
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
