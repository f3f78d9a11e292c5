package phases

import (
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/runtimes"
)

const (
	maxSkew  = 30 * time.Second // beyond it certificates and tokens fail in ways that nobody understands
	warnSkew = 5 * time.Second
)

func (r *run) judgeNode(n config.Node, f *facts.Facts) []event.Finding {
	var out []event.Finding
	add := func(sev event.Severity, code string, kv ...string) {
		out = append(out, finding(sev, n.Name, code, kv...))
	}
	if f.Arch != n.Arch {
		add(event.Error, "arch", "is", f.Arch, "says", n.Arch)
	}
	if !f.Systemd {
		add(event.Error, "no-systemd")
	}
	if !f.HasAddress(n) {
		add(event.Error, "address", "ip", n.IP.String(), "has", strings.Join(f.Addresses, ", "))
	}
	if f.Skew.Abs()-f.SkewError > maxSkew {
		add(event.Error, "clock", "skew", wordSkew(f.Skew), "limit", maxSkew.String())
	} else if f.Skew.Abs()-f.SkewError > warnSkew {
		add(event.Warning, "clock", "skew", wordSkew(f.Skew), "limit", maxSkew.String())
	}
	if len(f.Missing) > 0 {
		add(event.Error, "missing", "what", strings.Join(f.Missing, ", "))
	}
	if f.Swap && nodes.IsKubelet(n) {
		add(event.Error, "swap")
	}
	if f.NoRoute && nodes.IsKubelet(n) {
		add(event.Error, "no-route", "service", r.Cluster.ServiceGateway.String())
	}
	if f.DockerJSON && nodes.IsKubelet(n) && runtimes.Name(r.Cluster) == "docker" {
		add(event.Warning, "docker-json")
	}
	out = append(out, judgeSize(n, f)...)
	if f.SELinux && n.Has(bundle.LoadBalancer) {
		add(event.Warning, "selinux-balancer", "port", strconv.Itoa(r.Cluster.LBPort))
	}
	if f.Resolves == "no" && nodes.IsKubelet(n) {
		if addr := r.EndpointAddress(); addr != "" {
			add(event.Warning, "endpoint-told", "name", r.EndpointName(), "addr", addr)
		} else {
			add(event.Error, "endpoint-unknown", "name", r.EndpointName())
		}
	}
	out = append(out, judgeRecord(n, node.Beyond(f.RecordFormat, nil))...) // kinds that we do not know stay as they are
	out = append(out, r.judgeFirewall(n, f)...)
	out = append(out, r.judgePlugin(n, f)...)
	out = append(out, r.judgeDNSPort(n, f)...)
	if b := r.BundleFor(n, f); b != nil {
		if nodes.IsKubelet(n) && !f.Cgroup2 && minor(b.Manifest()) >= cgroup1Refused {
			add(event.Warning, "cgroup-v1", "version", b.Manifest().Kubernetes)
		}
		out = append(out, r.judgeSpace(n, f, b)...)
	} else {
		out = append(out, r.judgeSystem(n, f)...)
	}
	return append(out, r.judgeTaken(n, f)...)
}

// wordSkew words a difference of clocks with no more precision than one answer over a busy network gives.
func wordSkew(d time.Duration) string {
	if d.Abs() >= 10*time.Minute {
		return d.Round(time.Minute).String()
	}
	return d.Round(time.Second).String()
}
