package server

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// actInput is what begins something without parameters of its own.
type actInput struct {
	InCluster
	Matching
	Body *RunOptions
}

// options are what was said, if anything was.
func (i *actInput) options() RunOptions {
	if i.Body == nil {
		return RunOptions{}
	}
	return *i.Body
}

type cancelInput struct {
	InCluster
	Matching
}

// UpgradeInput is the request that upgrades a cluster.
type UpgradeInput struct {
	InCluster
	Matching
	Body struct {
		UpgradeOptions
		Back bool `json:"back,omitempty" doc:"The upgrade in progress is reverted."`
	}
}

// UpgradeOptions are what an upgrade may be told.
type UpgradeOptions struct {
	RunOptions
	Bundles  []string `json:"bundles,omitempty" maxItems:"32" doc:"Paths on this host, for each architecture and version; none: continue."`
	Batch    string   `json:"batch,omitempty" maxLength:"8" doc:"Workers at a time: 3 or 10%."`
	Soak     string   `json:"soak,omitempty" maxLength:"16" doc:"How long the upgrade can be reverted, such as 10m."`
	Window   string   `json:"window,omitempty" maxLength:"16" doc:"The time of day for workers, such as 22:00-06:00."`
	Packages bool     `json:"packages,omitempty" doc:"Packages of the nodes are upgraded, too."`
}

// Problems are all that is wrong with the options, each where it stands in the request.
func (o UpgradeOptions) Problems() (out problem.All) {
	at := func(field string, err error) {
		if err != nil {
			out = append(out, problem.At{Location: "body." + field, Fault: event.AsFault(err)})
		}
	}
	for _, b := range o.Bundles {
		if !filepath.IsAbs(b) {
			at("bundles", event.NewFault(event.ClassUsage, "usage.bundle", nil, "value", b))
		}
	}
	_, err := request.ParseOnFailure(o.OnFailure)
	at("on_failure", err)
	_, err = duration("drain", o.Drain)
	at("drain", err)
	u := request.NewUpgrade(request.Common{})
	if soak, err := duration("soak", o.Soak); err != nil {
		at("soak", err)
	} else if soak > 0 {
		u.Soak = soak
		at("soak", u.Validate())
	}
	_, err = request.Workers(o.Batch, 1)
	at("batch", err)
	_, _, err = request.ParseWindow(o.Window)
	at("window", err)
	return out
}

type restoreInput struct {
	InCluster
	Matching
	Body struct {
		RunOptions
		Snapshot string `json:"snapshot" minLength:"1" maxLength:"256" doc:"The name of a snapshot of this cluster."`
	}
}

// operations are the routes that begin something on a cluster, and end it.
func (s *Server) operations(api huma.API) {
	post := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: "POST", Path: "/clusters/{cluster}/" + path, Summary: summary,
			DefaultStatus: http.StatusAccepted, Tags: []string{"operations"}}
	}
	simple := func(k manager.Kind) func(context.Context, access.Grant, *actInput) (*shown, error) {
		return func(ctx context.Context, who access.Grant, in *actInput) (*shown, error) {
			return s.begin(ctx, in.Cluster, k, in.Matching, in.options(), nil, nil, who, manager.Request{})
		}
	}
	add(s, api, post("renew-certificates", "renew", "Reissue the certificates"), access.Operate,
		simple(manager.Renew))
	add(s, api, post("take-snapshot", "snapshots", "Take a snapshot of etcd"), access.Operate,
		simple(manager.Snapshot))
	add(s, api, post("continue-cluster", "continue", "Continue what failed or was canceled"), access.Operate,
		s.carryOn, func(i *actInput) (string, string) {
			v, _ := s.Manager.Cluster(i.Cluster) // the kind that is continued now; "": the server connects again
			return "", string(v.Continued())
		})
	add(s, api, post("cancel-cluster", "cancel", "Cancel what is going on"), access.Operate, s.cancel)
	s.UpgradeCluster = add(s, api, post("upgrade-cluster", "upgrade", "Upgrade Kubernetes, or revert that"),
		access.Operate, s.upgrade)
	add(s, api, post("restore-snapshot", "restore", "Restore a snapshot of etcd"), access.Administer, s.restore,
		func(i *restoreInput) (string, string) { return "", i.Body.Snapshot })
	s.ListSnapshots = add(s, api, huma.Operation{OperationID: "list-snapshots", Method: "GET",
		Path: "/clusters/{cluster}/snapshots", Summary: "List the snapshots of etcd", Tags: []string{"operations"}},
		access.View, s.snapshots)
}

func (s *Server) carryOn(ctx context.Context, who access.Grant, in *actInput) (*shown, error) {
	revision, err := in.revision(in.Cluster)
	if err == nil {
		err = s.Runs.Here(ctx, in.Cluster)
	}
	if err != nil {
		return nil, err
	}
	// A deletion and a restore, which an administrator began, are continued by one only. What an operator may begin he
	// continues as it was wanted, also what needed an administrator then, such as nodes or a bundle from elsewhere.
	_, denied := access.Check(ctx, s.Access, access.Administer, in.Cluster)
	q := manager.Request{By: who.Name(), Revision: revision, Check: func(r manager.Record) error {
		if k := r.Continued(); k == manager.Delete || k == manager.Restore {
			return denied
		}
		return nil
	}}
	o := in.options()
	if o.OnFailure+o.HostKeys+o.Drain != "" || o.Unsigned || o.Force || o.TakeOver > 0 {
		p, err := o.parameters()
		if err != nil {
			return nil, err
		}
		v, err := s.Manager.Cluster(in.Cluster)
		if err != nil {
			return nil, err
		}
		// What is continued keeps its own parameters, such as its bundles, and not those of what fails meanwhile.
		p, q.Revision = runs.Over(v.Failed, p), cmp.Or(revision, v.Revision)
		if err := p.Valid(v.Continued()); err != nil {
			return nil, err
		}
		if o.Unsigned || o.HostKeys == acceptNew || o.TakeOver > 0 {
			if err := s.privileged(ctx, in.Cluster); err != nil {
				return nil, err
			}
		}
		if q.Request, err = raw(p); err != nil {
			return nil, err
		}
	}
	if len(o.Secrets) > 0 {
		v, err := s.Manager.Cluster(in.Cluster)
		if err == nil {
			err = s.askedFor(ctx, in.Cluster, wanted(v.Record).Deploy, false, o.Secrets)
		}
		if err != nil {
			return nil, err
		}
		q.Prepare = func() error { s.Runs.SetSecrets(in.Cluster, who.Name(), o.Secrets); return nil }
	}
	v, err := s.Manager.Continue(ctx, in.Cluster, q)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, v, http.StatusAccepted), nil
}

func (s *Server) cancel(ctx context.Context, who access.Grant, in *cancelInput) (*shown, error) {
	revision, err := in.revision(in.Cluster)
	if err != nil {
		return nil, err
	}
	v, err := s.Manager.Cancel(ctx, in.Cluster, manager.Request{By: who.Name(), Revision: revision})
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, v, http.StatusAccepted), nil
}

func (s *Server) upgrade(ctx context.Context, who access.Grant, in *UpgradeInput) (*shown, error) {
	k := manager.Upgrade
	if in.Body.Back {
		k = manager.Back
	}
	wrong := in.Body.Problems()
	if len(wrong) > 1 { // one by itself is the fault of the request
		return nil, wrong
	}
	return s.begin(ctx, in.Cluster, k, in.Matching, in.Body.RunOptions, nil, func(p *runs.Parameters) error {
		if len(wrong) > 0 {
			return wrong[0].Fault
		}
		if k == manager.Upgrade && len(in.Body.Bundles) == 0 {
			// What cannot be read is the run's to say.
			if is, err := operation.Upgrading(ctx, s.Deps(), in.Cluster); !is && err == nil {
				return event.NewFault(event.ClassUsage, "upgrade.no-bundles", nil, "cluster", in.Cluster, "version", "")
			}
		}
		p.Bundles, p.Batch, p.Window, p.Packages = in.Body.Bundles, in.Body.Batch, in.Body.Window, in.Body.Packages
		var err error
		p.Soak, err = duration("soak", in.Body.Soak)
		return err
	}, who, manager.Request{})
}

func (s *Server) restore(ctx context.Context, who access.Grant, in *restoreInput) (*shown, error) {
	o := in.Body.RunOptions
	return s.begin(ctx, in.Cluster, manager.Restore, in.Matching, o, nil, func(p *runs.Parameters) error {
		all, err := s.snapshotsOf(in.Cluster)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(x Snapshot) bool { return x.Name == in.Body.Snapshot }) {
			return event.NewFault(event.ClassUsage, "api.no-snapshot", nil, "cluster", in.Cluster,
				"name", in.Body.Snapshot)
		}
		p.Snapshot = filepath.Join(s.Runs.Snapshots(in.Cluster), in.Body.Snapshot)
		return nil
	}, who, manager.Request{})
}

// Snapshot of etcd.
type Snapshot struct {
	Name string    `json:"name"`
	Size int64     `json:"size_bytes"`
	At   time.Time `json:"at"`
}

type snapshotsOutput struct{ Body problem.List[Snapshot] }

func (s *Server) snapshots(_ context.Context, _ access.Grant, in *InCluster) (*snapshotsOutput, error) {
	if _, err := s.Manager.Cluster(in.Cluster); err != nil {
		return nil, err
	}
	all, err := s.snapshotsOf(in.Cluster)
	out := &snapshotsOutput{}
	out.Body.Items = all
	return out, err
}

// snapshotsOf are those of a cluster that exists, the newest first.
func (s *Server) snapshotsOf(cluster string) ([]Snapshot, error) {
	out := []Snapshot{}
	v, err := s.Manager.Cluster(cluster)
	if err != nil { // its name is part of a path
		return nil, err
	}
	entries, err := os.ReadDir(s.Runs.Snapshots(cluster))
	if err != nil && !os.IsNotExist(err) {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	for _, e := range slices.Backward(entries) {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ".db") {
			continue
		}
		if info.ModTime().Before(v.Begins.Truncate(time.Second)) { // of an earlier cluster of this name
			continue
		}
		out = append(out, Snapshot{e.Name(), info.Size(), info.ModTime().UTC()})
	}
	return out, nil
}
