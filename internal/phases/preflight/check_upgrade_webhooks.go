package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeWebhooks finds admission webhooks that refuse every request because nobody answers for them. Where they
// are asked for nodes, pods or leases, no node comes back from its turn.
func checkUpgradeWebhooks() Check {
	return Check{
		Name: "upgrade-webhooks", Codes: []string{"upgrade.webhook", "upgrade.webhook-idle"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			if in.Upgrade.Objects == nil {
				return nil
			}
			var out []event.Finding
			for _, w := range in.Upgrade.Objects.Webhooks {
				sev, code := in.ill(), "upgrade.webhook"
				switch {
				case w.Ready:
					continue
				case !w.Guards:
					sev, code = event.Warning, "upgrade.webhook-idle"
				}
				out = append(out, Finding(sev, "", code, "webhook", event.Clean(w.Name), "config",
					event.Clean(w.Config), "service", event.Clean(w.Service)))
			}
			return out
		},
	}
}
