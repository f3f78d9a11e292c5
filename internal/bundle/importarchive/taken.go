package importarchive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/bundle/rpm"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// startedPrograms are those that Eggo starts, or needs itself, from the bundle: never from a package.
func startedPrograms() []string { return append(kubernetesPrograms(), "etcd", "etcdctl", "etcdutl") }

// takePrograms takes the programs that Eggo starts out of packages, where the archive does not have them as files. A
// package with one of them is not installed by itself, taken or not: its service would run beside Eggo's.
func (s *source) takePrograms(ctx context.Context) error {
	have := map[string]bool{}
	for _, p := range s.programs {
		have[p.name] = true
	}
	var errs []error
	for i := range s.packages {
		p := &s.packages[i]
		if p.old || !strings.HasPrefix(p.name, "kube") && !strings.HasPrefix(p.name, "etcd") {
			continue
		}
		err := withFile(p.file, func(f *os.File) error {
			st, err := f.Stat()
			if err != nil {
				return err
			}
			read := deb.Payload
			if s.family == spec.RPM {
				read = rpm.Payload
			}
			return read(f, st.Size()*maxRatio+ratioSlack, func(name string, r io.Reader) error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				program := path.Base(name)
				if !slices.Contains(startedPrograms(), program) || path.Base(path.Dir(name)) != "bin" {
					return nil
				}
				p.starts = true
				if have[program] {
					return nil
				}
				have[program], p.taken = true, true
				return s.take(filepath.Base(p.file)+name, program, r)
			})
		})
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if f := (*event.Fault)(nil); errors.As(err, &f) {
			return err
		}
		if err != nil {
			errs = append(errs, s.damaged(filepath.Base(p.file), err))
		}
	}
	return errors.Join(errs...)
}

// take writes a program of a package.
func (s *source) take(from, name string, r io.Reader) error {
	dir := filepath.Join(s.dir, "taken")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return writeFault(err, dir)
	}
	file := filepath.Join(dir, name)
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return writeFault(err, file)
	}
	n, err := io.Copy(marked{out, file}, r)
	if e := out.Close(); err == nil && e != nil {
		err = writeFault(e, file)
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%s is empty", from)
	}
	s.programs = append(s.programs, program{member: member{name: from, file: file, size: n}, name: name})
	s.taken = append(s.taken, name)
	return err
}
