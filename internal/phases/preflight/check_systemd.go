package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkSystemd: everything that runs on a node is a unit of systemd.
func checkSystemd() Check {
	return Check{
		Name: "systemd", Codes: []string{"preflight.no-systemd"},
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if f.Systemd {
				return nil
			}
			return one(event.Error, n, "preflight.no-systemd")
		},
	}
}
