package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeSame wants the kubelet of every node to have the version that the cluster's own bundles say it has.
func checkUpgradeSame() Check {
	return Check{
		Name: "upgrade-same", Needs: Ours, When: kubelets, Codes: []string{"upgrade.bundle-replaced"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			is := f.Kubelet
			if has := in.Upgrade.Objects; is == "" && has != nil { // it does not run
				for _, o := range has.Nodes {
					if o.Name == n.Name {
						is = o.Kubelet
					}
				}
			}
			if is == "" || is == in.Upgrade.To {
				return nil
			}
			return one(event.Error, n, "upgrade.bundle-replaced", "is", event.Clean(is), "version",
				in.Upgrade.To, "file", in.Cluster.Source.Bundles[n.Arch])
		},
	}
}
