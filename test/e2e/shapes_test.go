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
	before := snapshots(t, s, len(nodes))
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

// TestThreeControlPlanes is the cluster that most users want: etcd on the three control planes, and two workers.
func TestThreeControlPlanes(t *testing.T) {
	shape(t, "three", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "me"}, {Name: "n4", Roles: "n"}, {Name: "n5", Roles: "n"}}, 5, nil)
}
