// Package fetch gets files over HTTP, or from this machine, into a cache by digest: with mirrors, retries, progress,
// many at once, and resume inside a body even after the process was killed. What passes is hashed on the way and handed
// to sinks as it comes. Nothing is held in memory but a buffer a connection, and nothing enters the cache that was not
// hashed.
package fetch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Blob is a file in the cache. SHA256 is lower-case hex, Size in bytes.
type Blob struct {
	SHA256 string
	Size   int64
}

// Cache holds files under their sha256. A file appears there whole or not at all; it is verified again whenever it is
// read. Several processes may use one at once.
//
// In its directory are sha256/<sum>, the files; partial/<sum> and partial/<sum>.json, downloads that were cut off and
// how to go on with them (each locked by who writes it); tmp/, files whose sum is not known yet; and lock, see Use.
//
// Nothing is synced to disk: a file's name is its sum and each read checks it, so what a power cut leaves half written
// is found and fetched again. Syncing each of several hundred files would cost more than fetching them.
type Cache struct{ dir string }

const (
	entriesDir = "sha256"
	partialDir = "partial"
	tempDir    = "tmp"
	tempPrefix = "part-"
	useFile    = "lock"
)

// OpenCache makes the cache's directories where they are missing. A directory that belongs to another user or that
// everyone may write to is refused with "fetch.cache-unsafe": somebody could put a link there and have us write through
// it, or change a file between the check of its sum and its use.
func OpenCache(dir string) (*Cache, error) {
	for _, d := range []string{"", entriesDir, partialDir, tempDir} {
		p := filepath.Join(dir, d)
		err := os.MkdirAll(p, 0o700)
		if err != nil {
			return nil, diskFault(err, dir)
		}
		stat := os.Lstat
		if d == "" {
			stat = os.Stat // the directory itself may be elsewhere
		}
		st, err := stat(p)
		if err != nil {
			return nil, diskFault(err, dir)
		}
		if err := unsafeDir(st); err != nil {
			return nil, event.NewFault(event.ClassFailed, "fetch.cache-unsafe", err, "dir", p)
		}
	}
	return &Cache{dir}, nil
}

func unsafeDir(st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.IsDir():
		return errors.New("it is no directory")
	case ok && int(sys.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to the user %d", sys.Uid)
	case st.Mode().Perm()&0o002 != 0:
		return errors.New("everyone may write to it")
	}
	return nil
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

func (c *Cache) path(sum string) string { return filepath.Join(c.dir, entriesDir, sum) }

// Find says whether the cache has a file with that sum, by name and size; its content is verified when it is read. size
// < 0 means any.
func (c *Cache) Find(sum string, size int64) (Blob, bool) {
	if !validSum(sum) {
		return Blob{}, false
	}
	st, err := os.Lstat(c.path(sum))
	if err != nil || !st.Mode().IsRegular() || size >= 0 && st.Size() != size {
		return Blob{}, false
	}
	return Blob{sum, st.Size()}, true
}

// touch marks a file as used now, for Prune. The time of access would say that by itself, but most systems do not keep
// it (noatime, relatime); the time of modification means nothing else here, as a file never changes.
func (c *Cache) touch(sum string) { _ = os.Chtimes(c.path(sum), time.Time{}, time.Now()) }

func (c *Cache) open(b Blob) (*os.File, error) {
	if !validSum(b.SHA256) {
		return nil, event.NewFault(event.ClassFailed, "fetch.sum-invalid", nil, "what", "", "sum", b.SHA256)
	}
	f, err := os.OpenFile(c.path(b.SHA256), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "fetch.cache", err, "dir", c.dir)
	}
	c.touch(b.SHA256)
	return f, nil
}

// Open reads a file of the cache, verifying it: the last Read fails with the fault "fetch.cache-damaged" when the
// content is not what its name says, and the file is removed so that the next build fetches it again.
func (c *Cache) Open(b Blob) (io.ReadCloser, error) {
	f, err := c.open(b)
	if err != nil {
		return nil, err
	}
	return newVerified(f, b), nil
}

// File opens a file of the cache for reading at random, unverified: for a look at its head, not for packing.
func (c *Cache) File(b Blob) (*os.File, error) { return c.open(b) }

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

// localError is one of this machine's disk, not of the network: no retry fixes it.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func diskFault(err error, dir string) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return err
	}
	code := "fetch.cache"
	if diskFull(err) {
		code = "fetch.no-space"
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassFailed, code, err, "dir", dir)
}
