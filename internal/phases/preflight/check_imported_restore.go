package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkImportedRestore refuses a restore: the data of an imported member lie where no other directory can take their
// place.
func checkImportedRestore() Check {
	return Check{
		Name: "imported-restore", Codes: []string{"preflight.imported-restore"}, Needs: Ours,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.Imported() {
				return nil
			}
			return one(event.Error, n, "preflight.imported-restore", "cluster", in.Cluster.Name)
		},
	}
}
