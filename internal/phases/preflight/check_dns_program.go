package preflight

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDNSProgram finds that the bundle has no CoreDNS to run as a service.
func checkDNSProgram() Check {
	return Check{
		Name: "dns-program", Codes: []string{"bundle.no-coredns"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			m := s.Manifest()
			for _, n := range in.Cluster.With(bundle.ControlPlane) {
				if in.Cluster.DNS.IsBinary() && n.Arch == m.Arch && in.DNSProgram(n, m) == "" {
					return bundleFault(event.Error, "bundle.no-coredns", "arch", m.Arch)
				}
			}
			return nil
		},
	}
}
