package cleanup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// Memory is what the jump host has of a cluster's authorities, certificates and kubeconfig at a time, in memory alone:
// they are secret.
type Memory struct {
	dir   string
	files map[string]file // by their paths in dir
}

type file struct {
	mode fs.FileMode
	data string
}

// secrets are the names of what is remembered.
func secrets() []string { return []string{"pki", "admin.conf"} }

// Remember reads what is in a cluster's directory.
func Remember(dir string) (*Memory, error) {
	m := &Memory{dir: dir, files: map[string]file{}}
	for _, name := range secrets() {
		err := filepath.WalkDir(filepath.Join(dir, name), func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			m.files[rel] = file{info.Mode().Perm(), string(data)}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return m, nil
}

// Empty says whether there was nothing.
func (m *Memory) Empty() bool { return len(m.files) == 0 }

// File is what a file had; nil when there was none.
func (m *Memory) File(name string) []byte {
	if f, was := m.files[name]; was {
		return []byte(f.data)
	}
	return nil
}

// Restore makes it what it was, but for some files. A file that is the same is not touched.
func (m *Memory) Restore(except ...string) error {
	now, err := Remember(m.dir)
	if err != nil {
		return err
	}
	for name, was := range m.files {
		if is, there := now.files[name]; there && is == was || slices.Contains(except, name) {
			continue
		}
		path := filepath.Join(m.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := renameio.WriteFile(path, []byte(was.data), was.mode, renameio.IgnoreUmask()); err != nil {
			return err
		}
	}
	for name := range now.files {
		if _, was := m.files[name]; was || slices.Contains(except, name) {
			continue
		}
		if err := os.Remove(filepath.Join(m.dir, name)); err != nil {
			return err
		}
		for d := filepath.Dir(name); d != "."; d = filepath.Dir(d) { // one with something in it stays
			if os.Remove(filepath.Join(m.dir, d)) != nil {
				break
			}
		}
	}
	return nil
}
