package addons

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// dns starts CoreDNS as deploy.yaml says, when the steps of needs are done.
func (r *Addons) dns(needs []string) []*engine.Step {
	var servers []*engine.Step
	if r.Cluster.DNS.IsBinary() {
		servers = r.dnsServers()
	}
	manifest := r.dnsManifest(r.Cluster.DNS.Type)
	dns := plan.Step(plan.PhaseAddons, "dns", "", slices.Concat(needs, plan.StepIDs(servers)))
	dns.Retry = dnsRetry()
	dns.Check = func(ctx context.Context) (bool, error) { return r.Clients.AppliedAsset(ctx, manifest) }
	dns.Apply = func(ctx context.Context) error {
		if err := r.tellNameserver(ctx); err != nil {
			return err
		}
		return r.Clients.ApplyAsset(ctx, manifest)
	}
	return append(servers, dns)
}

// othersDNS stands for the DNS of a cluster that was imported: it stays as others have made it.
func (r *Addons) othersDNS(needs string) *engine.Step {
	s := plan.Step(plan.PhaseAddons, "dns", "", []string{needs})
	s.When = func(context.Context) (bool, event.Msg, error) { return false, event.M("why.imported-dns"), nil }
	return s
}

func dnsRetry() engine.Retry {
	return engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 5 * time.Second}
}

// tellNameserver says that CoreDNS knows no names but the cluster's.
func (r *Addons) tellNameserver(ctx context.Context) error {
	if r.anyNameserver() {
		return nil
	}
	return r.Emit(event.Notice{Step: engine.StepID(ctx), Text: event.M("notice.no-nameserver")})
}

// dnsManifest has the objects of a kind of CoreDNS, in the word of deploy.yaml.
func (r *Addons) dnsManifest(kind string) func() ([]byte, error) {
	if kind == "binary" {
		return r.dnsServiceManifest
	}
	return r.corednsManifest
}

// dnsServiceManifest is the Service of the cluster's DNS with the control planes behind it: no selector, for there are
// no pods.
func (r *Addons) dnsServiceManifest() ([]byte, error) {
	var servers []string
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		servers = append(servers, n.IP.String())
	}
	return assets.CoreDNSService(assets.DNSServiceParams{Address: r.Cluster.DNSAddr.String(), Servers: servers})
}

// corednsManifest is CoreDNS for this cluster.
func (r *Addons) corednsManifest() ([]byte, error) {
	b := r.BundleOf(r.Cluster.With(bundle.ControlPlane)[0])
	return assets.CoreDNS(assets.CoreDNSParams{
		Image: r.DNSImage(b.Manifest()), Domain: r.Cluster.DNSDomain, Address: r.Cluster.DNSAddr.String(),
		Replicas: r.Cluster.DNS.Replicas, Forward: r.anyNameserver(), Upstreams: r.Cluster.Upstreams(),
	})
}

// anyNameserver says whether CoreDNS has somebody to ask for other names: deploy.yaml names servers, or every node's
// resolv.conf names one that is not the node itself. Else forwarding would loop.
func (r *Addons) anyNameserver() bool {
	if len(r.Cluster.Eggo.DNSUpstreams) > 0 {
		return true
	}
	for _, n := range inventory.Kubelets(r.Cluster) {
		if !r.Skipped(n.Name) && !r.Fact(n.Name).Nameserver {
			return false
		}
	}
	return true
}

// dnsServers starts CoreDNS on every control plane, with a certificate that may do what its pods may.
func (r *Addons) dnsServers(more ...string) []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		needs := append([]string{plan.ID(plan.PhaseControl, "apiserver", n.Name), plan.Programs(n, plan.GroupControl),
			plan.ID(plan.PhaseInfra, "packages", n.Name), plan.ID(plan.PhaseControl, "rights", "")}, more...)
		w := r.Driver.Start(driver.CoreDNS, n, nil)
		steps = append(steps, w.Steps(plan.PhaseAddons, "coredns", n, needs)...)
	}
	return steps
}
