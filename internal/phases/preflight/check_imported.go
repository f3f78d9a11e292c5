package preflight

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkImported refuses what would write over files of a node that Eggo has not made, where it cannot take them over.
func checkImported() Check {
	return Check{
		Name: "imported", Codes: []string{"preflight.imported", "preflight.imported-dns"}, Needs: Ours,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			switch {
			case !f.Imported():
				return nil
			case in.takesOver() && in.Cluster.DNS.IsBinary() && n.Has(bundle.ControlPlane):
				return one(event.Error, n, "preflight.imported-dns", "cluster", in.Cluster.Name)
			case in.takesOver():
				return nil
			}
			return one(event.Error, n, "preflight.imported", "cluster", in.Cluster.Name)
		},
	}
}

// takesOver says whether nodes of the cluster that others have made can become ours: the container runtime is the one
// that works beside every kubelet without settings of ours.
func (in *Input) takesOver() bool {
	return in.Cluster.Eggo.Imported && in.Runtime == "containerd"
}
