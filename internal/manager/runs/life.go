package runs

import (
	"context"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/pki"
)

// Backups are those of a cluster, the newest first.
func (r *Runner) Backups(ctx context.Context, cluster string) ([]request.BackupInfo, error) {
	return operation.Backups(ctx, r.store, request.BackupList{Cluster: cluster})
}

// Expiry is when the first certificate of a cluster that the control host has expires, CAs aside: a renewal keeps them.
// Zero: it has none.
func (r *Runner) Expiry(cluster string) (first time.Time) {
	list, err := pki.List(filepath.Join(r.o.Root, cluster, "pki"))
	if err != nil {
		return first
	}
	for _, c := range list {
		if !c.Authority && (first.IsZero() || c.NotAfter.Before(first)) {
			first = c.NotAfter
		}
	}
	return first
}
