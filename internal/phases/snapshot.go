package phases

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Snapshot plans to save etcd's data as a file on the control host: at path, or in the cluster's directory when path is
// "". Nothing on the nodes changes. One member that answers is enough.
func Snapshot(env Env, path string) *engine.Plan { return snapshot(env, path).Plan() }

// Backup plans a snapshot at path, and after it what packs it with the files of the cluster.
func Backup(env Env, path string, pack func(context.Context) error) *engine.Plan {
	b := snapshot(env, path)
	s := plan.Step(plan.PhaseSnapshot, "pack", "", b.IDs(plan.PhaseSnapshot, ""))
	s.Timeout = time.Hour
	s.Apply = pack
	b.Add(s)
	return b.Plan()
}

func snapshot(env Env, path string) *plan.Builder {
	r := newRun(env)
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseSnapshot})
	for _, n := range env.Cluster.With(bundle.Etcd) {
		b.Add(preflight.Inspect(r.Nodes, n))
	}
	s := plan.Step(plan.PhaseSnapshot, "save", "", b.IDs(plan.PhasePreflight, ""))
	s.Timeout = 30 * time.Minute
	s.Apply = func(ctx context.Context) error { return r.etcd.Snapshots.Save(ctx, path) }
	b.Add(s)
	return b
}

// Seed is the snapshot that the members of a cluster of new machines begin with. While the cluster's directory has it,
// a deploy begins with it.
type Seed = etcd.Seed

// NewSeed is one of a snapshot that ReadSnapshot has verified.
func NewSeed(s *SnapshotFile) Seed {
	return Seed{Path: s.Path, SHA256: s.SHA256, Size: s.Size, Token: etcd.NewToken()}
}

// SnapshotFile is what a snapshot of etcd says of itself.
type SnapshotFile = etcd.SnapshotFile

// ReadSnapshot verifies a snapshot.
func ReadSnapshot(ctx context.Context, path string) (*SnapshotFile, error) {
	return etcd.ReadSnapshot(ctx, path)
}
