package preflight

import (
	"context"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Progress is how many members of etcd a restore has touched, and how many of them have their new data.
type Progress struct{ Touched, Done int }

// checkRestoring refuses what is not the restore while one is half done: some members would start with the new data and
// others with the old. Before the first member was touched, and when all have their new data, there is nothing in the
// way.
func checkRestoring() Check {
	return Check{
		Name: "restoring", Codes: []string{"preflight.restore-half"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			p, err := in.Restore(ctx)
			if err != nil {
				return as(event.AsFault(err).Node, err)
			}
			members := len(in.Cluster.With(bundle.Etcd))
			if p.Touched == 0 || p.Done == members {
				return nil
			}
			return []event.Finding{
				Finding(event.Error, "", "preflight.restore-half", "cluster", in.Cluster.Name, "done",
					strconv.Itoa(p.Done), "members", strconv.Itoa(members)),
			}
		},
	}
}
