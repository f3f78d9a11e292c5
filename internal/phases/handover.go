package phases

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

// Owned are the nodes of a cluster that gets another owner.
type Owned struct{ *run }

// ReadOwned connects to all nodes of a cluster and reads their owners. What cannot be reached is reported by Check.
func ReadOwned(ctx context.Context, env Env) *Owned {
	o := &Owned{newRun(env)}
	var all sync.WaitGroup
	for _, n := range env.Cluster.Nodes {
		all.Go(func() { _ = o.KeepFault(n.Name, o.Inspect(ctx, n)) })
	}
	all.Wait()
	return o
}

// Check reports what keeps files from being those of the nodes' owner, as findings and preflight.failed.
func (o *Owned) Check(ctx context.Context) error {
	err := preflight.Tell(o.Emit, preflight.Run(ctx, o.checked(o.Cluster.Nodes), preflight.Handover()))
	if err == nil && len(o.Claimed()) == 0 {
		err = errors.New("no node has a record of the cluster")
	}
	return err
}

// Use has Check and Raise use the files of another directory, which persist persists.
func (o *Owned) Use(dir string, persist func(context.Context, Kept) error) {
	o.run.Env.StateDir, o.run.Env.Persist = dir, persist
}

// Has reports whether a node has an owner of this ID; "" is none's.
func (o *Owned) Has(id string) bool {
	return id != "" && slices.ContainsFunc(o.Owners(), func(is node.Owner) bool { return is.ID == id })
}

// Raise raises the number of the cluster, and writes it to the nodes.
func (o *Owned) Raise(ctx context.Context) error { return preflight.Raise(ctx, o.Nodes) }

// First returns the node that gets a new owner first, a control plane. From then on the cluster is that owner's.
func (o *Owned) First() string {
	names := o.Claimed()
	for _, n := range o.Cluster.With(bundle.ControlPlane) {
		if slices.Contains(names, n.Name) {
			return n.Name
		}
	}
	return names[0]
}

// Own writes an owner to one node; "": to all.
func (o *Owned) Own(ctx context.Context, name string, is node.Owner) error {
	names := o.Claimed()
	if name != "" {
		names = []string{name}
	}
	return preflight.Own(ctx, o.Nodes, names, is.Line())
}

// ReadOwner reads the owner that a directory has; the zero Owner if there is none.
func ReadOwner(dir string) (node.Owner, error) { return input.ReadOwner(dir) }
