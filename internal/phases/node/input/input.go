// Package input defines the external dependencies of a run: the desired cluster, access to its nodes and bundles,
// hooks, and a directory for data that must not be lost.
package input

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Bundle is a staged bundle; *bundle.Staged satisfies it.
type Bundle interface {
	Manifest() *bundle.Manifest
	Open(member string) (io.ReadSeekCloser, error)
	Images(ctx context.Context, names []string) (bundle.File, error)
}

// Env is what a run needs from outside; main wires it.
type Env struct {
	Cluster *config.Cluster
	// Saved is the cluster as the last run that passed preflight had it; nil when none has.
	Saved *config.Cluster
	// Accepted is called when preflight has passed and before a node is touched; nil does nothing.
	Accepted func(context.Context) error
	// Connect opens the way to a node, with its lock held for this cluster.
	Connect func(ctx context.Context, n config.Node) (node.Host, error)
	// Stage unpacks and verifies a bundle on the jump host.
	Stage func(ctx context.Context, b config.BundleSource) (Bundle, error)
	// StateDir is the cluster's directory on the jump host, 0700.
	StateDir string
	// Persist returns when what it names is where it outlives this host, and is called before a node depends on it; nil
	// does nothing. It is called for what may be persisted already, too.
	Persist func(ctx context.Context, what Kept) error
	Emit    func(event.Event) error
	Now     func() time.Time
	// Hooks of the command line, and the verb that they hear of: deploy (also ""), join, delete, cleanup.
	Hooks []Hook
	Verb  string
	// Limit are the nodes that a plan keeps its work to; empty means all. Preflight does not insist on others that only
	// run workloads.
	Limit []string
	// Dry has every change announced and none made, on the nodes, at the API server and in etcd; see DryRun.
	// StateDir is written to.
	Dry bool
	// NoSnapshots: snapshots of etcd would not outlive the run. What saves one before a member is lost reports that
	// instead.
	NoSnapshots bool
	// Fence is the number of the run among those of the cluster; nil: none is raised.
	Fence *Fence
	// Undo says that what fails is reverted (phases.Undo): preflight refuses nodes where that is not possible.
	Undo bool
	// RenewBefore, when it is set, has leaf certificates reissued that were issued before it.
	RenewBefore time.Time
	// Emulate is the minor, as 1.34, that the control plane runs as although its binaries are newer; "" is their own.
	Emulate string
}

// Hook is a script that the command line names. It runs as root on the machines that have the role.
type Hook struct {
	Type string
	Name string // file name
	Data []byte
	Role bundle.Role
	// Nodes are the names of the machines that it is for; none are all that have the role. Role is "" when it is for
	// them whatever they are.
	Nodes []string
}

// On says whether the hook runs on the node.
func (h Hook) On(n config.Node) bool {
	return (h.Role == "" || n.Has(h.Role)) && (len(h.Nodes) == 0 || slices.Contains(h.Nodes, n.Name))
}
