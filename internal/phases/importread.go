package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/phases/takeover/foreign"
)

// What is read of a cluster that is imported, and what it comes to.
type (
	Foreign       = takeover.Cluster
	ForeignWanted = takeover.Wanted
)

// ForeignPKI is where a control plane that kubeadm has made has its CAs and keys.
const ForeignPKI = takeover.PKIDir

// ForeignSecrets are the files of a cluster's pki without which it is not imported, by their names in the state
// directory.
func ForeignSecrets() []string { return takeover.Secrets() }

// ReadForeign reads a cluster that kubeadm has made: what its API server says, and what lies on its control planes, of
// which first is one. No node is changed. Of env it needs a Cluster with first alone, Connect, Emit and Now.
func ReadForeign(ctx context.Context, env Env, first config.Node) (*Foreign, error) {
	return foreign.Reader{Clients: newRun(env).Clients}.Read(ctx, first)
}
