// Package phases says what is done on which node: the plans of deploy and of cleanup as graphs of engine steps, for the binary driver
// (components as systemd services). How a node is reached is internal/remote's business, seen here as node.Host.
package phases

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// Deploy plans the installation of the cluster.
func Deploy(env Env) *engine.Plan { return newRun(env).deploy() }

func (r *run) deploy() *engine.Plan {
	p := &engine.Plan{Spare: r.Skip}
	for _, id := range []string{plan.PhasePreflight, plan.PhaseInfra, plan.PhaseEtcd, plan.PhaseControl, plan.PhaseBalancer, plan.PhaseBootstrap, plan.PhaseAddons, plan.PhaseCheck} {
		if id == plan.PhaseBalancer && len(r.Cluster.With(bundle.LoadBalancer)) == 0 {
			continue
		}
		p.Phases = append(p.Phases, engine.Phase{ID: id, Title: event.M("phase." + id)})
	}
	p.Hosts = hosts(r.Cluster)
	p.Steps = append(p.Steps, r.preflight(false)...)
	p.Steps = append(p.Steps, r.infrastructure()...)
	p.Steps = append(p.Steps, r.etcd()...)
	p.Steps = append(p.Steps, r.controlPlane()...)
	p.Steps = append(p.Steps, r.balancer()...)
	p.Steps = append(p.Steps, r.bootstrap()...)
	p.Steps = append(p.Steps, r.addons()...)
	p.Steps = append(p.Steps, r.check()...)
	for _, s := range p.Steps {
		if len(r.Limit) > 0 && !slices.Contains(r.Limit, s.Host) {
			r.unlessAway(s)
		}
	}
	r.beforeServices(p.Steps, "ports")
	r.hookDeploy(p)
	return p
}

func hosts(c *config.Cluster) []event.Host {
	var out []event.Host
	for _, n := range c.Nodes {
		h := event.Host{Name: n.Name, Addr: n.IP.String()}
		for _, role := range n.Roles {
			h.Roles = append(h.Roles, string(role))
		}
		out = append(out, h)
	}
	return out
}

// kubelets are the nodes that run a kubelet: control planes always do.
func kubelets(c *config.Cluster) []config.Node {
	var out []config.Node
	for _, n := range c.Nodes {
		if isKubelet(n) {
			out = append(out, n)
		}
	}
	return out
}

func isKubelet(n config.Node) bool { return n.Has(bundle.ControlPlane) || n.Has(bundle.Worker) }
