package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDuplicateIdentity compares the machines with each other: copies of one machine have one identity.
func checkDuplicateIdentity() Check {
	return Check{
		Name: "duplicate-identity", Codes: []string{"preflight.machine-id"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			var out []event.Finding
			seen := map[string]string{}
			for _, n := range in.Asked {
				f := in.Fact(n.Name)
				if f == nil {
					continue
				}
				id := f.MachineID
				if other, dup := seen[id]; dup && id != "" {
					out = append(out, Finding(event.Warning, n.Name, "preflight.machine-id", "other", other))
				}
				seen[id] = n.Name
			}
			return out
		},
	}
}
