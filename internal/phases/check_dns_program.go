package phases

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
)

// judgeDNS finds that the bundle has no CoreDNS to run as a service.
func (r *run) judgeDNS(arch string, m *bundle.Manifest) []event.Finding {
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		if r.DNSBinary() && n.Arch == arch && r.DNSProgram(n, m) == "" {
			f := event.NewFault(event.ClassBundle, "bundle.no-coredns", nil, "arch", arch)
			return []event.Finding{{Severity: event.Error, Fault: *f}}
		}
	}
	return nil
}
