// Package operatortest provides simulated machines as operations without a control host see them.
package operatortest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// Machines are the simulated machines of the cluster "sim". They implement operation.Dialer and operation.Bundles.
type Machines struct {
	Lab *phasestest.Lab

	mu     sync.Mutex
	locked map[string]string
}

// NewMachines makes bare machines. They are removed at the end of the test.
func NewMachines(t testing.TB, shape phasestest.Shape) *Machines {
	t.Helper()
	dir := t.TempDir()
	kit, own := filepath.Join(dir, "kit"), filepath.Join(dir, "lab")
	for _, d := range []string{kit, own} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	k, err := phasestest.NewKitOf(kit, shape)
	if err != nil {
		t.Fatal(err)
	}
	lab, err := phasestest.NewLab(own, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	return &Machines{Lab: lab, locked: map[string]string{}}
}

// Root returns the directory that has to be that of the store: the machines' API servers read their certificates there.
func (m *Machines) Root() string { return filepath.Dir(m.Lab.StateDir()) }

// Deps returns what an operation on the machines needs, without a control host. Pauses are short.
func (m *Machines) Deps(s operation.Store) operation.Deps {
	return operation.Deps{Store: s, Dialer: m, Bundles: m, Version: "v0", Clock: operationtest.Swift{},
		Who: journal.Holder{User: "ns", Host: "pod", Program: "eggops"}}
}

// LockedBy returns the holder that a machine's lock was last taken by.
func (m *Machines) LockedBy(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.locked[name]
}

// Connections implements operation.Dialer.
func (m *Machines) Connections(operation.Access) (operation.Connections, error) { return conns{m}, nil }

type conns struct{ m *Machines }

// Close implements operation.Connections.
func (conns) Close() error { return nil }

// Dial implements operation.Connections.
func (c conns) Dial(ctx context.Context, n config.Node) (operation.Host, error) {
	h, err := c.m.Lab.Env(nil).Connect(ctx, n)
	return host{h, c.m}, err
}

type host struct {
	node.Host
	m *Machines
}

// Close implements operation.Host.
func (host) Close() error { return nil }

// Lock implements operation.Host.
func (h host) Lock(_ context.Context, holder string) error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.m.locked[h.Name()] = holder
	return nil
}

// Head implements operation.Bundles.
func (m *Machines) Head(path string) (*bundle.Manifest, []byte, error) {
	a, err := bundle.Open(filepath.Join(m.Lab.Dir, filepath.Base(path)))
	if err != nil {
		return nil, nil, err
	}
	return a.Manifest(), []byte(a.ID()), nil
}

// Session implements operation.Bundles.
func (m *Machines) Session(operation.BundleUse) operation.BundleSession { return session{m} }

type session struct{ m *Machines }

// Stage implements operation.BundleSession.
func (s session) Stage(ctx context.Context, b config.BundleSource) (phases.Bundle, error) {
	return s.m.Lab.Env(nil).Stage(ctx, b)
}

// Check implements operation.BundleSession.
func (session) Check(context.Context, []config.BundleSource) error { return nil }

// Checked implements operation.BundleSession.
func (session) Checked() []event.Msg { return nil }

// Release implements operation.BundleSession.
func (session) Release() {}

// Prune implements operation.BundleSession.
func (session) Prune(context.Context, operation.Files, func() ([]string, error)) ([]bundle.Pruned, error) {
	return nil, nil
}
