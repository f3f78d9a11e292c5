package phases

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// DeployInTurns plans a deploy in which nodes of a cluster that lives, which have another container runtime than
// deploy.yaml names, are changed to it one after another, as the options say, and CoreDNS to the kind that deploy.yaml
// names. Each node is asked what it has: who was done
// in a run before is not touched, and one with the old deploy.yaml goes back in the same way.
func DeployInTurns(env Env, o upgrade.Options) *engine.Plan {
	r := newRun(env)
	if env.Saved != nil {
		r.turns, r.movesDNS = &o, true
	}
	return r.install()
}

// later leaves a step to the turn of its node when that is changed to another container runtime.
func (r *run) later(s *engine.Step) *engine.Step {
	if r.turns == nil {
		return s
	}
	s.When = func(context.Context) (bool, event.Msg, error) {
		return len(r.runtimes.Others(r.named(s.Host))) == 0, event.M("why.runtime-turn"), nil
	}
	return s
}

// keepOut leaves a node alone that would be changed to another container runtime and is outside of the limit: what that
// runtime needs is not there, and no node of the limit needs it.
func (r *run) keepOut(s *engine.Step) {
	if r.turns == nil || len(r.Limit) == 0 || slices.Contains(r.Limit, s.Host) {
		return
	}
	when := s.When
	s.When = func(ctx context.Context) (bool, event.Msg, error) {
		switch {
		case len(r.runtimes.Others(r.named(s.Host))) > 0:
			return false, event.M("why.not-in-limit", "node", s.Host), nil
		case when == nil:
			return true, event.Msg{}, nil
		}
		return when(ctx)
	}
}

// named is the node of a name.
func (r *run) named(name string) config.Node {
	i := slices.IndexFunc(r.Cluster.Nodes, func(n config.Node) bool { return n.Name == name })
	return r.Cluster.Nodes[i]
}

// changeRuntimes adds the turns of the nodes: when all have their files, and the control plane is what it is to be. A
// kubelet waits for the turn of its node.
func (r *run) changeRuntimes(b *plan.Builder) {
	if r.turns == nil {
		return
	}
	k := upgrade.NewKubelets(r.Clients, r.driver, func(n config.Node) *engine.Step {
		return r.runtimes.Switch(n, r.driver.Stop(driver.Kubelet))
	}, *r.turns)
	k.Last, k.Reports = r.runtimes.Leave, runtimes.Name(r.Cluster)
	needs := append(r.joinable(), b.LooseBarrier("runtimes.uploaded", b.IDs(plan.PhaseInfra, "")))
	for _, s := range k.Steps(needs) {
		n := r.named(s.Host)
		s.Title = event.M("step.nodes.runtime", "node", n.Name)
		s.When = func(context.Context) (bool, event.Msg, error) {
			return len(r.runtimes.Others(n)) > 0, event.M("why.runtime-is"), nil
		}
		b.Add(s)
	}
	b.Gate(func(phase, host string) []string {
		if phase != plan.PhaseBootstrap || host == "" || !inventory.IsKubelet(r.named(host)) {
			return nil
		}
		return []string{plan.ID(plan.PhaseNodes, "turn", host)}
	})
}

// changing says what is to be known of the cluster before nodes of it are changed to another container runtime; nil
// when they may not be.
func (r *run) changing(ctx context.Context) *preflight.Changing {
	if r.turns == nil {
		return nil
	}
	c := &preflight.Changing{Batch: r.turns.Batch}
	changes := func(n config.Node) bool { return len(r.runtimes.Others(n)) > 0 }
	if slices.ContainsFunc(inventory.Kubelets(r.Cluster), changes) {
		c.Objects, c.Fault = r.objects(ctx)
	}
	return c
}
