package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"filippo.io/age"
	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Source is where a member comes from.
type Source struct{ Path, File string }

// Sources are the members that the directory of a cluster has, and the snapshot beside it. What it does not have, such
// as a kubeconfig that was removed, is not in the backup; without CAs there is none.
func Sources(dir, snapshot string) ([]Source, error) {
	out := []Source{{Snapshot, snapshot}}
	for _, name := range []string{Config, AdminConf, KnownHosts} {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); err == nil {
			out = append(out, Source{name, file})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, event.NewFault(event.ClassFailed, "state.read", err)
		}
	}
	root := filepath.Join(dir, PKI)
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err == nil && e.Type().IsRegular() {
			out = append(out, Source{path.Join(PKI, filepath.ToSlash(rel)), file})
		}
		return err
	})
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return out, nil
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
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fault(err)
	}
	out, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o600), renameio.WithTempDir(filepath.Dir(file)),
		renameio.IgnoreUmask())
	if err != nil {
		return fault(err)
	}
	defer out.Cleanup() //nolint:errcheck // nothing is left of it after CloseAtomicallyReplace
	if err := encode(ctx, out, m, sources, l, progress); err != nil {
		return fault(err)
	}
	if err := out.CloseAtomicallyReplace(); err != nil {
		return fault(err)
	}
	return nil
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
		src := reader{ctx, f, func(n int64) { done += n; progress(done, total) }}
		err = member(t, s.Path, m.At, m.Files[i].Size, src)
		f.Close()
		if err != nil {
			return err
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
