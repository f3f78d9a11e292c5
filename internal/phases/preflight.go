package phases

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/binary"
	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/status"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/phases/takeover/foreign"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDeploy reports everything that would go wrong, and what will be opened in firewalls.
func (r *run) checkDeploy(ctx context.Context) error {
	in := r.checked(r.Cluster.Nodes)
	if in.Change = r.changing(ctx); in.Change != nil {
		in.Force = r.turns.Force
	}
	in.MovesDNS = r.movesDNS
	found := preflight.Run(ctx, in, preflight.Deploy())
	if err := r.host.TellPorts(plan.Checked()[0]); err != nil {
		return err
	}
	return preflight.Tell(r.Emit, found)
}

// checked is what checks of nodes work with.
func (r *run) checked(asked []config.Node) *preflight.Input {
	rt := r.runtimes.Runtime()
	var started preflight.Started
	if services, is := r.driver.(*binary.Binary); is {
		started = func(ctx context.Context, component string, n config.Node) (map[string]string, string, error) {
			return services.StartedWith(ctx, driver.Component(component), n)
		}
	}
	return &preflight.Input{
		Payload: r.Payload, Asked: asked, Runtime: runtimes.Name(r.Cluster), Store: rt.Store(),
		EtcdData: r.driver.Paths().EtcdData,
		Leases:   r.shortLeases(),
		IPVS:     r.Override(string(driver.Proxy), nil)["proxy-mode"] == "ipvs",
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
			return paths
		},
		Runtimes: func(n config.Node) []string {
			if !inventory.IsKubelet(n) || r.Equipped(n) {
				return nil
			}
			return rt.Paths(n)
		},
		Started: started, Inbound: r.host.Inbound, Fetch: r.addons.Fetch, Manifest: r.addons.Objects,
		Etcd:    r.etcdMembers,
		Objects: r.objectsBefore, Theirs: &theirs{r: r}, Foreign: r.foreign(),
		Restore: func(ctx context.Context) (p preflight.Progress, err error) {
			p.Touched, p.Done, err = r.etcd.Progress(ctx)
			return p, err
		},
	}
}

// shortLeases reports whether a component of the control plane is elected with leases of the usual 15 seconds: on a
// slow machine it loses them, and begins again and again.
func (r *run) shortLeases() bool {
	return slices.ContainsFunc([]driver.Component{driver.ControllerManager, driver.Scheduler},
		func(c driver.Component) bool {
			flags := r.Override(string(c), nil)
			return flags["leader-elect"] != "false" && flags["leader-elect-lease-duration"] == ""
		})
}

// foreign is nil unless the cluster begins with a snapshot.
func (r *run) foreign() func(context.Context, config.Node) error {
	if !r.etcd.Seeded() {
		return nil
	}
	return func(ctx context.Context, n config.Node) error { return r.etcd.Foreign(ctx, n, r.Node(n.Name)) }
}

// checkRemoval refuses a leave that the cluster would not survive, before anything is touched.
func (r *run) checkRemoval(force bool, checks []preflight.Check) func(context.Context) error {
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
		return preflight.Tell(r.Emit, preflight.Run(ctx, in, checks))
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

// checkUpgrade refuses an upgrade that would break something or be stopped on its way, before anything is touched. The
// bundles of the run are those of the version that the cluster is brought to.
func (r *run) checkUpgrade(ctx context.Context, u preflight.Upgrading, force bool, told preflight.Told) error {
	in := r.checked(r.Cluster.Nodes)
	in.Force, in.Upgrade = force, &u
	u.Objects, u.Fault = r.objects(ctx)
	u.Server = func(ctx context.Context, n config.Node, path string) (io.ReadCloser, error) {
		nd := r.Node(n.Name)
		if err := r.OpenPKI(ctx); err != nil {
			return nil, err
		}
		if nd == nil {
			return nil, event.NewFault(event.ClassFailed, "kube.no-control-plane", nil).On(n.Name)
		}
		return r.Get(ctx, nd.Dial, "127.0.0.1:6443", path)
	}
	u.Members, u.Proxy, u.Certificates = r.etcdVersions, string(driver.Proxy), r.certificates
	return preflight.Tell(r.Emit, told.New(preflight.Run(ctx, in, preflight.Upgrade())))
}

// certificates are those that a node has in files and shows.
func (r *run) certificates(ctx context.Context, n config.Node) ([]preflight.Certificate, error) {
	list, err := status.NodeCertificates(ctx, r.Node(n.Name), n, r.driver.Certificates(n))
	var out []preflight.Certificate
	for _, c := range list {
		if c.Cert != nil {
			out = append(out, preflight.Certificate{At: c.At, End: c.Cert.NotAfter})
		}
	}
	return out, err
}

// objects are what the API server has. It has two minutes to answer.
func (r *run) objects(ctx context.Context) (*objects.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := r.OpenPKI(ctx); err != nil {
		return nil, err
	}
	k, err := r.NewAPI()
	if err != nil {
		return nil, err
	}
	return objects.Read(ctx, k)
}

// etcdVersions asks every member of etcd by itself, and all at once: one that is ill takes its time.
func (r *run) etcdVersions(ctx context.Context) ([]preflight.EtcdMember, error) {
	if err := r.OpenPKI(ctx); err != nil {
		return nil, err
	}
	list, err := r.etcd.List(ctx)
	out := make([]preflight.EtcdMember, len(list))
	var wg sync.WaitGroup
	for i, m := range list {
		wg.Go(func() {
			out[i] = preflight.EtcdMember{Name: m.Name, Learner: m.IsLearner}
			out[i].Version, out[i].Fault = r.MemberVersion(ctx, m)
		})
	}
	wg.Wait()
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

// objectsBefore are the names of the Nodes of the cluster as it was saved. Nodes that are new to this run have no
// certificates yet, and none are made for them here.
func (r *run) objectsBefore(ctx context.Context) ([]string, error) {
	was, err := r.before(ctx)
	if err != nil {
		return nil, err
	}
	return was.join.Names(ctx)
}

// theirs reads a cluster that was imported; its API server is asked once.
type theirs struct {
	r     *run
	asked sync.Once
	is    *takeover.Cluster
	err   error
}

// Objects implements preflight.Theirs.
func (o *theirs) Objects(ctx context.Context) (*takeover.Cluster, error) {
	o.asked.Do(func() {
		var was *run
		if was, o.err = o.r.before(ctx); o.err == nil {
			o.is, o.err = foreign.Objects(ctx, was.API())
		}
	})
	return o.is, o.err
}

// Server implements preflight.Theirs.
func (o *theirs) Server(ctx context.Context, h node.Host) (takeover.Server, error) {
	return foreign.Server(ctx, h)
}

// before is a run of the cluster as it was before this one, with its API server.
func (r *run) before(ctx context.Context) (*run, error) {
	e := *r.Env
	if r.Saved != nil {
		e.Cluster = r.Saved
	}
	was := newRun(e)
	for _, n := range e.Cluster.Nodes {
		if nd := r.Node(n.Name); nd != nil {
			was.SetNode(n.Name, nd)
		}
	}
	if err := was.HavePKI(ctx); err != nil {
		return nil, err
	}
	if err := was.ConnectAPI(); err != nil {
		return nil, err
	}
	return was, nil
}
