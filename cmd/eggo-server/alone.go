package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/access"
	"github.com/eggo-k8s/eggo/internal/account"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/manager"
	"github.com/eggo-k8s/eggo/internal/problem"
)

// lockFile in the data directory is held by the server of it.
const lockFile = "lock"

// alone refuses a data directory that another server uses: both would own the same clusters. The commands for users do
// not ask: they change one row.
func alone(data string) (unlock func(), err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	f, err := os.OpenFile(filepath.Join(data, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, event.NewFault(event.ClassLocked, "server.running", err, "dir", data)
	}
	return func() { _ = f.Close() }, nil
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
