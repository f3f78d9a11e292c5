package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/event"
)

// checkDNSChange: CoreDNS as it was installed would run on beside the other kind, and both would answer for the
// Service.
func checkDNSChange() Check {
	return Check{
		Name: "dns-change", Codes: []string{"preflight.dns-change"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			if in.Saved == nil || in.Saved.DNS.Type == in.Cluster.DNS.Type {
				return nil
			}
			return []event.Finding{Finding(event.Error, "", "preflight.dns-change", "is", in.Saved.DNS.Type, "want",
				in.Cluster.DNS.Type, "cluster", in.Cluster.Name)}
		},
	}
}
