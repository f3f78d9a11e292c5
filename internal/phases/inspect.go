package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/payload/host"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
	"github.com/eggo-k8s/eggo/internal/phases/status"
)

// GatherStatus asks every machine, etcd and the API servers how they are; nothing is changed. It fails only when it is
// interrupted.
func GatherStatus(ctx context.Context, env Env) (*Status, error) {
	env.Dry = true
	r := newRun(env)
	g := status.Gatherer{Clients: r.Clients, Driver: r.driver, Runtime: r.runtimes.Runtime(), Balancer: r.balancer,
		Members: r.etcd.Members}
	return g.Gather(ctx)
}

// TakeInventory reads from a machine's record what a cleanup would remove. Nothing is changed.
func TakeInventory(ctx context.Context, h node.Host, purge bool) (Inventory, error) {
	return status.TakeInventory(ctx, h, purge)
}

// NodeCertificates reads what a node has and shows; nothing is changed. Only certificates leave the node, no keys.
func NodeCertificates(ctx context.Context, h node.Host, c *config.Cluster, n config.Node) ([]NodeCertificate, error) {
	return status.NodeCertificates(ctx, node.New(h, nil), n, newRun(Env{Cluster: c}).driver.Certificates(n))
}

// Imported says whether others have made a machine a node, by its record.
func Imported(ctx context.Context, h node.Host) (bool, error) {
	return status.Imported(ctx, node.New(h, nil))
}

// UnitStates asks a machine what systemd knows of the units that are ours or that we configure.
func UnitStates(ctx context.Context, h node.Host) (string, error) {
	units := append(newRun(Env{Cluster: &config.Cluster{}}).driver.SupportUnits(), balancer.Unit)
	return status.UnitStates(ctx, h, append(append(units, runtimes.Units()...), host.FirewallUnit))
}
