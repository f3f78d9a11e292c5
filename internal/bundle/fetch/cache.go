// Package fetch gets files over HTTP into a cache by digest: with mirrors, retries, resume inside a body and progress. Nothing is held
// in memory and nothing enters the cache that was not hashed on the way.
package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Blob is a file in the cache. SHA256 is lower-case hex, Size in bytes.
type Blob struct {
	SHA256 string
	Size   int64
}

// Cache holds files under their sha256. A file appears there whole or not at all; it is verified again whenever it is read.
type Cache struct{ dir string }

// OpenCache makes the cache's directories where they are missing.
func OpenCache(dir string) (*Cache, error) {
	for _, d := range []string{"sha256", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, event.NewFault(event.ClassFailed, "fetch.cache", err, "dir", dir)
		}
	}
	return &Cache{dir}, nil
}

// DefaultDir is the cache's place when none is named: eggo/bundle below the user's cache directory ($XDG_CACHE_HOME).
func DefaultDir() (string, error) {
	d, err := os.UserCacheDir()
	if err != nil {
		return "", event.NewFault(event.ClassFailed, "fetch.cache", err, "dir", "")
	}
	return filepath.Join(d, "eggo", "bundle"), nil
}

func validSum(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func (c *Cache) path(sum string) string { return filepath.Join(c.dir, "sha256", sum) }

// Find says whether the cache has a file with that sum, by name and size; its content is verified when it is read. size < 0 means any.
func (c *Cache) Find(sum string, size int64) (Blob, bool) {
	if !validSum(sum) {
		return Blob{}, false
	}
	st, err := os.Stat(c.path(sum))
	if err != nil || !st.Mode().IsRegular() || size >= 0 && st.Size() != size {
		return Blob{}, false
	}
	return Blob{sum, st.Size()}, true
}

// Open reads a file of the cache, verifying it: the last Read fails with the fault "fetch.cache-damaged" when the content is not what
// its name says, and the file is removed so that the next build fetches it again.
func (c *Cache) Open(b Blob) (io.ReadCloser, error) {
	f, err := os.Open(c.path(b.SHA256))
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "fetch.cache", err, "dir", c.dir)
	}
	return &verified{f: f, want: b, h: sha256.New()}, nil
}

type verified struct {
	f    *os.File
	want Blob
	h    hash.Hash
	n    int64
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.f.Read(p)
	v.h.Write(p[:n])
	v.n += int64(n)
	if v.n > v.want.Size {
		return 0, v.damaged()
	}
	if errors.Is(err, io.EOF) && (v.n != v.want.Size || hex.EncodeToString(v.h.Sum(nil)) != v.want.SHA256) {
		return 0, v.damaged()
	}
	return n, err
}

func (v *verified) damaged() error {
	os.Remove(v.f.Name())
	return event.NewFault(event.ClassFailed, "fetch.cache-damaged", nil, "file", v.f.Name())
}

func (v *verified) Close() error { return v.f.Close() }

// Put stores what r yields, at most limit bytes.
func (c *Cache) Put(r io.Reader, limit int64) (Blob, error) {
	w, err := c.create()
	if err != nil {
		return Blob{}, err
	}
	defer w.discard()
	n, err := io.Copy(w, io.LimitReader(r, limit+1))
	if err != nil {
		return Blob{}, diskFault(err, c.dir)
	}
	if n > limit {
		return Blob{}, event.NewFault(event.ClassFailed, "fetch.oversize", nil, "limit", fmt.Sprint(limit))
	}
	return w.commit()
}

// writer is a file on its way into the cache.
type writer struct {
	c *Cache
	f *os.File
	h hash.Hash
	n int64
}

func (c *Cache) create() (*writer, error) {
	f, err := os.CreateTemp(filepath.Join(c.dir, "tmp"), "part-*")
	if err != nil {
		return nil, diskFault(err, c.dir)
	}
	return &writer{c: c, f: f, h: sha256.New()}, nil
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.h.Write(p[:n])
	w.n += int64(n)
	if err != nil {
		err = localError{err}
	}
	return n, err
}

// reset forgets what was written, for a server that starts over.
func (w *writer) reset() error {
	if _, err := w.f.Seek(0, io.SeekStart); err != nil {
		return localError{err}
	}
	if err := w.f.Truncate(0); err != nil {
		return localError{err}
	}
	w.h.Reset()
	w.n = 0
	return nil
}

func (w *writer) sum() string { return hex.EncodeToString(w.h.Sum(nil)) }

func (w *writer) commit() (Blob, error) {
	b := Blob{w.sum(), w.n}
	err := errors.Join(w.f.Sync(), w.f.Close())
	if err == nil {
		err = os.Rename(w.f.Name(), w.c.path(b.SHA256))
	}
	if err != nil {
		return Blob{}, diskFault(err, w.c.dir)
	}
	w.f = nil
	return b, nil
}

func (w *writer) discard() {
	if w.f != nil {
		w.f.Close()
		os.Remove(w.f.Name())
	}
}

// localError is one of this machine's disk, not of the network: no retry mends it.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

func diskFault(err error, dir string) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return err
	}
	code := "fetch.cache"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = "fetch.no-space"
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassFailed, code, err, "dir", dir)
}

// File opens a file of the cache for reading at random, unverified: for a look at its head, not for packing.
func (c *Cache) File(b Blob) (*os.File, error) {
	f, err := os.Open(c.path(b.SHA256))
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "fetch.cache", err, "dir", c.dir)
	}
	return f, nil
}
