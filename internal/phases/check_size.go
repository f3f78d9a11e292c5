package phases

import (
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
)

// What kubeadm asks of a control plane. Less works for a while, so it is a warning.
const (
	leastCPUs   = 2
	leastMemory = 1700 << 20
)

// judgeSize warns of a control plane that is small.
func judgeSize(n config.Node, f *facts.Facts) []event.Finding {
	var out []event.Finding
	if !n.Has(bundle.ControlPlane) {
		return nil
	}
	if f.CPUs > 0 && f.CPUs < leastCPUs {
		out = append(out, finding(event.Warning, n.Name, "cpus", "is", strconv.Itoa(f.CPUs), "least",
			strconv.Itoa(leastCPUs)))
	}
	if f.Memory > 0 && f.Memory < leastMemory {
		out = append(out, finding(event.Warning, n.Name, "memory", "is", mib(f.Memory), "least", mib(leastMemory)))
	}
	return out
}
