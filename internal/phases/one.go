package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

// Probe looks at one machine by itself: what it is, and what preflight would say of it whatever the others and the
// bundles are. Nothing is changed. Of env it needs Cluster, Connect, Emit and Now.
func Probe(ctx context.Context, env Env, n config.Node) (Machine, *facts.Facts, []event.Finding, error) {
	r := newRun(env)
	if err := r.Inspect(ctx, n); err != nil {
		return machine(n, nil), nil, nil, err
	}
	f := r.Fact(n.Name)
	return machine(n, f), f, preflight.RunOn(ctx, r.checked([]config.Node{n}), preflight.Machine(), n, f), nil
}
