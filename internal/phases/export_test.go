package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/nodepath"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/packages"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

// RepoInstall is the script that installs packages from a machine's own repositories.
var RepoInstall = packages.InstallScript

// CheckTarget inspects the place of one file of a list of deploy.yaml, on the machine.
func CheckTarget(ctx context.Context, nd *node.Node, file string) error {
	r := newRun(Env{Cluster: &config.Cluster{}})
	return r.CheckTargets(ctx, nd, []payload.Placed{{File: file, Use: nodepath.Listed}})
}

// DeployWith plans a deploy with more steps, which work on these nodes.
func DeployWith(env Env, more func(*nodes.Nodes) []*engine.Step) *engine.Plan {
	r := newRun(env)
	b := plan.New(r.options(), r.deployPhases()...)
	b.Add(more(r.Nodes)...)
	r.deploy(b, preflight.Accept(r.Env, r.checkDeploy))
	return b.Plan()
}
