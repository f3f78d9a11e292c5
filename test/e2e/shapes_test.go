package e2e

import (
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// shape is the life of a cluster of some shape: installed, used, installed again in vain, and removed without a trace. between runs while
// it lives. kubelets are the first so many nodes.
func shape(t *testing.T, name string, nodes []stand.Node, kubelets int, between func(*stand.Stand, string)) {
	t.Helper()
	s := newLab(t, len(nodes))
	file, err := s.Deploy(name+".yaml", name, nodes)
	must(t, "deploy.yaml", err)
	before := untouched(t, s, len(nodes))
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(t.Context()))
	must(t, "use", s.Works(t.Context(), kubelets))
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), name)
	if between != nil {
		between(s, file)
	}
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, len(nodes)) })
}

// renewLive renews all certificates while a client asks the API through the load balancer twice a second, each time on a new connection and
// without a second try; no call may fail.
func renewLive(t *testing.T, s *stand.Stand, file, cluster, balancer string) {
	t.Helper()
	api := callAPI(t, s, cluster, balancer)
	try(t, s, 0, "certs", "renew", "-f", file)
	if calls, failed := api.end(s); len(failed) > 0 || calls < 10 {
		t.Errorf("%d calls of the API while the certificates were renewed, failed: %v", calls, failed)
	}
	try(t, s, 0, "certs", "list", "-f", file)
	must(t, "use after the renewal", s.Works(t.Context(), 5))
}

// TestThreeControlPlanes is the cluster that most users want: etcd on the three control planes, a load balancer that shares a worker's
// machine, and another worker.
func TestThreeControlPlanes(t *testing.T) {
	shape(t, "three", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "me"}, {Name: "n4", Roles: "nl"}, {Name: "n5", Roles: "n"}}, 5,
		func(s *stand.Stand, file string) { renewLive(t, s, file, "three", "n4") })
}

// TestEtcdOfItsOwn has etcd on other machines than the control planes, some of them with other roles.
func TestEtcdOfItsOwn(t *testing.T) {
	full(t)
	shape(t, "apart", []stand.Node{{Name: "n1", Roles: "m"}, {Name: "n2", Roles: "m"}, {Name: "n3", Roles: "m"}, {Name: "n4", Roles: "ne"}, {Name: "n5", Roles: "ne"},
		{Name: "n6", Roles: "el"}}, 5, nil)
}
