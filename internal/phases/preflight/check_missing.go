package preflight

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkMissing: programs, modules and cgroup controllers that every node needs and no bundle brings.
func checkMissing() Check {
	return Check{
		Name: "missing", Codes: []string{"preflight.missing"},
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if len(f.Missing) == 0 {
				return nil
			}
			return one(event.Error, n, "preflight.missing", "what", strings.Join(f.Missing, ", "))
		},
	}
}
