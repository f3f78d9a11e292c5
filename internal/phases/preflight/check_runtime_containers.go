package preflight

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRuntimeContainers finds containers that Docker runs beside those of pods: they are somebody's, and end with it.
func checkRuntimeContainers() Check {
	return Check{
		Name: "runtime-containers", Codes: []string{"preflight.runtime-containers"},
		When: func(in *Input, n config.Node) bool { return in.changes(n) },
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !slices.Contains(in.others(f), "docker") {
				return nil
			}
			out, err := in.Nodes.Node(n.Name).Query(ctx, "if command -v docker >/dev/null 2>&1; then\n"+
				"  timeout 20 docker ps --format '{{.Names}} {{.Label \"io.kubernetes.docker.type\"}}' 2>/dev/null |\n"+
				"    awk 'NF==1 {print $1}'\nfi\n")
			if err != nil {
				return as(n.Name, err)
			}
			names := strings.Fields(out)
			if len(names) == 0 {
				return nil
			}
			sev := event.Error
			if in.Force {
				sev = event.Warning
			}
			return one(sev, n, "preflight.runtime-containers", "containers", few(names))
		},
	}
}
