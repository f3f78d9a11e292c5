// Package importarchive makes bundles of archives that were packed by hand, as the manual of the original eggo
// describes: packages and images.tar at the root, or pkg, bin, file, dir and image. Nothing of an archive is executed.
// What the archive cannot prove is listed in the manifest. Its messages have codes that begin with "adopt.", as before
// it had this name: codes are an interface.
//
// It may import the packages of internal/bundle.
package importarchive

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options of a Work.
type Options struct {
	Out        string // directory of the bundles
	Name       string // of the bundles
	Arch       string // that the archives must be for; "": read from their content
	Kubernetes string // version, where no binary tells it
	OS         bundle.OS
	Epoch      time.Time // mtime of every member; zero means 1970

	Free func(dir string) (int64, error) // bytes that are free on the disk of a directory; nil: asks the system
}

// Result of Build.
type Result struct {
	*build.Result
	Manifests map[string]*bundle.Manifest // by the path of the bundle
}

// Work makes bundles of archives: New, Read for each archive, Build, Close. It writes to a temporary directory on the
// disk of the bundles, which get their names when all of them are finished: before that, Out is as it was.
type Work struct {
	Options
	dir     string
	lock    *os.File
	sources []*source
}

// Read unpacks an archive and inspects it. Faults are of class bundle (what is wrong with the archive), usage, or
// failed (a file that cannot be written).
func (w *Work) Read(ctx context.Context, file string, progress func(done, total int64)) error {
	s, err := w.read(ctx, file, progress)
	if err != nil {
		return interrupted(ctx, err)
	}
	w.sources = append(w.sources, s)
	return nil
}

// Arches are those of the archives.
func (w *Work) Arches() []string {
	var out []string
	for _, s := range w.sources {
		out = append(out, s.arch)
	}
	return out
}

// Build writes the bundles of the archives that were read; report may be nil. Faults are as those of Read.
func (w *Work) Build(ctx context.Context, report func(build.Event)) (*Result, error) {
	if err := w.distinct(); err != nil {
		return nil, err
	}
	res := &Result{Result: &build.Result{}, Manifests: map[string]*bundle.Manifest{}}
	for _, s := range w.sources {
		one, err := w.build(ctx, s, report)
		if err != nil {
			return nil, interrupted(ctx, s.ours(err))
		}
		res.Bundles = append(res.Bundles, one.Bundles...)
		res.Warnings = append(res.Warnings, s.tooNew()...)
		for _, m := range one.Warnings {
			res.Warnings = append(res.Warnings, s.warning(m))
		}
	}
	return res, w.publish(res)
}

func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return event.NewFault(event.ClassInterrupted, "interrupted", ctx.Err())
	}
	return err
}

// distinct refuses two archives of one architecture, and a bundle in the place of an archive.
func (w *Work) distinct() error {
	byArch := map[string]string{}
	for _, s := range w.sources {
		if other := byArch[s.arch]; other != "" {
			return event.NewFault(event.ClassUsage, "adopt.same-arch", nil, "file", s.file, "other", other, "arch",
				s.arch)
		}
		byArch[s.arch] = s.file
	}
	for _, s := range w.sources {
		to := filepath.Join(w.Out, w.Name+"-"+s.arch+".tar.gz")
		a, errA := os.Stat(to)
		for _, x := range w.sources {
			if b, errB := os.Stat(x.file); errA == nil && errB == nil && os.SameFile(a, b) {
				return event.NewFault(event.ClassUsage, "adopt.same-file", nil, "file", x.file, "to", to)
			}
		}
	}
	return nil
}

const workPrefix = ".eggo-adopt-"

// New makes the temporary directory in Out or, where there is none yet, in the first directory above it. What killed
// runs left there is removed: nobody has their locks.
func New(o Options) (*Work, error) {
	at, err := filepath.Abs(o.Out)
	for err == nil {
		st, e := os.Stat(at)
		if e == nil && !st.IsDir() {
			return nil, writeFault(syscall.ENOTDIR, at)
		}
		if !errors.Is(e, fs.ErrNotExist) || at == filepath.Dir(at) {
			err = e
			break
		}
		at = filepath.Dir(at)
	}
	if err != nil {
		return nil, writeFault(err, o.Out)
	}
	sweep(at)
	w := &Work{Options: o}
	if w.dir, err = os.MkdirTemp(at, workPrefix); err != nil {
		return nil, writeFault(err, o.Out)
	}
	if w.lock, err = held(w.dir); err != nil {
		w.Close()
		return nil, writeFault(err, w.dir)
	}
	return w, nil
}

// held locks a temporary directory; where there are no locks it is never swept.
func held(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return f, nil
}

func sweep(dir string) {
	list, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil {
		return
	}
	for _, old := range list {
		f, err := os.OpenFile(filepath.Join(old, "lock"), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(old) // of another user: it stays
		}
		f.Close()
	}
}

// Close removes the temporary directory.
func (w *Work) Close() {
	_ = os.RemoveAll(w.dir) // the next run sweeps what is left
	if w.lock != nil {
		w.lock.Close()
	}
}

// build writes the bundle of an archive to the temporary directory.
func (w *Work) build(ctx context.Context, s *source, report func(build.Event)) (*build.Result, error) {
	out := filepath.Join(s.dir, "out")
	cache, err := fetch.OpenCache(filepath.Join(s.dir, "cache"))
	if err != nil {
		return nil, err
	}
	m, err := fetch.ParseMirrors(nil)
	if err != nil {
		return nil, err
	}
	res, err := build.Build(ctx, build.Options{Spec: s.spec(), Arches: []string{s.arch}, Out: out,
		Lock: filepath.Join(s.dir, lock.Name), Cache: cache, Mirrors: m, Transport: offline{}, Epoch: w.Epoch,
		Adopted: s.adopted(),
		Report: func(e build.Event) {
			if e.File != "" {
				e.File = filepath.Join(w.Out, filepath.Base(e.File))
			}
			if e.Text != nil {
				m := s.warning(*e.Text)
				e.Text = &m
			}
			if report != nil {
				report(e)
			}
		}})
	if err != nil {
		return nil, err
	}
	// The cache has everything a second time, and is not needed any more.
	return res, errors.Join(os.RemoveAll(filepath.Join(s.dir, "cache")), os.RemoveAll(filepath.Join(s.dir, "in")))
}

// publish gives the bundles their names, after the files beside them.
func (w *Work) publish(res *Result) error {
	if err := os.MkdirAll(w.Out, 0o755); err != nil {
		return writeFault(err, w.Out)
	}
	for i, b := range res.Bundles {
		a, err := bundle.Open(b.Path)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(filepath.Dir(b.Path), "*"))
		if err != nil {
			return err
		}
		for _, f := range append(without(files, b.Path), b.Path) {
			to := filepath.Join(w.Out, filepath.Base(f))
			if err := os.Rename(f, to); err != nil {
				return writeFault(err, to)
			}
		}
		res.Bundles[i].Path = filepath.Join(w.Out, filepath.Base(b.Path))
		res.Manifests[res.Bundles[i].Path] = a.Manifest()
	}
	return nil
}

func without(list []string, x string) []string {
	var out []string
	for _, s := range list {
		if s != x {
			out = append(out, s)
		}
	}
	return out
}

func writeFault(err error, path string) error {
	code := "build.write"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = "build.no-space"
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	if le := (*os.LinkError)(nil); errors.As(err, &le) {
		err = le.Err
	}
	return event.NewFault(event.ClassFailed, code, err, "file", path)
}

// ours puts the archive's own paths in the place of temporary ones in a fault of the builder. What the builder finds
// wrong is wrong with the archive.
func (s *source) ours(err error) error {
	for _, f := range faults(err) {
		for k, v := range f.Args {
			f.Args[k] = s.own(v)
		}
		f.Cause = s.own(f.Cause)
		if f.Class == event.ClassUsage {
			f.Class = event.ClassBundle
		}
	}
	return err
}

func (s *source) warning(m event.Msg) event.Msg {
	args := make(map[string]string, len(m.Args))
	for k, v := range m.Args {
		args[k] = s.own(v)
	}
	m.Args = args
	return m
}

func (s *source) own(text string) string {
	for _, dir := range []string{filepath.Join(s.dir, "in"), filepath.Join(s.dir, "pkg"), s.dir} {
		text = strings.ReplaceAll(text, dir+"/", s.file+":")
	}
	return text
}

func faults(err error) []*event.Fault {
	if f := (*event.Fault)(nil); err != nil {
		if list, ok := err.(interface{ Unwrap() []error }); ok {
			var out []*event.Fault
			for _, e := range list.Unwrap() {
				out = append(out, faults(e)...)
			}
			return out
		}
		if errors.As(err, &f) {
			return []*event.Fault{f}
		}
	}
	return nil
}

// bad is a fault of an archive.
func bad(code string, err error, kv ...string) *event.Fault {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassBundle, code, err, kv...)
}

// why is the cause of a fault without its code.
func why(err error) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return errors.New(cmp.Or(f.Cause, f.Code))
	}
	return err
}
