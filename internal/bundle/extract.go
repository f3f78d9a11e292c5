package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Extract unpacks what a bundle carries into dir, as tar -xzf would, but verified while it is read, all or nothing: dir
// appears when everything is on the disk. Files are 0644, programs 0755, directories 0755; owners and times are those
// of the writer. A dir that is there may be empty, or hold exactly this bundle, which is then compared and left alone.
// Faults beside those of Verify: "bundle.extract-exists", "bundle.extract-space", "bundle.write".
func Extract(ctx context.Context, file, dir string, progress func(done, total int64), opts ...Option) (*Report, error) {
	r, err := extract(ctx, file, dir, progress, gather(opts))
	if f := asBundleFault(err); f != nil && f.Code == "bundle.no-space" {
		err = fault("bundle.extract-space", f.Err, "member", f.Args["member"], "dir", dir)
	}
	return r, inFile(file, err)
}

func extract(ctx context.Context, file, dir string, progress func(done, total int64), opts options) (*Report, error) {
	empty := true
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil:
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, storeFault(err, "")
		}
		empty = len(entries) == 0
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault("bundle.extract-exists", pathless(err), "dir", dir)
	}
	if !empty {
		return compare(ctx, file, dir, progress, opts)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, storeFault(err, "")
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".eggo-*")
	if err != nil {
		return nil, storeFault(err, "")
	}
	defer os.RemoveAll(temp) // nothing is left of it when it was renamed
	root, err := os.OpenRoot(temp)
	if err != nil {
		return nil, storeFault(err, "")
	}
	defer root.Close()
	r, err := pass(ctx, file, progress, rootSink{root}, opts)
	if err != nil {
		return nil, err
	}
	if err := modes(root, r.manifest); err != nil {
		return nil, storeFault(err, "")
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault("bundle.extract-exists", pathless(err), "dir", dir)
	}
	if err := os.Rename(temp, dir); err != nil {
		return nil, storeFault(err, "")
	}
	return r.report, nil
}

// modes opens up what was written privately: programs may be run, everything may be read. No other bit comes from the
// bundle. The files are on the disk already, the directories are when it returns.
func modes(root *os.Root, m *Manifest) error {
	run := map[string]bool{}
	for _, e := range m.Members {
		run[e.Path] = e.Kind == Binary && e.Mode == 0 || e.Mode&0o111 != 0
	}
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() || run[p] {
			mode = 0o755
		}
		if err := root.Chmod(p, mode); err != nil || !d.IsDir() {
			return err
		}
		f, err := root.Open(p)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// compare holds a directory against the bundle byte by byte.
func compare(ctx context.Context, file, dir string, progress func(done, total int64), opts options) (*Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, storeFault(err, "")
	}
	defer root.Close()
	same := &sameSink{root: root, dir: dir, dirs: map[string]bool{".": true}, files: map[string]bool{}}
	r, err := pass(ctx, file, progress, same, opts)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && !same.dirs[p] || !d.IsDir() && !same.files[p] {
			return same.differs(p)
		}
		return nil
	})
	if err != nil && asBundleFault(err) == nil {
		err = fault("bundle.extract-exists", pathless(err), "dir", dir)
	}
	if err != nil {
		return nil, err
	}
	return r.report, nil
}

// sameSink reads what is there instead of writing.
type sameSink struct {
	root  *os.Root
	dir   string
	dirs  map[string]bool
	files map[string]bool
}

func (s *sameSink) differs(member string) error {
	return fault("bundle.extract-exists", fmt.Errorf("%s", member), "dir", s.dir)
}

func (s *sameSink) create(member string) (io.Writer, func() error, error) {
	st, err := s.root.Lstat(member)
	if err != nil || !st.Mode().IsRegular() {
		return nil, nil, s.differs(member)
	}
	f, err := s.root.Open(member)
	if err != nil {
		return nil, nil, s.differs(member)
	}
	s.files[member] = true
	for d := path.Dir(member); d != "."; d = path.Dir(d) {
		s.dirs[d] = true
	}
	w := &comparing{f: f}
	return w, func() error {
		n, err := f.Read(make([]byte, 1))
		f.Close()
		if w.differs || n > 0 || !errors.Is(err, io.EOF) {
			return s.differs(member)
		}
		return nil
	}, nil
}

// comparing remembers whether what is written is what the file has; the reading goes on, so that a damaged bundle is
// told as such.
type comparing struct {
	f       io.Reader
	buf     []byte
	differs bool
}

func (c *comparing) Write(p []byte) (int, error) {
	if !c.differs {
		if len(c.buf) < len(p) {
			c.buf = make([]byte, len(p))
		}
		n, err := io.ReadFull(c.f, c.buf[:len(p)])
		c.differs = err != nil || !bytes.Equal(c.buf[:n], p)
	}
	return len(p), nil
}
