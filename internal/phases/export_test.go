package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/payload/packages"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// RepoInstall is the script that installs packages from a machine's own repositories.
var RepoInstall = packages.InstallScript

// CheckTarget inspects the place of one file of a list of deploy.yaml, on the machine.
func CheckTarget(ctx context.Context, nd *node.Node, file string) error {
	r := newRun(Env{Cluster: &config.Cluster{}})
	return r.CheckTargets(ctx, nd, []payload.Placed{{File: file, Use: nodepath.Listed}})
}

// DeployWith plans a deploy with more steps, which work on these nodes.
func DeployWith(env Env, more func(*inventory.Nodes) []*engine.Step) *engine.Plan {
	r := newRun(env)
	b := plan.New(r.options(), r.deployPhases()...)
	b.Add(more(r.Nodes)...)
	r.deploy(b, preflight.Accept(r.Env, r.checkDeploy))
	return b.Plan()
}

// NodeTurns plans the turns of nodes alone: their bundles are sent, and nothing else of the cluster is touched.
func NodeTurns(env Env, o upgrade.Options, adjust func(*upgrade.Kubelets)) *engine.Plan {
	r := newRun(env)
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseInfra},
		plan.Phase{ID: plan.PhaseNodes})
	b.Add(preflight.Steps(r.Nodes, r.Sources(), preflight.Accept(r.Env, r.HavePKI,
		func(context.Context) error { return r.ConnectAPI() }))...)
	b.Add(r.infrastructure(r.runtimes.Start)...)
	k := upgrade.NewKubelets(r.Clients, r.driver, r.runtimes.Start, o)
	adjust(k)
	b.Add(k.Steps([]string{b.LooseBarrier("sent", b.IDs(plan.PhaseInfra, ""))})...)
	return b.Plan()
}

// Stored plans that the versions are remembered in which objects are stored, or that what is stored in others is
// written again.
func Stored(env Env, begun upgrade.Begun, again bool) *engine.Plan {
	r := newRun(env)
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseSnapshot},
		plan.Phase{ID: plan.PhaseCheck})
	b.Add(preflight.Steps(r.Nodes, nil, preflight.Accept(r.Env, r.HavePKI,
		func(context.Context) error { return r.ConnectAPI() }))...)
	s := upgrade.Stored{Clients: r.Clients, State: upgrade.NewState(r.Env, begun)}
	if again {
		b.Add(s.Rewrite(plan.Checked()))
	} else {
		b.Add(s.Remember(plan.Checked()))
	}
	return b.Plan()
}
