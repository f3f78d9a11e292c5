package operation

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// fakes are the Deps of a simulated cluster. They say what was asked of them.
type fakes struct {
	root   string
	lab    *phasestest.Lab
	mu     sync.Mutex
	held   []phases.Kept     // in the order in which they were persisted
	fail   phases.Kept       // cannot be persisted
	saw    func(phases.Kept) // looks on while something is persisted; nil: nobody
	locked map[string]string // holder by node
	lost   chan struct{}     // closed when the cluster's lock is lost; nil: it cannot be lost
	heads  map[string]*bundle.Manifest
	vouch  []config.BundleSource // whose signatures were asked about
}

// long is for the tests that take longest: make test-long runs them, without the race detector; in .ci/run they take
// turns.
func long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
}

// simulate makes bare machines and the Deps for them.
func simulate(t testing.TB, shape phasestest.Shape) (*fakes, Deps) {
	t.Helper()
	lab, err := labIn(t.TempDir(), shape)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	f := fakesOf(lab)
	return f, f.deps()
}

func labIn(dir string, shape phasestest.Shape) (*phasestest.Lab, error) {
	shared, own := filepath.Join(dir, "kit"), filepath.Join(dir, "lab")
	for _, d := range []string{shared, own} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	kit, err := phasestest.NewKitOf(shared, shape)
	if err != nil {
		return nil, err
	}
	return phasestest.NewLab(own, kit)
}

// Simulated makes a bare node under dir, and the Deps for it: without a network, SSH or a terminal.
func Simulated(dir string) (*phasestest.Lab, Deps) {
	lab, err := labIn(dir, phasestest.Shape{Masters: 1})
	if err != nil {
		panic(err)
	}
	return lab, fakesOf(lab).deps()
}

func fakesOf(lab *phasestest.Lab) *fakes {
	return &fakes{root: filepath.Dir(lab.StateDir()), lab: lab, locked: map[string]string{}}
}

func (f *fakes) deps() Deps {
	me := journal.Holder{User: "me", Host: "here", PID: 7, Program: "eggo-tui"}
	return Deps{Store: f, Dialer: f, Bundles: f, Version: "v0", Who: me, ControlHost: true}
}

func (f *fakes) Clusters(context.Context) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(f.root, "*", "deploy.yaml"))
	var out []string
	for _, p := range files {
		out = append(out, filepath.Base(filepath.Dir(p)))
	}
	return out, err
}

func (f *fakes) Read(_ context.Context, name string) (Files, error) {
	c, err := journal.At(f.root, name)
	return &fakeFiles{f, c}, err
}

func (f *fakes) Open(_ context.Context, name string) (Files, error) {
	c, err := journal.Open(f.root, name)
	return &fakeFiles{f, c}, err
}

func (f *fakes) Copy(ctx context.Context, name string) (Files, error) {
	own, err := journal.At(f.root, name)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(f.lab.Dir, "copy-")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(own.Path()))
	}
	return &fakeCopy{fakeFiles{f, own}, dir}, err
}

type fakeCopy struct {
	fakeFiles
	dir string
}

func (f *fakeCopy) Dir() string                                { return f.dir }
func (f *fakeCopy) Persist(context.Context, phases.Kept) error { return nil }
func (f *fakeCopy) SaveConfig(context.Context, []byte) error   { return nil }
func (f *fakeCopy) Close() error                               { return os.RemoveAll(f.dir) }

// Known implements Store: a cluster without a deploy.yaml has runs.
func (f *fakes) Known(ctx context.Context) ([]string, error) {
	out, err := f.Clusters(ctx)
	runs, _ := filepath.Glob(filepath.Join(f.root, "*", "runs"))
	for _, p := range runs {
		out = append(out, filepath.Base(filepath.Dir(p)))
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

func (f *fakes) Where() string { return f.root }

func (f *fakes) Stages(context.Context) ([]string, error) { return nil, nil }

type fakeFiles struct {
	of *fakes
	c  *journal.Cluster
}

func (f *fakeFiles) Dir() string               { return f.c.Path() }
func (f *fakeFiles) Journal() *journal.Cluster { return f.c }

func (f *fakeFiles) Free(context.Context) error { return f.c.Free() }
func (f *fakeFiles) Lock(_ context.Context, me journal.Holder) (Lock, error) {
	l, err := f.c.Lock(me)
	if err != nil {
		return nil, err
	}
	return losable{l, f.of.lost}, nil
}

// losable is the lock of a directory that a test takes away.
type losable struct {
	*journal.Lock
	lost chan struct{}
}

func (l losable) Lost() <-chan struct{} { return l.lost }

func (f *fakeFiles) KeepStages([]string) error { return nil }
func (f *fakeFiles) Close() error              { return nil }

func (f *fakeFiles) Config() ([]byte, string, error) {
	path := filepath.Join(f.Dir(), "deploy.yaml")
	text, err := os.ReadFile(path)
	return text, path, err
}

func (f *fakeFiles) SaveConfig(ctx context.Context, text []byte) error {
	if err := os.WriteFile(filepath.Join(f.Dir(), "deploy.yaml"), text, 0o600); err != nil {
		return err
	}
	return f.Persist(ctx, phases.KeptConfig)
}

func (f *fakeFiles) CopyConfig(run string, text []byte) error {
	return os.WriteFile(filepath.Join(f.c.RunDir(run), "deploy.yaml"), text, 0o600)
}

func (f *fakeFiles) Persist(_ context.Context, what phases.Kept) error {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.held = append(f.of.held, what)
	if f.of.saw != nil {
		f.of.saw(what)
	}
	if what == f.of.fail {
		return event.NewFault(event.ClassFailed, "state.write", fs.ErrPermission)
	}
	return nil
}

func (f *fakes) Connections(Access) (Connections, error) { return fakeConns{f}, nil }

type fakeConns struct{ f *fakes }

func (c fakeConns) Close() error { return nil }

func (c fakeConns) Dial(ctx context.Context, n config.Node) (Host, error) {
	h, err := c.f.lab.Env(nil).Connect(ctx, n)
	return fakeHost{h, c.f}, err
}

type fakeHost struct {
	node.Host
	f *fakes
}

func (h fakeHost) Close() error { return nil }

func (h fakeHost) Lock(_ context.Context, holder string) error {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	h.f.locked[h.Name()] = holder
	return nil
}

// Head gives a manifest of heads; its name stands for its checksums.
func (f *fakes) Head(path string) (*bundle.Manifest, []byte, error) {
	m := f.heads[path]
	if m == nil {
		return nil, nil, fs.ErrNotExist
	}
	return m, []byte(m.Name), nil
}

func (f *fakes) Session(BundleUse) BundleSession { return fakeBundles{f} }

type fakeBundles struct{ f *fakes }

func (b fakeBundles) Stage(ctx context.Context, s config.BundleSource) (phases.Bundle, error) {
	return b.f.lab.Env(nil).Stage(ctx, s)
}
func (b fakeBundles) Check(_ context.Context, list []config.BundleSource) error {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	b.f.vouch = append(b.f.vouch, list...)
	return nil
}
func (b fakeBundles) Checked() []event.Msg { return nil }
func (b fakeBundles) Release()             {}

func (b fakeBundles) Prune(context.Context, Files, func() ([]string, error)) ([]bundle.Pruned, error) {
	return nil, nil
}
