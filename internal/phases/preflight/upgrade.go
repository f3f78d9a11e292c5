package preflight

import (
	"context"
	"io"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Upgrading is what the checks of an upgrade work with. The bundles of the Input are those of the version that the
// cluster is brought to.
type Upgrading struct {
	From, To string // versions of Kubernetes: v1.34.2
	// Continues: it was begun already. Nodes may have either version then, and what it has stopped may be down.
	Continues bool
	// Current is the manifest of the bundle that a node is of; nil when it is not known.
	Current func(config.Node) *bundle.Manifest
	// Untouched says on the way back that a node has nothing to do there, so that it need not be there.
	Untouched func(config.Node) bool
	Later     []Hop           // the versions after this one
	Failed    []event.Finding // bundles of other versions than this one that cannot be used

	Proxy string // the name of the binary that serves the Services on a node

	// What the API server has, and why that is not known.
	Objects *objects.Cluster
	Fault   error

	// Server reads a path of the API server on a control plane, as /metrics.
	Server func(ctx context.Context, n config.Node, path string) (io.ReadCloser, error)
	// Members are etcd's, each asked by itself.
	Members func(context.Context) ([]EtcdMember, error)
	// Certificates are those that a node has.
	Certificates func(context.Context, config.Node) ([]Certificate, error)
}

// Hop is a version that the cluster is brought to after another.
type Hop struct {
	Version string
	Source  config.PackageSource
	Bundles map[string]input.Bundle // by the key of their source; their manifests are enough
	Failed  []event.Finding         // why others of its bundles cannot be used
}

// EtcdMember is a member of etcd as it answers.
type EtcdMember struct {
	Name    string
	Version string // 3.6.4; "" when it does not answer
	Learner bool
	Fault   error // why it is not healthy
}

// Certificate is one that a node has.
type Certificate struct {
	At  string // the file, or address and port
	End time.Time
}

// Target is the manifest of the bundle that a node is brought to; nil when it is not known.
func (in *Input) Target(n config.Node) *bundle.Manifest {
	if b := in.BundleOf(n); b != nil {
		return b.Manifest()
	}
	return nil
}

// current is the manifest of the bundle that a node is of now; nil when it is not known.
func (in *Input) current(n config.Node) *bundle.Manifest {
	if in.Upgrade.Current == nil {
		return nil
	}
	return in.Upgrade.Current(n)
}

// ill is how grave it is that something does not work: an upgrade that was begun may have stopped it.
func (in *Input) ill() event.Severity {
	if in.Upgrade != nil && in.Upgrade.Continues {
		return event.Warning
	}
	return event.Error
}
