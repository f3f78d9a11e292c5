package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// inside looks into a node through its PID 1.
type inside struct {
	ctx context.Context
	pid int
}

func (n inside) root() string { return fmt.Sprintf("/proc/%d/root", n.pid) }

func (n inside) node(name string, args ...string) (string, error) {
	c := program(n.ctx, "nsenter", append([]string{"--all", "--target", strconv.Itoa(n.pid), "--", name}, args...)...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	return c.output()
}

// net runs a program of this machine.
func (n inside) net(name string, args ...string) (string, error) {
	return program(n.ctx, "nsenter", append([]string{"--net", "--target", strconv.Itoa(n.pid), "--", name},
		args...)...).output()
}

func (n inside) files() ([]Entry, error) {
	root := n.root()
	var top syscall.Stat_t
	if err := syscall.Stat(root+"/", &top); err != nil {
		return nil, err
	}
	var entries []Entry
	err := filepath.WalkDir(root+"/", func(path string, d fs.DirEntry, err error) error {
		name := "/" + strings.TrimLeft(strings.TrimPrefix(path, root), "/")
		if excluded(name) {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if os.IsNotExist(err) {
			return nil // it went away while we walked
		}
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return ignoreGone(err)
		}
		value, err := describe(path, st)
		if err != nil {
			return ignoreGone(err)
		}
		if st.Dev != top.Dev {
			if d.IsDir() {
				return fs.SkipDir // something mounted: see mounts
			}
			return nil
		}
		entries = append(entries, Entry{name, value})
		return nil
	})
	return entries, err
}

func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// describe says what a file is: its kind, mode, owner and content.
func describe(path string, st syscall.Stat_t) (string, error) {
	kind, content := "other", ""
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		kind = "file"
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
		content = hex.EncodeToString(h.Sum(nil))
	case syscall.S_IFDIR:
		kind = "dir"
	case syscall.S_IFLNK:
		kind = "link"
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		content = "-> " + target
	case syscall.S_IFCHR, syscall.S_IFBLK:
		kind, content = "device", fmt.Sprint(st.Rdev)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %04o %d:%d %s", kind, st.Mode&0o7777, st.Uid, st.Gid, content)), nil
}

func (n inside) close() error { return nil }

func (n inside) read(path string) (string, error) {
	text, err := os.ReadFile(n.root() + path)
	return string(text), err
}

func (n inside) proc(path string) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", n.pid, path))
	return string(text), err
}

func (n inside) processes() ([]Entry, error) {
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", n.pid))
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, file := range names {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		ns, err := os.Readlink(filepath.Join(filepath.Dir(file), "ns/pid"))
		if name := strings.TrimSpace(string(text)); err == nil && ns == namespace && stays(name) {
			entries = append(entries, Entry{name, ""})
		}
	}
	return entries, nil
}
