package phases

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/runtimes"
)

// checkDeploy reports everything that would go wrong, and what will be opened in firewalls.
func (r *run) checkDeploy(ctx context.Context) error {
	found := preflight.Run(ctx, r.checked(r.Cluster.Nodes), preflight.Deploy())
	if err := r.host.TellPorts(plan.Checked()[0]); err != nil {
		return err
	}
	return preflight.Tell(r.Emit, found)
}

// checked is what checks of nodes work with.
func (r *run) checked(asked []config.Node) *preflight.Input {
	rt := r.runtimes.Runtime()
	return &preflight.Input{
		Payload: r.Payload, Asked: asked, Runtime: runtimes.Name(r.Cluster), Store: rt.Store(),
		EtcdData: r.driver.Paths().EtcdData,
		Starts: func(role bundle.Role) []string { // CoreDNS may come with a package too: the check dns-program
			return slices.DeleteFunc(r.driver.Executes(config.Node{Roles: []bundle.Role{role}}),
				func(name string) bool { return name == string(driver.CoreDNS) })
		},
		Needed: r.driver.Images,
		Owns: func(n config.Node) []string {
			paths := r.driver.Owns(n)
			if n.Has(bundle.LoadBalancer) {
				paths = append(paths, layout.UnitDir+balancer.Unit)
			}
			if nodes.IsKubelet(n) {
				paths = append(paths, rt.Paths(n)...)
			}
			return paths
		},
		Inbound: r.host.Inbound, Fetch: r.addons.Fetch, Etcd: r.etcdMembers,
		Restore: func(ctx context.Context) (p preflight.Progress, err error) {
			p.Touched, p.Done, err = r.etcd.Progress(ctx)
			return p, err
		},
	}
}

// checkRemoval refuses a leave that the cluster would not survive, before anything is touched.
func (r *run) checkRemoval(force bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := r.ReadPKI(ctx); err != nil {
			return err
		}
		if err := r.ConnectAPI(); err != nil { // the nodes are drained by it
			return err
		}
		in := r.checked(r.Removing)
		in.Force = force
		in.API.Ready, in.API.Fault = r.join.ReadyNodes(ctx)
		return preflight.Tell(r.Emit, preflight.Run(ctx, in, preflight.Remove()))
	}
}

// etcdMembers are the members of etcd, and whether their nodes leave.
func (r *run) etcdMembers(ctx context.Context) ([]preflight.Member, error) {
	list, err := r.etcd.List(ctx)
	var out []preflight.Member
	for _, m := range list {
		_, leaves := etcd.NodeOf(m, r.Removing)
		out = append(out, preflight.Member{Name: m.Name, Learner: m.IsLearner, Leaves: leaves,
			Well: func(ctx context.Context) bool {
				return len(m.ClientURLs) > 0 && r.ReadThrough(ctx, m.ClientURLs[0]) == nil
			}})
	}
	return out, err
}

// checkRestore refuses what would end in half a restore.
func (r *run) checkRestore(ctx context.Context, snap *SnapshotFile) error {
	in := r.checked(r.Cluster.Nodes)
	in.Snapshot = preflight.Snapshot{Path: snap.Path, Size: snap.Size,
		Foreign: func(ctx context.Context) (bool, error) {
			if err := r.OpenPKI(ctx); err != nil {
				return false, err
			}
			return snap.Foreign(r.PKI().CA.Cert), nil
		}}
	return preflight.Tell(r.Emit, preflight.Run(ctx, in, preflight.Restore()))
}

// checkCleanup refuses to take down another cluster, and what could not be taken down.
func (r *run) checkCleanup(ctx context.Context) error {
	return preflight.Tell(r.Emit, preflight.Run(ctx, r.checked(r.Cluster.Nodes), preflight.Cleanup()))
}
