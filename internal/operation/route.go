package operation

import (
	"context"
	"errors"

	"github.com/eggo-k8s/eggo/internal/operation/request"
)

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
