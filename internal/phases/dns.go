package phases

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// dnsServers starts CoreDNS on every control plane, with a certificate that may do what its pods may; none where it
// runs in pods.
func (r *run) dnsServers() []*engine.Step {
	if !r.DNSBinary() {
		return nil
	}
	var steps []*engine.Step
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		needs := []string{plan.ID(plan.PhaseControl, "apiserver", n.Name), plan.Programs(n, plan.GroupControl),
			plan.ID(plan.PhaseInfra, "packages", n.Name), plan.ID(plan.PhaseControl, "rights", "")}
		steps = append(steps, r.driver.Start(driver.CoreDNS, n).Steps(plan.PhaseAddons, "coredns", n, needs)...)
	}
	return steps
}
