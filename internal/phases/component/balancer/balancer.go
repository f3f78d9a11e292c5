// Package balancer has a node pass connections on to the API servers, by the machine's own nginx, and takes an API
// server out while it is restarted.
package balancer

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Conf is the configuration of the load balancer's nginx, Unit its service.
const (
	Conf = "/etc/eggo/nginx-lb.conf"
	Unit = "eggo-lb.service"
)

const (
	// a link to /dev/null, so that the package's own service does not start with its installation
	nginxMask = layout.UnitDir + "nginx.service"
)

// Balancer are the load balancers of a run: what starts them, and which API servers are out of them.
type Balancer struct {
	*clients.Clients
	// Patience is how long a load balancer waits for an API server that was restarted to be ready.
	Patience time.Duration
	ready    func(context.Context, *node.Node, config.Node) error // whether it is, as a load balancer sees it

	mu sync.Mutex
	// down are control planes whose API server is out, or to be sent to again; of others counts what a load balancer's
	// configuration says, until they are ready.
	down    map[string]bool
	writing chan struct{}   // one place, taken while a load balancer's configuration is written
	told    map[string]bool // load balancers that left a server out in this run; with the place of writing
}

// New are the load balancers of a run, of which no API server is out.
func New(c *clients.Clients) *Balancer {
	r := &Balancer{Clients: c, Patience: patience, down: map[string]bool{}, writing: make(chan struct{}, 1),
		told: map[string]bool{}}
	r.ready = r.serverReady
	return r
}

// Steps start what passes TCP connections on to the API servers: nginx's stream module from the distribution's package,
// with a unit and a configuration of ours. Nodes join through it, so it must answer before.
func (r *Balancer) Steps() []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		s := r.Start(n)
		ready := plan.Step(plan.PhaseBalancer, "ready", n.Name, []string{s.ID, plan.ID(plan.PhaseControl, "ready", "")})
		ready.Apply = r.On(n.Name, r.returnReady)
		ready.Verify = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			return r.Answers(ctx, n, nd)
		})
		ready.Retry = engine.Retry{Tries: 30, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second, Polls: true}
		ready.Timeout = 30 * time.Second
		steps = append(steps, s, ready)
	}
	return steps
}

// Start is the step that starts a node's load balancer.
func (r *Balancer) Start(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseBalancer, "start", n.Name,
		[]string{plan.ID(plan.PhaseInfra, "packages", n.Name), plan.ID(plan.PhaseInfra, "system", n.Name)})
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (done bool, err error) {
		err = r.balancing(ctx, func() error {
			svc, err := r.service(ctx, nd)
			if err == nil {
				done, err = nd.Running(ctx, svc)
			}
			return err
		})
		return done, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		return r.balancing(ctx, func() error {
			svc, err := r.service(ctx, nd)
			if err != nil {
				return err
			}
			if back, err := r.onlyReturns(ctx, nd, svc); err != nil || back != "" {
				return err
			}
			if err := r.endTheirs(ctx, nd); err != nil {
				return err
			}
			return nd.Start(ctx, svc)
		})
	})
	return s
}

// returnReady has a load balancer send again to servers that it leaves out and that are ready by now: they were not
// when it was started.
func (r *Balancer) returnReady(ctx context.Context, nd *node.Node) error {
	if r.Dry {
		return engine.ErrUnchanged
	}
	return r.balancing(ctx, func() error {
		if out, err := r.outOf(ctx, nd); err != nil || len(out) == 0 {
			return cmp.Or(err, engine.ErrUnchanged)
		}
		svc, err := r.service(ctx, nd)
		if err != nil {
			return err
		}
		if back, err := r.onlyReturns(ctx, nd, svc); err != nil || back != "" {
			return err
		}
		return engine.ErrUnchanged
	})
}

// debianLeaves: what nginx-common makes beside its files, and leaves behind when it is purged.
const debianLeaves = "for p in /var/www /var/www/html; do [ -e $p ] || rec dir $p absent; done\n" +
	"[ -e /var/www/html/index.nginx-debian.html ] || rec file /var/www/html/index.nginx-debian.html absent\n"

// MaskNginx keeps the package's own service from starting when the package is installed. An nginx that is there already
// is somebody's, and stays as it is.
func (r *Balancer) MaskNginx(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "mask-nginx", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, "if [ -L "+nginxMask+" ] && [ \"$(readlink "+nginxMask+
			")\" = /dev/null ]; then echo masked\n"+
			"elif [ -e /usr/sbin/nginx ] && ! grep -qs '^package\tnginx\t' "+node.Dir+"/record; then echo theirs; fi\n")
		return strings.TrimSpace(out) != "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.mask", "unit", "nginx.service"),
			Script: debianLeaves + "own " + nginxMask + "\nln -sfn /dev/null " + nginxMask +
				"\nsystemctl daemon-reload\nsystemctl stop nginx.service 2>/dev/null || true\n"})
		return err
	})
	return s
}

// service asks the machine's nginx how it was built, and writes what it needs.
func (r *Balancer) service(ctx context.Context, nd *node.Node) (node.Service, error) {
	out, err := nd.Query(ctx,
		"nginx=$(command -v nginx || echo /usr/sbin/nginx); [ -x \"$nginx\" ] || exit 0\necho \"program $nginx\"\n"+
			"\"$nginx\" -V 2>&1\nif [ -s /proc/net/if_inet6 ]; then echo ipv6; fi\n")
	if err != nil {
		return node.Service{}, err
	}
	built, fault := parseNginx(out)
	if fault != nil {
		return node.Service{}, fault.On(nd.Name())
	}
	left, err := r.outOf(ctx, nd)
	if err != nil {
		return node.Service{}, err
	}
	var servers []server
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		servers = append(servers, server{apiAddr(n), r.out(ctx, nd, n, left)})
	}
	return node.Service{Unit: Unit, Reload: true, Files: []node.File{
		layout.PlainFile(Conf, built.conf(r.ports(nd.Name()), servers)),
		layout.PlainFile(layout.UnitDir+Unit, built.unit()),
	}}, nil
}

// ports are those that clients come to on a machine: that of deploy.yaml, and those by which nodes may still use the
// load balancer.
func (r *Balancer) ports(name string) []int {
	var out []int
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		if n.Name == name {
			out = append(out, r.Cluster.LBPort)
		}
	}
	for _, b := range r.Former().Balancers {
		if r.FormerNode(b).Name == name && !slices.Contains(out, b.Bind) {
			out = append(out, b.Bind)
		}
	}
	return out
}

// all are the machines on which a load balancer runs: those of deploy.yaml, and those that nodes may still use.
func (r *Balancer) all() []config.Node {
	out := r.Cluster.With(bundle.LoadBalancer)
	for _, b := range r.Former().Balancers {
		n := r.FormerNode(b)
		if !slices.ContainsFunc(out, func(o config.Node) bool { return o.Name == n.Name }) {
			out = append(out, n)
		}
	}
	return out
}

// apiAddr is where a control plane's API server is.
func apiAddr(n config.Node) string { return net.JoinHostPort(n.IP.String(), "6443") }

// Answers wants an API server's readiness through the load balancer.
func (r *Balancer) Answers(ctx context.Context, n config.Node, nd *node.Node) error {
	err := r.Readyz(ctx, nd.Dial, net.JoinHostPort(n.IP.String(), strconv.Itoa(r.Cluster.LBPort)))
	if err == nil {
		return nil
	}
	f := event.NewFault(event.ClassFailed, "balancer.silent", clients.Unready(err), "port",
		strconv.Itoa(r.Cluster.LBPort), "log", nd.LastWords(ctx, Unit)).On(n.Name)
	f.Retry = true
	return f
}
