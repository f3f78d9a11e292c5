package store

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// files are those of a cluster, or a copy of them for operations that change nothing.
type files struct {
	dir     string
	journal *journal.Cluster
	remove  func() error // removes dir, which is a copy; nil: it is not
}

// Dir implements operation.Files.
func (f *files) Dir() string { return f.dir }

// Journal implements operation.Files.
func (f *files) Journal() *journal.Cluster { return f.journal }

// Lock implements operation.Files.
func (f *files) Lock(_ context.Context, me journal.Holder) (operation.Lock, error) {
	l, err := f.journal.Lock(me)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Free implements operation.Files.
func (f *files) Free(context.Context) error { return f.journal.Free() }

// Config implements operation.Files.
func (f *files) Config() (text []byte, path string, err error) {
	path = filepath.Join(f.journal.Path(), ConfigName)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe would be waited at
		return nil, path, event.NewFault(event.ClassUsage, "config.not-a-file", nil, "file", path)
	}
	text, err = os.ReadFile(path)
	return text, path, err
}

// SaveConfig implements operation.Files.
func (f *files) SaveConfig(ctx context.Context, text []byte) error {
	path := filepath.Join(f.dir, ConfigName)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := write(path, text); err != nil {
		return err
	}
	return f.Persist(ctx, phases.KeptConfig)
}

// CopyConfig implements operation.Files: a run that ends before preflight has passed leaves no other.
func (f *files) CopyConfig(run string, text []byte) error {
	return write(filepath.Join(f.journal.RunDir(run), ConfigName), text)
}

// Persist implements operation.Files.
func (f *files) Persist(context.Context, phases.Kept) error { return nil }

// Close implements operation.Files.
func (f *files) Close() error {
	if f.remove == nil {
		return nil
	}
	return f.remove()
}

func write(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o600, renameio.IgnoreUmask()); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}
