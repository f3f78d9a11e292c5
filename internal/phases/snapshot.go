package phases

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// Snapshot plans to save etcd's data as a file on the jump host: at path, or in the cluster's directory when path is
// "". Nothing on the nodes changes. One member that answers is enough.
func Snapshot(env Env, path string) *engine.Plan {
	r := newRun(env)
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseSnapshot})
	for _, n := range env.Cluster.With(bundle.Etcd) {
		b.Add(r.lookStep(n))
	}
	s := plan.Step(plan.PhaseSnapshot, "save", "", b.IDs(plan.PhasePreflight, ""))
	s.Timeout = 30 * time.Minute
	s.Apply = func(ctx context.Context) error { return r.snapshotAny(ctx, path) }
	b.Add(s)
	return b.Plan()
}

// snapshotAny saves the snapshot of the first member that gives one.
func (r *run) snapshotAny(ctx context.Context, path string) error {
	if err := r.OpenPKI(ctx); err != nil {
		return err
	}
	var last error
	for _, n := range r.Cluster.With(bundle.Etcd) {
		nd := r.Node(n.Name)
		if nd == nil {
			gone := r.Failure(n.Name, n.Name).Fault
			last = errors.Join(last, &gone)
			continue
		}
		to := path
		if to == "" {
			to = r.snapshotPath(n.Name)
		}
		s, err := r.saveSnapshot(ctx, n, nd, to)
		if err == nil {
			if err := r.Keep(ctx, env.KeptSnapshots); err != nil {
				return err
			}
			return r.Emit(event.Notice{
				Host: n.Name, Step: engine.StepID(ctx), Text: event.M("notice.snapshot-saved", s.args()...),
			})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ourDisk(err) {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
		last = errors.Join(last, event.NewFault(event.ClassFailed, "snapshot.member", err).On(n.Name))
	}
	return event.NewFault(event.ClassFailed, "snapshot.none", last)
}

func ourDisk(err error) bool {
	return errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
}

// snapshotPath is a new name in the cluster's directory.
func (r *run) snapshotPath(member string) string {
	return filepath.Join(r.StateDir, "snapshots", r.Now().UTC().Format("20060102T150405Z")+"-"+member+".db")
}

// saveSnapshot writes a member's data to path, mode 0600: whole, with the right sum and readable, or not at all.
func (r *run) saveSnapshot(ctx context.Context, n config.Node, nd *node.Node, path string) (*SnapshotFile, error) {
	c, err := r.EtcdClient(ctx, []string{"https://" + n.IP.String() + ":2379"}, nd)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	meter := &meter{emit: r.Emit, event: event.Progress{Host: n.Name, Step: engine.StepID(ctx),
		What: filepath.Base(path)}, now: r.Now}
	ask, stop := context.WithTimeout(ctx, 10*time.Second)
	if status, err := c.Status(ask, c.Endpoints()[0]); err == nil {
		meter.event.Total = status.DbSize
	}
	stop()
	src, err := c.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // not there any more when all went well
	defer f.Close()
	if _, err := io.Copy(io.MultiWriter(f, meter), src); err != nil {
		return nil, err
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync()); err != nil {
		return nil, err
	}
	s, err := ReadSnapshot(ctx, f.Name())
	if err != nil {
		return nil, err
	}
	s.Path = path
	return s, os.Rename(f.Name(), path)
}

// meter tells how far a transfer is, a few times a second.
type meter struct {
	emit  func(event.Event) error
	event event.Progress
	now   func() time.Time
	last  time.Time
}

func (m *meter) Write(p []byte) (int, error) {
	m.event.Done += int64(len(p))
	m.event.Total = max(m.event.Total, m.event.Done)
	if now := m.now(); now.Sub(m.last) >= 250*time.Millisecond {
		m.last = now
		if err := m.emit(m.event); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
