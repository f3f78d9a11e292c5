package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// The files that are held by the server of a directory. That of the state directory is no name of a cluster.
const (
	lockFile      = "lock"
	stateLockFile = ".server.lock"
)

// alone refuses a data directory and a state directory that another server uses: both would own the same clusters. The
// commands for users do not ask: they change one row.
func alone(data, state string) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, free := range held {
			free()
		}
	}
	for _, at := range []struct{ dir, file string }{{data, lockFile}, {state, stateLockFile}} {
		free, err := locked(at.dir, at.file)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, free)
	}
	return unlock, nil
}

// locked makes a directory if it is not there, and holds its lock.
func locked(dir, file string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, event.NewFault(event.ClassLocked, "server.running", err, "dir", dir)
	}
	return func() { _ = f.Close() }, nil
}

// othersWrite refuses directories in which other users of the host can replace files: keys, the database, and what runs
// as root.
func othersWrite(dirs ...string) error {
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil { // it is made, with mode 0700, or it is refused there
			continue
		}
		if mode := info.Mode().Perm(); mode&0o022 != 0 {
			return event.NewFault(event.ClassUsage, "server.open-directory", nil, "dir", dir,
				"mode", fmt.Sprintf("%04o", mode))
		}
	}
	return nil
}

// action is what the audit log has of what begins by itself: the operation of the API that would begin it.
func action(k manager.Kind) string {
	switch k {
	case manager.Backup:
		return "take-backup"
	case manager.Renew:
		return "renew-certificates"
	}
	return string(k)
}

// recorded are the clusters for what begins by itself: it is recorded as if somebody had asked for it.
type recorded struct {
	*manager.Manager
	accounts *account.Accounts
}

// Begin implements upkeep.Clusters.
func (r recorded) Begin(ctx context.Context, name string, k manager.Kind, q manager.Request) (manager.View, error) {
	with, over := r.accounts.Trail(ctx)
	err := r.accounts.Record(with, access.Entry{Caller: access.Caller{Name: q.By}, Address: "eggo-server",
		Action: action(k), Cluster: name})
	if err != nil {
		return manager.View{}, err
	}
	v, err := r.Manager.Begin(ctx, name, k, q)
	status := http.StatusAccepted
	if err != nil {
		status = problem.Status(event.AsFault(err))
	}
	over(status)
	return v, err
}
