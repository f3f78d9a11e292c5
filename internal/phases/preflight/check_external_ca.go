package preflight

import (
	"context"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkExternalCA inspects the user's authorities before anything is touched: whether they can be used, and whether the
// cluster has others.
func checkExternalCA() Check {
	return Check{
		Name: "external-ca", Codes: []string{"pki.external-differs"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			if in.Cluster.ExternalCA == "" {
				return nil
			}
			own, err := pki.ReadExternal(in.Cluster.ExternalCA, in.Now())
			if err != nil {
				return as("", err)
			}
			if file := own.Differs(filepath.Join(in.StateDir, "pki")); file != "" {
				return as("", event.NewFault(event.ClassPreflight, "pki.external-differs", nil, "file", file))
			}
			return nil
		},
	}
}
