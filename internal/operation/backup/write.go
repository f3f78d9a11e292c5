package backup

import (
	"archive/tar"
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
	"strings"
	"syscall"
	"time"

	"filippo.io/age"
	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Source is where a member comes from.
type Source struct{ Path, File string }

// Sources are the members that the directory of a cluster has, and the snapshot beside it. What it does not have, such
// as a kubeconfig that was removed, is not in the backup, nor are files that are not Eggo's. A link below pki is
// refused: what it leads to would be missing, and nobody would notice before the backup is needed.
func Sources(dir, snapshot string) ([]Source, error) {
	out := []Source{{Snapshot, snapshot}}
	for _, name := range []string{Config, AdminConf, KnownHosts} {
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, event.NewFault(event.ClassFailed, "state.read", err)
		case !info.Mode().IsRegular():
			return nil, irregular(file)
		}
		out = append(out, Source{name, file})
	}
	root := filepath.Join(dir, PKI)
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return irregular(file)
		}
		rel, err := filepath.Rel(root, file)
		if name := path.Join(PKI, filepath.ToSlash(rel)); err == nil && belongs(name) {
			out = append(out, Source{name, file})
		}
		return err
	})
	if f := event.AsFault(err); f != nil && f.Code == "backup.irregular" {
		return nil, err
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return out, nil
}

func irregular(file string) error {
	return event.NewFault(event.ClassUsage, "backup.irregular", nil, "path", file)
}

// Write writes a backup to a new file with mode 0600: whole or not at all. The files of the manifest are filled in;
// progress is told how many bytes of how many are done.
func Write(
	ctx context.Context, file string, m Manifest, sources []Source, l Lock, progress func(done, total int64),
) error {
	fault := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return event.NewFault(event.ClassFailed, "backup.write", err, "path", file)
	}
	m.Format = Format
	m.Files = nil
	for _, s := range sources {
		f, err := sum(ctx, s)
		if err != nil {
			return fault(err)
		}
		m.Files = append(m.Files, f)
	}
	if name := lacking(m.Files); name != "" {
		return event.NewFault(event.ClassFailed, "backup.incomplete", nil, "name", name)
	}
	clean(file)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fault(err)
	}
	out, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o600), renameio.WithTempDir(filepath.Dir(file)),
		renameio.IgnoreUmask())
	if err != nil {
		return fault(err)
	}
	defer out.Cleanup() //nolint:errcheck // nothing is left of it after CloseAtomicallyReplace
	// It is somebody's: see clean.
	_ = syscall.Flock(int(out.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err := encode(ctx, out, m, sources, l, progress); err != nil {
		return fault(err)
	}
	if err := out.CloseAtomicallyReplace(); err != nil {
		return fault(err)
	}
	if err := syncDir(filepath.Dir(file)); err != nil { // before others are removed for it
		return fault(err)
	}
	return nil
}

// syncDir has a directory written to the disk, as far as its file system knows how.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// clean removes what backups of the same cluster have left in the directory of a file that were killed: nobody has
// locked it.
func clean(file string) {
	own := named.FindStringSubmatch(filepath.Base(file))
	if own == nil || own[4] == "" {
		return
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return
	}
	for _, e := range entries {
		name := strings.TrimRight(e.Name(), "0123456789")
		m := named.FindStringSubmatch(strings.TrimPrefix(name, "."))
		if m == nil || name[0] != '.' || name == e.Name() || m[1] != own[1] || m[4] != own[4] || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(filepath.Dir(file), e.Name())
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(path) // else the next one does it
		}
		f.Close()
	}
}

// sum is what the manifest says of a member.
func sum(ctx context.Context, s Source) (File, error) {
	f, err := os.Open(s.File)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, reader{ctx, f, nil})
	return File{s.Path, n, hex.EncodeToString(h.Sum(nil))}, err
}

// encode writes the tar, compressed and encrypted. The end of each layer is written by its Close.
func encode(
	ctx context.Context, to io.Writer, m Manifest, sources []Source, l Lock, progress func(done, total int64),
) error {
	locked, err := age.Encrypt(to, l.to...)
	if err != nil {
		return err
	}
	packed, err := zstd.NewWriter(locked)
	if err != nil {
		return err
	}
	t := tar.NewWriter(packed)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := member(t, ManifestName, m.At, int64(len(text)), bytes.NewReader(text)); err != nil {
		return err
	}
	done, total := int64(0), m.size()
	for i, s := range sources {
		f, err := os.Open(s.File)
		if err != nil {
			return err
		}
		src, h := reader{ctx, f, func(n int64) { done += n; progress(done, total) }}, sha256.New()
		err = member(t, s.Path, m.At, m.Files[i].Size, io.TeeReader(src, h))
		f.Close()
		if err != nil {
			return err
		}
		if hex.EncodeToString(h.Sum(nil)) != m.Files[i].SHA256 {
			return fmt.Errorf("%s changed while it was read", s.Path)
		}
	}
	return errors.Join(t.Close(), packed.Close(), locked.Close())
}

// member writes one. A file that has become longer in the meantime is refused by the tar, and one that has become
// shorter by its end.
func member(t *tar.Writer, name string, at time.Time, size int64, src io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size, ModTime: at, Format: tar.FormatPAX}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, src)
	return err
}

// reader ends with ctx, and tells how much was read.
type reader struct {
	ctx  context.Context
	r    io.Reader
	read func(n int64)
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if r.read != nil {
		r.read(int64(n))
	}
	return n, err
}
