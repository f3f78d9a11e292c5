package operation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// undoing is what a request reverts when it fails.
type undoing struct {
	fresh  []config.Node   // the nodes that it adds
	before *config.Cluster // the cluster without them; nil: there was none
	text   []byte          // its own deploy.yaml; nil: it had none
	was    *phases.Memory  // what is secret of it
}

// undoable refuses a request that cannot be reverted, before any file is written.
func undoable(q request.Request) error {
	base := q.Base()
	if !base.OnFailure.Undo {
		return nil
	}
	switch q.(type) {
	case request.Deploy, request.Join:
	default:
		return event.NewFault(event.ClassUsage, "usage.undo-verb", nil, "verb", string(q.Verb()))
	}
	if len(base.Limit) > 0 {
		return event.NewFault(event.ClassUsage, "usage.undo-limit", nil)
	}
	return nil
}

// undoing is what the operation reverts when it fails; nil when it was not asked to. It reverts what it does on
// nodes that it adds: to a cluster that there is not yet, or to one that is to stay as it is otherwise.
func (p *prepared) undoing() (*undoing, error) {
	if !p.request.Base().OnFailure.Undo {
		return nil, nil
	}
	u := &undoing{fresh: p.cluster.Nodes}
	if p.saved != nil {
		c := *p.saved
		takeSecrets(&c, p.cluster)
		u.before, u.fresh = &c, added(p.saved.Nodes, p.cluster.Nodes)
		same, err := p.onlyNodes()
		if err != nil {
			return nil, err
		}
		if len(u.fresh) == 0 || !same {
			return nil, event.NewFault(event.ClassUsage, "undo.living", nil, "cluster", p.cluster.Name)
		}
	}
	var err error
	if u.text, _, err = p.files.Config(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	if u.was, err = phases.Remember(p.files.Dir()); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return u, nil
}

// added are the nodes of now that are new.
func added(was, now []config.Node) []config.Node {
	return slices.DeleteFunc(slices.Clone(now), func(n config.Node) bool {
		return slices.ContainsFunc(was, func(o config.Node) bool { return o.IP == n.IP })
	})
}

// onlyNodes says whether the operation's deploy.yaml adds nodes to the cluster's own, and says nothing else.
func (p *prepared) onlyNodes() (bool, error) {
	text, err := p.absolute()
	if err != nil {
		return false, err
	}
	now, problems := config.Load(text, p.own)
	if now == nil {
		return false, problems.Err()
	}
	for _, was := range p.saved.Nodes {
		if !slices.ContainsFunc(now.Nodes, func(n config.Node) bool { return reflect.DeepEqual(n, was) }) {
			return false, nil
		}
	}
	return config.SameBesideNodes(p.saved, now), nil
}

// undo reverts what the run did, and says what has become of that: whether nothing of it is left, and what the user
// is told or has to do.
func (r *run) undo(ctx context.Context, l *local, u *undoing) (reverted bool, next event.Msg, err error) {
	fresh := strings.Join(names(u.fresh), ", ")
	if err := r.emit(event.Notice{Text: event.M("notice.undo", "nodes", fresh)}); err != nil {
		return false, next, err
	}
	rest := event.Call{Verb: "cleanup", Purge: true}
	if u.before != nil {
		rest = event.Call{Verb: "delete", Purge: true, Nodes: names(u.fresh)}
	}
	unfinished := event.Calling("next.undo-unfinished", r.call(rest))
	back := phases.Undoing{Nodes: u.fresh, Before: u.before, Drain: request.DrainTimeout, Was: u.was}
	if err := r.restored(ctx, back.Begin()); err != nil {
		return false, unfinished, err
	}
	var kept []string
	env := r.phasesEnv()
	env.Emit = func(e event.Event) error {
		if n, is := e.(event.Notice); is && n.Text.Key == "notice.kept" {
			kept = append(kept, n.Host)
		}
		return r.emit(e)
	}
	plan, away := phases.Undo(env, back)
	clock := r.deps.clock()
	opts := engine.Options{Emit: r.emit, Limits: phases.Limits(), Stop: l.stop, Now: clock.Now, Sleep: clock.Sleep}
	if u.before == nil {
		opts.OnFailure = engine.LeaveOut
	}
	if _, err := engine.Run(ctx, plan, opts); err != nil {
		return false, unfinished, nil // what failed is in the log
	}
	if err := r.forget(context.WithoutCancel(ctx), u); err != nil {
		return false, unfinished, err
	}
	if gone := away(); len(gone) > 0 {
		return false, r.unclean(u, gone), nil
	}
	if u.before == nil { // no node has the owner any more
		if err := r.disown(context.WithoutCancel(ctx)); err != nil {
			return false, unfinished, err
		}
	}
	if len(kept) > 0 {
		return true, event.M("next.undone-kept", "nodes", fresh), nil
	}
	return true, event.M("next.undone", "nodes", fresh), nil
}

// disown removes the owner of a cluster that is gone.
func (r *run) disown(ctx context.Context) error {
	if err := input.ForgetUnderWay(r.files.Dir(), input.OwnerName); err != nil {
		return err
	}
	return r.persist(ctx, input.KeptOwner)
}

// unclean says which nodes have left the cluster and were not cleaned.
func (r *run) unclean(u *undoing, gone []string) event.Msg {
	clean := event.Call{Verb: "cleanup", Purge: true}
	for _, n := range u.fresh {
		if slices.Contains(gone, n.Name) {
			clean.Nodes = append(clean.Nodes, n.IP.String())
		}
	}
	return event.Calling("next.undo-away", r.call(clean), "nodes", strings.Join(gone, ", "))
}

// restored persists the authorities, certificates and kubeconfig that the control host has got back.
func (r *run) restored(ctx context.Context, err error) error {
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	for _, part := range []phases.Kept{phases.KeptPKI, phases.KeptAdminConf} {
		if err := r.files.Persist(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// forget makes the files of the cluster what they were, when its nodes are.
func (r *run) forget(ctx context.Context, u *undoing) error {
	if u.before == nil || !u.was.Empty() {
		if err := r.restored(ctx, u.was.Restore()); err != nil {
			return err
		}
	}
	if u.text != nil {
		return r.files.SaveConfig(ctx, u.text)
	}
	if err := os.Remove(r.own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return r.files.Persist(ctx, phases.KeptConfig)
}
