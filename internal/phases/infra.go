package phases

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/addons"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload/packages"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Limits are the sizes of the named limits for a run on a jump host.
func Limits() map[string]int { return map[string]int{plan.LimitUploads: 8, plan.LimitLoads: 16} }

// infrastructure readies every machine: identity, kernel settings, packages, programs, images, and its runtime as the
// step says.
func (r *run) infrastructure(runtime func(config.Node) *engine.Step) []*engine.Step {
	var steps []*engine.Step
	pk := packages.Packages{Payload: r.Payload}
	for _, n := range r.Cluster.Nodes {
		if r.Cluster.Eggo.Hostname == "set" {
			steps = append(steps, r.host.Hostname(n))
		}
		var first []string // what has to be there before a package starts its service
		if n.Has(bundle.LoadBalancer) {
			first = append(first, plan.ID(plan.PhaseInfra, "mask-nginx", n.Name))
		}
		seeded := inventory.IsKubelet(n) && r.runtimes.Runtime().Seeds()
		if seeded {
			first = append(first, plan.ID(plan.PhaseInfra, "runtime-files", n.Name))
		}
		steps = append(steps, r.claim(n), r.host.OpenPorts(n), r.host.System(n), pk.Send(n),
			pk.Install(n, first...))
		if seeded {
			steps = append(steps, r.runtimes.Files(n))
		}
		if len(r.Listed(n, "repo")) > 0 {
			s := pk.FromRepositories(n)
			if r.Cluster.Eggo.Imported {
				s.When = func(context.Context) (bool, event.Msg, error) {
					return !r.Equipped(n), event.M("why.imported-packages"), nil
				}
			}
			steps = append(steps, s)
		}
		if r.Cluster.Eggo.Imported {
			steps = append(steps, r.takeOver(n))
		}
		// In the order in which they are waited for: etcd, then what needs it, then the rest.
		for _, group := range plan.Groups(n) {
			steps = append(steps, r.host.PlaceBinaries(n, group))
		}
		if inventory.IsKubelet(n) {
			steps = append(steps, r.later(runtime(n)), r.runtimes.SendImages(n), r.later(r.runtimes.LoadImages(n)))
		}
	}
	for _, n := range r.Cluster.With(bundle.LoadBalancer) {
		steps = append(steps, r.balancer.MaskNginx(n))
	}
	if r.Cluster.Eggo.Imported {
		for _, s := range steps {
			if strings.HasPrefix(s.ID, plan.PhaseInfra+".programs-") {
				s.Needs = append(s.Needs, plan.ID(plan.PhaseInfra, "take-over", s.Host))
			}
		}
	}
	for _, s := range steps {
		r.keepOut(s)
	}
	return steps
}

// claim takes the directories whose content will be ours, and makes those that hold files of ours beside a package's.
func (r *run) claim(n config.Node) *engine.Step {
	var dirs []string
	if inventory.IsKubelet(n) {
		dirs = r.runtimes.Runtime().Dirs()
	}
	return r.host.Claim(n, r.ownTrees(n), dirs)
}

// ownTrees are the directories whose whole content is ours or our daemons' on a node.
func (r *run) ownTrees(n config.Node) []node.Tree {
	out := r.driver.Trees(n)
	if inventory.IsKubelet(n) {
		out = append(out, node.Tree{Path: r.CNIDir(), Mode: 0o755}, node.Tree{Path: layout.CNIConfDir, Mode: 0o755},
			node.Tree{Path: "/var/lib/cni", Mode: 0o755},
			node.Tree{Path: "/run/flannel", Mode: 0o755}, node.Tree{Path: "/usr/libexec/kubernetes", Mode: 0o755},
			node.Tree{Path: "/var/lib/kubelet", Mode: 0o700})
		out = append(out, r.runtimes.Runtime().Trees()...)
		out = append(out, node.Tree{Path: "/var/log/pods", Mode: 0o750, Purge: true},
			node.Tree{Path: "/var/log/containers", Mode: 0o755, Purge: true})
		out = append(out, addons.Trees(r.Cluster.NetworkPlugin)...)
	}
	return out
}
