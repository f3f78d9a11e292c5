package balancer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// backLimit bounds putting a server back into the load balancer, also when the run is being aborted. It is longer than
// a connection that was lost is tried (two minutes).
const backLimit = 3 * time.Minute

// Aside restarts a control plane's API server while our load balancer sends nobody to it: a server that stops refuses
// new connections, and a client that was sent to it in that moment has a failed call. The server comes back whatever
// becomes of the restart, for the load balancer itself passes over one that does not answer. A run that is killed in
// between leaves one server out: status reports it, and the next run puts it back.
func (r *Balancer) Aside(ctx context.Context, n config.Node, restart func(context.Context) error) error {
	if len(r.Cluster.With(bundle.ControlPlane)) < 2 {
		return restart(ctx) // nobody else answers
	}
	err := r.setDown(ctx, n.Name, true)
	if err == nil {
		err = restart(ctx)
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), backLimit)
	defer cancel()
	up := r.setDown(back, n.Name, false)
	if err == nil || up == nil {
		return errors.Join(err, up)
	}
	return errors.Join(event.AsFault(err), up) // the restart's failure comes first
}

func (r *Balancer) isDown(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down[name]
}

// balancing calls f while nobody else writes a load balancer's configuration.
func (r *Balancer) balancing(ctx context.Context, f func() error) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	return f()
}

// setDown takes a control plane's API server out of our load balancers, or puts it back. A load balancer that does not
// run yet needs no word. One outside the run's limit is told as well, for it is the API server's restart that is in the
// limit. All of them are tried, whatever becomes of one.
func (r *Balancer) setDown(ctx context.Context, name string, down bool) error {
	r.mu.Lock()
	r.down[name] = down // whoever writes the configuration next knows it
	r.mu.Unlock()
	return r.balancing(ctx, func() error {
		var all []error
		for _, n := range r.all() {
			nd := r.Node(n.Name)
			if nd == nil {
				continue
			}
			err := r.inform(ctx, nd, name, down)
			if err != nil && !down {
				cause := event.AsFault(err)
				f := event.NewFault(event.ClassFailed, "balancer.server-down", err, "server", name)
				f.Retry = cause.Retry || cause.Code == engine.CodeUnknown
				err = f.On(n.Name)
			}
			all = append(all, err)
		}
		return errors.Join(all...)
	})
}

// inform writes the configuration of one load balancer and has it read. One that was told of the server's absence
// hears of its return even if it has died meanwhile: it may be started from that configuration again.
func (r *Balancer) inform(ctx context.Context, nd *node.Node, name string, down bool) error {
	key := "change.balancer-up"
	if down {
		key = "change.balancer-down"
	}
	if down || !r.told[nd.Name()] {
		if u, err := nd.Unit(ctx, Unit); err != nil || !u.Active() {
			return err
		}
	}
	svc, err := r.service(ctx, nd)
	if err != nil {
		return err
	}
	r.told[nd.Name()] = true
	return nd.StartAs(ctx, svc, event.M(key, "server", name))
}

// putBack writes a load balancer's configuration when nothing is wrong with it but that servers are down, and says
// which; "" when it is something else.
func (r *Balancer) putBack(ctx context.Context, nd *node.Node, svc node.Service) (string, error) {
	var want string
	var rest []node.File
	for _, f := range svc.Files {
		if f.Path == Conf {
			want = string(f.Data)
		} else {
			rest = append(rest, f)
		}
	}
	is, err := nd.Query(ctx, "cat "+Conf+" 2>/dev/null || true\n")
	if err != nil || is == want || strings.ReplaceAll(is, " down;", ";") != want {
		return "", err
	}
	if same, err := nd.Same(ctx, rest); err != nil || !same {
		return "", err
	}
	servers := strings.Join(r.Out(is), ", ")
	return servers, nd.StartAs(ctx, svc, event.M("change.balancer-up", "server", servers))
}

// Out are the control planes to whose API servers a load balancer with this configuration sends nobody.
func (r *Balancer) Out(conf string) []string {
	down := downServers(conf)
	var names []string
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		if slices.Contains(down, apiAddr(n)) {
			names = append(names, n.Name)
		}
	}
	return names
}

// downServers are the addresses of the servers to which a load balancer with this configuration sends nobody.
func downServers(conf string) []string {
	var out []string
	for line := range strings.Lines(conf) {
		w := strings.Fields(line)
		if len(w) > 2 && w[0] == "server" && w[len(w)-1] == "down;" && !slices.Contains(out, w[1]) {
			out = append(out, w[1])
		}
	}
	return out
}
