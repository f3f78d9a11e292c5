package build

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// resolve gives the lock that was there (nil: none) and the new one, in which everything that the spec asks for is
// pinned.
func (b *builder) resolve(ctx context.Context) (old, next *lock.Lock, err error) {
	if old, err = lock.Read(b.Lock); err != nil && (!b.Update || errors.As(err, new(syscall.Errno))) {
		return nil, nil, err // an update only passes over what it can read and not make sense of
	}
	if err != nil {
		b.warn("", event.M("build.warn.lock-replaced", "file", b.Lock))
	}
	if old != nil && old.Name != b.Spec.Name {
		return nil, nil, event.NewFault(event.ClassUsage, "lock.other", nil, "file", b.Lock, "name", old.Name, "want",
			b.Spec.Name)
	}
	next = lock.New(b.Spec.Name, b.Spec.Kubernetes)
	if old != nil {
		// What another build of the same bundle pinned for other architectures stays.
		for a, s := range old.Arches {
			if !slices.Contains(b.Arches, a) {
				next.Arches[a] = s
			}
		}
	}
	var pinned []string
	if old != nil {
		pinned = slices.Sorted(maps.Keys(old.Arches))
	}
	var tasks []func(context.Context) error
	for _, arch := range b.Arches {
		full, err := b.specFor(arch)
		if err != nil {
			return old, nil, err
		}
		r := &resolver{builder: b, arch: arch, spec: full, client: b.client(arch), old: old.Set(arch), set: &lock.Set{}}
		if b.Update {
			r.old = &lock.Set{}
		}
		r.first = []*lock.Set{r.old}
		for _, a := range pinned {
			if a != arch && !b.Update {
				r.first = append(r.first, old.Arches[a])
			}
		}
		next.Arches[arch] = r.set
		tasks = append(tasks, r.run)
	}
	return old, next, together(ctx, tasks...)
}

// writeLock writes the lock. What a build for other architectures beside this one has pinned meanwhile stays.
func (b *builder) writeLock(next *lock.Lock) error {
	dir := filepath.Dir(b.Lock)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return writeFault(err, dir)
	}
	d, err := os.Open(dir)
	if err != nil {
		return writeFault(err, dir)
	}
	defer d.Close()
	// where there are no locks the time between reading and writing is short
	_ = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
	if now, err := lock.Read(b.Lock); err == nil && now != nil && now.Name == next.Name {
		for a, s := range now.Arches {
			if !slices.Contains(b.Arches, a) {
				next.Arches[a] = s
			}
		}
	}
	return next.Write(b.Lock)
}

// resolver fills the lock of one architecture.
type resolver struct {
	*builder
	arch   string
	spec   *spec.Spec
	client *fetch.Client
	old    *lock.Set // what is pinned
	// old and what is pinned for other architectures: what one took by a name that can move is no other thing for the
	// next
	first []*lock.Set
	set   *lock.Set
}

func (r *resolver) run(ctx context.Context) error {
	r.tell(Event{Kind: Started, Arch: r.arch})
	return together(ctx, r.packages, r.files, func(ctx context.Context) error {
		if err := r.addons(ctx); err != nil {
			return err
		}
		return r.images(ctx)
	})
}

// beyond is the fault of a locked build that would have to resolve something.
func (r *resolver) beyond(what string) error {
	if !r.Locked {
		return nil
	}
	return event.NewFault(event.ClassFailed, "build.locked", nil, "what", what, "arch", r.arch, "file", r.Lock)
}

// local puts a file of this machine into the cache.
func (r *resolver) local(p spec.Path, limit int64) (fetch.Blob, error) {
	f, err := os.Open(p.File)
	if err != nil {
		return fetch.Blob{}, fileFault(p, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return fetch.Blob{}, event.NewFault(event.ClassUsage, "build.file", err, "file", p.File)
	}
	return r.Cache.Put(f, limit)
}

func fileFault(p spec.Path, err error) error {
	f := event.AsFault(writeFault(err, p.File))
	f.Class = event.ClassUsage
	_ = f.Recode("build.file")
	return f
}

// content reads a small file of the cache whole.
func (b *builder) content(blob fetch.Blob) ([]byte, error) {
	f, err := b.Cache.Open(blob)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
