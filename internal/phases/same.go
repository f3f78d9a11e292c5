package phases

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Same plans the check that every node has the version of the cluster's own bundles; nothing else is done.
func Same(env Env, version string) *engine.Plan {
	env.Accepted, env.Fence = nil, nil
	r := newRun(env)
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true})
	b.Add(preflight.Steps(r.Nodes, nil, func(ctx context.Context) error { return r.checkSame(ctx, version) })...)
	return b.Plan()
}

// checkSame asks the nodes, and the cluster of those whose kubelet does not say it; an API server that does not answer
// is no reason to refuse what changes nothing.
func (r *run) checkSame(ctx context.Context, version string) error {
	in := r.checked(r.Cluster.Nodes)
	in.Upgrade = &preflight.Upgrading{From: version, To: version, Objects: &objects.Cluster{}}
	if r.HavePKI(ctx) == nil && r.ConnectAPI() == nil {
		short, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		has, err := r.join.Versions(short)
		for name, is := range has {
			in.Upgrade.Objects.Nodes = append(in.Upgrade.Objects.Nodes, objects.Node{Name: name, Kubelet: is})
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	return preflight.Tell(r.Emit, preflight.Run(ctx, in, preflight.Same()))
}
