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

// Ends are when the first certificate of a cluster expires that a renewal makes last longer, and when the first CA
// does. Zero: there is none.
func (r *Runner) Ends(cluster string) (leaf, authority time.Time) {
	list, err := pki.List(filepath.Join(r.o.Root, cluster, "pki"))
	if err != nil {
		return leaf, authority
	}
	for _, c := range pki.Renewable(list) {
		if leaf.IsZero() || c.NotAfter.Before(leaf) {
			leaf = c.NotAfter
		}
	}
	for _, c := range list {
		if c.Authority && (authority.IsZero() || c.NotAfter.Before(authority)) {
			authority = c.NotAfter
		}
	}
	return leaf, authority
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
