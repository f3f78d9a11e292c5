package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Snapshot is a file that etcd's data are restored from.
type Snapshot struct {
	Path string
	Size int64
	// Foreign says whether it is of another cluster than the one with the state directory's authorities.
	Foreign func(context.Context) (bool, error)
}

// checkSnapshot: what is restored is this cluster's.
func checkSnapshot() Check {
	return Check{
		Name: "snapshot", Codes: []string{"preflight.snapshot-foreign"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			foreign, err := in.Snapshot.Foreign(ctx)
			switch {
			case err != nil:
				return as("", err)
			case foreign:
				return []event.Finding{Finding(event.Error, "", "preflight.snapshot-foreign", "path", in.Snapshot.Path,
					"cluster", in.Cluster.Name)}
			}
			return nil
		},
	}
}
