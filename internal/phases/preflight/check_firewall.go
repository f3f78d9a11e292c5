package preflight

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkFirewall warns where a firewall has rules whose effect is not told here: what is opened may stay refused by
// them.
func checkFirewall() Check {
	return Check{
		Name: "firewall", Codes: []string{"preflight.firewall-unsure"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			var out []event.Finding
			for i := range f.Firewalls {
				w := &f.Firewalls[i]
				if closed := w.Closed(in.Inbound(n)); w.Unsure && len(closed) > 0 {
					out = append(out, Finding(event.Warning, n.Name, "preflight.firewall-unsure", "firewall", w.Name,
						"ports", strings.Join(closed, ", ")))
				}
			}
			return out
		},
	}
}
