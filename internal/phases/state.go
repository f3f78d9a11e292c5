package phases

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/addons"
	"github.com/eggo-k8s/eggo/internal/phases/component/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/controlplane"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/binary"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/kubeadm"
	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/component/join"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/payload/hooks"
	"github.com/eggo-k8s/eggo/internal/phases/payload/host"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
)

// run is one run, as the list of its values. What happens during it is kept by the value whose it is, behind a lock of
// its own; the run has no state but changes.
type run struct {
	// Every area works with these, and has no other way to a node, a certificate or an API server.
	*Env
	*inventory.Nodes // connections, facts, staged bundles, why a node could not be inspected, who is skipped
	*payload.Payload // what nodes get of their bundles; nothing is kept
	*certs.Certs     // CAs and certificates, read or made once
	*clients.Clients // the API client, and which control plane answered last
	*rolling.Rolling // which node restarts a component, and which restarts are not verified

	// The areas, each with the steps that it adds to a plan.
	host     *host.Host
	runtimes *runtimes.Runtimes
	hooks    *hooks.Hooks // the name of this run's scripts on nodes
	driver   driver.Driver
	etcd     *etcd.Etcd // the members as they were found
	control  *controlplane.ControlPlane
	balancer *balancer.Balancer // API servers that are out of the load balancers
	join     *join.Join         // nodes whose kubelet was restarted to register
	addons   *addons.Addons     // manifests by URL

	// turns are those of nodes that are changed to another container runtime; nil: such nodes are refused.
	turns *upgrade.Options
	// movesDNS: the run may change how CoreDNS runs; else such a change is refused.
	movesDNS bool

	changes *plan.Changes // that a dry run has announced so far
}

// newRun makes the values, each of those before it: none is changed after it was made.
func newRun(env Env) *run {
	changes := &plan.Changes{}
	if env.Dry {
		env.Emit = changes.Count(env.Emit)
	}
	e := &env
	turns, c := rolling.New(), certs.New(e)
	at := binary.Paths()
	n := inventory.New(e, facts.Places{CA: at.CA, EtcdCA: at.EtcdCA, Kubeconfig: at.Kubeconfig,
		Theirs: at.Theirs, Kubelet: at.Kubelet, Manifests: at.Manifests, Aside: at.Aside,
		Markers: layout.RuntimeMarkers(), Unit: binary.Units(driver.Kubelet)[0],
		Space: []string{at.EtcdData}})
	former := input.ReadFormer(e)
	n.SetFormer(former)
	n.SetFormerDNS(input.ReadFormerDNS(e))
	c.SetFormer(former)
	p := &payload.Payload{Nodes: n, Executed: func(n config.Node) []string { return executed(e.Cluster, n) }}
	cl := &clients.Clients{Env: e, Nodes: n, Certs: c}
	rt, lb := &runtimes.Runtimes{Payload: p, Rolling: turns}, balancer.New(cl)
	services := &binary.Binary{Env: e, Payload: p, Certs: c, Rolling: turns, Aside: lb.Aside,
		RuntimeUnit: rt.Runtime().Unit()}
	var d driver.Driver = services
	if env.Cluster.ByKubeadm() {
		d = kubeadm.New(services, cl)
	}
	members := etcd.New(cl, p, turns, d)
	members.SetSeed(etcd.ReadSeed(e.StateDir))
	return &run{Env: e, Nodes: n, Payload: p, Certs: c, Clients: cl, Rolling: turns,
		host: &host.Host{Payload: p}, runtimes: rt, hooks: hooks.New(p, at.Dir), driver: d,
		etcd: members, control: &controlplane.ControlPlane{Clients: cl, Driver: d}, balancer: lb,
		join: &join.Join{Clients: cl, Driver: d, Seeded: members.Seeded()}, addons: addons.New(p, cl, d),
		changes: changes}
}

// executed are the names of the binaries that services of ours on the node execute. All others lie at their places as
// files.
func executed(cluster *config.Cluster, n config.Node) []string {
	out := binary.Executes(cluster, n)
	if cluster.ByKubeadm() {
		out = kubeadm.Executes(n)
	}
	if inventory.IsKubelet(n) {
		out = append(out, runtimes.Executes(cluster)...)
	}
	return out
}
