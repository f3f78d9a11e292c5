package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/nodepath"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/packages"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
)

// RepoInstall is the script that installs packages from a machine's own repositories.
var RepoInstall = packages.InstallScript

// CheckTarget looks at the place of one file of a list of deploy.yaml, on the machine.
func CheckTarget(ctx context.Context, nd *node.Node, file string) error {
	return newRun(Env{}).CheckTargets(ctx, nd, []payload.Placed{{File: file, Use: nodepath.Listed}})
}
