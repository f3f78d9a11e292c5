package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRecord finds a record that says more than this program knows: what it does not know it could not revert. Whoever
// adds to a record leaves kinds that it does not know as they are; whoever reverts it has to know all of them.
func checkRecord(reverts bool) Check {
	return Check{
		Name: "record", Codes: []string{"node.record-format", "node.record-unknown"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			var kinds []string
			if reverts {
				kinds = f.RecordKinds
			}
			beyond := node.UnsupportedRecord(f.RecordFormat, kinds)
			if beyond == nil || reverts && in.othersNode(f) { // that it is another's is told already
				return nil
			}
			return as(n.Name, beyond)
		},
	}
}
