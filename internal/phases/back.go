package phases

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload/packages"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/drain"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Back plans the way back from the hop under way to what the cluster's own deploy.yaml says: etcd, then the control
// planes from the last to the first, then the kubelets. None of them is of another minor than the API servers say, so
// that what does not answer may come first. The caller has made sure that there is a way back: an upgrade that is
// committed has none but after a restore of etcd. Then the kubelets, which may be new, come first. Of the options count
// what is under way, how nodes are drained, and how many workers at a time.
func Back(env Env, with upgrade.Options) *engine.Plan {
	begun := with.Begun
	env.Accepted = nil
	r := newRun(env)
	state := upgrade.NewState(r.Env, begun)
	o := upgrade.Options{Drain: with.Drain, Force: with.Force, Batch: with.Batch, Begun: begun}
	po := r.options()
	po.Skip = r.Skip
	b := plan.New(po, r.backPhases(begun)...)
	r.hooks.Before(b, plan.PhaseInfra)
	check := func(ctx context.Context) error {
		if err := r.checkBack(ctx, begun); err != nil {
			return err
		}
		return state.Change(ctx, func(b *upgrade.Begun) { b.Soak, b.Watched = time.Time{}, 0 }) // what soaked goes
	}
	b.Add(preflight.Steps(r.Nodes, r.Sources(), check)...)
	b.Add(r.infrastructure(r.runtimes.Answers)...)
	there := b.Barrier("back.uploaded", b.IDs(plan.PhaseInfra, ""))
	b.Gate(func(string, string) []string { return []string{there} })
	kubelets := upgrade.NewKubelets(r.Clients, r.driver, r.runtimes.Start, o)
	if begun.Packages {
		pk := packages.Packages{Payload: r.Payload}
		kubelets.Moves = r.packageMoves(func(n config.Node) *engine.Step {
			return pk.Back(n, begun.Hops[0].Version, r.packaged(n)...)
		})
	}
	if begun.Committed {
		b.Add(kubelets.Steps(nil)...)
	}
	members := r.etcd.Steps()
	for _, s := range members {
		s.Needs = append(slices.Clip(s.Needs), b.IDs(plan.PhaseNodes, "")...)
	}
	b.Add(members...)
	needs := []string{plan.ID(plan.PhaseEtcd, "health", "")}
	turns := upgrade.ControlPlanes{Env: r.Env, To: r.partsBack, Serves: r.serves, Serve: r.serve}
	planes := slices.Clone(r.Cluster.With(bundle.ControlPlane))
	slices.Reverse(planes)
	for _, n := range planes {
		s := turns.Turn(plan.PhaseControl, n, needs)
		b.Add(s)
		needs = []string{s.ID}
		for _, what := range []string{"apiserver", "controller-manager", "scheduler"} { // as others wait for them
			b.Barrier(plan.ID(plan.PhaseControl, what, n.Name), needs)
		}
	}
	b.Add(r.control.Settle(needs, nil)...)
	b.Add(r.control.Publish()...)
	b.Add(r.balancer.Steps()...)
	if !begun.Committed {
		b.Add(kubelets.Steps(append(needs, plan.ID(plan.PhaseControl, "ready", "")))...)
	}
	for _, n := range inventory.Kubelets(r.Cluster) {
		b.Barrier(plan.ID(plan.PhaseBootstrap, "proxy", n.Name), []string{plan.ID(plan.PhaseNodes, "turn", n.Name)})
	}
	b.Add(r.addons.Steps()...)
	b.Add(r.endBack(state, begun)...)
	r.hooks.After(b, plan.PhaseCheck)
	return b.Plan()
}

// endBack proves that the cluster is back, removes what the upgrade brought, and ends the upgrade, in this order: one
// that is cut off in between is still under way.
func (r *run) endBack(state *upgrade.State, begun upgrade.Begun) []*engine.Step {
	proofs := r.proofs()
	last := slices.Concat(r.host.Retire(plan.StepIDs(proofs)), r.unpin(plan.StepIDs(proofs)))
	if begun.Packages {
		last = append(last, r.forgetPackages(plan.StepIDs(proofs))...)
	}
	ended := plan.Step(plan.PhaseCheck, "ended", "", plan.StepIDs(append(slices.Clip(proofs), last...)))
	ended.Apply = func(ctx context.Context) error {
		return state.Change(ctx, func(b *upgrade.Begun) { *b = upgrade.Begun{} })
	}
	last = append(last, ended)
	for _, s := range last {
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			left, err := r.left(ctx, begun.From)
			if begun.Restored {
				left = append(left, r.lost(left)...)
			}
			return len(left) == 0 || r.Dry, event.M("why.not-all-back", "nodes", strings.Join(left, ", "), "version",
				begun.From), err
		}
	}
	return append(proofs, last...)
}

// lost are the nodes that a run continues without, besides those known: what a restored etcd says of them is history.
func (r *run) lost(known []string) (names []string) {
	for _, n := range inventory.Kubelets(r.Cluster) {
		if r.Skipped(n.Name) && !slices.Contains(known, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// backPhases are those of Back in the order of their work.
func (r *run) backPhases(begun upgrade.Begun) []plan.Phase {
	phases := []plan.Phase{{ID: plan.PhaseEtcd, Needs: ports}, {ID: plan.PhaseControl, Needs: ports}}
	if len(r.Cluster.With(bundle.LoadBalancer)) > 0 {
		phases = append(phases, plan.Phase{ID: plan.PhaseBalancer})
	}
	at := len(phases)
	if begun.Committed {
		at = 0
	}
	phases = slices.Insert(phases, at, plan.Phase{ID: plan.PhaseNodes, Needs: ports})
	phases = slices.Concat([]plan.Phase{{ID: plan.PhasePreflight, Open: true}, {ID: plan.PhaseInfra}}, phases,
		[]plan.Phase{{ID: plan.PhaseAddons, Loose: true}, {ID: plan.PhaseCheck, Loose: true}})
	for i := range phases {
		phases[i].CanSkip = !phases[i].Open // a worker that is away
		phases[i].Title = event.M("phase.back."+phases[i].ID, "version", begun.From)
	}
	return phases
}

// checkBack refuses what would stop it.
func (r *run) checkBack(ctx context.Context, b upgrade.Begun) error {
	if err := r.HavePKI(ctx); err != nil {
		return err
	}
	if err := r.ConnectAPI(); err != nil {
		return err
	}
	in := r.checked(r.Cluster.Nodes)
	untouched, err := r.untouched(ctx, b)
	if err != nil { // so a node that does not answer is waited for
		untouched = nil
	}
	in.Upgrade = &preflight.Upgrading{From: b.Hops[0].Version, To: b.From, Continues: true,
		Current:   r.target, // a node has the images of what it was
		Untouched: func(n config.Node) bool { return slices.Contains(untouched, n.Name) }}
	return preflight.Tell(r.Emit, preflight.Run(ctx, in, preflight.Back()))
}

// untouched are the nodes that only run workloads and whose kubelet has the version that the upgrade comes from. In an
// upgrade to another minor none has another one before it is committed, whatever the API server says. Nobody knows of
// any after a restore: what etcd says of a kubelet then is what it was when the snapshot was taken.
func (r *run) untouched(ctx context.Context, b upgrade.Begun) ([]string, error) {
	if b.Restored {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var other []string
	if b.Committed || bundle.Minor(b.From) == bundle.Minor(b.Hops[0].Version) {
		var err error
		if other, err = r.join.Behind(ctx, b.From); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, n := range r.Cluster.With(bundle.Worker) {
		alone := !n.Has(bundle.ControlPlane) && !n.Has(bundle.Etcd) && !n.Has(bundle.LoadBalancer)
		if alone && !slices.Contains(other, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out, nil
}

// left are the nodes that are not yet in a version: their kubelet has another one, their turn did not end well, or they
// are still closed to pods by a turn, of this run or of one before.
func (r *run) left(ctx context.Context, version string) ([]string, error) {
	out, err := r.join.Behind(ctx, version)
	if err != nil {
		return nil, err
	}
	closed, err := drain.Closed(ctx, r.Clients)
	if err != nil {
		return nil, err
	}
	for _, n := range inventory.Kubelets(r.Cluster) {
		unwell := r.Skipped(n.Name) && !r.Unreachable(n) || slices.Contains(closed, n.Name)
		if unwell && !slices.Contains(out, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out, nil
}

// partsBack are the components of a control plane in the order in which they go back: a controller manager must not be
// newer than its API server.
func (r *run) partsBack(n config.Node) []upgrade.Part {
	parts := r.parts(n)
	slices.Reverse(parts)
	return parts
}
