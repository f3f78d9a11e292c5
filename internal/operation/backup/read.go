package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Limits of what is read before it is known to be right: a backup may be encrypted for a public key by anybody.
const (
	maxManifest = 8 << 20
	maxFiles    = 100_000
	maxWindow   = 64 << 20
	maxTail     = 1 << 20 // after the last member: zeros without end are a small file
)

var (
	errNoIdentity = errors.New("it has no private key of age")
	errSum        = errors.New("a checksum does not match")
	errMembers    = errors.New("its members are not those of its manifest")
)

// Extract decrypts a backup into an empty directory and compares every member with the manifest. With an error the
// directory has to be removed. The faults:
//
//	backup.unreadable    the file cannot be read
//	backup.not-one       it is no backup
//	backup.wrong-key     the passphrase or the private key is another one
//	backup.damaged       it is truncated or was changed
//	backup.newer-format  a newer version of Eggo wrote it
//	backup.space         the directory has not enough space
//	backup.extract       it cannot be written to the directory
func Extract(ctx context.Context, file, dir string, k Key, progress func(done, total int64)) (*Manifest, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, event.NewFault(event.ClassPreflight, "backup.unreadable", err, "path", file)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, event.NewFault(event.ClassPreflight, "backup.unreadable", err, "path", file)
	}
	m, err := extract(ctx, f, dir, k, progress)
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, new(*event.Fault)):
		return nil, err
	}
	return nil, event.NewFault(event.ClassPreflight, "backup.damaged", err, "path", file)
}

// extract gives a fault, or the error of a damaged file.
func extract(ctx context.Context, f *os.File, dir string, k Key, progress func(done, total int64)) (*Manifest, error) {
	path := f.Name()
	plain, err := age.Decrypt(reader{ctx, f, nil}, k.with...)
	if no := (*age.NoIdentityMatchError)(nil); errors.As(err, &no) {
		return nil, event.NewFault(event.ClassUsage, "backup.wrong-key", nil, "path", path)
	}
	if err != nil {
		return nil, event.NewFault(event.ClassPreflight, "backup.not-one", err, "path", path)
	}
	z, err := zstd.NewReader(plain, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	t := tar.NewReader(z)
	m, err := manifest(t, path)
	if err != nil {
		return nil, err
	}
	if err := space(dir, m.size()); err != nil {
		return nil, err
	}
	done, total := int64(0), m.size()
	for _, want := range m.Files {
		h, err := t.Next()
		if err != nil {
			return nil, err
		}
		if h.Name != want.Path || h.Typeflag != tar.TypeReg || h.Size != want.Size {
			return nil, errMembers
		}
		src := reader{ctx, t, func(n int64) { done += n; progress(done, total) }}
		if err := extractOne(src, filepath.Join(dir, filepath.FromSlash(want.Path)), want); err != nil {
			return nil, err
		}
	}
	if _, err := t.Next(); !errors.Is(err, io.EOF) {
		return nil, errMembers
	}
	// To the end: the last chunk is what a truncated file lacks.
	if n, err := io.Copy(io.Discard, reader{ctx, io.LimitReader(z, maxTail+1), nil}); err != nil {
		return nil, err
	} else if n > maxTail {
		return nil, errMembers
	}
	return m, nil
}

// manifest reads the first member of the file of a path.
func manifest(t *tar.Reader, path string) (*Manifest, error) {
	h, err := t.Next()
	if err != nil {
		return nil, err
	}
	if h.Name != ManifestName || h.Size > maxManifest {
		return nil, event.NewFault(event.ClassPreflight, "backup.not-one", errMembers, "path", path)
	}
	text, err := io.ReadAll(t)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		var version struct{ Format int }
		if json.Unmarshal(text, &version) != nil || version.Format <= Format {
			return nil, err
		}
		m.Format = version.Format
	}
	if m.Format > Format {
		return nil, event.NewFault(event.ClassPreflight, "backup.newer-format", nil, "path", path,
			"format", strconv.Itoa(m.Format), "known", strconv.Itoa(Format), "version", event.Clean(m.Program))
	}
	seen, sum := map[string]bool{}, int64(0)
	for _, f := range m.Files {
		if !belongs(f.Path) || seen[f.Path] || f.Size < 0 || f.Size > math.MaxInt64-sum {
			return nil, fmt.Errorf("%w: %q", errMembers, f.Path)
		}
		seen[f.Path] = true
		sum += f.Size
	}
	if name := lacking(m.Files); name != "" {
		return nil, fmt.Errorf("%w: no %s", errMembers, name)
	}
	if len(m.Files) > maxFiles || !filepath.IsLocal(m.Cluster) || filepath.Base(m.Cluster) != m.Cluster ||
		m.Cluster[0] == '.' { // which is no cluster's, but a directory of the store
		return nil, errMembers
	}
	return &m, nil
}

// space refuses what does not fit.
func space(dir string, size int64) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return event.NewFault(event.ClassFailed, "backup.extract", err, "dir", dir)
	}
	if free := int64(s.Bavail) * s.Bsize; free < size {
		return event.NewFault(event.ClassPreflight, "backup.space", nil, "dir", dir,
			"size", strconv.FormatInt(size, 10), "free", strconv.FormatInt(free, 10))
	}
	return nil
}

// extractOne writes a member with mode 0600, in directories with mode 0700.
func extractOne(src io.Reader, to string, want File) error {
	fault := func(err error) error {
		return event.NewFault(event.ClassFailed, "backup.extract", err, "dir", filepath.Dir(to))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fault(err)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault(err)
	}
	h := sha256.New()
	w := &writer{w: f}
	_, err = io.Copy(io.MultiWriter(w, h), src)
	if end := errors.Join(f.Sync(), f.Close()); w.err == nil {
		w.err = end
	}
	switch {
	case w.err != nil:
		return fault(w.err)
	case err != nil:
		return err
	case hex.EncodeToString(h.Sum(nil)) != want.SHA256:
		return errSum
	}
	return nil
}

// writer keeps its error: it is the disk's, and not that of the backup.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}
