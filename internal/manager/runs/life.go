package runs

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// Backups are those of a cluster, the newest first.
func (r *Runner) Backups(ctx context.Context, cluster string) ([]request.BackupInfo, error) {
	return operation.Backups(ctx, r.store, request.BackupList{Cluster: cluster})
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
