package preflight

import (
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What kubeadm asks of a control plane. Less works for a while, so it is a warning.
const (
	leastCPUs   = 2
	leastMemory = 1700 << 20
)

// checkSize warns of a control plane that is small.
func checkSize() Check {
	return Check{
		Name: "size", Codes: []string{"preflight.cpus", "preflight.memory"},
		When: func(_ *Input, n config.Node) bool { return n.Has(bundle.ControlPlane) },
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			var out []event.Finding
			if f.CPUs > 0 && f.CPUs < leastCPUs {
				out = append(out, Finding(event.Warning, n.Name, "preflight.cpus", "is", strconv.Itoa(f.CPUs), "least",
					strconv.Itoa(leastCPUs)))
			}
			if f.Memory > 0 && f.Memory < leastMemory {
				out = append(out, Finding(event.Warning, n.Name, "preflight.memory", "is", mib(f.Memory), "least",
					mib(leastMemory)))
			}
			return out
		},
	}
}
