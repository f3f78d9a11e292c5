package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// files are those of a cluster: a directory, whose parts are kept in Secrets.
type files struct {
	operation.Files // the directory
	of              *cluster
}

// Lock implements operation.Files: it takes the Lease, and makes the directory what the Secrets are then. What was not
// persisted is lost.
func (f *files) Lock(ctx context.Context, me journal.Holder) (operation.Lock, error) {
	l, err := f.of.store.take(ctx, f.of.name, me)
	if err != nil {
		return nil, err
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	err = f.of.fill(ctx, l.identity)
	if err == nil {
		var local operation.Lock
		if local, err = f.Files.Lock(ctx, me); err == nil {
			f.of.lease = l
			return &lock{Lock: local, lease: l, of: f.of}, nil
		}
	}
	return nil, errors.Join(err, l.release())
}

// Free implements operation.Files.
func (f *files) Free(ctx context.Context) error { return f.of.store.free(ctx, f.of.name) }

// SaveConfig implements operation.Files.
func (f *files) SaveConfig(ctx context.Context, text []byte) error {
	if err := fits(f.of.name, text); err != nil {
		return err
	}
	if err := f.Files.SaveConfig(ctx, text); err != nil {
		return err
	}
	return f.Persist(ctx, phases.KeptConfig)
}

// Persist implements operation.Files: it returns when the Secret of the part has what the directory has.
func (f *files) Persist(ctx context.Context, what phases.Kept) error {
	if what == phases.KeptSnapshots {
		if f.of.store.o.Snapshots == "" {
			return event.NewFault(event.ClassPreflight, "state.no-snapshots", nil)
		}
		return nil // they are there
	}
	p, known := partOf(what)
	if !known {
		return event.NewFault(event.ClassFailed, "internal", fmt.Errorf("no Secret holds %q", what))
	}
	return f.of.persist(ctx, p)
}

// lock is that of a cluster: its Lease, and the lock of the directory.
type lock struct {
	operation.Lock // of the directory
	lease          *lease
	of             *cluster
}

// Lost implements operation.Lock.
func (l *lock) Lost() <-chan struct{} { return l.lease.lost }

// Unlock implements operation.Lock.
func (l *lock) Unlock() error {
	l.of.mu.Lock()
	l.of.lease = nil
	l.of.mu.Unlock()
	return errors.Join(l.Lock.Unlock(), l.lease.release())
}
