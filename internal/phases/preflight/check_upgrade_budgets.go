package preflight

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeBudgets finds, long before the node's turn, the disruption budgets that would block its drain: one that
// allows nothing, and two for the same pod, of which no eviction is allowed at all.
func checkUpgradeBudgets() Check {
	return Check{
		Name: "upgrade-budgets", Codes: []string{"upgrade.budget", "upgrade.budgets-overlap"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			// An upgrade that was begun may have evicted what a budget wants.
			sev, none := event.Error, in.ill()
			if in.Force || slices.ContainsFunc(in.Cluster.Nodes, in.begun) { // pods are on their way
				sev, none = event.Warning, event.Warning
			}
			var out []event.Finding
			budgets := map[*objects.Pod][]string{}
			for _, b := range in.has().Budgets {
				byNode := map[string][]string{}
				for _, p := range b.Pods {
					if !in.moves(p) {
						continue
					}
					budgets[p] = append(budgets[p], event.Clean(b.FullName()))
					if b.Blocks(p) {
						byNode[p.Node] = append(byNode[p.Node], p.FullName())
					}
				}
				for _, n := range in.Cluster.Nodes {
					if pods := byNode[n.Name]; len(pods) > 0 {
						out = append(out, Finding(none, n.Name, "upgrade.budget", "budget", event.Clean(b.FullName()),
							"pods", few(pods)))
					}
				}
			}
			for _, p := range in.has().Pods {
				if names := budgets[p]; len(names) > 1 && p.Running {
					out = append(out, Finding(sev, p.Node, "upgrade.budgets-overlap", "pod", event.Clean(p.FullName()),
						"budgets", strings.Join(names, ", ")))
				}
			}
			return out
		},
	}
}
