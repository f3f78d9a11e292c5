package preflight

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkTakenOver refuses whatever is not a deploy of all nodes while components of one that was imported still run from
// the files of others: nodes are taken over where that was asked for, and all of them.
func checkTakenOver() Check {
	return Check{
		Name: "taken-over", Codes: []string{"preflight.not-taken-over", "preflight.takes-over"}, Needs: Ours,
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.Imported() || !in.takesOver() {
				return nil
			}
			out, err := in.Nodes.Node(n.Name).Query(ctx, "for p in "+shell.QuoteAll(in.Owns(n))+"; do\n"+
				"  b=${p##*/}\n  [ -e "+node.Dir+"/applied/${b%.yaml} ] || printf '%s\\n' \"$p\"\ndone\n")
			if err != nil {
				return as(n.Name, err)
			}
			files := strings.Fields(out)
			switch {
			case len(files) == 0:
				return nil
			case in.deploysAll():
				return one(event.Warning, n, "preflight.takes-over", "files", event.Clean(strings.Join(files, ", ")))
			}
			return one(event.Error, n, "preflight.not-taken-over", "cluster", in.Cluster.Name)
		},
	}
}

// deploysAll says whether the run is a deploy of all nodes, and nothing else.
func (in *Input) deploysAll() bool {
	return slices.Contains([]string{"", "deploy", "resume"}, in.Verb) && in.Upgrade == nil && len(in.Limit) == 0 &&
		len(in.Removing) == 0 && in.RenewBefore.IsZero()
}
