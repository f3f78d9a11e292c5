package preflight

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkLost finds machines, and roles of machines, that the cluster has and deploy.yaml no longer names: to leave them
// where they are would be two truths, and to take them away is not what deploy is asked for. A load balancer that moves
// is no loss for a deploy: checkBalancer tells of it.
func checkLost(moves bool) Check {
	return Check{
		Name: "lost", Codes: []string{"preflight.node-lost", "preflight.role-lost"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			var out []event.Finding
			for was, is := range in.saved() {
				switch {
				case is == nil && moves && balancerOnly(was):
					continue
				case is == nil:
					out = append(out, Finding(event.Error, was.Name, "preflight.node-lost", "ip", was.IP.String(),
						"cluster", in.Cluster.Name))
					continue
				}
				if roles := lostRoles(was, *is); len(roles) > 0 {
					out = append(out, Finding(event.Error, was.Name, "preflight.role-lost", "roles",
						strings.Join(roles, ", "), "cluster", in.Cluster.Name))
				}
			}
			return out
		},
	}
}

// saved are the nodes of the cluster as it is, each with what it is to be: nil when it is none.
func (in *Input) saved() iter.Seq2[config.Node, *config.Node] {
	return func(yield func(config.Node, *config.Node) bool) {
		if in.Saved == nil {
			return
		}
		for _, was := range in.Saved.Nodes {
			var is *config.Node
			if i := slices.IndexFunc(in.Cluster.Nodes, func(n config.Node) bool { return n.IP == was.IP }); i >= 0 {
				is = &in.Cluster.Nodes[i]
			}
			if !yield(was, is) {
				return
			}
		}
	}
}

// lostRoles are those that cannot be given up. A worker that is a control plane stays a node: its taints follow. A load
// balancer that moves is told by itself.
func lostRoles(was, is config.Node) []string {
	var out []string
	for _, role := range was.Roles {
		gone := role == bundle.ControlPlane || role == bundle.Etcd || role == bundle.Worker && !inventory.IsKubelet(is)
		if gone && !is.Has(role) {
			out = append(out, string(role))
		}
	}
	return out
}
