package preflight

import (
	"cmp"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/payload/host"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

var (
	cpRole, workerRole, etcdRole = bundle.ControlPlane, bundle.Worker, bundle.Etcd
	master, worker               = nodestest.Master(), nodestest.Worker()
)

// starts are the binaries of a driver's services.
func starts(role bundle.Role) []string {
	switch role {
	case bundle.ControlPlane:
		return []string{"kube-apiserver", "kubelet"}
	case bundle.Worker:
		return []string{"kubelet", "kube-proxy"}
	case bundle.Etcd:
		return []string{"etcd"}
	case bundle.LoadBalancer:
	}
	return nil
}

// newInput is that of a control plane and a worker that nobody has inspected, and a bundle.
func newInput() *Input {
	p := &payload.Payload{
		Nodes: inventory.New(&input.Env{Cluster: &config.Cluster{Name: "mine", Nodes: []config.Node{master, worker},
			NetworkPlugin: "flannel", Packages: map[bundle.Role][]config.Package{}}, Now: time.Now}, facts.Places{}),
		Executed: func(config.Node) []string { return []string{"kubelet", "kube-apiserver", "etcd"} },
	}
	p.SetBundle("amd64", nodestest.Box{Is: nodestest.Manifest()})
	return &Input{Payload: p, Asked: p.Cluster.Nodes, Store: "/var/lib/containerd",
		Inbound: (&host.Host{Payload: p}).Inbound, Starts: starts,
		Needed: func(config.Node, *bundle.Manifest) []string { return nil }}
}

// findings makes the checks of a machine with these facts.
func findings(t *testing.T, in *Input, n config.Node, f *facts.Facts) []event.Finding {
	t.Helper()
	in.Runtime = cmp.Or(in.Cluster.Runtime, "containerd")
	return RunOn(t.Context(), in, Machine(), n, f)
}

// findingsOf makes one check of a machine with these facts.
func findingsOf(t *testing.T, in *Input, c Check, n config.Node, f *facts.Facts) []event.Finding {
	t.Helper()
	return RunOn(t.Context(), in, []Check{c}, n, f)
}

// bundleFindings makes the checks of a bundle that serves these roles.
func bundleFindings(in *Input, b input.Bundle, roles ...bundle.Role) []event.Finding {
	in.Runtime = cmp.Or(in.Cluster.Runtime, "containerd")
	return onBundle(in, Bundle(), Source{Bundle: b, Roles: roles})
}

// allFindings makes checks of all nodes and bundles of the input.
func allFindings(t *testing.T, in *Input, checks ...Check) []event.Finding {
	t.Helper()
	in.Runtime, in.Asked = cmp.Or(in.Cluster.Runtime, "containerd"), in.Cluster.Nodes
	return Run(t.Context(), in, checks)
}
