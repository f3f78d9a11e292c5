package balancer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

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
func (n nginx) conf(ports []int, servers []server) []byte {
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
	for _, port := range ports {
		fmt.Fprintf(&b, "        listen %d so_keepalive=on;\n", port)
		if n.ipv6 {
			fmt.Fprintf(&b, "        listen [::]:%d ipv6only=on so_keepalive=on;\n", port)
		}
	}
	b.WriteString("        proxy_pass apiservers;\n        proxy_connect_timeout 2s;\n        proxy_timeout 24h;\n  " +
		"      proxy_socket_keepalive on;\n    }\n}\n")
	return []byte(b.String())
}

// unit starts nginx with our configuration and no other. It is started when nginx listens; a reload tries the new
// configuration first and lets the connections that are open continue.
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
ExecStartPre=` + program + ` -t -q -c ` + Conf + `
ExecStart=` + program + ` -c ` + Conf + `
ExecReload=` + program + ` -t -q -c ` + Conf + `
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
