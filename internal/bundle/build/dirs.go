package build

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/bundle/spec"
)

// specFor is the spec for an architecture, with the files of its directories among the other files. They are listed
// once: a file that comes or goes while a build runs is no part of it.
func (b *builder) specFor(arch string) (*spec.Spec, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.specs[arch]; s != nil {
		return s, nil
	}
	s := b.Spec.For(arch)
	files := append([]spec.Binary(nil), s.Files...)
	for _, d := range s.Dirs {
		list, err := filesOf(d)
		if err != nil {
			return nil, fileFault(d.Path, err)
		}
		files = append(files, list...)
	}
	s.Files = files
	b.specs[arch] = s
	return s, nil
}

// filesOf lists a directory. A file that its owner may execute is 0755 on the nodes, another 0644; links are refused,
// for what they lead to is somebody else's. A directory without files would vanish in silence.
func filesOf(d spec.Dir) ([]spec.Binary, error) {
	root, err := filepath.EvalSymlinks(d.Path.File) // the spec may name a link; below it there are none
	if err != nil {
		return nil, err
	}
	var out []spec.Binary
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		x := spec.Binary{Name: d.Name + "/" + filepath.ToSlash(rel), Dir: d.Name, Dst: d.Dst, Mode: 0o644,
			Roles: d.Roles,
			Path:  spec.Path{Name: filepath.Join(d.Path.Name, rel), File: filepath.Join(d.Path.File, rel)}}
		if info.Mode().Perm()&0o100 != 0 {
			x.Mode = 0o755
		}
		out = append(out, x)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = errors.New("no files in it")
	}
	return out, err
}
