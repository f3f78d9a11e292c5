package phases

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Upgrade plans the way of the cluster, as its own deploy.yaml has it, over the hops. All bundles are verified before
// the first node is touched. With a limit it is the first hop that nodes are brought to.
func Upgrade(env Env, o upgrade.Options) *engine.Plan {
	changes, told := &plan.Changes{}, preflight.Told{}
	if env.Dry {
		env.Emit = changes.Count(env.Emit)
	}
	accepted := env.Accepted
	env.Accepted = nil // deploy.yaml becomes the cluster's own when a hop has been reached
	state := upgrade.NewState(&env, o.Begun)
	var hops []*hop
	from, was := o.From, newRun(env)
	for i, to := range o.Hops {
		if i > 0 && len(env.Limit) > 0 {
			break
		}
		h := newHop(was, to, from, o.Begun.Committed && i == 0)
		h.o, h.state, h.rest, h.changes, h.told = o, state, o.Hops[i:], changes, told
		if i > 0 {
			hops[i-1].next = h
		}
		hops, from, was = append(hops, h), to.Version, h.to
	}
	hops[0].accepted = accepted
	var plans []*engine.Plan
	var names []string
	for i, h := range hops {
		plans, names = append(plans, h.plan(i == 0)), append(names, h.Version)
	}
	return plan.Sequence(names, plans)
}

// hop is one hop. Its runs know the same of the nodes, and differ in what they start components with.
type hop struct {
	upgrade.Hop
	o     upgrade.Options
	state *upgrade.State
	from  string        // version
	rest  []upgrade.Hop // this one and those after it
	was   *run          // the cluster as it was
	act   *run          // as it is to be, but the control plane runs as the old minor; nil when it does not
	emu   *run          // act, also when the hop is committed; nil where there is no such act
	to    *run          // as it is to be
	next  *hop          // nil after the last one

	accepted func(context.Context) error // of the first one
	changes  *plan.Changes               // that a dry run has announced so far
	told     preflight.Told              // what the checks of all hops have found so far
}

// emulates is the oldest minor whose successor can run as it, without a word of beta about it.
const emulates = 34

// newHop is a hop from the cluster as it is. One that is committed does not run as the old minor any more.
func newHop(was *run, to upgrade.Hop, from string, committed bool) *hop {
	next, c := *was.Env, *was.Cluster
	c.Source = to.Source
	next.Cluster = &c
	h := &hop{Hop: to, from: from, was: was, to: newRun(next)}
	if old := bundle.Minor(from); old >= emulates && old != bundle.Minor(to.Version) {
		next.Emulate = fmt.Sprintf("1.%d", old)
		h.emu = newRun(next)
		if !committed {
			h.act = h.emu
		}
	}
	return h
}

// plan adds what is done in the hop; the first one of a plan verifies the bundles of the later ones too.
func (h *hop) plan(first bool) *engine.Plan {
	r := h.to
	o := r.options()
	o.Skip, o.Announced = r.Skip, h.changes.Of
	b := plan.New(o, h.phases()...)
	if first {
		r.hooks.Before(b, plan.PhaseInfra)
	}
	b.Add(h.preflight(first)...)
	stored := upgrade.Stored{Clients: r.Clients, State: h.state}
	saved := []*engine.Step{h.snapshot(), stored.Remember(plan.Checked())}
	b.Add(saved...)
	b.Gate(func(phase, _ string) []string {
		if phase == plan.PhaseSnapshot {
			return nil
		}
		return plan.StepIDs(saved)
	})
	b.Add(r.infrastructure(r.runtimes.Answers)...)
	b.Add(h.pins()...)
	ready := b.LooseBarrier("upgrade.uploaded", b.IDs(plan.PhaseInfra, ""))
	b.Gate(func(string, string) []string { return []string{ready} }) // a service starts when no node waits for a bundle
	r.etcd.Revert = h.member
	members := h.touching(r.etcd.Steps(), false)
	for i, s := range members {
		same := func(later *engine.Step) bool { return s.Host != "" && later.Host == s.Host }
		// What restarts nothing, and what a driver has before a member starts.
		if s.Host == "" && s.Check == nil || slices.ContainsFunc(members[i+1:], same) {
			b.Add(s)
			continue
		}
		b.Add(h.o.Window.Ahead(r.Env, s)...)
	}
	turns := h.control(b)
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		for _, what := range []string{"apiserver", "controller-manager", "scheduler"} { // as others wait for them
			b.Barrier(plan.ID(plan.PhaseControl, what, n.Name), []string{plan.ID(turns, "turn", n.Name)})
		}
	}
	settled := b.Barrier("upgrade.control-plane", append(b.IDs(turns, ""), b.IDs(plan.PhaseControl, "")...))
	b.Add(h.touching(h.nodes(settled), h.commits())...)
	for _, n := range inventory.Kubelets(r.Cluster) {
		b.Barrier(plan.ID(plan.PhaseBootstrap, "proxy", n.Name), []string{plan.ID(plan.PhaseNodes, "turn", n.Name)})
	}
	published := h.publish()
	b.Add(published...)
	b.Add(h.whenAllAreThere(r.addons.Steps())...)
	b.Add(h.end(plan.StepIDs(published))...)
	if h.next == nil {
		r.hooks.After(b, plan.PhaseCheck)
	}
	p := b.Plan()
	if !first {
		h.onceBegun(p.Steps)
	}
	return p
}

func (h *hop) phases() []plan.Phase {
	skip := len(h.to.Limit) > 0
	out := []plan.Phase{
		{ID: plan.PhasePreflight, Open: true},
		{ID: plan.PhaseSnapshot},
		{ID: plan.PhaseInfra, CanSkip: skip},
		{ID: plan.PhaseEtcd, CanSkip: skip, Needs: ports},
		{ID: plan.PhaseControl, CanSkip: skip, Needs: ports},
	}
	if len(h.to.Cluster.With(bundle.LoadBalancer)) > 0 {
		out = append(out, plan.Phase{ID: plan.PhaseBalancer, CanSkip: skip})
	}
	if h.act != nil {
		out = append(out, plan.Phase{ID: plan.PhaseSoak}, plan.Phase{ID: plan.PhaseCommit, CanSkip: skip})
	}
	out = append(out, plan.Phase{ID: plan.PhaseNodes, CanSkip: skip, Needs: ports},
		plan.Phase{ID: plan.PhaseAddons, CanSkip: skip, Loose: true},
		plan.Phase{ID: plan.PhaseCheck, CanSkip: skip, Loose: true})
	for i := range out {
		out[i].Title = event.M("phase.upgrade."+out[i].ID, "version", h.Version)
	}
	return out
}

// preflight inspects the nodes and makes every check.
func (h *hop) preflight(first bool) []*engine.Step {
	var sources []config.BundleSource
	if first {
		sources = h.to.Sources()
	}
	steps := preflight.Steps(h.to.Nodes, sources, func(ctx context.Context) error { return h.verdict(ctx, first) })
	if !first {
		return steps
	}
	verdict := steps[len(steps)-1]
	stage := func(name string, r *run, title string) {
		for _, s := range r.Sources() {
			st := plan.Step(plan.PhasePreflight, name+"-"+s.Key, "", nil)
			st.Title = event.M(title, "arch", cmp.Or(s.Arch, filepath.Base(s.Path)))
			st.Timeout, st.Optional = 30*time.Minute, true
			st.Verify = func(ctx context.Context) error { return r.KeepFault("bundle "+s.Key, r.StageBundle(ctx, s)) }
			steps = slices.Insert(steps, len(steps)-1, st)
			verdict.Needs = append(verdict.Needs, st.ID)
		}
	}
	stage("old-bundle", h.was, "step.preflight.old-bundle")
	for l := h.next; l != nil; l = l.next {
		stage("bundle-"+l.Version, l.to, "step.preflight.bundle")
	}
	return steps
}

// verdict makes the checks, and keeps the upgrade as begun before a node is touched.
func (h *hop) verdict(ctx context.Context, first bool) error {
	if err := h.meet(ctx); err != nil {
		return err
	}
	if !first && h.to.Dry { // the cluster has not come to the hop before it
		return nil
	}
	u := preflight.Upgrading{From: h.from, To: h.Version, Continues: h.state.Is().Touched,
		Current: h.was.target, Later: h.later(), Failed: h.was.unstaged()}
	if u.Continues && h.o.Begun.Committed { // it does not go back to them
		u.Failed = nil
	}
	if err := h.to.checkUpgrade(ctx, u, h.o.Force, h.told); err != nil || !first {
		return err
	}
	if err := h.tell(ctx); err != nil {
		return err
	}
	if h.accepted != nil {
		if err := h.accepted(ctx); err != nil {
			return err
		}
	}
	if h.state.Is().Under() {
		return h.state.Change(ctx, func(b *upgrade.Begun) { b.Hops = h.rest }) // bundles may be in other places now
	}
	return h.state.Change(ctx, func(b *upgrade.Begun) { *b = h.begun() })
}

// tell says what an operator has to know before the work begins: whether there is a way back from each hop, and for how
// long a single API server is away.
func (h *hop) tell(ctx context.Context) error {
	var texts []event.Msg
	for l := h; l != nil; l = l.next {
		key := "notice.upgrade-back-until-end"
		switch {
		case l.etcdMinor():
			key = "notice.upgrade-etcd-one-way"
		case l.commits() || h.o.Begun.Committed && l == h:
			key = "notice.upgrade-no-way-back"
		case l.act != nil:
			key = "notice.upgrade-back-until-soak"
		}
		texts = append(texts, event.M(key, "version", l.Version))
	}
	if cps := h.to.Cluster.With(bundle.ControlPlane); len(cps) == 1 {
		texts = append(texts, event.M("notice.upgrade-gap", "node", cps[0].Name))
	}
	for _, t := range append(texts, h.listed(ctx)...) {
		if err := h.to.Emit(event.Notice{Step: engine.StepID(ctx), Text: t}); err != nil {
			return err
		}
	}
	return nil
}

// begun is the upgrade as it stands when the hop begins.
func (h *hop) begun() upgrade.Begun {
	return upgrade.Begun{From: h.from, Hops: h.rest}
}

// patch says whether the hop stays in its minor.
func (h *hop) patch() bool { return bundle.Minor(h.from) == bundle.Minor(h.Version) }

// snapshot saves etcd's data before anything else. One that is continued has it already.
func (h *hop) snapshot() *engine.Step {
	s := plan.Step(plan.PhaseSnapshot, "save", "", plan.Checked())
	s.Timeout = 30 * time.Minute
	s.Check = func(context.Context) (bool, error) { return h.state.Is().Snapshot != "", nil }
	s.Apply = func(ctx context.Context) error {
		r := h.to
		if r.Dry {
			return r.Emit(event.Change{Step: engine.StepID(ctx), Desc: event.M("change.upgrade-snapshot")})
		}
		name := r.Now().UTC().Format("20060102T150405Z") + "-before-" + h.Version + ".db"
		path := filepath.Join(r.StateDir, "snapshots", name)
		if err := r.etcd.Snapshots.Save(ctx, path); err != nil {
			return err
		}
		return h.state.Change(ctx, func(b *upgrade.Begun) { b.Snapshot = path })
	}
	return s
}

// control adds the turns of the control planes, and says in which phase each of them is done.
func (h *hop) control(b *plan.Builder) (phase string) {
	first := h.to
	if h.act != nil {
		first = h.act
	}
	turns := h.turns(b, plan.PhaseControl, first, h.back, []string{plan.ID(plan.PhaseEtcd, "health", "")})
	settle := h.to.control.Settle(turns, nil)
	b.Add(settle...)
	for _, s := range h.to.balancer.Steps() { // a run that was killed may have left a server out of them
		s.Needs = slices.Concat(s.Needs, turns, plan.StepIDs(settle))
		b.Add(s)
	}
	if h.act == nil {
		return plan.PhaseControl
	}
	soak := upgrade.Soak{Env: h.to.Env, State: h.state, For: h.o.Soak, Probe: h.o.Probe,
		Checks: []func(context.Context) error{h.to.etcd.Health, h.to.control.ServersReady, h.ready}}
	watch := soak.Step(append(plan.IDs(plan.PhaseBalancer, "ready", h.to.Cluster.With(bundle.LoadBalancer)),
		settle[0].ID))
	decide := plan.Step(plan.PhaseCommit, "decide", "", []string{watch.ID})
	watch.When, decide.When = h.whole, h.whole
	decide.Check = func(context.Context) (bool, error) { return h.state.Is().Committed, nil }
	decide.Apply = func(ctx context.Context) error {
		return h.state.Change(ctx, func(b *upgrade.Begun) { b.Committed = true })
	}
	b.Add(watch, decide)
	h.turns(b, plan.PhaseCommit, h.to, h.emu.parts, []string{decide.ID})
	return plan.PhaseCommit
}

// ready wants the nodes of the run to be Ready: what is wrong with one that a limit leaves out was not brought about by
// the new control plane.
func (h *hop) ready(ctx context.Context) error {
	return h.to.join.AllReady(ctx, func(n config.Node) bool {
		return len(h.to.Limit) == 0 || slices.Contains(h.to.Limit, n.Name)
	})
}

// back are the components that a control plane gets back that does not come up: those that it had, or of a hop that is
// committed the new ones as the old minor. There is none once a kubelet is of the new minor: it must not be newer than
// an API server.
func (h *hop) back(n config.Node) []upgrade.Part {
	if !h.patch() {
		for _, k := range inventory.Kubelets(h.to.Cluster) { // as they were when the run began: their turns come later
			if f := h.to.Fact(k.Name); f != nil && bundle.Minor(f.Kubelet) >= bundle.Minor(h.Version) {
				return nil
			}
		}
		if h.emu != nil && h.act == nil {
			return h.emu.parts(n)
		}
	}
	if h.was.BundleOf(n) == nil {
		return nil
	}
	return h.was.parts(n)
}

// member reverts a member of etcd that does not come up in another patch. In another minor its data may not go back.
func (h *hop) member(ctx context.Context, n config.Node, cause error) error {
	if h.etcdMinor() || h.was.BundleOf(n) == nil {
		return cause
	}
	part := upgrade.Part{Component: driver.Etcd, Work: h.was.driver.Start(driver.Etcd, n,
		func(ctx context.Context, _ *node.Node) error { return h.to.etcd.WaitReady(ctx, n) })}
	serves := func(context.Context, config.Node) error { return nil } // it was proven by its own start
	return upgrade.Revert(ctx, h.to.Env, n, []upgrade.Part{part}, serves, driver.Etcd, cause)
}

// turns adds one turn after another, and returns their IDs.
func (h *hop) turns(
	b *plan.Builder, phase string, to *run, back func(config.Node) []upgrade.Part, needs []string,
) (ids []string) {
	c := upgrade.ControlPlanes{Env: to.Env, To: to.parts, Back: back, Serves: to.serves, Serve: to.serve}
	for _, n := range to.Cluster.With(bundle.ControlPlane) {
		s := c.Turn(phase, n, needs)
		if phase == plan.PhaseCommit {
			h.afterCommit(s)
		}
		b.Add(h.o.Window.Ahead(to.Env, h.touching([]*engine.Step{s}, h.commits())[0])...)
		ids, needs = append(ids, s.ID), []string{s.ID}
	}
	return ids
}

// parts are the components of a control plane, in the order of their start.
func (r *run) parts(n config.Node) []upgrade.Part {
	part := func(c driver.Component, ready driver.Ready) upgrade.Part {
		return upgrade.Part{Component: c, Work: r.driver.Start(c, n, ready)}
	}
	return []upgrade.Part{part(driver.APIServer, r.control.ServerReady), part(driver.ControllerManager, nil),
		part(driver.Scheduler, nil)}
}

// serves says whether the API server of a control plane is ready and no load balancer leaves it out.
func (r *run) serves(ctx context.Context, n config.Node) (bool, error) {
	if r.control.ServerAnswers(ctx, r.Node(n.Name)) != nil {
		return false, nil
	}
	out, err := r.balancer.LeftOut(ctx, n)
	return err == nil && !out, err
}

// serve waits for the API server of a control plane, and has the load balancers send to it again.
func (r *run) serve(ctx context.Context, n config.Node) error {
	if err := r.control.ServerReady(ctx, r.Node(n.Name)); err != nil {
		return err
	}
	return r.balancer.Return(ctx, n)
}

// whenAllAreThere keeps work that is for the whole cluster until every node is in the version: a limit may have kept
// some of them out, and one may have been skipped in its turn. So a hop ends, and the next one begins, with every node.
func (h *hop) whenAllAreThere(steps []*engine.Step) []*engine.Step {
	for _, s := range steps {
		when := s.When
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			behind, err := h.to.left(ctx, h.Version)
			if err != nil || len(behind) > 0 && !h.to.Dry {
				why := event.M("why.not-all-there", "nodes", strings.Join(behind, ", "), "version", h.Version)
				return false, why, err
			}
			if when == nil {
				return true, event.Msg{}, nil
			}
			return when(ctx)
		}
	}
	return steps
}

// end proves the hop, and ends it: deploy.yaml names its bundles from then on, what gave way goes, and the next hop is
// under way, if there is one.
func (h *hop) end(published []string) []*engine.Step {
	r := h.to
	proofs := r.proofs()
	stored := upgrade.Stored{Clients: r.Clients, State: h.state}
	rewrite := stored.Rewrite(plan.StepIDs(proofs))
	reached := plan.Step(plan.PhaseCheck, "reached", "", append(published, rewrite.ID))
	reached.Apply = h.reached
	over := []string{reached.ID}
	retire := slices.Concat(r.host.Retire(over), h.forget(over), r.unpin(over))
	ended := plan.Step(plan.PhaseCheck, "ended", "", plan.StepIDs(append(slices.Clip(retire), reached)))
	ended.Apply = h.ended
	last := append(append([]*engine.Step{rewrite, reached}, retire...), ended)
	return append(proofs, h.whenAllAreThere(last)...)
}

func (h *hop) reached(ctx context.Context) error {
	if h.to.Dry {
		return engine.ErrUnchanged
	}
	if err := h.state.Change(ctx, func(b *upgrade.Begun) {
		b.Committed, b.Restored = true, false
	}); err != nil || h.o.Reached == nil {
		return err
	}
	return h.o.Reached(ctx, h.Hop)
}

func (h *hop) ended(ctx context.Context) error {
	if h.to.Dry {
		return engine.ErrUnchanged
	}
	return h.state.Change(ctx, func(b *upgrade.Begun) {
		*b = upgrade.Begun{}
		if h.next != nil {
			*b = h.next.begun()
		} else if len(h.rest) > 1 { // a limit ends here
			*b = upgrade.Begun{From: h.Version, Hops: h.rest[1:]}
		}
	})
}
