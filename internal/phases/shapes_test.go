package phases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// onlyFor plans a deploy of the cluster without some of its nodes.
func onlyFor(without ...string) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan {
		c := *e.Cluster
		c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes),
			func(n config.Node) bool { return slices.Contains(without, n.Name) })
		e.Cluster = &c
		return phases.Deploy(e)
	}
}

func TestShapesConvergeAndLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]phasestest.Shape{
		"stacked behind a balancer": {Masters: 3, Workers: 1, Balancer: true},
		"five and separate etcd":    {Masters: 5, Etcds: 3, Workers: 1, Balancer: true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && s.Masters > 3 {
				t.Skip("long")
			}
			t.Parallel()
			before := tree(t, shaped(t, s))
			l := deployed(t, s)
			after := tree(t, l)
			if conf := after["lb/root/etc/eggo/nginx-lb.conf"]; strings.Count(conf,
				"server 192.0.2.1") != 2*s.Masters /* once more as backups */ ||
				!strings.Contains(conf, "listen 8443 ") ||
				!strings.Contains(conf, `load_module "/usr/lib/nginx/modules/ngx_stream_module.so"`) {
				t.Error("the balancer's configuration:", conf)
			}
			if proxy := after["w1/root/etc/kubernetes/kube-proxy.conf"]; !strings.Contains(proxy,
				"https://192.0.2.41:8443") {
				t.Error("the worker does not go through the balancer:", proxy)
			}
			b, sum, err := run(t, l, phases.Deploy)
			if changes := of[event.Change](b); err != nil || len(changes) > 0 {
				t.Errorf("the second deploy: %v, changed %v: %+v", err, sum.Changed, changes)
			}
			cleanup(t, l, purge)
			if diff := cmp.Diff(before, tree(t, l)); diff != "" {
				t.Error("after a purge:", diff)
			}
		})
	}
}

func TestMembersJoinOneAfterTheOtherAsLearners(t *testing.T) {
	long(t)
	t.Parallel()
	l := shaped(t, phasestest.Shape{Masters: 1, Etcds: 3})
	if _, sum, err := run(t, l, onlyFor("e2", "e3")); err != nil {
		t.Fatal(err, sum.Failed)
	}
	deploy(t, l)
	if got := l.Etcd.Members(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"e1", "e2", "e3"}) {
		t.Error("members", got)
	}
	asked := l.Etcd.Changes()
	if len(asked) != 4 || !strings.HasPrefix(asked[0], "add ") || !strings.HasPrefix(asked[1], "promote ") ||
		!strings.HasPrefix(asked[2], "add ") || !strings.HasPrefix(asked[3], "promote ") {
		t.Error("one at a time:", asked)
	}
	if conf := tree(t, l)["m1/root/etc/systemd/system/kube-apiserver.service"]; !strings.Contains(conf,
		"192.0.2.31:2379,https://192.0.2.32:2379,https://192.0.2.33:2379") {
		t.Error("the API server does not know the members:", conf)
	}
	if kept, err := filepath.Glob(filepath.Join(l.StateDir(), "snapshots", "*.db")); err != nil || len(kept) == 0 {
		t.Error("no snapshot before the membership changed:", err)
	}
}

func TestAMemberWhoseDiskIsEmptyIsAddedAnew(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 3})
	lost := l.Nodes["m2"]
	for _, p := range []string{lost.State("active/etcd.service"), lost.Path("/var/lib/etcd/default.etcd")} {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
	deploy(t, l)
	if got := l.Etcd.Changes(); !slices.Equal(got, []string{"remove m2", "add 192.0.2.12", "promote m2"}) {
		t.Error(got)
	}
}

func TestAFormationThatWasCutOffGoesOn(t *testing.T) {
	long(t)
	t.Parallel()
	l := shaped(t, phasestest.Shape{Masters: 3})
	broken := l.Nodes["m3"].State("broken/etcd.service")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, l, phases.Deploy); err == nil {
		t.Fatal("a member that does not start is no fault")
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	deploy(t, l)
	if got := l.Etcd.Changes(); len(got) > 0 {
		t.Error("it was formed with all three, and needs no change:", got)
	}
	if conf := tree(t, l)["m3/root/etc/etcd/initial.conf"]; !strings.Contains(conf,
		`ETCD_INITIAL_CLUSTER_STATE="new"`) {
		t.Error(conf)
	}
}

func TestLostDataAreNotReplacedByNone(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 1})
	m1 := l.Nodes["m1"]
	for _, p := range []string{m1.State("active/etcd.service"), m1.Path("/var/lib/etcd/default.etcd")} {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
	_, sum, err := run(t, l, phases.Deploy)
	if err == nil || len(sum.Failed) == 0 || sum.Failed[0].Fault.Code != "etcd.data-lost" {
		t.Error(err, sum.Failed)
	}
}

func TestARestartThatFailsStopsTheOthers(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 3})
	for _, n := range l.Nodes {
		if err := os.WriteFile(n.State("broken/kube-apiserver.service"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.Cluster.SANs.DNSNames = append(l.Cluster.SANs.DNSNames, "api.example.org")
	_, sum, err := run(t, l, phases.Deploy)
	stopped, down := 0, 0
	for _, f := range sum.Failed {
		if f.Fault.Code == "rolling.stopped" {
			stopped++
		}
	}
	for _, n := range l.Nodes {
		if _, err := os.Stat(n.State("active/kube-apiserver.service")); err != nil {
			down++
		}
	}
	if err == nil || stopped != 2 || down != 1 {
		t.Errorf("%v: %d held back, %d down", err, stopped, down)
	}
}

func TestRenewedCertificatesReachEveryNodeAndTheAuthoritiesStay(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 3, Workers: 2})
	dir := filepath.Join(l.StateDir(), "pki")
	before, err := pki.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		e.RenewBefore = time.Now().Add(time.Second)
		return phases.Deploy(e)
	}); err != nil {
		t.Fatal(err, sum.Failed)
	}
	after, err := pki.List(dir)
	if err != nil || len(after) != len(before) {
		t.Fatal(err, len(before), len(after))
	}
	for i, c := range after {
		if same := c.Fingerprint == before[i].Fingerprint; same != c.Authority {
			t.Errorf("%s: authority %v, the same %v", c.Name, c.Authority, same)
		}
	}
	for _, n := range l.Cluster.Nodes {
		held, err := phases.NodeCertificates(t.Context(), l.Nodes[n.Name], l.Cluster, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range held {
			i := slices.IndexFunc(after, func(c pki.Certificate) bool { return c.Name == h.Name })
			if h.Name != "" && strings.HasPrefix(h.At, "/") &&
				(i < 0 || h.Cert == nil || h.Cert.Fingerprint != after[i].Fingerprint) {
				t.Errorf("%s: %s at %s is %+v %s", n.Name, h.Name, h.At, h.Cert, h.Why)
			}
		}
	}
	if b, _, err := run(t, l, phases.Deploy); err != nil || len(of[event.Change](b)) > 0 {
		t.Error("a deploy after it changes", err, of[event.Change](b))
	}
}
