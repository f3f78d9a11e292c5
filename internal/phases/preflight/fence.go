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
		if _, err := r.Fence.Raise(ctx, r.Env, r.Owners()); err != nil {
			return err
		}
		names := r.Claimed()
		faults := make([]error, len(names))
		var all sync.WaitGroup
		for i, name := range names {
			if len(r.Limit) > 0 && !slices.Contains(r.Limit, name) {
				continue
			}
			all.Go(func() {
				// A node that the run can do without is treated as one that was away.
				if err := r.Node(name).Own(ctx, r.Fence.Raised()); err != nil && !r.Skip(name) {
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
}
