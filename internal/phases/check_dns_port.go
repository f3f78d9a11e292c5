package phases

import (
	"fmt"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
)

// judgeDNSPort finds another DNS server on the address that CoreDNS will listen on.
func (r *run) judgeDNSPort(n config.Node, f *facts.Facts) []event.Finding {
	if !r.DNSBinary() || !n.Has(bundle.ControlPlane) || f.DNSTaken == "" || f.DNSTaken == "coredns" &&
		f.Cluster == r.Cluster.Name {
		return nil
	}
	return []event.Finding{finding(event.Error, n.Name, "port", "port", fmt.Sprint(layout.DNSPort), "who",
		event.Clean(f.DNSTaken))}
}
