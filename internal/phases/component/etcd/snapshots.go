package etcd

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
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/scratch"
)

// Snapshots saves etcd's data as files on the control host.
type Snapshots struct {
	*clients.Clients
	Driver driver.Driver
}

// BeforeLoss saves the data of a node's member before it goes. A member that does not answer is reported, and does not
// stop what it is saved for.
func (r *Snapshots) BeforeLoss(ctx context.Context, n config.Node, nd *node.Node) error {
	tell := func(key string, kv ...string) error {
		return r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx), Text: event.M(key, kv...)})
	}
	if r.NoSnapshots {
		return tell("notice.no-snapshots")
	}
	if runs, err := r.Driver.Runs(ctx, nd, driver.Etcd); err != nil {
		return err
	} else if !runs {
		return tell("notice.no-etcd")
	}
	// Without the cluster's certificates there is no way in, and new ones would be another cluster's.
	if _, err := os.Stat(filepath.Join(r.StateDir, "pki", "etcd", "ca.key")); err != nil {
		return tell("notice.no-snapshot", "cause", event.Clean(err.Error()))
	}
	if err := r.ReadPKI(ctx); err != nil {
		return tell("notice.no-snapshot", "cause", event.AsFault(err).Error())
	}
	path := r.path(n.Name)
	if _, err := r.save(ctx, n, nd, path); err != nil {
		if ourDisk(err) {
			// It is this machine that cannot keep the snapshot: etcd's data stay until it can.
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
		return tell("notice.no-snapshot", "cause", event.Clean(err.Error()))
	}
	if err := r.Keep(ctx, input.KeptSnapshots); err != nil { // likewise
		return err
	}
	return tell("notice.snapshot", "path", path)
}

// BeforeChange saves etcd's data before the membership changes, from a member that answers.
func (r *Snapshots) BeforeChange(ctx context.Context, without string) error {
	for _, n := range r.Cluster.With(bundle.Etcd) {
		if nd := r.Node(n.Name); nd != nil && n.Name != without && r.ReadThrough(ctx, layout.ClientURL(n)) == nil {
			return r.BeforeLoss(ctx, n, nd)
		}
	}
	return nil
}

// Save saves the snapshot of the first member that gives one: at path, or in the cluster's directory when path is "".
func (r *Snapshots) Save(ctx context.Context, path string) error {
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
			to = r.path(n.Name)
		}
		s, err := r.save(ctx, n, nd, to)
		if err == nil {
			if err := r.Keep(ctx, input.KeptSnapshots); err != nil {
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

// ourDisk says whether it is the control host that cannot keep a snapshot.
func ourDisk(err error) bool {
	return errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
}

// path is a new name in the cluster's directory.
func (r *Snapshots) path(member string) string {
	return filepath.Join(r.StateDir, "snapshots", r.Now().UTC().Format("20060102T150405Z")+"-"+member+".db")
}

// partPrefix begins the name of the directory that a snapshot is in until it is whole.
const partPrefix = ".part-"

// save writes a member's data to path, mode 0600: whole, with the right sum and readable, or not at all.
func (r *Snapshots) save(ctx context.Context, n config.Node, nd *node.Node, path string) (*SnapshotFile, error) {
	c, err := r.EtcdClient(ctx, []string{layout.ClientURL(n)}, nd)
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
	// Until its sum is checked, its bytes are what the node says: a path that can be guessed would offer them to
	// others.
	part, remove, err := scratch.Dir(filepath.Dir(path), partPrefix, r.Now())
	if err != nil {
		return nil, err
	}
	defer func() { _ = remove() }() // else the next snapshot does it
	f, err := os.OpenFile(filepath.Join(part, "snapshot"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
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

// meter reports how far a transfer is, a few times a second.
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
