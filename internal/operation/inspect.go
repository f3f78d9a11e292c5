package operation

import (
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"sync"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// inspection is a request of which nothing comes: no lock is taken, here or on the nodes, no run is logged, and what is
// kept of the cluster is a copy that goes with it.
type inspection struct {
	*prepared
	seen *collector
}

// inspect prepares one.
func inspect(ctx context.Context, q request.Request, d Deps) (*inspection, error) {
	p, err := load(ctx, q, d)
	if err == nil {
		err = p.reach(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := p.copyFiles(ctx); err != nil {
		p.close()
		return nil, err
	}
	i := &inspection{prepared: p, seen: &collector{}}
	sinks := []event.Sink{i.seen}
	if d.Sink != nil {
		sinks = append(sinks, d.Sink)
	}
	p.bus = event.NewBus(d.clock().Now, sinks...)
	return i, nil
}

// inspectHere prepares one of a cluster that is on this host: of another one there are no keys.
func inspectHere(ctx context.Context, q request.Request, d Deps) (*inspection, error) {
	i, err := inspect(ctx, q, d)
	if err != nil {
		return nil, err
	}
	if err := Here(ctx, d.Store, i.cluster.Name); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// copyFiles gives the operation a copy of the cluster's files.
func (p *prepared) copyFiles(ctx context.Context) (err error) {
	if p.files, err = p.deps.Store.Copy(ctx, p.cluster.Name); err != nil {
		return err
	}
	if err := p.loadOwn(p.files); err != nil {
		return err
	}
	return p.inspectKeys()
}

// inspectKeys chooses the files of host keys: that of the next command itself, not a copy, so that messages name it. A
// key that a user accepts is kept there; one that is accepted unseen, or by a request, is used this time only.
func (p *prepared) inspectKeys() error {
	policy, err := p.policy()
	known := cmp.Or(p.cluster.Eggo.KnownHosts, filepath.Join(p.files.Journal().Path(), "known_hosts"))
	p.known, p.also = known, nil
	if policy != remote.Ask {
		p.known, p.also = filepath.Join(p.files.Dir(), "accepted_hosts"), []string{known}
	}
	p.also = append(p.also, p.deps.KnownHosts...)
	return err
}

// run runs a plan that changes nothing.
func (i *inspection) run(ctx context.Context, plan planner) (engine.Summary, error) {
	env := i.phasesEnv()
	env.Accepted = nil
	clock := i.deps.clock()
	sum, err := engine.Run(ctx, plan(env), engine.Options{
		Emit: i.emit, Limits: phases.Limits(), Now: clock.Now, Sleep: clock.Sleep,
	})
	return sum, inspected(ctx, err, sum)
}

// inspected is the fault that an inspection ends with.
func inspected(ctx context.Context, err error, sum engine.Summary) error {
	f := mostSevere(ctx, err, sum)
	if f == nil {
		return nil
	}
	for _, e := range sum.Failed {
		if f.Code != "preflight.failed" && e.Fault != nil && e.Fault.Code == "limit.not-done" {
			return e.Fault
		}
	}
	return f
}

// failures are those of an inspection that are no findings.
func failures(sum engine.Summary) []event.Fault {
	var out []event.Fault
	for _, e := range sum.Failed {
		if e.Fault != nil && e.Fault.Code != "preflight.failed" {
			out = append(out, *e.Fault)
		}
	}
	return out
}

// collector keeps the events of an inspection.
type collector struct {
	mu  sync.Mutex
	all []event.Event
}

// Emit implements event.Sink.
func (c *collector) Emit(r event.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, r.Event)
	return nil
}

func (c *collector) findings() []event.Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []event.Finding
	for _, e := range c.all {
		if f, is := e.(event.Finding); is {
			out = append(out, f)
		}
	}
	return out
}

// PreflightResult is what preflight found. Deploy is the operation that may follow.
type PreflightResult struct {
	Machines []phases.Machine
	Findings []event.Finding
	Failed   []event.Fault // what kept it from inspecting nodes, such as a login
	Bundles  []event.Msg   // and who signed them
	Deploy   event.Call
}

// Preflight inspects every node of a deploy.yaml, and reports all that stands in the way of a deploy. Where nodes could
// be inspected there is a result beside the error.
func Preflight(ctx context.Context, c request.Common, d Deps) (*PreflightResult, error) {
	i, err := inspectHere(ctx, request.Deploy{Common: c}, d)
	if err != nil {
		return nil, err
	}
	defer i.close()
	if err := i.guard(); err != nil {
		return nil, err
	}
	var machines func() []phases.Machine
	sum, err := i.run(ctx, func(e phases.Env) (p *engine.Plan) {
		p, machines = phases.Preflight(e)
		return p
	})
	return &PreflightResult{
		Machines: machines(), Findings: i.seen.findings(), Failed: failures(sum),
		Bundles: i.bundles.Checked(), Deploy: i.call(event.Call{Verb: "deploy"}),
	}, err
}

// StatusResult is how a cluster is, with its last run and the bundles of the last run that installed from some.
type StatusResult struct {
	*phases.Status
	Now     request.ClusterInfo
	Bundles []event.Msg // and who signed them
}

// Status says how a cluster is.
func Status(ctx context.Context, c request.Common, d Deps) (*StatusResult, error) {
	i, err := inspectHere(ctx, request.Deploy{Common: c}, d)
	if err != nil {
		return nil, err
	}
	defer i.close()
	out := new(StatusResult)
	if out.Status, err = phases.GatherStatus(ctx, i.phasesEnv()); err != nil {
		return nil, err
	}
	if out.Now, err = Cluster(ctx, d.Store, out.Cluster); err != nil {
		return nil, err
	}
	out.Bundles, err = RecordedBundles(ctx, d.Store, out.Cluster)
	return out, err
}

// NodeInventory is what a cleanup would remove from a node, or why nobody knows.
type NodeInventory struct {
	Node config.Node
	phases.Inventory
	Err error
}

// Inventory reads from every node what a cleanup would remove.
func Inventory(ctx context.Context, c request.Common, purge bool, d Deps) ([]NodeInventory, error) {
	i, err := inspect(ctx, request.Cleanup{Common: c}, d)
	if err != nil {
		return nil, err
	}
	defer i.close()
	var out []NodeInventory
	for inv := range i.inventory(ctx, purge) {
		out = append(out, inv)
	}
	return out, ctx.Err()
}

// inventory ends early with ctx.
func (p *prepared) inventory(ctx context.Context, purge bool) iter.Seq[NodeInventory] {
	return func(yield func(NodeInventory) bool) {
		for _, n := range p.cluster.Nodes {
			inv := NodeInventory{Node: n}
			h, err := p.connect(ctx, n)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				inv.Inventory, err = phases.TakeInventory(ctx, h, purge)
			}
			inv.Err = err
			if !yield(inv) {
				return
			}
		}
	}
}

// onNodes does something on all nodes side by side, and gives what came of it in their order.
func onNodes[T any](
	ctx context.Context, p *prepared, do func(ctx context.Context, h Host, n config.Node) (T, error),
) []NodeResult[T] {
	out := make([]NodeResult[T], len(p.cluster.Nodes))
	var all sync.WaitGroup
	for i, n := range p.cluster.Nodes {
		all.Go(func() {
			out[i].Node = n
			h, err := p.conns.Dial(ctx, n)
			if err == nil {
				out[i].Value, err = do(ctx, h, n)
			}
			out[i].Err = err
		})
	}
	all.Wait()
	return out
}

// NodeResult is what came of something on a node.
type NodeResult[T any] struct {
	Node  config.Node
	Value T
	Err   error
}

// UnitStates says how the units of all nodes of a cluster are. An error is of all of them.
func UnitStates(ctx context.Context, c request.Common, d Deps) ([]NodeResult[string], error) {
	i, err := inspect(ctx, request.Deploy{Common: c}, d)
	if err != nil {
		return nil, err
	}
	defer i.close()
	return onNodes(ctx, i.prepared, func(ctx context.Context, h Host, _ config.Node) (string, error) {
		return phases.UnitStates(ctx, h)
	}), nil
}
