package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkFlags compares the arguments that deploy.yaml has for components with the flags of the bundle's version.
func checkFlags() Check {
	return Check{
		Name: "flags", Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			var out []event.Finding
			for _, p := range config.CheckFlags(in.Cluster, s.Manifest().Kubernetes) {
				out = append(out, event.Finding{Severity: p.Severity, Fault: *p.Fault()})
			}
			return out
		},
	}
}
