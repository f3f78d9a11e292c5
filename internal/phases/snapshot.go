package phases

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/phases/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

// Snapshot plans to save etcd's data as a file on the control host: at path, or in the cluster's directory when path is
// "". Nothing on the nodes changes. One member that answers is enough.
func Snapshot(env Env, path string) *engine.Plan {
	r := newRun(env)
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseSnapshot})
	for _, n := range env.Cluster.With(bundle.Etcd) {
		b.Add(preflight.Inspect(r.Nodes, n))
	}
	s := plan.Step(plan.PhaseSnapshot, "save", "", b.IDs(plan.PhasePreflight, ""))
	s.Timeout = 30 * time.Minute
	s.Apply = func(ctx context.Context) error { return r.etcd.Snapshots.Save(ctx, path) }
	b.Add(s)
	return b.Plan()
}

// SnapshotFile is what a snapshot of etcd says of itself.
type SnapshotFile = etcd.SnapshotFile

// ReadSnapshot verifies a snapshot.
func ReadSnapshot(ctx context.Context, path string) (*SnapshotFile, error) {
	return etcd.ReadSnapshot(ctx, path)
}
