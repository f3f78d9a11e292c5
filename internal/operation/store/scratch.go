package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// scratchPrefix begins the names of directories with copies of clusters' files, CA keys among them.
const scratchPrefix = "eggo-copy-"

// scratchYoung is how long a directory is left alone that nobody has locked: its process may be about to.
const scratchYoung = time.Minute

// scratch makes a directory of this process alone. It is locked while the process lives; those of processes that were
// killed are removed first.
func scratch(parent string, now time.Time) (dir string, lock *os.File, err error) {
	left, _ := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	for _, old := range left {
		if i, err := os.Lstat(old); err == nil && ours(i) && now.Sub(i.ModTime()) > scratchYoung {
			removeStale(old)
		}
	}
	if dir, err = os.MkdirTemp(parent, scratchPrefix); err != nil { // 0700
		return "", nil, err
	}
	if lock, err = lockDir(dir); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// ours reports whether it is a directory of this user.
func ours(i fs.FileInfo) bool {
	st, is := i.Sys().(*syscall.Stat_t)
	return i.IsDir() && is && int(st.Uid) == os.Getuid()
}

// removeStale removes a directory whose process has ended; else the next one does it.
func removeStale(dir string) {
	if lock, err := lockDir(dir); err == nil {
		_ = os.RemoveAll(dir)
		lock.Close()
	}
}

func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
