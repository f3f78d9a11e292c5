package operation

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/payload/hooks"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// prepared is a request whose deploy.yaml was loaded, with what it takes to reach the nodes. Nothing was made or
// locked.
type prepared struct {
	*source
	deps    Deps
	request request.Request
	hooks   []phases.Hook
	conns   Connections
	bundles BundleSession
	files   Files        // when they are open
	bus     *event.Bus   // likewise
	lock    Lock         // of the cluster; nil: nothing is changed
	holder  string       // of the nodes' locks; "": none is taken, nothing is changed
	fence   *input.Fence // the number of the run
	known   string       // file of host keys; "": that of the cluster
	also    []string     // files of host keys that are only read
	kept    bool         // preflight has passed: nodes may have been changed
	limit   []string     // nodes that the work is kept to; none: all
	// logins are those of nodes that join, by name, where they are not the cluster's.
	logins map[string]config.Login
	// route of an upgrade, or back; nil before guard has found it. copy is the file that it was begun with, if that is
	// not the cluster's own.
	route *route
	copy  *copied
	seal  backup.Lock // of a backup
}

// prepare loads deploy.yaml and what it takes to log in. Nothing is made.
func prepare(ctx context.Context, q request.Request, d Deps) (*prepared, error) {
	p, err := load(ctx, q, d)
	if err == nil {
		err = Here(ctx, d.Store, p.cluster.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := p.reach(ctx); err != nil {
		return p, err
	}
	if err := p.private(ctx); err != nil {
		p.close()
		return p, err
	}
	return p, nil
}

// private asks for the passwords of private registries and reads their CAs, where nodes may be given them.
func (p *prepared) private(ctx context.Context) error {
	switch q := p.request.(type) {
	case request.Cleanup, request.Snapshot, request.Import:
		return nil
	case request.Backup:
		seal, err := lockOf(ctx, q, p.deps.Asker)
		p.seal = seal
		return err
	}
	if err := p.cluster.ReadRegistryCAs(); err != nil {
		return err
	}
	return registrySecrets(ctx, p.cluster, p.deps.Asker)
}

// load loads deploy.yaml, and refuses what it and the request alone make impossible.
func load(ctx context.Context, q request.Request, d Deps) (*prepared, error) {
	if err := d.permits(q); err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	if err := undoable(q); err != nil {
		return nil, err
	}
	p, base := &prepared{deps: d, request: q, fence: &input.Fence{TakeOver: q.Base().TakeOver,
		Place: d.Place}}, q.Base()
	var err error
	if p.hooks, err = loadHooks(base.Hooks); err != nil {
		return nil, err
	}
	if p.source, err = loadSource(ctx, base.Source, d); err != nil {
		return nil, err
	}
	if !base.Hooks.OfNodes {
		if err := hooks.Check(p.hooks, p.cluster.Nodes); err != nil {
			return nil, err
		}
	}
	if _, err := p.policy(); err != nil {
		return nil, err
	}
	switch q := q.(type) {
	case request.Renew:
		if err := Here(ctx, d.Store, p.cluster.Name); err != nil {
			return nil, err
		}
		return p, p.checkRenew(ctx)
	case request.Backup:
		if err := Here(ctx, d.Store, p.cluster.Name); err != nil {
			return nil, err
		}
		return p, p.checkBackup(ctx)
	case request.Join:
		return p, p.ownLogins(q)
	}
	return p, nil
}

// reach makes what it takes to log in and to unpack bundles.
func (p *prepared) reach(ctx context.Context) error {
	policy, err := p.policy()
	if err != nil {
		return err
	}
	d := p.deps
	if p.conns, err = d.Dialer.Connections(p.access(policy)); err != nil {
		return err
	}
	use := BundleUse{Beside: filepath.Dir(p.file), Trust: p.request.Base().Trust, Asker: d.Asker, Emit: p.emit}
	if d.Unattended {
		use.Asker = nil
	}
	p.bundles = d.Bundles.Session(use)
	if err := ResolveSecrets(ctx, p.cluster, d.Asker); err != nil {
		p.close()
		return err
	}
	return nil
}

// policy is what is done about unknown host keys.
func (p *prepared) policy() (remote.Policy, error) {
	return hostKeyPolicy(cmp.Or(p.deps.Answers.HostKeys, p.request.Base().HostKeys, p.cluster.Eggo.HostKeys), p.deps)
}

// close ends the connections and lets go of bundles and files.
func (p *prepared) close() {
	if p.conns != nil {
		p.conns.Close()
		p.bundles.Release()
	}
	if p.files != nil {
		p.files.Close()
	}
}

// emit is before there is a bus: nobody hears of it.
func (p *prepared) emit(e event.Event) error {
	if p.bus == nil {
		return nil
	}
	return p.bus.Emit(e)
}

// connect dials a node and takes its lock; the connection lives until the end.
func (p *prepared) connect(ctx context.Context, n config.Node) (node.Host, error) {
	h, err := p.conns.Dial(ctx, n)
	if err != nil {
		return nil, err
	}
	if p.holder != "" {
		if err := h.Lock(ctx, p.holder); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// phasesEnv is what the phases work with.
func (p *prepared) phasesEnv() phases.Env {
	return phases.Env{
		Cluster: p.cluster, Saved: p.saved, Accepted: p.keep, Connect: p.connect, Stage: p.bundles.Stage,
		StateDir: p.files.Dir(), Persist: p.persist, Emit: p.emit, Now: p.deps.clock().Now, Hooks: p.hooks,
		Verb: string(p.request.Verb()), Undo: p.request.Base().OnFailure.Undo,
		Fence: p.fence, NoSnapshots: p.deps.NoSnapshots,
	}
}

// keep makes the operation's deploy.yaml the cluster's own. It is called when preflight has passed.
func (p *prepared) keep(ctx context.Context) error {
	text, err := p.absolute()
	if err != nil {
		return err
	}
	if isLost(p.lock) {
		return lockLost(p.cluster.Name)
	}
	p.kept = true
	return p.files.SaveConfig(ctx, text)
}

// loadHooks reads the hooks of a request; nodes are the names of those that they are for, none of them all that
// have the role.
func loadHooks(h request.Hooks, nodes ...string) ([]phases.Hook, error) {
	before, after := phases.ClusterPreHook, phases.ClusterPostHook
	if h.OfNodes {
		before, after = phases.PreHook, phases.PostHook
	}
	var out []phases.Hook
	for _, part := range []struct {
		kind  string
		flags []string
	}{{before, h.Before}, {after, h.After}} {
		for _, f := range part.flags {
			list, err := hooks.Load(part.kind, f)
			if err != nil {
				return nil, err
			}
			for i := range list {
				list[i].Nodes = nodes
			}
			out = append(out, list...)
		}
	}
	return out, nil
}

// nodeHooks reads the hooks again for nodes that join or are removed.
func (p *prepared) nodeHooks(nodes []config.Node) (err error) {
	if p.hooks, err = loadHooks(p.request.Base().Hooks, names(nodes)...); err != nil {
		return err
	}
	return hooks.Check(p.hooks, nodes)
}

// setLimit keeps the work to the nodes of a limit.
func (p *prepared) setLimit(limit []string) (err error) {
	if len(limit) == 0 {
		return nil
	}
	if p.limit, err = Limit(p.cluster, limit); err != nil {
		return err
	}
	return hooks.Check(p.hooks, p.within()) // hooks keep to the limit as well
}

// only makes these nodes the operation's cluster.
func (p *prepared) only(nodes []config.Node) {
	c := *p.cluster
	c.Nodes = nodes
	p.cluster = &c
}

// within are the nodes of the limit.
func (p *prepared) within() []config.Node {
	return slices.DeleteFunc(slices.Clone(p.cluster.Nodes), func(n config.Node) bool {
		return !slices.Contains(p.limit, n.Name)
	})
}

// planner makes the plan of a request.
type planner = func(phases.Env) *engine.Plan

// limited is a plan within the limit.
func (p *prepared) limited(plan planner) planner {
	if len(p.limit) == 0 {
		return plan
	}
	return func(e phases.Env) *engine.Plan {
		e.Limit = slices.Clone(p.limit)
		return plan(e)
	}
}

// work is what a request comes to: its plan, the nodes that it is about unless that is the cluster, and what is said
// when it has ended well.
type work struct {
	plan  planner
	nodes []string
	next  func() []event.Msg
	done  func(context.Context) error // called when it has ended well; nil: nothing
	undo  *undoing                    // when it fails; nil: nothing is reverted
	tidy  func()                      // called when the steps have ended; nil: nothing
}

// check refuses, before there is a run and a log of it, what needs no more than the files of the cluster.
func (p *prepared) check(ctx context.Context) error {
	if err := p.guard(); err != nil {
		return err
	}
	switch q := p.request.(type) {
	case request.Deploy:
		_, err := p.undoing()
		return err
	case request.Restore:
		_, err := p.restore(ctx, q)
		return err
	case request.Renew: // again: a cleanup may have ended before the lock was ours
		return p.checkRenew(ctx)
	case request.Backup: // likewise
		return p.checkBackup(ctx)
	}
	return nil
}

// shape makes the work of the request.
func (p *prepared) shape(ctx context.Context) (*work, error) {
	switch q := p.request.(type) {
	case request.Deploy:
		return p.deploy(q)
	case request.Join:
		return p.join(ctx, q)
	case request.Delete:
		return p.remove(q)
	case request.Cleanup:
		return p.cleanup(q)
	case request.Renew:
		return p.renew()
	case request.Snapshot:
		return p.snapshot(q)
	case request.Restore:
		return p.restore(ctx, q)
	case request.Upgrade:
		return p.upgrade()
	case request.Back:
		return p.back()
	case request.Backup:
		return p.backup(q)
	case request.Import:
		return p.imports(), nil
	}
	return nil, event.NewFault(event.ClassFailed, "internal", nil)
}

// resumes is the command that continues the request after it was interrupted. What it has done on nodes it could not
// revert a second time.
func (p *prepared) resumes() event.Call {
	q := p.request
	c := q.Call()
	if p.kept && q.Base().OnFailure.Undo {
		c.OnFailure = ""
	}
	if q.Verb() == request.VerbRenew { // the new certificates are there
		c.Verb = string(request.VerbDeploy)
	}
	return c
}
