package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// errUnsettled is why nothing is kept of a cluster: no file changes when its run ends.
var errUnsettled = errors.New("a run goes on")

// Scan implements manager.Runner. A cluster is looked at again when another run began, or its deploy.yaml has changed.
func (r *Runner) Scan(ctx context.Context) ([]manager.Found, error) {
	entries, err := r.store.Entries()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	r.forgetOthers(names)
	var out []manager.Found
	for _, e := range entries {
		dir := filepath.Join(r.o.Root, e.Name())
		files := stats(filepath.Join(dir, "runs"), filepath.Join(dir, store.ConfigName),
			filepath.Join(dir, journal.FormatFile))
		if files[0] == nil && files[1] == nil && files[2] == nil {
			continue
		}
		f, err := r.found.of(e.Name(), files, func() (manager.Found, error) {
			if !r.store.Knows(e) {
				return manager.Found{}, nil
			}
			f, err := r.Find(ctx, e.Name())
			if err == nil && f.Live {
				err = errUnsettled
			}
			return f, err
		})
		if err != nil && !errors.Is(err, errUnsettled) || f.Name == "" {
			continue // of a newer program, or damaged: the command line says why
		}
		out = append(out, f)
	}
	return out, nil
}

// Find implements manager.Runner.
func (r *Runner) Find(ctx context.Context, cluster string) (manager.Found, error) {
	f := manager.Found{Name: cluster}
	files, err := r.store.Read(ctx, cluster)
	if err != nil {
		return f, err
	}
	defer files.Close()
	_, _, err = files.Config()
	f.Installed = err == nil
	j := files.Journal()
	ids, err := j.Runs()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if len(ids) == 0 {
		return f, nil
	}
	last := len(ids) - 1
	f.Run = ids[last]
	e, live := r.looked(j, cluster, f.Run)
	f.Kind, f.Fault, f.Unchanged, f.Live = e.kind, e.fault, e.unchanged, live
	for i := last - 1; i >= 0 && f.Kind.Quiet(); i-- {
		if request.Verb(j.Verb(ids[i])).LeavesStateAlone() {
			continue
		}
		if e, _ := r.looked(j, cluster, ids[i]); e.fault != nil {
			f.Before = &manager.Failed{Run: ids[i], Kind: e.kind, Fault: e.fault}
		}
		break
	}
	return f, nil
}

// Former implements manager.Runner.
func (r *Runner) Former(ctx context.Context, cluster string) (run string, ended time.Time) {
	files, err := r.store.Read(ctx, cluster)
	if err != nil {
		return "", time.Time{}
	}
	defer files.Close()
	j := files.Journal()
	ids, err := j.Runs()
	if err != nil { // what cannot be read is not shown either
		return "", time.Time{}
	}
	for _, id := range slices.Backward(ids) {
		if e, live := r.looked(j, cluster, id); e.kind == manager.Delete && !live && e.fault == nil {
			last, err := journal.Last(j.RunDir(id))
			if err != nil {
				return id, time.Time{}
			}
			return id, last.Time
		}
	}
	return "", time.Time{}
}

// looked is what a run does and, unless it goes on, how it ended.
func (r *Runner) looked(j *journal.Cluster, cluster, run string) (e ended, live bool) {
	dir := j.RunDir(run)
	r.mu.Lock()
	known, is := r.over[dir]
	r.mu.Unlock()
	if is {
		return known, false
	}
	e.kind = kindOf(request.Verb(j.Verb(run)), dir)
	if j.Writing(run) {
		return e, true
	}
	if e.fault = outcome(cluster, dir); j.Writing(run) { // it has only just begun
		return ended{kind: e.kind}, true
	}
	e.unchanged = e.fault != nil && unchanged(dir)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over[dir] = e
	return e, false
}

// outcome is how the run of a directory ended.
func outcome(cluster, dir string) *event.Fault {
	last, err := journal.Last(dir)
	if end, is := last.Event.(event.RunEnded); err == nil && is {
		return end.Fault
	}
	return faultOf(cluster, event.NewFault(event.ClassInterrupted, "manager.run-died", nil, "cluster", cluster))
}

// kindOf is what a run of a verb is to the manager.
func kindOf(v request.Verb, dir string) manager.Kind {
	switch v {
	case request.VerbDeploy:
		return manager.Create
	case request.VerbCleanup:
		if !some(dir) {
			return manager.Delete
		}
	case request.VerbRenew:
		return manager.Renew
	case request.VerbSnapshot:
		return manager.Snapshot
	case request.VerbRestore:
		return manager.Restore
	case request.VerbUpgrade:
		return manager.Upgrade
	case request.VerbBack:
		return manager.Back
	case request.VerbBackup:
		return manager.Backup
	}
	return manager.Update
}

// some says whether a run keeps to some nodes of its cluster.
func some(dir string) bool {
	limited := false
	_ = each(dir, func(e event.Event) bool {
		start, is := e.(event.RunStarted)
		limited = is && (len(start.Nodes) > 0 || start.Options != nil && len(start.Options.Limit) > 0)
		return is
	})
	return limited
}

// unchanged says whether a run ended before it changed anything: each change is in its log before it is made.
func unchanged(dir string) bool {
	changed := false
	err := each(dir, func(e event.Event) bool {
		_, changed = e.(event.Change)
		return changed
	})
	return err == nil && !changed
}

// each has the events of a run's log seen, until that is enough.
func each(dir string, enough func(event.Event) bool) error {
	records, closeLog, err := journal.OpenReader(dir)
	if err != nil {
		return err
	}
	defer closeLog()
	for {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || enough(rec.Event) {
			return err
		}
	}
}

// Kubeconfig is the path of the kubeconfig that a cluster is looked at with.
func (r *Runner) Kubeconfig(rec manager.Record) string {
	if rec.Kubeconfig {
		return filepath.Join(r.Dir(rec.Name), kubeconfigName)
	}
	return filepath.Join(r.o.Root, rec.Name, "admin.conf")
}

const kubeconfigName = "kubeconfig"

// Snapshots is the directory with the snapshots of a cluster's etcd.
func (r *Runner) Snapshots(cluster string) string {
	return filepath.Join(r.o.Root, cluster, "snapshots")
}

// Over are the parameters of an operation that is continued, with what is said now in place of what was said before.
func Over(last *manager.Operation, now Parameters) Parameters {
	var p Parameters
	if last != nil && json.Unmarshal(last.Request, &p) != nil {
		p = Parameters{}
	}
	p.OnFailure, p.HostKeys = cmp.Or(now.OnFailure, p.OnFailure), cmp.Or(now.HostKeys, p.HostKeys)
	p.Drain, p.Force = cmp.Or(now.Drain, p.Drain), now.Force || p.Force
	p.Unsigned, p.TakeOver = now.Unsigned || p.Unsigned, cmp.Or(now.TakeOver, p.TakeOver)
	return p
}
