package fetch

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// stalePartial is how long a download that was cut off is kept for another run, if PruneOptions do not say less.
const stalePartial = 7 * 24 * time.Hour

// PruneOptions say what goes. With none set, only what no build will use again does: temporary files that a killed
// process left, and partial downloads older than a week.
type PruneOptions struct {
	MaxAge  time.Duration // what was not used for longer; 0: no limit
	MaxSize int64         // bytes that may stay, the most recently used; 0: no limit
	All     bool          // everything
}

// PruneResult counts what was removed and what stayed; bytes are the files' lengths.
type PruneResult struct {
	Files, KeptFiles int
	Bytes, KeptBytes int64
}

// cacheFile is a file with a name of ours.
type cacheFile struct {
	path string
	size int64
	used time.Time
	kind string // its directory
}

// pair makes one of a partial file and the origin beside it, and says false for the origin's own turn. An origin that
// was left alone is of no use.
func (f *cacheFile) pair() bool {
	if data, ok := strings.CutSuffix(f.path, ".json"); ok {
		_, err := os.Lstat(data)
		f.kind = tempDir
		return err != nil
	}
	if st, err := os.Lstat(f.path + ".json"); err == nil {
		f.size += st.Size()
	}
	return true
}

// rank puts first what goes anyway.
func (f cacheFile) rank() int {
	if f.kind == tempDir {
		return 0
	}
	return 1
}

// files lists what is ours in the cache, by name alone: what others have put there is not touched.
func (c *Cache) files(ctx context.Context) ([]cacheFile, error) {
	var all []cacheFile
	for _, kind := range []string{tempDir, partialDir, entriesDir} {
		list, err := os.ReadDir(filepath.Join(c.dir, kind))
		if err != nil {
			return nil, diskFault(err, c.dir)
		}
		for _, e := range list {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			ours := validSum(e.Name()) || kind == partialDir && validSum(strings.TrimSuffix(e.Name(), ".json"))
			if kind == tempDir {
				ours = strings.HasPrefix(e.Name(), tempPrefix)
			}
			st, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, diskFault(err, c.dir)
			}
			if !ours || !st.Mode().IsRegular() {
				continue
			}
			f := cacheFile{filepath.Join(c.dir, kind, e.Name()), st.Size(), st.ModTime(), kind}
			if kind == partialDir && !f.pair() {
				continue
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// Size is what the cache holds, in bytes, partial downloads included.
func (c *Cache) Size(ctx context.Context) (int64, error) {
	all, err := c.files(ctx)
	n := int64(0)
	for _, f := range all {
		n += f.size
	}
	return n, err
}

// Prune removes what o says, the least recently used first. While a build uses the cache (Use), in any process, it
// removes nothing and returns the fault "fetch.cache-busy", class locked. A download under way is never touched, even
// if its build does not hold Use.
func (c *Cache) Prune(ctx context.Context, o PruneOptions, now time.Time) (PruneResult, error) {
	var res PruneResult
	lock, err := c.useLock()
	if err != nil {
		return res, err
	}
	defer lock.Close()
	if ok, err := tryLock(lock, exclusive); err != nil {
		return res, diskFault(err, c.dir)
	} else if !ok {
		return res, event.NewFault(event.ClassLocked, "fetch.cache-busy", nil, "dir", c.dir)
	}
	all, err := c.files(ctx)
	if err != nil {
		return res, err
	}
	for _, f := range all {
		res.KeptFiles++
		res.KeptBytes += f.size
	}
	slices.SortFunc(all, func(a, b cacheFile) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.used.Compare(b.used), cmp.Compare(a.path, b.path))
	})
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		if !o.removes(f, now, res.KeptBytes) {
			continue
		}
		gone, err := remove(f)
		if err != nil {
			return res, diskFault(err, c.dir)
		}
		if gone {
			res.Files++
			res.Bytes += f.size
			res.KeptFiles--
			res.KeptBytes -= f.size
		}
	}
	return res, nil
}

func (o PruneOptions) removes(f cacheFile, now time.Time, kept int64) bool {
	age := now.Sub(f.used)
	switch {
	case o.All || f.kind == tempDir, o.MaxAge > 0 && age > o.MaxAge, o.MaxSize > 0 && kept > o.MaxSize:
		return true
	}
	return f.kind == partialDir && age > stalePartial
}

// remove says whether it removed the file: one that is being written is locked, and one that has gone already is not
// counted.
func remove(f cacheFile) (bool, error) {
	if f.kind != entriesDir {
		h, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return false, err
		default:
			defer h.Close()
			if ok, err := tryLock(h, exclusive); err != nil || !ok {
				return false, err
			}
		}
	}
	if f.kind == partialDir {
		if err := os.Remove(f.path + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	err := os.Remove(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
