package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeVersion wants every node to have the version that the upgrade begins from, and of one that is continued
// that or the one that it brings. Of nodes outside the limit the skew counts alone: the check upgrade-skew.
func checkUpgradeVersion() Check {
	return Check{
		Name: "upgrade-version", Needs: Ours, When: kubelets,
		Codes: []string{"upgrade.node-version"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			u := in.Upgrade
			switch {
			case f.Kubelet == "", f.Kubelet == u.From, u.Continues && f.Kubelet == u.To, !in.limited(n):
				return nil
			}
			return one(event.Error, n, "upgrade.node-version", "is", event.Clean(f.Kubelet), "from", u.From, "to", u.To)
		},
	}
}

// limited says whether the run's work is on the node too.
func (in *Input) limited(n config.Node) bool {
	return len(in.Limit) == 0 || slices.Contains(in.Limit, n.Name)
}
