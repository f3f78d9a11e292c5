package preflight

import (
	"context"
	"slices"
	"sync"

	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
)

// fenced raises the number of the cluster when a check has found nothing, and writes it to the nodes that are the
// cluster's already, before anything is changed. Others get it when they are claimed.
func fenced(r *inventory.Nodes, check func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := check(ctx); err != nil || r.Fence == nil || r.Fence.By == "" || r.Dry {
			return err
		}
		return Raise(ctx, r)
	}
}

// Raise raises the number of the cluster above that of its files and nodes, and writes it to the nodes that are the
// cluster's. Without a number that the run may take over, the nodes have been checked before.
func Raise(ctx context.Context, r *inventory.Nodes) error {
	if _, err := r.Fence.Raise(ctx, r.Env, r.Owners()); err != nil {
		return err
	}
	return Own(ctx, r, r.Claimed(), r.Fence.Raised())
}

// Own writes an owner to nodes, all at once; those beyond the limit of the run are left out.
func Own(ctx context.Context, r *inventory.Nodes, names []string, line []byte) error {
	faults := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		if len(r.Limit) > 0 && !slices.Contains(r.Limit, name) {
			continue
		}
		all.Go(func() {
			// A node that the run can do without is treated as one that was away.
			if err := r.Node(name).Own(ctx, line); err != nil && !r.Skip(name) {
				faults[i] = err
			}
		})
	}
	all.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}
