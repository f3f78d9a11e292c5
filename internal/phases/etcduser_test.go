package phases_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// The members of a cluster whose etcd ran as root get the account one at a time, the one that leads last, with the data
// that they had; and the way back is the same.
func TestEtcdGetsAnAccountOfItsOwn(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 1, Etcds: 3})
	read := func(node, path string) string {
		t.Helper()
		data, err := os.ReadFile(l.Nodes[node].Path(path))
		must(t, err)
		return string(data)
	}
	const id = "/var/lib/etcd/default.etcd/member/id"
	data := read("e1", id)
	for _, user := range []string{"root", "etcd"} {
		leader := l.Etcd.Leader()
		l.Cluster.Eggo.EtcdUser = user
		order, _, _, sum, err := restarts(t, l)
		if err != nil || len(order) != 3 || order[2] != leader {
			t.Fatalf("%s: %v %+v: %v leads, restarted %v", user, err, sum.Failed, leader, order)
		}
		for _, n := range []string{"e1", "e2", "e3"} {
			own := strings.Contains(read(n, "/etc/systemd/system/etcd.service"), "\nUser=etcd\n")
			if own != (user == "etcd") || !strings.Contains(read(n, "/etc/passwd"), "\netcd:") {
				t.Errorf("%s: etcd on %s as an account of its own: %v", user, n, own)
			}
		}
		if read("e1", id) != data || !slices.Equal(l.Etcd.Members(), []string{"e1", "e2", "e3"}) {
			t.Errorf("%s: other data, or the members %v", user, l.Etcd.Members())
		}
		if order, _, _, _, err = restarts(t, l); err != nil || len(order) > 0 {
			t.Errorf("%s, again: %v %v", user, err, order)
		}
	}
}
