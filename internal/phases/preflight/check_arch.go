package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkArch: programs of another architecture do not run.
func checkArch() Check {
	return Check{
		Name: "arch", Codes: []string{"preflight.arch"},
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.Arch == n.Arch {
				return nil
			}
			return one(event.Error, n, "preflight.arch", "is", f.Arch, "says", n.Arch)
		},
	}
}
