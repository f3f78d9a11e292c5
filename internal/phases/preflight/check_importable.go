package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkImportable: a node that is imported runs already, and for the cluster whose CAs were read.
func checkImportable() Check {
	return Check{
		Name: "importable", Codes: []string{"preflight.import-idle",
			"preflight.import-no-kubelet", "preflight.state-elsewhere", "state.read"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if n.Has(bundle.ControlPlane) && !n.Has(bundle.Worker) && !in.Cluster.ByKubeadm() &&
				!slices.Contains(f.Active, "kubelet") {
				return append(one(event.Warning, n, "preflight.import-no-kubelet"),
					authorityFindings(in, n, f, false)...)
			}
			if inventory.IsKubelet(n) && !slices.Contains(f.Active, "kubelet") {
				return one(event.Error, n, "preflight.import-idle")
			}
			return authorityFindings(in, n, f, false)
		},
	}
}
