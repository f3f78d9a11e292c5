// Package build makes bundles from a spec: it resolves, fetches into a cache by digest, and packs. The same spec, lock and time stamp
// give the same bytes.
package build

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/event"
)

// Options of a build.
type Options struct {
	Spec      *spec.Spec
	Arches    []string // amd64, arm64
	Out       string   // directory of the bundles and of bundle.lock
	Cache     *fetch.Cache
	Mirrors   *fetch.Mirrors
	Transport http.RoundTripper // nil: http.DefaultTransport
	Epoch     time.Time         // mtime of every member; zero means 1970
	Now       func() time.Time  // for the validity of signed metadata; nil: time.Now
	Report    func(Event)       // called from one goroutine; may be nil
}

// Kind of an Event.
type Kind string

// The kinds, in the words of the JSON output.
const (
	Started  Kind = "started"  // a build for Arch begins
	Resolved Kind = "resolved" // the packages are chosen: Packages of Known, Total bytes
	Fetching Kind = "progress" // Done of Total bytes (-1 unknown) of What
	Fetched  Kind = "fetched"  // What is in the cache, Total bytes; Cached if it was there before
	Retrying Kind = "retry"    // Fault, and another try follows
	Packing  Kind = "packing"  // Done of Total bytes of the bundle are written
	Built    Kind = "built"    // File is finished, with Total bytes and SHA256
	Warned   Kind = "warning"  // Text
)

// Event tells how far a build is.
type Event struct {
	Kind     Kind
	Arch     string
	What     string
	URL      string
	Done     int64
	Total    int64
	Cached   bool
	Packages int
	Known    int
	File     string
	SHA256   string
	Took     time.Duration
	Text     *event.Msg
	Fault    *event.Fault
}

// Result of a build.
type Result struct {
	Bundles  []Bundle
	Lock     string // path
	Warnings []event.Msg
}

// Bundle that was written.
type Bundle struct {
	Arch, Path string
	Size       int64
	SHA256     string
	Took       time.Duration
}

// arch is the build for one architecture.
type arch struct {
	name     string
	opts     *Options
	spec     *spec.Spec
	client   *fetch.Client
	previous *Lock
	lock     *LockSet
	report   func(Event)
	warn     func(event.Msg)

	members []bundle.Member
	images  []bundle.Image
	install []bundle.Package
	pulled  []*pulled
}

// Build makes a bundle for each architecture and the lock. A bundle appears under its name only when it is finished. Faults are of
// class failed (what could not be fetched, resolved or written) or usage (spec, lock, keyring).
func Build(ctx context.Context, o Options) (*Result, error) {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = func(Event) {}
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, writeFault(err, o.Out)
	}
	res := &Result{Lock: filepath.Join(o.Out, LockName)}
	previous, err := ReadLock(res.Lock)
	if err != nil {
		return nil, err
	}
	next := &Lock{Version: lockVersion, Name: o.Spec.Name, Kubernetes: o.Spec.Kubernetes, Spec: sumOf(o.Spec.Raw()), Arches: map[string]*LockSet{}}
	// What another build of the same bundle pinned for other architectures stays.
	if previous.Name == next.Name {
		for a, s := range previous.Arches {
			next.Arches[a] = s
		}
	}
	for _, name := range o.Arches {
		b := &arch{name: name, opts: &o, spec: o.Spec.For(name), previous: previous, lock: &LockSet{}, report: o.Report}
		b.warn = func(m event.Msg) {
			res.Warnings = append(res.Warnings, m)
			o.Report(Event{Kind: Warned, Arch: name, Text: &m})
		}
		b.client = &fetch.Client{HTTP: fetch.NewHTTPClient(o.Transport), Cache: o.Cache, Mirrors: o.Mirrors, Progress: b.progress()}
		done, err := b.build(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, event.NewFault(event.ClassInterrupted, "interrupted", ctx.Err())
			}
			return nil, err
		}
		next.Arches[name] = b.lock
		if err := next.write(res.Lock); err != nil {
			return nil, err
		}
		res.Bundles = append(res.Bundles, *done)
	}
	return res, nil
}

func (b *arch) build(ctx context.Context) (*Bundle, error) {
	start := time.Now()
	b.report(Event{Kind: Started, Arch: b.name})
	for _, stage := range []func(context.Context) error{b.packages, b.binaries, b.addons, b.pullImages} {
		if err := stage(ctx); err != nil {
			return nil, err
		}
	}
	done, err := b.pack(ctx)
	if err != nil {
		return nil, err
	}
	done.Took = time.Since(start)
	b.report(Event{Kind: Built, Arch: b.name, File: done.Path, Total: done.Size, SHA256: done.SHA256, Took: done.Took})
	return done, nil
}

func (b *arch) pullImages(ctx context.Context) error {
	r := &registries{arch: b.name, fetch: b.client, rt: b.opts.Transport, clients: map[string]*http.Client{}, warn: b.warn}
	for _, im := range b.spec.Images {
		p, err := r.pull(ctx, im.Name)
		if err != nil {
			return err
		}
		if old, ok := b.previous.image(b.name, im.Name); ok && old != p.Manifest.Digest {
			b.warn(event.M("build.warn.moved", "image", im.Name, "old", old, "new", p.Manifest.Digest))
		}
		b.pulled = append(b.pulled, p)
		li := LockImage{Name: im.Name, Index: p.index, Digest: p.Manifest.Digest, Config: p.Config.Digest, Layers: []LockBlob{}}
		var layers []string
		for _, l := range p.Layers {
			layers = append(layers, l.Digest)
			li.Layers = append(li.Layers, LockBlob{l.Digest, l.Size})
		}
		b.lock.Images = append(b.lock.Images, li)
		for _, n := range p.Names {
			b.images = append(b.images, bundle.Image{Name: n, Digest: p.Manifest.Digest, Size: p.Size(), Roles: im.Roles,
				Platform: "linux/" + b.name, Index: p.index, Layers: layers})
		}
	}
	return nil
}

// progress turns what the fetcher tells into events, with one Fetched for each source.
func (b *arch) progress() func(fetch.Progress) {
	return func(p fetch.Progress) {
		e := Event{Kind: Fetching, Arch: b.name, What: p.What, URL: p.URL, Done: p.Done, Total: p.Total, Cached: p.Cached}
		switch {
		case p.Retry != nil:
			e.Kind, e.Fault = Retrying, p.Retry
		case p.Finished:
			e.Kind = Fetched
		}
		b.report(e)
	}
}

func writeFault(err error, path string) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return err
	}
	code := "build.write"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = "build.no-space"
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassFailed, code, err, "file", path)
}
