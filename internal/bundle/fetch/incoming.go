package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// incoming is a file on its way into the cache, written from its beginning to its end and hashed on the way. It is
// locked.
type incoming struct {
	c *Cache
	f *os.File
	h hash.Hash
	n int64 // bytes that are there, written and hashed
}

func (c *Cache) create() (*incoming, error) {
	f, err := os.CreateTemp(filepath.Join(c.dir, tempDir), tempPrefix+"*")
	if err != nil {
		return nil, diskFault(err, c.dir)
	}
	if _, err := tryLock(f, exclusive); err != nil { // so that Prune sees that it is in use
		f.Close()
		os.Remove(f.Name())
		return nil, diskFault(err, c.dir)
	}
	return &incoming{c: c, f: f, h: sha256.New()}, nil
}

func (w *incoming) Write(p []byte) (int, error) {
	n, err := w.f.WriteAt(p, w.n)
	w.h.Write(p[:n])
	w.n += int64(n)
	if err != nil {
		err = localError{err}
	}
	return n, err
}

// reset forgets what was written, for a server that starts over.
func (w *incoming) reset() error {
	if err := w.f.Truncate(0); err != nil {
		return localError{err}
	}
	w.h.Reset()
	w.n = 0
	return nil
}

func (w *incoming) sum() string { return hex.EncodeToString(w.h.Sum(nil)) }

// commit makes it an entry of the cache by renaming it.
func (w *incoming) commit() (Blob, error) {
	b := Blob{w.sum(), w.n}
	if err := os.Rename(w.f.Name(), w.c.path(b.SHA256)); err != nil {
		return Blob{}, diskFault(err, w.c.dir)
	}
	err := w.f.Close() // only now: this gives the lock back
	w.f = nil
	if err != nil {
		os.Remove(w.c.path(b.SHA256))
		return Blob{}, diskFault(err, w.c.dir)
	}
	return b, nil
}

// discard removes what was not committed.
func (w *incoming) discard() {
	if w.f != nil {
		os.Remove(w.f.Name())
		w.f.Close()
		w.f = nil
	}
}

// leave closes it and keeps the file for another run.
func (w *incoming) leave() {
	if w.f != nil {
		w.f.Close()
		w.f = nil
	}
}

// verified reads an entry of the cache and holds it against its name.
type verified struct {
	f    *os.File
	want Blob
	h    hash.Hash
	n    int64
}

func newVerified(f *os.File, b Blob) *verified { return &verified{f: f, want: b, h: sha256.New()} }

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.f.Read(p)
	v.h.Write(p[:n])
	v.n += int64(n)
	if v.n > v.want.Size {
		return 0, v.damaged(nil)
	}
	if errors.Is(err, io.EOF) && (v.n != v.want.Size || hex.EncodeToString(v.h.Sum(nil)) != v.want.SHA256) {
		return 0, v.damaged(nil)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, v.damaged(err) // a bad sector: another copy may lie elsewhere
	}
	return n, err
}

// damaged removes the file, unless another process has put a new one in its place.
func (v *verified) damaged(err error) error {
	here, e1 := v.f.Stat()
	there, e2 := os.Lstat(v.f.Name())
	if e1 == nil && e2 == nil && os.SameFile(here, there) {
		os.Remove(v.f.Name())
	}
	return event.NewFault(event.ClassFailed, "fetch.cache-damaged", err, "file", v.f.Name())
}

func (v *verified) Close() error { return v.f.Close() }
