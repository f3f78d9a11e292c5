package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

// The cache directory:
//
//	files/HOST/PATH                    what https://HOST/PATH answers
//	registry/blobs/sha256/HEX          blobs and manifests of all images
//	registry/refs/REPOSITORY/TAG       the digest that a tag stands for
//	debian/…                           packages and indexes of the mirror that never change
//	stamps/JOB.json                    what a finished job made, and from what; written last
//	work/, lock
const (
	filesDir  = "files"
	blobsDir  = "registry/blobs/sha256"
	refsDir   = "registry/refs"
	debianDir = "debian"
	stampsDir = "stamps"
)

// DefaultDir is $EGGO_LAB_DIR/upstream, or upstream in eggo-lab of the user's cache directory.
func DefaultDir() (string, error) {
	if d := os.Getenv("EGGO_LAB_DIR"); d != "" {
		return filepath.Join(d, "upstream"), nil
	}
	c, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(c, "eggo-lab", "upstream"), nil
}

// stamp says that a job is done.
type stamp struct {
	Key string `json:"key"` // recipe and everything that it depends on
	// path in the cache directory: size in bytes, -1 for a file that other jobs rewrite
	Files map[string]int64 `json:"files"`
}

func stampPath(dir, id string) string { return filepath.Join(dir, stampsDir, id+".json") }

// fresh says whether the job id was finished with that key and all of what it made is still there.
func fresh(dir, id, key string) bool {
	b, err := os.ReadFile(stampPath(dir, id))
	if err != nil {
		return false
	}
	var s stamp
	if json.Unmarshal(b, &s) != nil || s.Key != key || len(s.Files) == 0 {
		return false
	}
	for f, size := range s.Files {
		st, err := os.Stat(filepath.Join(dir, f))
		if err != nil || size >= 0 && st.Size() != size {
			return false
		}
	}
	return true
}

// finish writes the stamp of a job that made files.
func finish(dir, id, key string, files []string, shared ...string) error {
	s := stamp{Key: key, Files: map[string]int64{}}
	for _, f := range files {
		st, err := os.Stat(filepath.Join(dir, f))
		if err != nil {
			return err
		}
		s.Files[f] = st.Size()
	}
	for _, f := range shared {
		s.Files[f] = -1
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(stampPath(dir, id), append(b, '\n'))
}

// writeFile writes a file with its directories, atomically.
func writeFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return renameio.WriteFile(path, b, 0o644)
}

// place moves a finished file to where it is served.
func place(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// urlPath is where the answer to a URL of upstream lies, relative to the cache directory.
func urlPath(url string) (string, error) {
	_, rest, ok := strings.Cut(url, "://")
	p := filepath.Join(filesDir, filepath.FromSlash(rest))
	if !ok || strings.Contains(rest, "?") || !filepath.IsLocal(filepath.FromSlash(rest)) {
		return "", fmt.Errorf("not a plain URL of a file: %s", url)
	}
	return p, nil
}

// lock waits until no other build uses the cache; waiting is called once if there is one.
func lock(ctx context.Context, dir string, waiting func()) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, "lock"))
	ok, err := l.TryLock()
	if err == nil && !ok {
		waiting()
		_, err = l.TryLockContext(ctx, 500*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Path(), err)
	}
	return l, nil
}

// removeLeftovers takes away the temporary directories of interrupted builds; the lock must be held.
func removeLeftovers(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "tmp-*"))
	for _, d := range old {
		err = errors.Join(err, os.RemoveAll(d))
	}
	return err
}

// exists says whether a regular file is there.
func exists(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && !errors.Is(err, fs.ErrNotExist)
}
