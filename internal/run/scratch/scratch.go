// Package scratch makes directories for what a process needs only while it runs: copies, keys, files that are not whole
// yet. What processes that were killed have left is removed when the next directory is made. It imports no other
// package of this module.
package scratch

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// young is the age below which an unlocked directory is kept: its process may be about to lock it.
const young = time.Minute

// name matches what follows the prefix in names that Dir, or os.MkdirTemp, makes.
var name = regexp.MustCompile(`\A(?:[A-Z2-7]{26}|[0-9]+)\z`)

// Dir makes a directory with mode 0700 in parent, with a name that begins with prefix and cannot be guessed. It is
// locked while the process lives, and remove removes it. Those with the prefix whose processes have ended are removed
// first.
func Dir(parent, prefix string, now time.Time) (dir string, remove func() error, err error) {
	Sweep(parent, prefix, now)
	dir = filepath.Join(parent, prefix+rand.Text())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, nil
}

// Sweep removes the directories in parent that processes of this user made with the prefix and did not remove. What
// cannot be removed is left to the next call.
func Sweep(parent, prefix string, now time.Time) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), prefix)
		if !is || !name.MatchString(rest) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if i, err := os.Lstat(dir); err != nil || !ours(i) || now.Sub(i.ModTime()) <= young {
			continue
		}
		if lock, err := lockDir(dir); err == nil {
			_ = os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// ours reports whether it is a directory of this user that others cannot enter.
func ours(i fs.FileInfo) bool {
	st, is := i.Sys().(*syscall.Stat_t)
	return i.IsDir() && i.Mode().Perm()&0o077 == 0 && is && int(st.Uid) == os.Getuid()
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
