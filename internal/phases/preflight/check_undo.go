package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUndo is about a run that reverts what it did when it fails. By a node's record it can tell that only where
// there was no record before; and nodes that the cluster has already are brought to what its deploy.yaml says, so they
// have to be that now.
func checkUndo() Check {
	return Check{
		Name: "undo", Codes: []string{"preflight.undo-recorded", "preflight.undo-unfinished"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !in.Undo {
				return nil
			}
			known := in.saves(n)
			switch {
			case !known && f.Recorded:
				return one(event.Error, n, "preflight.undo-recorded")
			case known && !f.Recorded:
				return one(event.Error, n, "preflight.undo-unfinished")
			}
			return nil
		},
	}
}

// saves says whether the cluster has the node already.
func (in *Input) saves(n config.Node) bool {
	return in.Saved != nil && slices.ContainsFunc(in.Saved.Nodes, func(s config.Node) bool { return s.IP == n.IP })
}
