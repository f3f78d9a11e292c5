package operation

import (
	"context"
	"errors"
	"io/fs"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Lock is the right of one process to change a cluster. While it is held, Journal().Writing reports its run: a Files
// whose lock is elsewhere takes that of the directory as well.
type Lock interface {
	// Writes records the run that the holder writes.
	Writes(run string) error
	// Lost is closed when the lock was lost: another process may have it. nil: it cannot be lost.
	Lost() <-chan struct{}
	// Unlock releases the lock. After a loss it does nothing to the lock of another process.
	Unlock() error
}

// holder names this process for the lock of a cluster.
func (d Deps) holder(verb string) journal.Holder {
	me := d.Who
	me.Verb, me.Since = verb, d.clock().Now()
	return me
}

// lockLost returns the fault of a run whose lock was lost: another process may work on the cluster.
func lockLost(cluster string) *event.Fault {
	return event.NewFault(event.ClassInterrupted, "lock.lost", nil, "cluster", cluster)
}

// isLost reports whether a lock was lost; nil is no lock.
func isLost(l Lock) bool {
	if l == nil {
		return false
	}
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

// whileHeld returns a context that ends when the lock is lost, with that as its cause. The returned function releases
// what this takes.
func whileHeld(ctx context.Context, l Lock, cluster string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if l.Lost() != nil {
		go func() {
			select {
			case <-l.Lost():
				cancel(lockLost(cluster))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// interrupted returns the fault of a run whose context has ended.
func interrupted(ctx context.Context) *event.Fault {
	if lockWasLost(ctx) {
		return event.AsFault(context.Cause(ctx))
	}
	return event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
}

// lockWasLost reports whether a context of whileHeld has ended because the lock was lost.
func lockWasLost(ctx context.Context) bool {
	f := event.AsFault(context.Cause(ctx))
	return f != nil && f.Code == "lock.lost"
}

// withLock calls do while this process holds the lock of a cluster that is on this host. do may remove the cluster's
// directory.
func withLock(ctx context.Context, d Deps, files Files, cluster, verb string, do func(context.Context) error) error {
	return held(ctx, d, files, cluster, verb, func(ctx context.Context) error {
		if err := here(cluster, files); err != nil {
			return err
		}
		return do(ctx)
	})
}

// held is withLock for a cluster that may have been handed over.
func held(ctx context.Context, d Deps, files Files, cluster, verb string, do func(context.Context) error) error {
	lock, err := files.Lock(ctx, d.holder(verb))
	if err != nil {
		return err
	}
	ctx, release := whileHeld(ctx, lock, cluster)
	defer release()
	if err = do(ctx); isLost(lock) {
		err = errors.Join(lockLost(cluster), err)
	}
	return errors.Join(err, unlocked(lock))
}

// unlocked releases a lock whose directory may be gone.
func unlocked(l Lock) error {
	if err := l.Unlock(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// persist is Files.Persist while the lock of the run is held: after a loss the files are those of another process.
func (p *prepared) persist(ctx context.Context, what phases.Kept) error {
	if isLost(p.lock) {
		return lockLost(p.cluster.Name)
	}
	return p.files.Persist(ctx, what)
}
