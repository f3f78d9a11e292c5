package phases

import (
	"context"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/systemd"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// etcdVotes is how long a member that stops waits for its clients' watches at the most, and votes: its request timeout,
// of five seconds and twice the election timeout.
const etcdVotes = 7 * time.Second

const (
	etcdConf    = "/etc/etcd/etcd.conf"
	etcdInitial = "/etc/etcd/initial.conf" // read by a member that has no data yet, and by no other
	etcdTree    = "/var/lib/etcd"
	etcdData    = etcdTree + "/default.etcd"
)

// etcd makes the authorities and certificates, starts every member, and waits until each answers a linearized read. The
// members of a new cluster start side by side, for each waits for the quorum; so none is started before all can be.
func (r *run) etcd() []*engine.Step {
	members := r.Cluster.With(bundle.Etcd)
	certs := plan.Step(plan.PhaseEtcd, "certificates", "", plan.Verdict())
	certs.Apply = r.EnsurePKI
	ready := []string{certs.ID}
	for _, n := range members {
		ready = append(ready, plan.Programs(n, plan.GroupEtcd), plan.ID(plan.PhaseInfra, "system", n.Name))
	}
	settle := plan.Step(plan.PhaseEtcd, "membership", "", ready)
	settle.Verify = r.settleMembership
	settle.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 5 * time.Second}
	steps := []*engine.Step{certs, settle}
	for _, n := range members {
		s := r.service(component{phase: plan.PhaseEtcd, what: "start", make: r.etcdService, reports: true,
			votes: etcdVotes,
			probe: func(ctx context.Context, _ *node.Node) error { return r.memberWell(ctx, n) }}, n,
			[]string{settle.ID})
		running, restart := s.Check, s.Apply
		s.Check = func(ctx context.Context) (bool, error) {
			if r.etcdState().unfinished[n.Name] {
				return false, nil
			}
			return running(ctx)
		}
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			return r.startMember(ctx, n, nd, restart)
		})
		steps = append(steps, s)
	}
	check := plan.Step(plan.PhaseEtcd, "health", "", plan.IDs(plan.PhaseEtcd, "start", members))
	check.Verify = r.etcdHealth
	check.Retry = engine.Retry{Tries: 30, Delay: time.Second, MaxDelay: 3 * time.Second}
	check.Timeout = time.Minute
	return append(steps, check)
}

// etcdService is a member with all its settings but those of its first start.
func (r *run) etcdService(n config.Node) (node.Service, error) {
	leaf := r.PKI().Nodes[n.Name]
	d := layout.PKIDir + "/etcd/"
	settings := r.Override("etcd", map[string]string{
		"ETCD_NAME": n.Name, "ETCD_DATA_DIR": etcdData,
		"ETCD_LISTEN_CLIENT_URLS":    layout.HTTPSURL("127.0.0.1", 2379) + "," + layout.ClientURL(n),
		"ETCD_ADVERTISE_CLIENT_URLS": layout.ClientURL(n),
		"ETCD_LISTEN_PEER_URLS":      layout.PeerURL(n), "ETCD_INITIAL_ADVERTISE_PEER_URLS": layout.PeerURL(n),
		"ETCD_CLIENT_CERT_AUTH": "true", "ETCD_TRUSTED_CA_FILE": d + "ca.crt", "ETCD_CERT_FILE": d + "server.crt",
		"ETCD_KEY_FILE":              d + "server.key",
		"ETCD_PEER_CLIENT_CERT_AUTH": "true", "ETCD_PEER_TRUSTED_CA_FILE": d + "ca.crt",
		"ETCD_PEER_CERT_FILE": d + "peer.crt", "ETCD_PEER_KEY_FILE": d + "peer.key",
	})
	u := systemd.Unit{Description: "etcd, the store of Kubernetes", After: []string{"network-online.target"},
		Wants: []string{"network-online.target"}, Type: "notify",
		Environment: []string{etcdConf, "-" + etcdInitial}, Program: r.ProgramPath(n, "etcd")}
	return node.Service{Unit: "etcd.service", Binaries: r.Binaries(n, "etcd"), Files: []node.File{
		layout.PlainFile(d+"ca.crt", r.PKI().EtcdCA.Cert),
		layout.PlainFile(d+"server.crt", leaf.EtcdServer.Cert), layout.SecretFile(d+"server.key", leaf.EtcdServer.Key),
		layout.PlainFile(d+"peer.crt", leaf.EtcdPeer.Cert), layout.SecretFile(d+"peer.key", leaf.EtcdPeer.Key),
		layout.PlainFile(etcdConf, systemd.EnvironmentFile(settings)),
		layout.PlainFile(layout.UnitDir+"etcd.service", u.Render()),
	}}, nil
}

// initialFile is what a member reads at its first start: whom it forms the cluster with (state new), or whom it joins
// (existing).
func (r *run) initialFile(state string, members map[string]string) node.File {
	var list []string
	for name, url := range members {
		list = append(list, name+"="+url)
	}
	sort.Strings(list)
	return layout.PlainFile(etcdInitial, systemd.EnvironmentFile(map[string]string{
		"ETCD_INITIAL_CLUSTER": strings.Join(list, ","), "ETCD_INITIAL_CLUSTER_STATE": state,
		"ETCD_INITIAL_CLUSTER_TOKEN": r.Cluster.EtcdToken,
	}))
}

// etcdHealth wants a linearized read from every member, so that each has a leader and is up to date; all are asked at
// once.
func (r *run) etcdHealth(ctx context.Context) error {
	members := r.Cluster.With(bundle.Etcd)
	faults := make([]error, len(members))
	var wg sync.WaitGroup
	for i, n := range members {
		wg.Go(func() { faults[i] = r.memberReads(ctx, n) })
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// memberReads is one linearized read through the node's member alone.
func (r *run) memberReads(ctx context.Context, n config.Node) error {
	err := r.ReadThrough(ctx, layout.ClientURL(n))
	if err == nil {
		return nil
	}
	log := ""
	if nd := r.Node(n.Name); nd != nil {
		log = nd.Journal(ctx, "etcd.service")
	}
	f := event.NewFault(event.ClassFailed, "etcd.unhealthy", err, "log", log).On(n.Name)
	f.Retry = true
	return f
}

// memberWell waits until a member that was just started answers.
func (r *run) memberWell(ctx context.Context, n config.Node) error {
	return wait.Until(ctx, wait.ProbeLimit, func(ctx context.Context) error { return r.memberReads(ctx, n) })
}
