package phases

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// tellPorts says what will be opened where.
func (r *run) tellPorts() error {
	for _, n := range r.Cluster.Nodes {
		f := r.Fact(n.Name)
		if f == nil {
			continue
		}
		for i := range f.Firewalls {
			w := &f.Firewalls[i]
			if closed := w.Closed(r.host.Inbound(n)); len(closed) > 0 {
				text := event.M("notice.ports", "node", n.Name, "firewall", w.Name, "ports", strings.Join(closed, ", "))
				if err := r.Emit(event.Notice{Host: n.Name, Step: plan.ID(plan.PhasePreflight, "verdict", ""),
					Text: text}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// judgeFirewall warns where a firewall has rules whose effect is not told here: what is opened may stay refused by
// them.
func (r *run) judgeFirewall(n config.Node, f *facts.Facts) []event.Finding {
	var out []event.Finding
	for i := range f.Firewalls {
		w := &f.Firewalls[i]
		if closed := w.Closed(r.host.Inbound(n)); w.Unsure && len(closed) > 0 {
			out = append(out, finding(event.Warning, n.Name, "firewall-unsure", "firewall", w.Name, "ports",
				strings.Join(closed, ", ")))
		}
	}
	return out
}
