package phasestest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Copy makes machines under dir in the state of l's, with what its API and its etcd hold. Nobody may be changing l
// meanwhile; l need not serve any more. It costs a hundredth of the deploy that it spares.
func (l *Lab) Copy(dir string) (*Lab, error) {
	c, err := assemble(dir, l.shape)
	if err != nil {
		return nil, err
	}
	if err := copyTree(l.Dir, dir); err != nil {
		return nil, err
	}
	for name, n := range l.Nodes {
		c.Nodes[name].seen = n.Commands()
	}
	if err := c.serve(); err != nil {
		c.Close()
		return nil, err
	}
	l.API.mu.Lock()
	for path, o := range l.API.store {
		c.API.store[path] = clone(o)
	}
	for path, o := range l.API.applied {
		c.API.applied[path] = clone(o)
	}
	c.API.version, c.API.era, c.API.budget, c.API.writes = l.API.version, l.API.era, l.API.budget,
		slices.Clone(l.API.writes)
	l.API.mu.Unlock()
	l.Etcd.mu.Lock()
	for _, m := range l.Etcd.list {
		own := *m
		c.Etcd.list = append(c.Etcd.list, &own)
	}
	c.Etcd.next, c.Etcd.data, c.Etcd.asked = l.Etcd.next, l.Etcd.data, slices.Clone(l.Etcd.asked)
	c.Etcd.leader = l.Etcd.leader
	l.Etcd.mu.Unlock()
	return c, c.publish()
}

// copyTree copies a directory. Where a file or a link names the directory, the copy names its own: scripts write the
// paths of their node's root.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			return os.Symlink(strings.Replace(target, from+"/", to+"/", 1), at)
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			if err := os.MkdirAll(at, 0o700); err != nil {
				return err
			}
			return os.Chmod(at, i.Mode())
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.WriteFile(at, bytes.ReplaceAll(data, []byte(from+"/"), []byte(to+"/")), 0o600); err != nil {
			return err
		}
		return os.Chmod(at, i.Mode())
	})
}
