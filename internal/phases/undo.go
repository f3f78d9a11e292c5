package phases

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/join"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Undoing says what a run that failed reverts. The nodes had no record of ours when it began (preflight has seen to
// that), so that what is on their record now is what it did there, and nothing else.
type Undoing struct {
	Nodes []config.Node // that were new to the run
	// Before is the cluster without them; nil: there was none.
	Before *config.Cluster
	Drain  time.Duration // bounds the eviction of pods from nodes that leave again
	// Was is what the control host had of the cluster.
	Was *Memory
}

// Begin restores the certificates of the nodes that stay, before the plan of Undo runs: they get those back that they
// had. The token that nodes join by stays until the plan has removed it.
func (u Undoing) Begin() error {
	if u.Before == nil || u.Was.Empty() {
		return nil
	}
	return u.Was.Restore(join.TokenFile)
}

// Undo plans the way back of a run that failed, in one phase of its own, with steps that no other plan has. A cluster
// that there was not before goes with all that was made, as by a cleanup with purge, in which no node waits for one
// that is gone. Of a cluster that lives the new nodes leave, and the others are brought to what they were without them.
// away gives the nodes that could not be reached, when the plan has run.
func Undo(env Env, u Undoing) (p *engine.Plan, away func() []string) {
	env.Hooks, env.Accepted, env.Saved, env.Limit, env.Undo = nil, nil, nil, nil, false
	c := u.Before
	if c == nil {
		whole := *env.Cluster
		whole.Nodes = u.Nodes
		c = &whole
	}
	env.Cluster = c
	r := newRun(env)
	if u.Before == nil {
		p = r.undoInstall()
	} else {
		p = r.undoJoin(u)
	}
	return plan.Within(p, plan.PhaseUndo), func() (out []string) {
		for _, n := range u.Nodes {
			if r.Unreachable(n) {
				out = append(out, n.Name)
			}
		}
		return out
	}
}

// undoJoin has the nodes leave again. One that does not answer at once is not given up at once.
func (r *run) undoJoin(u Undoing) *engine.Plan {
	p := r.removal(Leaving{Nodes: u.Nodes, Drain: u.Drain, Force: true, Purge: true})
	facts := plan.IDs(plan.PhasePreflight, "facts", u.Nodes)
	for _, s := range p.Steps {
		if slices.Contains(facts, s.ID) {
			s.Retry = preflight.Inspect(r.Nodes, u.Nodes[0]).Retry
		}
	}
	token := plan.Step(plan.PhaseLeave, "token", "", []string{plan.ID(plan.PhaseLeave, "forget", "")})
	token.Apply = func(ctx context.Context) error { return r.join.DropToken(ctx, u.Was.File(join.TokenFile)) }
	p.Steps = append(p.Steps, token)
	return p
}

// undoInstall cleans all nodes. One that cannot be cleaned holds no other up.
func (r *run) undoInstall() *engine.Plan {
	o := r.options()
	o.Skip = func(string) bool { return true }
	b := plan.New(o, plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseClean})
	for _, n := range r.Cluster.Nodes {
		b.Add(preflight.Inspect(r.Nodes, n))
	}
	cl := r.cleaning(true)
	cl.Snapshot = nil // of a cluster in which nobody has anything yet
	r.cleanAll(b, cl, func(n config.Node) []string {
		return plan.IDs(plan.PhasePreflight, "facts", []config.Node{n})
	})
	return b.Plan()
}
