// Package build makes bundles from a spec in three stages: what bundle.lock does not pin yet is resolved; from spec and
// lock follows every byte's place in the bundles; everything is fetched at once and written where it belongs. The same
// spec, lock and time stamp give the same bytes on every machine.
package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/diff"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/registry"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options of a build.
type Options struct {
	Spec      *spec.Spec
	Arches    []string // amd64, arm64
	Out       string   // directory of the bundles
	Lock      string   // path of bundle.lock; in Out unless given
	Cache     *fetch.Cache
	Mirrors   *fetch.Mirrors
	Transport http.RoundTripper // nil: http.DefaultTransport
	Insecure  []string          // hosts of registries that are asked by plain http
	Netrc     *fetch.Netrc      // credentials for plain addresses; may be nil
	Epoch     time.Time         // mtime of every member; zero means 1970
	Now       func() time.Time  // for the validity of signed metadata; nil: time.Now
	Report    func(Event)       // called by one goroutine at a time; may be nil
	Machine   fs.FS             // the machine whose sources a spec may name; nil: this one

	// The bundle is made of an archive of another tool, which the manifest tells: what is missing in it is listed there
	// and is no fault.
	Adopted *bundle.Adopted

	Locked bool // refuse to go beyond the lock
	Update bool // forget the lock's pins of these architectures
	// path of a bundle that the new one is a difference to, with {arch} in it for several architectures
	Base        string
	PartSize    int64 // bytes of a part at most; 0: one file
	NoSums      bool  // do not write NAME.tar.gz.sha256
	Connections int   // at once; 0 means 16
}

// Kind of an Event.
type Kind string

// The kinds, in the words of the JSON output.
const (
	Started   Kind = "started"   // a build for Arch begins
	Resolved  Kind = "resolved"  // the packages are chosen: Packages of Known, Total bytes
	Fetching  Kind = "progress"  // Done of Total bytes (-1 unknown) of What
	Fetched   Kind = "fetched"   // What is there, Total bytes; Cached if it was in the cache
	Waiting   Kind = "waiting"   // for another build that is fetching What
	Retrying  Kind = "retry"     // Fault, and another try follows
	Packing   Kind = "packing"   // Done of Total bytes of the bundle are written
	Unchanged Kind = "unchanged" // File is there already and is what it should be
	Built     Kind = "built"     // File is finished, with Total bytes and SHA256
	Warned    Kind = "warning"   // Text
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

// Result of a build or an update.
type Result struct {
	Bundles []Bundle
	Lock    string // path
	// between the lock that was there and the new one, by architecture; only where there is one
	Moved    map[string]*diff.Difference
	Warnings []event.Msg
}

// Bundle that was written, or was there already.
type Bundle struct {
	Arch, Path string
	Size       int64
	SHA256     string // "" if it was not asked for
	Parts      []string
	Unchanged  bool
	Took       time.Duration
}

// builder is one build for all its architectures.
type builder struct {
	*Options
	http     *http.Client
	registry *registry.Client
	start    time.Time
	reached  atomic.Bool // a server has answered

	mu       sync.Mutex
	warnings []event.Msg
	warned   map[string]bool
	specs    map[string]*spec.Spec     // by architecture, with the files of their directories
	contents map[string]*addon.Content // of addons' files, by sum and name
}

func newBuilder(o *Options) *builder {
	c := *o
	c.Arches = distinct(c.Arches)
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Machine == nil {
		c.Machine = os.DirFS("/")
	}
	if c.Lock == "" {
		c.Lock = filepath.Join(c.Out, lock.Name)
	}
	if c.Connections == 0 {
		c.Connections = 16
	}
	b := &builder{Options: &c, http: fetch.NewHTTPClient(c.Netrc.Transport(c.Transport, c.Insecure...), c.Insecure...),
		start: time.Now(), warned: map[string]bool{}, specs: map[string]*spec.Spec{},
		contents: map[string]*addon.Content{}}
	b.registry = b.registries()
	return b
}

func (b *builder) tell(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Report != nil {
		b.Report(e)
	}
}

func (b *builder) warn(arch string, m event.Msg) {
	key := arch + " " + m.Key + fmt.Sprint(m.Args)
	b.mu.Lock()
	again := b.warned[key] // by a step that was done twice
	if b.warned[key] = true; !again {
		b.warnings = append(b.warnings, m)
	}
	b.mu.Unlock()
	if again {
		return
	}
	b.tell(Event{Kind: Warned, Arch: arch, Text: &m})
}

// client fetches for one architecture, so that what it tells says for which.
func (b *builder) client(arch string) *fetch.Client {
	return &fetch.Client{HTTP: b.http, Cache: b.Cache, Mirrors: b.Mirrors, Reached: &b.reached,
		Progress: func(p fetch.Progress) { b.tell(b.progress(arch, p)) }}
}

// Build makes a bundle for each architecture and the lock. A bundle appears under its name only when it is finished.
// Faults are of class failed (what could not be fetched, resolved or written) or usage (spec, lock, keyring); several
// are joined.
func Build(ctx context.Context, o Options) (*Result, error) {
	b := newBuilder(&o)
	return b.withCache(ctx, func() (*Result, error) {
		if err := os.MkdirAll(b.Out, 0o755); err != nil {
			return nil, writeFault(err, b.Out)
		}
		return b.build(ctx)
	})
}

// withCache does the work while the cache is kept from being pruned. What fails once ctx has ended was interrupted.
func (b *builder) withCache(ctx context.Context, work func() (*Result, error)) (*Result, error) {
	var res *Result
	release, err := b.useCache(ctx)
	if err == nil {
		defer release()
		res, err = work()
	}
	if err != nil && ctx.Err() != nil {
		return nil, event.NewFault(event.ClassInterrupted, "interrupted", ctx.Err())
	}
	return res, b.once(err)
}

// once makes one fault of those of a host without a network, or with a proxy that does not work: no server answered,
// and each file would say the same.
func (b *builder) once(err error) error {
	all := fetch.Faults(err)
	if b.reached.Load() || len(all) < 2 {
		return err
	}
	if !slices.ContainsFunc(all, func(f *event.Fault) bool {
		return f.Code != "fetch.proxy" || f.Cause != all[0].Cause
	}) {
		return all[0]
	}
	var hosts []string
	for _, f := range all {
		if f.Code != "fetch.dns" && f.Code != "fetch.no-route" {
			return err
		}
		if host := f.Args["host"]; !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return event.NewFault(event.ClassFailed, "fetch.no-network", errors.New(all[0].Cause), "count",
		strconv.Itoa(len(all)), "hosts", strings.Join(hosts, ", "))
}

func (b *builder) build(ctx context.Context) (*Result, error) {
	var old, next *lock.Lock
	// A base that cannot be used is told before anything is fetched.
	for _, arch := range b.Arches {
		if _, err := b.openBase(arch); err != nil {
			return nil, err
		}
	}
	err := retried(func() (err error) { old, next, err = b.resolve(ctx); return err })
	if err != nil {
		return nil, err
	}
	plans, errs := make([]*plan, len(b.Arches)), make([]error, len(b.Arches))
	for i, arch := range b.Arches {
		plans[i], errs[i] = b.plan(ctx, arch, next.Set(arch))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	// The lock is written first: what was resolved is not lost when a download fails.
	if !b.Locked {
		if err := b.writeLock(next); err != nil {
			return nil, err
		}
	}
	bundles, err := b.write(ctx, plans)
	if err != nil {
		return nil, err
	}
	return &Result{Bundles: bundles, Lock: b.Lock, Moved: moved(old, next, b.Arches), Warnings: b.warnings}, nil
}

// useCache keeps the cache from being pruned. Temporary files that killed builds left there, which no build would use
// again, go first, unless another build is at work.
func (b *builder) useCache(ctx context.Context) (release func(), err error) {
	_, err = b.Cache.Prune(ctx, fetch.PruneOptions{}, time.Now())
	if err != nil && (ctx.Err() != nil || event.AsFault(err).Class != event.ClassLocked) {
		return nil, err
	}
	return b.Cache.Use(ctx)
}

// Update resolves everything again, writes the lock, and says what moved. No bundle is written.
func Update(ctx context.Context, o Options) (*Result, error) {
	b := newBuilder(&o)
	b.Update = true
	return b.withCache(ctx, func() (*Result, error) {
		var old, next *lock.Lock
		err := retried(func() (err error) { old, next, err = b.resolve(ctx); return err })
		if err == nil {
			err = b.writeLock(next)
		}
		if err != nil {
			return nil, err
		}
		return &Result{Lock: b.Lock, Moved: moved(old, next, b.Arches), Warnings: b.warnings}, nil
	})
}

// together runs all tasks side by side and joins what went wrong, in the order of the tasks: a person wants to hear
// everything at once.
func together(ctx context.Context, tasks ...func(context.Context) error) error {
	errs := make([]error, len(tasks))
	var wg sync.WaitGroup
	for i, t := range tasks {
		wg.Go(func() { errs[i] = t(ctx) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
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

// failed turns a fault of reading a bundle into one of building: nothing is damaged on this machine.
func failed(err error) error {
	f := event.AsFault(err)
	f.Class = event.ClassFailed
	return f
}
