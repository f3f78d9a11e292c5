package host

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Hostname gives the machine its name of deploy.yaml, now and for the next boot. A machine whose name is that with a
// domain after it keeps it.
func (r *Host) Hostname(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "hostname", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, "cat /proc/sys/kernel/hostname\nhead -n 1 /etc/hostname 2>/dev/null || true\n")
		names := strings.Fields(out)
		for _, name := range names {
			if short, _, _ := strings.Cut(name, "."); !strings.EqualFold(short, n.Name) {
				return false, err
			}
		}
		return len(names) == 2, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		return nd.Rename(ctx, event.M("change.hostname", "name", n.Name), n.Name)
	})
	return s
}
