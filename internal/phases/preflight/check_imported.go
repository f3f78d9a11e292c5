package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
)

// checkImported refuses what would write over files of a node that Eggo has not made.
func checkImported() Check {
	return Check{
		Name: "imported", Codes: []string{"preflight.imported"}, Needs: Ours,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !slices.Contains(f.RecordKinds, "imported") {
				return nil
			}
			return one(event.Error, n, "preflight.imported", "cluster", in.Cluster.Name)
		},
	}
}
