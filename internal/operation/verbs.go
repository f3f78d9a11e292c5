package operation

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/payload/hooks"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// deploy makes the nodes what deploy.yaml says.
func (p *prepared) deploy(q request.Deploy) (*work, error) {
	if err := p.setLimit(q.Limit); err != nil {
		return nil, err
	}
	undo, err := p.undoing()
	if err != nil {
		return nil, err
	}
	o := upgrade.Options{Drain: cmp.Or(q.Drain, request.ChangeDrain), Force: q.Force}
	if o.Batch, err = request.Workers(q.Batch, len(p.workers())); err != nil {
		return nil, err
	}
	inTurns := func(e phases.Env) *engine.Plan { return phases.DeployInTurns(e, o) }
	return &work{plan: p.limited(inTurns), undo: undo, next: func() []event.Msg {
		conf := filepath.Join(p.files.Dir(), adminConf)
		out := []event.Msg{event.M("next.kubeconfig", "path", conf, "endpoint", p.cluster.Endpoint)}
		for _, n := range p.cluster.Nodes {
			out = append(out, nodeMsg(n))
		}
		return append(out,
			event.M("next.kubectl", "path", conf, "node", p.cluster.With(bundle.ControlPlane)[0].Name),
			event.Calling("next.cleanup", p.call(event.Call{Verb: "cleanup"})))
	}}, nil
}

// nodeMsg says what runs on a node.
func nodeMsg(n config.Node) event.Msg {
	return event.M("next.node", "node", n.Name, "ip", n.IP.String(), "roles", strings.Join(n.RoleNames(), ", "))
}

// remove takes nodes out of the cluster. The cluster's own deploy.yaml loses them at the very end, so that the same
// request continues one that was interrupted.
func (p *prepared) remove(q request.Delete) (*work, error) {
	nodes, err := p.removed(q)
	if err != nil {
		return nil, err
	}
	if err := p.nodeHooks(nodes); err != nil {
		return nil, err
	}
	text, problems, err := config.RemoveNodes(p.text, p.file, names(nodes))
	if err != nil {
		return nil, err
	}
	if err := p.replace(text, problems); err != nil {
		return nil, err
	}
	l := phases.Leaving{Nodes: nodes, Drain: q.Drain, Force: q.Force, Purge: q.Purge}
	b, err := upgrade.ReadBegun(p.files.Dir())
	if err != nil {
		return nil, err
	}
	return &work{nodes: names(nodes), plan: func(e phases.Env) *engine.Plan {
		l.Left, e.Accepted = e.Accepted, nil
		if b.Under() {
			return phases.DeleteLost(e, l)
		}
		return phases.Delete(e, l)
	}, next: func() []event.Msg {
		return []event.Msg{event.M("next.deleted", "names", strings.Join(names(nodes), ", "), "file", p.own)}
	}}, nil
}

// removed are the nodes that a request names, of the cluster as it is.
func (p *prepared) removed(q request.Delete) ([]config.Node, error) {
	if err := p.useOwn(p.files); err != nil {
		return nil, err
	}
	return Removable(p.cluster, q.Names)
}

// cleanup removes the cluster from its nodes, or from some.
func (p *prepared) cleanup(q request.Cleanup) (*work, error) {
	if err := p.cleaned(q); err != nil {
		return nil, err
	}
	w := &work{plan: func(e phases.Env) *engine.Plan {
		if len(q.Nodes)+len(p.limit) > 0 {
			return phases.CleanNodes(e, p.cluster.Nodes, q.Purge)
		}
		return phases.Cleanup(e, q.Purge)
	}, next: func() []event.Msg { return []event.Msg{event.M("next.cleaned", "path", p.files.Dir())} }}
	if len(q.Nodes)+len(p.limit) > 0 {
		w.nodes = names(p.cluster.Nodes)
	}
	return w, nil
}

// cleaned makes the operation's cluster the nodes that are cleaned up.
func (p *prepared) cleaned(q request.Cleanup) error {
	if len(q.Nodes) > 0 {
		nodes, err := Alone(p.cluster, q.Nodes)
		if err != nil {
			return err
		}
		p.only(nodes)
		if err := hooks.Check(p.hooks, nodes); err != nil {
			return err
		}
	}
	if len(q.Limit) > 0 {
		// The cluster is not over while some of its nodes stay: so it is a cleanup of nodes alone.
		if err := p.setLimit(q.Limit); err != nil {
			return err
		}
		p.only(p.within())
	}
	return nil
}

// checkRenew refuses to renew the certificates of a cluster that has none here, before anything is made or asked: a run
// that ends before it begins would be one that was interrupted.
func (p *prepared) checkRenew(ctx context.Context) error {
	files, err := p.deps.Store.Read(ctx, p.cluster.Name)
	if err != nil {
		return err
	}
	defer files.Close()
	if _, err := os.Stat(filepath.Join(files.Dir(), "pki", "ca.crt")); err != nil {
		return event.NewFault(event.ClassUsage, "certs.no-cluster", err,
			"cluster", p.cluster.Name, "dir", files.Dir())
	}
	return nil
}

// renew reissues the certificates of the nodes and deploys. When it was interrupted deploy continues it: the new
// certificates are there.
func (p *prepared) renew() (*work, error) {
	now := p.deps.clock().Now()
	return &work{plan: func(e phases.Env) *engine.Plan {
		e.RenewBefore = now
		return phases.Deploy(e)
	}, next: func() []event.Msg {
		return []event.Msg{event.Calling("next.renewed", p.call(event.Call{Verb: "certs list"}))}
	}}, nil
}

// snapshot takes a snapshot of etcd.
func (p *prepared) snapshot(q request.Snapshot) (*work, error) {
	return &work{plan: func(e phases.Env) *engine.Plan { return phases.Snapshot(e, q.Out) }}, nil
}

// restore makes etcd what it was when the snapshot was taken.
func (p *prepared) restore(ctx context.Context, q request.Restore) (*work, error) {
	snap, err := phases.ReadSnapshot(ctx, q.Snapshot)
	if err != nil {
		return nil, err
	}
	env := p.phasesEnv()
	plan, err := phases.Restore(env, snap)
	if err != nil {
		return nil, err
	}
	return &work{plan: func(e phases.Env) *engine.Plan {
		again, err := phases.Restore(e, snap)
		if err != nil { // what it reads was read a moment ago
			return plan
		}
		return again
	}, done: func(ctx context.Context) error { return p.restored(ctx, q.Snapshot) }, next: func() []event.Msg {
		if b, err := upgrade.ReadBegun(p.files.Dir()); err == nil && b.Under() {
			rest := event.Calling("next.upgrade-rest", p.continuing()[0], "cluster", p.cluster.Name, "version",
				b.Hops[0].Version)
			if b.OnlyForward() {
				return []event.Msg{rest}
			}
			return []event.Msg{event.Calling("next.upgrade-way-back", p.continuing()[1]), rest}
		}
		return []event.Msg{event.M("next.restored", "file", p.file)}
	}}, nil
}
