package preflight

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeNodes wants every node to be Ready: a node that is not takes no pods of those that are drained, and
// nothing would tell whether the upgrade broke it. One that only runs workloads and is outside the limit may be as it
// is.
func checkUpgradeNodes() Check {
	return Check{
		Name: "upgrade-nodes", Codes: []string{"upgrade.node-absent", "upgrade.not-ready",
			"upgrade.node-stranger"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			has, _ := in.living()
			if has == nil {
				return nil
			}
			var out []event.Finding
			for _, n := range inventory.Kubelets(in.Cluster) {
				sev := in.ill()
				if !in.limited(n) && !n.Has(bundle.ControlPlane) || in.begun(n) {
					sev = event.Warning
				}
				at := slices.IndexFunc(has.Nodes, func(o objects.Node) bool { return o.Name == n.Name })
				switch {
				case at < 0:
					out = append(out, Finding(sev, n.Name, "upgrade.node-absent", "cluster", in.Cluster.Name))
				case has.Nodes[at].NotReady != "":
					out = append(out, Finding(sev, n.Name, "upgrade.not-ready", "why",
						event.Clean(has.Nodes[at].NotReady)))
				}
			}
			for _, o := range has.Nodes {
				if !in.names(o.Name) {
					out = append(out, Finding(event.Warning, "", "upgrade.node-stranger", "name", event.Clean(o.Name),
						"is", event.Clean(o.Kubelet)))
				}
			}
			return out
		},
	}
}
