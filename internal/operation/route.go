package operation

import (
	"context"
	"errors"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
)

// Upgrading says whether an upgrade of a cluster is in progress, which one without bundles continues.
func Upgrading(ctx context.Context, d Deps, cluster string) (is bool, err error) {
	files, err := d.Store.Read(ctx, cluster)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	begun, err := upgrade.ReadBegun(files.Dir())
	return begun.Under(), err
}

// Route says over which versions an upgrade goes, that of the cluster first, and refuses what the bundles alone make
// impossible. Of these no more than the heads are read, and no node is asked.
func Route(ctx context.Context, q request.Upgrade, d Deps) (versions []string, err error) {
	p, err := load(ctx, q, d)
	if err != nil {
		return nil, err
	}
	if p.files, err = d.Store.Read(ctx, p.cluster.Name); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.files.Close()) }()
	if err := p.loadOwn(p.files); err != nil {
		return nil, err
	}
	if err := p.planRoute(q); err != nil {
		return nil, err
	}
	return p.route.whole(), nil
}
