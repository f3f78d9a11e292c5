package fetch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Locks are flock(2) on the very file that they guard: the kernel gives them back when a process dies, and a lock file
// beside each of several thousand partial files, which none may ever remove, is not needed.
const (
	shared    = unix.LOCK_SH
	exclusive = unix.LOCK_EX

	lockPoll = 50 * time.Millisecond // a blocking flock could not be cancelled
)

// tryLock says whether it got the lock; it is given back when f is closed.
func tryLock(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, os.NewSyscallError("flock", err)
		}
	}
}

// waitLock waits for the lock; waiting, which may be nil, is called now and then.
func waitLock(ctx context.Context, f *os.File, how int, waiting func()) error {
	for {
		ok, err := tryLock(f, how)
		if ok || err != nil {
			return err
		}
		if waiting != nil {
			waiting()
		}
		if err := Sleep(ctx, lockPoll); err != nil {
			return err
		}
	}
}

// Sleep waits, or as long as the context lasts.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (c *Cache) useLock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, useFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, diskFault(err, c.dir)
	}
	return f, nil
}

// Use keeps Prune away until release is called: a build holds it from its first Find or Get to its last read. Any
// number may hold it at once, over all processes. It waits while a Prune is at work.
func (c *Cache) Use(ctx context.Context) (release func(), err error) {
	f, err := c.useLock()
	if err != nil {
		return nil, err
	}
	if err := waitLock(ctx, f, shared, nil); err != nil {
		f.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, diskFault(err, c.dir)
	}
	return func() { f.Close() }, nil
}
