// Package runs begins the runs of a server's clusters as processes of their own, finds those that go on, and asks API
// servers whether they answer: manager.Runner over operations on the state directory. It may import manager, operation
// and what that stands on.
package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/desired"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
)

// mostRuns is more than an update can come to.
const mostRuns = 4

// Wanted is what a record wants: the deploy.yaml that a cluster is created with, and its nodes, nil for those that it
// has.
type Wanted struct {
	Server string             `json:"server,omitempty"` // its address, as the request had it
	Deploy string             `json:"deploy,omitempty"`
	Nodes  []clusterspec.Node `json:"nodes,omitempty"`
	// LoadBalancer is that of the deploy.yaml.
	LoadBalancer *clusterspec.Balancer `json:"load_balancer,omitempty"`
}

// Accepted are the host keys of what is wanted.
func (w Wanted) Accepted() map[string][]string { return clusterspec.Accepted(w.Nodes, w.LoadBalancer) }

// Parameters of an operation. They hold no secret.
type Parameters struct {
	OnFailure string        `json:"on_failure,omitempty"`
	HostKeys  string        `json:"host_keys,omitempty"`
	Unsigned  bool          `json:"allow_unsigned,omitempty"`
	Purge     bool          `json:"purge,omitempty"`
	Drain     time.Duration `json:"drain_ns,omitempty"`
	Force     bool          `json:"force,omitempty"`
	Bundles   []string      `json:"bundles,omitempty"`
	Batch     string        `json:"batch,omitempty"`
	Soak      time.Duration `json:"soak_ns,omitempty"`
	Window    string        `json:"window,omitempty"`
	Packages  bool          `json:"packages,omitempty"`
	Snapshot  string        `json:"snapshot,omitempty"`
	// TakeOver is that of request.Common.
	TakeOver uint64 `json:"take_over,omitempty"`
	// Seeded: a restore is a deploy of what is wanted to new machines, which begins with the data of a backup.
	Seeded bool `json:"seeded,omitempty"`
	// Nodes: the record's are wanted. What is continued without it leaves the nodes as they are.
	Nodes bool `json:"nodes,omitempty"`
	// Of a backup. Without recipients there is a passphrase among the secrets.
	Keep       int      `json:"keep,omitempty"`
	Recipients []string `json:"recipients,omitempty"`
}

// Options of a Runner.
type Options struct {
	Root     string // the state directory
	Data     string // the server's own: what clusters are created with, and their keys
	Launcher operation.Launcher
	// Deps are those of logins to control planes, through which an API server is reached that is not reached directly,
	// by secrets that were told; nil: it is not tried.
	Deps func(secrets map[string]string) operation.Deps
}

// Runner implements manager.Runner.
type Runner struct {
	o     Options
	store store.Dir

	mu       sync.Mutex
	secrets  map[string]map[string]map[string]told // by cluster, ID and user, for the runs that follow; never written
	tellings int                                   // of secrets, so far
	over     map[string]ended                      // by directory: how runs ended that are over
	feeds    map[string]*feed                      // by cluster and run: those that somebody watches
	asked    map[string]*asking                    // by cluster: runs that go on
	ways     map[string]*apiRoute                  // by cluster, to API servers

	machines kept[machines]
	found    kept[manager.Found]
	apis     kept[*API] // by path of the kubeconfig
	certs    kept[ends]
	why      kept[Why] // by directory of a run

	scanned []string // the clusters of the last scan, sorted
}

type ended struct {
	kind      manager.Kind
	fault     *event.Fault
	unchanged bool
}

// New makes a Runner.
func New(o Options) *Runner {
	return &Runner{o: o, store: store.Dir{Root: o.Root}, secrets: map[string]map[string]map[string]told{},
		over: map[string]ended{}, feeds: map[string]*feed{}, asked: map[string]*asking{}, ways: map[string]*apiRoute{}}
}

// Dir is the server's own directory of a cluster.
func (r *Runner) Dir(cluster string) string { return filepath.Join(r.o.Data, "clusters", cluster) }

// Keep writes a file of a cluster into the server's own directory, for root alone, and gives its path.
func (r *Runner) Keep(cluster, name, text string) error {
	dir := r.Dir(cluster)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	if err := renameio.WriteFile(filepath.Join(dir, name), []byte(text), 0o600, renameio.IgnoreUmask()); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// Removed implements manager.Runner.
func (r *Runner) Removed(cluster string) error {
	r.mu.Lock()
	w := r.ways[cluster]
	delete(r.secrets, cluster)
	delete(r.asked, cluster)
	delete(r.ways, cluster) // what was found out about it says nothing of another one with its name
	r.mu.Unlock()
	if w != nil {
		w.close()
	}
	r.forget(cluster)
	return os.RemoveAll(r.Dir(cluster))
}

// Free implements manager.Runner.
func (r *Runner) Free(_ context.Context, cluster string) error {
	j, err := journal.At(r.o.Root, cluster)
	if err != nil {
		return err
	}
	return j.Free()
}

// Start implements manager.Runner.
func (r *Runner) Start(ctx context.Context, rec manager.Record) (manager.Run, error) {
	q, err := r.next(ctx, rec)
	if err != nil || q == nil {
		return nil, err
	}
	w, p, err := read(rec)
	if err != nil {
		return nil, err
	}
	if q, err = asked(q, rec.Operation.Kind, w, p); err != nil {
		return nil, err
	}
	by := rec.Operation.By
	secrets := r.secretsFor(rec.Name, by, rec.Operation.Kind)
	h, err := r.o.Launcher.Launch(q, request.Answers{Secrets: secrets.values})
	if err != nil {
		return nil, err
	}
	run, err := h.Started(ctx)
	if err != nil && errors.Is(context.Cause(ctx), manager.ErrCanceled) { // before it has begun
		_ = h.Abort()
		run, err = h.Started(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, err
	}
	return &process{Handle: h, run: run, over: func(f *event.Fault) { r.used(rec.Name, by, secrets, f) }}, nil
}

// asked is a request with what the parameters of its operation say. Host keys are accepted for machines that this
// operation wants.
func asked(q request.Request, k manager.Kind, w Wanted, p Parameters) (request.Request, error) {
	on, err := request.ParseOnFailure(p.OnFailure)
	c := q.Base()
	c.OnFailure, c.HostKeys, c.Trust.AllowUnsigned, c.TakeOver = on, p.HostKeys, p.Unsigned, p.TakeOver
	if k == manager.Create || p.Nodes || p.Seeded {
		c.Accepted = w.Accepted()
	}
	return request.With(q, c), err
}

// read is what a record wants, and the parameters of its operation.
func read(rec manager.Record) (w Wanted, p Parameters, err error) {
	for data, into := range map[*json.RawMessage]any{&rec.Wanted: &w, &rec.Operation.Request: &p} {
		if len(*data) > 0 {
			if err := json.Unmarshal(*data, into); err != nil {
				return w, p, err
			}
		}
	}
	return w, p, nil
}

// next is what is to be done now; nil: nothing any more.
func (r *Runner) next(ctx context.Context, rec manager.Record) (request.Request, error) {
	o := rec.Operation
	w, p, err := read(rec)
	if err != nil {
		return nil, err
	}
	own := request.OfCluster(rec.Name)
	if o.Kind == manager.Update {
		return r.update(ctx, rec, w, p)
	}
	if len(o.Runs) > 0 {
		return nil, nil
	}
	switch o.Kind {
	case manager.Create:
		return r.create(ctx, rec.Name, w)
	case manager.Restore:
		if p.Seeded {
			return r.create(ctx, rec.Name, w)
		}
	case manager.Delete:
		if _, err := r.config(ctx, rec.Name); errors.Is(err, fs.ErrNotExist) { // nothing was ever changed
			return nil, nil
		}
	}
	return p.request(o.Kind, own, o.By), nil
}

// create is the deploy that a cluster begins with. When a run has touched a node, its own deploy.yaml counts: nodes may
// have joined or left since.
func (r *Runner) create(ctx context.Context, cluster string, w Wanted) (request.Request, error) {
	_, _, err := r.Own(ctx, cluster)
	if !errors.Is(err, fs.ErrNotExist) || w.Deploy == "" { // the run says why it cannot be read
		return request.Deploy{Common: request.OfCluster(cluster)}, nil
	}
	if err := r.Keep(cluster, store.ConfigName, w.Deploy); err != nil {
		return nil, err
	}
	return request.Deploy{Common: request.OfFile(r.File(cluster))}, nil
}

// File is the deploy.yaml that a cluster is created with.
func (r *Runner) File(cluster string) string { return filepath.Join(r.Dir(cluster), store.ConfigName) }

// itself is who asked for what nobody asked for. No user has this name.
const itself = "server"

// request is what one run of an operation by somebody is asked with, nil if the cluster decides about it.
func (p Parameters) request(k manager.Kind, own request.Common, by string) request.Request {
	switch k {
	case manager.Renew:
		return request.Renew{Common: own}
	case manager.Snapshot:
		return request.Snapshot{Common: own}
	case manager.Backup:
		b := request.Backup{Common: own, Keep: p.Keep, Recipients: p.Recipients, By: cmp.Or(by, itself)}
		if len(p.Recipients) == 0 {
			b.Key.Passphrase = "prompt"
		}
		return b
	case manager.Restore:
		if p.Seeded {
			return request.Deploy{Common: own}
		}
		return request.Restore{Common: own, Snapshot: p.Snapshot}
	case manager.Upgrade:
		u := request.NewUpgrade(own, p.Bundles...)
		u.Force, u.Batch, u.Window, u.Packages = p.Force, p.Batch, p.Window, p.Packages
		if p.Drain > 0 {
			u.Drain = p.Drain
		}
		if p.Soak > 0 {
			u.Soak = p.Soak
		}
		return u
	case manager.Back:
		return request.Back{Common: own, Batch: p.Batch, Drain: p.Drain, Force: p.Force}
	case manager.Delete:
		return request.Cleanup{Common: own, Purge: p.Purge}
	}
	return nil
}

// Valid refuses what no run of an operation would take, before there is one.
func (p Parameters) Valid(k manager.Kind) error {
	if _, err := request.ParseOnFailure(p.OnFailure); err != nil {
		return err
	}
	if q := p.request(k, request.Common{}, ""); q != nil {
		return q.Validate()
	}
	return nil
}

// Own is the text of the cluster's own deploy.yaml, and its path; fs.ErrNotExist when it has none.
func (r *Runner) Own(ctx context.Context, cluster string) (text []byte, path string, err error) {
	files, err := r.store.Read(ctx, cluster)
	if err != nil {
		return nil, "", err
	}
	defer files.Close()
	return files.Config()
}

// config is the cluster's own deploy.yaml.
func (r *Runner) config(ctx context.Context, cluster string) (*config.Cluster, error) {
	text, path, err := r.Own(ctx, cluster)
	if err != nil {
		return nil, err
	}
	c, problems := config.Load(text, path)
	return c, problems.Err()
}

// Nodes are those that a cluster has, by its own deploy.yaml; none if it has none.
func (r *Runner) Nodes(ctx context.Context, cluster string) ([]clusterspec.Node, error) {
	nodes, _, err := r.Machines(ctx, cluster)
	return nodes, err
}

// machines are the nodes and the load balancer of a deploy.yaml.
type machines struct {
	nodes    []clusterspec.Node
	balancer *clusterspec.Balancer
}

// Machines are the nodes that a cluster has, and its load balancer, by its own deploy.yaml; none if it has none.
func (r *Runner) Machines(ctx context.Context, cluster string) ([]clusterspec.Node, *clusterspec.Balancer, error) {
	dir := filepath.Join(r.o.Root, cluster)
	files := stats(filepath.Join(dir, journal.FormatFile), filepath.Join(dir, store.ConfigName))
	m, err := r.machines.of(cluster, files, func() (machines, error) {
		c, err := r.config(ctx, cluster)
		if err != nil {
			return machines{}, err
		}
		return machines{clusterspec.Of(c), clusterspec.BalancerOf(c)}, nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if m.balancer != nil { // what is kept is nobody's to change
		lb := *m.balancer
		m.balancer = &lb
	}
	return slices.Clone(m.nodes), m.balancer, err
}

// update returns the next run that brings a cluster to the wanted nodes. Without a difference, the first run is a
// deploy, which continues what was interrupted.
func (r *Runner) update(ctx context.Context, rec manager.Record, w Wanted, p Parameters) (request.Request, error) {
	o := rec.Operation
	c, err := r.config(ctx, rec.Name)
	if errors.Is(err, fs.ErrNotExist) && len(o.Runs) == 0 { // no node was touched yet
		return r.create(ctx, rec.Name, w)
	}
	if err != nil {
		return nil, err
	}
	want := c
	if w.Nodes != nil && p.Nodes {
		if want, err = with(c, w.Nodes); err != nil {
			return nil, err
		}
	}
	if len(o.Runs) >= mostRuns {
		return nil, event.NewFault(event.ClassFailed, "manager.endless", nil, "cluster", rec.Name)
	}
	has := desired.State{Name: rec.Name, Config: c, Unfinished: len(o.Runs) == 0}
	d, err := desired.Compare(has, desired.Wanted{Config: want})
	if err != nil {
		return nil, err
	}
	return d.Next(desired.Options{Drain: p.Drain, Force: p.Force, Purge: p.Purge}), nil
}

// Planned returns the first run of an update to nodes; nil if there is no difference.
func (r *Runner) Planned(ctx context.Context, cluster string, nodes []clusterspec.Node) (request.Request, error) {
	c, err := r.config(ctx, cluster)
	if err != nil {
		return nil, err
	}
	want, err := with(c, nodes)
	if err != nil {
		return nil, err
	}
	d, err := desired.Compare(desired.State{Name: cluster, Config: c}, desired.Wanted{Config: want})
	if err != nil {
		return nil, err
	}
	return d.Next(desired.Options{}), nil
}

// with returns a cluster with other nodes. A node that it has stays as it is: the rules of an update refuse changes.
func with(c *config.Cluster, nodes []clusterspec.Node) (*config.Cluster, error) {
	var machines []config.Node
	settings := map[string]config.NodeSettings{}
	for _, n := range nodes {
		x, err := n.Config()
		if err != nil {
			return nil, err
		}
		machines = append(machines, x)
		settings[x.IP.String()] = n.Settings()
	}
	return desired.Of(c, machines, settings), nil
}

// Attach implements manager.Runner.
func (r *Runner) Attach(ctx context.Context, cluster, run string) (manager.Run, error) {
	h, err := operation.Open(context.WithoutCancel(ctx), r.store, request.Ref{Cluster: cluster, Run: run})
	if err != nil {
		return nil, err
	}
	ref, err := h.Started(ctx)
	return &process{Handle: h, run: ref}, err
}

// process is a run. It implements manager.Run.
type process struct {
	*operation.Handle
	run  operation.Run
	over func(*event.Fault) // nil: which secrets it used is not known
	once sync.Once
}

// ID implements manager.Run.
func (p *process) ID() string { return p.run.Run }

// Outcome implements manager.Run.
func (p *process) Outcome() manager.Outcome {
	_, err := p.Wait(context.Background()) // it is over: nothing is waited for
	f := faultOf(p.run.Cluster, err)
	if p.over != nil {
		p.once.Do(func() { p.over(f) })
	}
	return manager.Outcome{Fault: f, Unchanged: f != nil && unchanged(p.run.Dir)}
}

func faultOf(cluster string, err error) *event.Fault {
	if errors.Is(err, operation.ErrDied) {
		return event.NewFault(event.ClassInterrupted, "manager.run-died", nil, "cluster", cluster)
	}
	return event.AsFault(err)
}
