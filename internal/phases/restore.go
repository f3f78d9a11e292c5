package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Restore plans to make the whole etcd cluster again from a snapshot that ReadSnapshot has verified. Every member's new
// data is made beside the old while the cluster runs; then API servers and members stop, the data change places, and
// all start. The old data stay on the nodes.
func Restore(env Env, snap *SnapshotFile) (*engine.Plan, error) {
	r := newRun(env)
	re, err := r.etcd.Restore(snap)
	if err != nil {
		return nil, err
	}
	b := plan.New(r.options(),
		plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseRestore},
		plan.Phase{ID: plan.PhaseCheck})
	b.Add(preflight.Steps(r.Nodes, nil, func(ctx context.Context) error { return r.checkRestore(ctx, snap) })...)
	b.Add(re.Prepare()...)
	b.Add(re.Exchange()...)
	b.Add(re.ComeBack(r.control.Ready)...)
	return b.Plan(), nil
}
