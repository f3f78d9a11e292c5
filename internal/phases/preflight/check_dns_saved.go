package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDNSSaved refuses a deploy.yaml with another kind of CoreDNS than the cluster's own. A change that was
// interrupted may be continued later.
func checkDNSSaved() Check {
	return Check{
		Name: "dns-saved", Codes: []string{"preflight.dns-change"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			if in.Saved == nil || in.Saved.DNS.Type == in.Cluster.DNS.Type {
				return nil
			}
			return []event.Finding{in.dnsFinding(event.Error, "preflight.dns-change", in.Saved.DNS.Type)}
		},
	}
}
