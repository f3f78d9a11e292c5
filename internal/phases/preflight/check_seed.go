package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkSeed: a cluster that begins with a snapshot begins on machines without data of etcd.
func checkSeed() Check {
	return Check{
		Name: "seed",
		When: func(in *Input, n config.Node) bool { return in.Foreign != nil && n.Has(bundle.Etcd) },
		Ask: func(ctx context.Context, in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			if err := in.Foreign(ctx, n); err != nil {
				return as(n.Name, err)
			}
			return nil
		},
	}
}
