package runs

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// Backups are those of a cluster, the newest first. What an earlier cluster of its name left is none of it.
func (r *Runner) Backups(ctx context.Context, rec manager.Record) ([]request.BackupInfo, error) {
	all, err := operation.Backups(ctx, r.store, request.BackupList{Cluster: rec.Name})
	return slices.DeleteFunc(all, func(b request.BackupInfo) bool {
		return b.At.Before(rec.Begins.Truncate(time.Second)) // as exact as the names of files
	}), err
}

// Ends are when the first certificate of a cluster expires that a renewal makes last longer, and when the first CA
// does. Zero: there is none.
func (r *Runner) Ends(cluster string) (leaf, authority time.Time) {
	e, _ := r.ends(cluster) // of what cannot be read nothing is known
	return e.renewed, e.authority
}

// Expiry is when the first certificate of a cluster that the control host has expires, CAs aside: a renewal keeps them.
// Zero: it has none.
func (r *Runner) Expiry(cluster string) time.Time {
	e, _ := r.ends(cluster)
	return e.leaf
}
