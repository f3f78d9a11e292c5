package preflight

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeLimit finds that a limit leaves out control planes that are still of the old version: a kubelet must not
// be newer than any API server. It would be refused in the kubelet's turn, when the control planes of the limit have
// had theirs.
func checkUpgradeLimit() Check {
	return Check{
		Name: "upgrade-limit", Codes: []string{"upgrade.limit"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			if !slices.ContainsFunc(inventory.Kubelets(in.Cluster), func(n config.Node) bool {
				f := in.Fact(n.Name)
				return in.limited(n) && f != nil && f.Kubelet != in.Upgrade.To
			}) {
				return nil
			}
			var old []string
			for _, n := range in.Cluster.With(bundle.ControlPlane) {
				if in.limited(n) {
					continue
				}
				if is, err := in.serverVersion(ctx, n); err == nil && is != in.Upgrade.To {
					old = append(old, n.Name)
				}
			}
			if len(old) == 0 {
				return nil
			}
			return []event.Finding{Finding(event.Error, "", "upgrade.limit", "nodes", strings.Join(old, ", "), "to",
				in.Upgrade.To)}
		},
	}
}
