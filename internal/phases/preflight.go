package phases

import (
	"context"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/runtimes"
)

// preflight looks at everything at once and touches nothing; every later step needs its verdict. What cannot be looked
// at does not stop the rest: judge tells everything that is wrong in one go. The verdict waits for the steps of more,
// too.
func (r *run) preflight(
	sources []config.BundleSource, judge func(context.Context) error, more ...string,
) []*engine.Step {
	var steps []*engine.Step
	for _, b := range sources {
		s := plan.Step(plan.PhasePreflight, "bundle-"+b.Key, "", nil)
		s.Title = event.M("step.preflight.bundle", "arch", b.Key)
		if b.Arch == "" {
			s.Title = event.M("step.preflight.bundle-file", "file", b.Path)
		}
		s.Timeout = 30 * time.Minute
		s.Optional = true
		s.Verify = func(ctx context.Context) error { return r.KeepFault("bundle "+b.Key, r.StageBundle(ctx, b)) }
		steps = append(steps, s)
	}
	for _, n := range r.Cluster.Nodes {
		steps = append(steps, r.lookStep(n))
	}
	v := plan.Step(plan.PhasePreflight, "verdict", "", append(plan.StepIDs(steps), more...))
	v.Verify = judge
	return append(steps, v)
}

// accept asks every judge, for each tells what it finds, and has the cluster accepted when none refuses.
func (r *run) accept(judges ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var first error
		for _, judge := range judges {
			if err := judge(ctx); first == nil {
				first = err
			}
		}
		if first != nil || r.Accepted == nil {
			return first
		}
		return r.Accepted(ctx)
	}
}

// lookStep connects to a node and looks at it.
func (r *run) lookStep(n config.Node) *engine.Step {
	s := plan.Step(plan.PhasePreflight, "facts", n.Name, nil)
	s.Retry = engine.Retry{Tries: 3, Delay: 2 * time.Second, MaxDelay: 10 * time.Second}
	s.Optional = true
	s.Verify = func(ctx context.Context) error { return r.KeepFault(n.Name, r.Inspect(ctx, n)) }
	return s
}

// judge tells everything that would go wrong, and what will be opened in firewalls.
func (r *run) judge(ctx context.Context) error {
	found := preflight.Run(ctx, r.checked(r.Cluster.Nodes), preflight.Deploy())
	if err := r.tellPorts(); err != nil {
		return err
	}
	return preflight.Tell(r.Emit, found)
}

// checked is what checks of nodes judge by.
func (r *run) checked(asked []config.Node) *preflight.Input {
	rt := r.runtimes.Runtime()
	return &preflight.Input{
		Payload: r.Payload, Asked: asked, Runtime: runtimes.Name(r.Cluster), Store: rt.Store(),
		Owns: func(n config.Node) []string {
			paths := r.driver.Owns(n)
			if n.Has(bundle.LoadBalancer) {
				paths = append(paths, layout.UnitDir+balancer.Unit)
			}
			if nodes.IsKubelet(n) {
				paths = append(paths, rt.Paths(n)...)
			}
			return paths
		},
		Inbound: r.host.Inbound, Fetch: r.addons.Fetch, Etcd: r.etcdMembers, Restore: r.restoreProgress,
	}
}

// tellPorts says what will be opened where.
func (r *run) tellPorts() error {
	for _, n := range r.Cluster.Nodes {
		f := r.Fact(n.Name)
		if f == nil {
			continue
		}
		for i := range f.Firewalls {
			w := &f.Firewalls[i]
			if closed := w.Closed(r.host.Inbound(n)); len(closed) > 0 {
				text := event.M("notice.ports", "node", n.Name, "firewall", w.Name, "ports", strings.Join(closed, ", "))
				if err := r.Emit(event.Notice{Host: n.Name, Step: plan.ID(plan.PhasePreflight, "verdict", ""),
					Text: text}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// judgeLeave refuses a leave that the cluster would not survive, before anything is touched.
func (r *run) judgeLeave(ctx context.Context) error {
	if err := r.ReadPKI(ctx); err != nil {
		return err
	}
	if err := r.ConnectAPI(); err != nil { // the nodes are drained by it
		return err
	}
	in := r.checked(r.Removing)
	in.Force, in.API = r.force, r.readyNodes(ctx)
	return preflight.Tell(r.Emit, preflight.Run(ctx, in, preflight.Remove()))
}

// readyNodes asks the API server which nodes are ready.
func (r *run) readyNodes(ctx context.Context) preflight.API {
	ready, err := r.join.ReadyNodes(ctx)
	return preflight.API{Ready: ready, Fault: err}
}

// etcdMembers are the members of etcd, and whether their nodes leave.
func (r *run) etcdMembers(ctx context.Context) ([]preflight.Member, error) {
	list, err := r.etcd.List(ctx)
	var out []preflight.Member
	for _, m := range list {
		_, leaves := etcd.NodeOf(m, r.Removing)
		out = append(out, preflight.Member{Name: m.Name, Learner: m.IsLearner, Leaves: leaves,
			Well: func(ctx context.Context) bool {
				return len(m.ClientURLs) > 0 && r.ReadThrough(ctx, m.ClientURLs[0]) == nil
			}})
	}
	return out, err
}

// restoreProgress is how far a restore is that was interrupted.
func (r *run) restoreProgress(ctx context.Context) (p preflight.Progress, err error) {
	p.Touched, p.Done, err = r.etcd.Progress(ctx)
	return p, err
}

// judgeRestore refuses what would end in half a restore.
func (r *run) judgeRestore(ctx context.Context, snap *SnapshotFile) error {
	in := r.checked(r.Cluster.Nodes)
	in.Snapshot = preflight.Snapshot{Path: snap.Path, Size: snap.Size,
		Foreign: func(ctx context.Context) (bool, error) {
			if err := r.OpenPKI(ctx); err != nil {
				return false, err
			}
			return snap.Foreign(r.PKI().CA.Cert), nil
		}}
	return preflight.Tell(r.Emit, preflight.Run(ctx, in, preflight.Restore()))
}

// judgeCleanup refuses to take down another cluster, and what could not be taken down.
func (r *run) judgeCleanup(ctx context.Context) error {
	return preflight.Tell(r.Emit, preflight.Run(ctx, r.checked(r.Cluster.Nodes), preflight.Cleanup()))
}
