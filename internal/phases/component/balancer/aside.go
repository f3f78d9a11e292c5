package balancer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	// backLimit bounds putting a server back into the load balancer, also when the run is being aborted. It is longer
	// than a connection that was lost is tried (two minutes).
	backLimit = 3 * time.Minute
	// askLimit bounds the question of a load balancer whether a server is ready.
	askLimit = 5 * time.Second
	askAgain = 250 * time.Millisecond
	// patience is for a server that has just been shown to be ready on its own machine.
	patience = time.Minute
)

// Aside restarts a control plane's API server while our load balancers send nobody to it: a server that stops refuses
// new connections, and a client that was sent to it in that moment has a failed call. A load balancer that can reach
// the server and is told that it is ready sends to it again; one that is not stays out, for nginx sends clients to
// whoever accepts a connection. A server that is out, by this run or by one that was killed, is reported by status, and
// Return, Start and the next turn put it back once it is ready.
func (r *Balancer) Aside(ctx context.Context, n config.Node, restart func(context.Context) error) error {
	if len(r.Cluster.With(bundle.ControlPlane)) < 2 {
		return restart(ctx) // nobody else answers
	}
	err := r.takeOut(ctx, n.Name)
	if err == nil {
		err = restart(ctx)
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), backLimit)
	defer cancel()
	waits := r.Patience
	if err != nil { // whether it is ready now; nobody waits for it
		waits = 0
	}
	up := r.putBack(back, n, waits)
	if err == nil || up == nil {
		return errors.Join(err, up)
	}
	// The restart's failure comes first, and that of the load balancers is told beside it.
	f := event.AsFault(up)
	told := r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx), Text: event.M("notice.balancer-out", "server",
		n.Name, "node", f.Node, "cause", f.Cause)})
	return errors.Join(event.AsFault(err), up, told)
}

// Return has the load balancers that leave a control plane's API server out send to it again, when it is ready.
func (r *Balancer) Return(ctx context.Context, n config.Node) error {
	out, err := r.LeftOut(ctx, n)
	if err != nil || !out || r.Dry {
		return err
	}
	return r.putBack(ctx, n, r.Patience)
}

// LeftOut says whether one of the load balancers leaves out a control plane's API server. One that does not run, or was
// not reached when the run began, is not asked.
func (r *Balancer) LeftOut(ctx context.Context, n config.Node) (bool, error) {
	if len(r.Cluster.With(bundle.ControlPlane)) < 2 {
		return false, nil
	}
	for _, lb := range r.all() {
		nd := r.Node(lb.Name)
		if nd == nil {
			continue
		}
		if u, err := nd.Unit(ctx, Unit); err != nil || !u.Active() {
			if err != nil {
				return false, err
			}
			continue
		}
		out, err := r.outOf(ctx, nd)
		if err != nil || slices.Contains(out, n.Name) {
			return err == nil, err
		}
	}
	return false, nil
}

// outOf are the control planes that a load balancer's configuration leaves out.
func (r *Balancer) outOf(ctx context.Context, nd *node.Node) ([]string, error) {
	is, err := nd.Query(ctx, "cat "+Conf+" 2>/dev/null || true\n")
	if err != nil {
		return nil, err
	}
	return r.Out(is), nil
}

// serverReady asks a control plane's API server whether it is ready, from a load balancer: that is the way of those who
// are sent to it.
func (r *Balancer) serverReady(ctx context.Context, nd *node.Node, n config.Node) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := r.Readyz(ctx, nd.Dial, apiAddr(n)); err != nil {
		return clients.Unready(err)
	}
	return nil
}

// out says whether a load balancer is to leave a server out: while this run restarts it, and one that a run has left
// out until it is ready.
func (r *Balancer) out(ctx context.Context, nd *node.Node, n config.Node, left []string) bool {
	r.mu.Lock()
	is, known := r.down[n.Name]
	r.mu.Unlock()
	if known {
		return is
	}
	return slices.Contains(left, n.Name) && r.ready(ctx, nd, n) != nil
}

// know keeps that a server is out, or that it is not; nil forgets what was known of it.
func (r *Balancer) know(name string, down *bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if down == nil {
		delete(r.down, name)
		return
	}
	r.down[name] = *down
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

// takeOut takes a control plane's API server out of our load balancers. One outside of the run's limit is told as well,
// for it is the API server's restart that is in the limit. All of them are tried, whatever becomes of one.
func (r *Balancer) takeOut(ctx context.Context, name string) error {
	down := true
	r.know(name, &down) // whoever writes the configuration next knows it
	return r.each(ctx, func(nd *node.Node) error { return r.inform(ctx, nd, name, "change.balancer-down") })
}

// putBack has every load balancer send to a control plane's API server again to which it is ready; waits is how long
// each waits for that.
func (r *Balancer) putBack(ctx context.Context, n config.Node, waits time.Duration) error {
	r.know(n.Name, nil)
	return r.each(ctx, func(nd *node.Node) error {
		if hears, err := r.hears(ctx, nd); err == nil && !hears {
			return nil
		}
		err := r.awaitServer(ctx, nd, n, waits)
		if err == nil || r.Dry {
			down := false
			r.know(n.Name, &down)
			err = r.inform(ctx, nd, n.Name, "change.balancer-up")
			r.know(n.Name, nil)
		}
		if err == nil {
			return nil
		}
		cause := event.AsFault(err)
		f := event.NewFault(event.ClassFailed, "balancer.server-down", err, "server", n.Name)
		f.Retry = cause.Retry || cause.Code == engine.CodeUnknown
		return f.On(nd.Name())
	})
}

// awaitServer waits until an API server is ready to a load balancer; with no time, and in a dry run, it asks once.
func (r *Balancer) awaitServer(ctx context.Context, nd *node.Node, n config.Node, waits time.Duration) error {
	end := time.NewTimer(waits)
	defer end.Stop()
	for {
		err := r.ready(ctx, nd, n)
		if err == nil || waits <= 0 || r.Dry {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-end.C:
			return err
		case <-time.After(askAgain):
		}
	}
}

// each calls f for every load balancer that was reached, while nobody else writes their configurations.
func (r *Balancer) each(ctx context.Context, f func(*node.Node) error) error {
	return r.balancing(ctx, func() error {
		var all []error
		for _, n := range r.all() {
			if nd := r.Node(n.Name); nd != nil {
				all = append(all, f(nd))
			}
		}
		return errors.Join(all...)
	})
}

// hears says whether a load balancer has to be told of a server. One that does not run needs no word; one that was told
// of a server's absence hears of its return even if it has died meanwhile: it may be started from that configuration
// again.
func (r *Balancer) hears(ctx context.Context, nd *node.Node) (bool, error) {
	if r.told[nd.Name()] {
		return true, nil
	}
	u, err := nd.Unit(ctx, Unit)
	return err == nil && u.Active(), err
}

// inform writes the configuration of a load balancer that is to hear of a server, and has it read.
func (r *Balancer) inform(ctx context.Context, nd *node.Node, name, key string) error {
	if hears, err := r.hears(ctx, nd); err != nil || !hears {
		return err
	}
	svc, err := r.service(ctx, nd)
	if err != nil {
		return err
	}
	r.told[nd.Name()] = true
	return nd.StartAs(ctx, svc, event.M(key, "server", name))
}

// onlyReturns writes a load balancer's configuration when nothing is wrong with it but that servers are left out which
// are ready, and says which; "" when it is something else.
func (r *Balancer) onlyReturns(ctx context.Context, nd *node.Node, svc node.Service) (string, error) {
	var want string
	var rest []node.File
	for _, f := range svc.Files {
		if f.Path == Conf {
			want = string(f.Data)
		} else {
			rest = append(rest, f)
		}
	}
	all := func(conf string) string { return strings.ReplaceAll(conf, " down;", ";") }
	is, err := nd.Query(ctx, "cat "+Conf+" 2>/dev/null || true\n")
	if err != nil || is == want || all(is) != all(want) {
		return "", err
	}
	if same, err := nd.Same(ctx, rest); err != nil || !same {
		return "", err
	}
	stay := r.Out(want)
	servers := strings.Join(slices.DeleteFunc(r.Out(is), func(name string) bool {
		return slices.Contains(stay, name)
	}), ", ")
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
