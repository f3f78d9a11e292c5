package preflight

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Member is one of etcd's, as those that answer have it.
type Member struct {
	Name    string
	Learner bool
	Leaves  bool // it is of a node that is removed
	// Well says whether it answers.
	Well func(context.Context) bool
}

// checkQuorum counts the members of etcd that stay and answer against the quorum of the cluster without those that go.
func checkQuorum() Check {
	return Check{
		Name:  "quorum",
		Codes: []string{"preflight.leave-no-quorum", "preflight.leave-quorum", "preflight.leave-even"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			if !slices.ContainsFunc(in.Removing, func(n config.Node) bool { return n.Has(bundle.Etcd) }) {
				return nil
			}
			list, err := in.Etcd(ctx)
			if err != nil {
				return []event.Finding{Finding(event.Error, "", "preflight.leave-no-quorum", "cause",
					event.Clean(event.AsFault(err).Cause))}
			}
			size, going := 0, 0
			var well []string
			for _, m := range list {
				switch {
				case m.Leaves:
					going++
				case m.Learner:
				default:
					size++
					if m.Well(ctx) {
						well = append(well, event.Clean(m.Name))
					}
				}
			}
			if quorum := size/2 + 1; len(well) < quorum {
				return []event.Finding{Finding(event.Error, "", "preflight.leave-quorum", "well",
					strconv.Itoa(len(well)), "size", strconv.Itoa(size), "quorum", strconv.Itoa(quorum), "names",
					strings.Join(well, ", "))}
			}
			if size%2 == 0 && going > 0 {
				return []event.Finding{Finding(event.Warning, "", "preflight.leave-even", "size", strconv.Itoa(size))}
			}
			return nil
		},
	}
}
