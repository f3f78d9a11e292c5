package phases

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// backLimit bounds putting a server back into the load balancer when the run is being aborted.
const backLimit = 30 * time.Second

// aside restarts a control plane's API server while our load balancer sends nobody to it: a server that stops refuses
// new connections, and a client that was sent to it in that moment has a failed call. The server comes back whatever
// becomes of the restart, for the load balancer itself passes over one that does not answer. A run that is killed in
// between leaves one server out; the next one writes the configuration as it is to be.
func (r *run) aside(ctx context.Context, n config.Node, restart func(context.Context) error) error {
	if len(r.Cluster.With(bundle.ControlPlane)) < 2 {
		return restart(ctx) // nobody else answers
	}
	err := r.setDown(ctx, n.Name, true)
	if err == nil {
		err = restart(ctx)
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), backLimit)
	defer cancel()
	if up := r.setDown(back, n.Name, false); err == nil {
		err = up
	}
	return err
}

func (r *run) isDown(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down[name]
}

// setDown takes a control plane's API server out of our load balancer, or puts it back. A load balancer that does not
// run yet needs no word, and one outside the run's limit is left alone.
func (r *run) setDown(ctx context.Context, name string, down bool) error {
	r.balance.Lock()
	defer r.balance.Unlock()
	r.mu.Lock()
	if r.down == nil {
		r.down = map[string]bool{}
	}
	r.down[name] = down
	r.mu.Unlock()
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		nd := r.node(n.Name)
		if nd == nil || len(r.Limit) > 0 && !slices.Contains(r.Limit, n.Name) {
			continue
		}
		if err := r.tellBalancer(ctx, nd, name, down); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) tellBalancer(ctx context.Context, nd *node.Node, name string, down bool) error {
	if runs, err := active(ctx, nd, balancerUnit); err != nil || !runs {
		return err
	}
	svc, err := r.balancerService(ctx, nd)
	if err != nil {
		return err
	}
	key := "change.balancer-up"
	if down {
		key = "change.balancer-down"
	}
	return nd.StartAs(ctx, svc, event.M(key, "server", name))
}
