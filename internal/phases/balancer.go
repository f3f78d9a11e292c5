package phases

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/systemd"
)

const (
	balancerConf = "/etc/eggo/nginx-lb.conf"
	balancerUnit = "eggo-lb.service"
	// a link to /dev/null, so that the package's own service does not start with its installation
	nginxMask = layout.UnitDir + "nginx.service"
)

// balancer passes TCP connections on to the API servers: nginx's stream module from the distribution's package, with a
// unit and a configuration of ours. Nodes join through it, so it must answer before.
func (r *run) balancer() []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		s := plan.Step(plan.PhaseBalancer, "start", n.Name,
			[]string{plan.ID(plan.PhaseInfra, "packages", n.Name), plan.ID(plan.PhaseInfra, "system", n.Name)})
		s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
		s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (done bool, err error) {
			err = r.balancing(ctx, func() error {
				svc, err := r.balancerService(ctx, nd)
				if err == nil {
					done, err = nd.Running(ctx, svc)
				}
				return err
			})
			return done, err
		})
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			return r.balancing(ctx, func() error {
				svc, err := r.balancerService(ctx, nd)
				if err != nil {
					return err
				}
				if back, err := r.putBack(ctx, nd, svc); err != nil || back != "" {
					return err
				}
				return nd.Start(ctx, svc)
			})
		})
		ready := plan.Step(plan.PhaseBalancer, "ready", n.Name, []string{s.ID, plan.ID(plan.PhaseControl, "ready", "")})
		ready.Verify = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			return r.balancerAnswers(ctx, n, nd)
		})
		ready.Retry = engine.Retry{Tries: 30, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second}
		ready.Timeout = 30 * time.Second
		steps = append(steps, s, ready)
	}
	return steps
}

// joinable are the steps after which nodes can join through the cluster's endpoint.
func (r *run) joinable() []string {
	return append([]string{plan.ID(plan.PhaseControl, "rights", "")},
		plan.IDs(plan.PhaseBalancer, "ready", r.Cluster.With(bundle.LoadBalancer))...)
}

// debianLeaves: what nginx-common makes beside its files, and leaves behind when it is purged.
const debianLeaves = "for p in /var/www /var/www/html; do [ -e $p ] || rec dir $p absent; done\n" +
	"[ -e /var/www/html/index.nginx-debian.html ] || rec file /var/www/html/index.nginx-debian.html absent\n"

// maskNginx keeps the package's own service from starting when the package is installed. An nginx that is there already
// is somebody's, and stays as it is.
func (r *run) maskNginx(n config.Node) *engine.Step {
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

// balancerService asks the machine's nginx how it was built, and writes what it needs.
func (r *run) balancerService(ctx context.Context, nd *node.Node) (node.Service, error) {
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
	var servers []server
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		servers = append(servers, server{apiAddr(n), r.isDown(n.Name)})
	}
	return node.Service{Unit: balancerUnit, Reload: true, Files: []node.File{
		layout.PlainFile(balancerConf, built.conf(r.Cluster.LBPort, servers)),
		layout.PlainFile(layout.UnitDir+balancerUnit, built.unit()),
	}}, nil
}

// apiAddr is where a control plane's API server is.
func apiAddr(n config.Node) string { return net.JoinHostPort(n.IP.String(), "6443") }

// server is an API server as the load balancer knows it.
type server struct {
	addr string
	down bool // gets no new connections
}

// nginx as a machine has it.
type nginx struct {
	program string
	module  string // the stream module's file; "" when it is built in
	ipv6    bool
}

var modulesDir = regexp.MustCompile(`--modules-path=(\S+)`)

// parseNginx reads the program's path, what nginx -V prints, and whether the machine has IPv6.
func parseNginx(out string) (nginx, *event.Fault) {
	var n nginx
	for line := range strings.Lines(out) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "program "); ok {
			n.program = p
		}
		n.ipv6 = n.ipv6 || strings.TrimSpace(line) == "ipv6"
	}
	words := strings.Fields(out)
	switch {
	case !strings.HasPrefix(n.program, "/"):
		return n, event.NewFault(event.ClassFailed, "balancer.no-nginx", nil)
	case slices.Contains(words, "--with-stream=dynamic"):
		dir := "/usr/lib/nginx/modules"
		if m := modulesDir.FindStringSubmatch(out); m != nil {
			dir = strings.Trim(m[1], `'"`)
		}
		n.module = dir + "/ngx_stream_module.so"
	case !slices.Contains(words, "--with-stream"):
		return n, event.NewFault(event.ClassFailed, "balancer.no-stream", nil)
	}
	return n, nil
}

// conf is the whole configuration. An API server that refuses is passed over at once, one that does not answer after
// two seconds; after a failure it is left alone for five. All of them stand there again as backups that are never left
// alone: else nginx refuses everybody when one server has just come back, of which it does not know yet, and the next
// one is restarted. One that is down gets no connections. Watches are quiet for long: a connection may be idle for a
// day, and dead peers are found by keepalive.
func (n nginx) conf(port int, servers []server) []byte {
	var b strings.Builder
	b.WriteString("# Written by Eggo; removed by eggo-tui cleanup.\n")
	if n.module != "" {
		fmt.Fprintf(&b, "load_module %q;\n", n.module)
	}
	b.WriteString("worker_processes 2;\nworker_rlimit_nofile 16384;\npid /run/eggo-lb/nginx.pid;\nerror_log stderr " +
		"warn;\nevents {\n    worker_connections 8192;\n}\nstream {\n    upstream apiservers {\n        least_conn;\n")
	for _, how := range []string{"max_fails=1 fail_timeout=5s", "max_fails=0 backup"} {
		for _, s := range servers {
			down := ""
			if s.down {
				down = " down"
			}
			fmt.Fprintf(&b, "        server %s %s%s;\n", s.addr, how, down)
		}
	}
	b.WriteString("    }\n    server {\n")
	fmt.Fprintf(&b, "        listen %d so_keepalive=on;\n", port)
	if n.ipv6 {
		fmt.Fprintf(&b, "        listen [::]:%d ipv6only=on so_keepalive=on;\n", port)
	}
	b.WriteString("        proxy_pass apiservers;\n        proxy_connect_timeout 2s;\n        proxy_timeout 24h;\n  " +
		"      proxy_socket_keepalive on;\n    }\n}\n")
	return []byte(b.String())
}

// unit starts nginx with our configuration and no other. It is started when nginx listens; a reload tries the new
// configuration first and lets the connections that are open go on.
func (n nginx) unit() []byte {
	program := systemd.ExecPath(n.program)
	return []byte(`# Written by Eggo; removed by eggo-tui cleanup.
[Unit]
Description=Load balancer of the Kubernetes API servers
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=forking
PIDFile=/run/eggo-lb/nginx.pid
RuntimeDirectory=eggo-lb
ExecStartPre=` + program + ` -t -q -c ` + balancerConf + `
ExecStart=` + program + ` -c ` + balancerConf + `
ExecReload=` + program + ` -t -q -c ` + balancerConf + `
ExecReload=/bin/kill -HUP $MAINPID
TimeoutStartSec=60
TimeoutStopSec=10
Restart=always
RestartSec=2
LimitNOFILE=16384

[Install]
WantedBy=multi-user.target
`)
}

// balancerAnswers wants an API server's readiness through the load balancer.
func (r *run) balancerAnswers(ctx context.Context, n config.Node, nd *node.Node) error {
	err := r.Readyz(ctx, nd.Dial, net.JoinHostPort(n.IP.String(), strconv.Itoa(r.Cluster.LBPort)))
	if err == nil {
		return nil
	}
	f := event.NewFault(event.ClassFailed, "balancer.silent", clients.Unready(err), "port",
		strconv.Itoa(r.Cluster.LBPort), "log", nd.LastWords(ctx, balancerUnit)).On(n.Name)
	f.Retry = true
	return f
}
