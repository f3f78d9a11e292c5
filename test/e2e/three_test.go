package e2e

import (
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// threeAndOne is three control planes with etcd on them, and a worker.
func threeAndOne() []stand.Node {
	return []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "mne"}, {Name: "n4", Roles: "n"}}
}

// TestThreeControlPlanesRebootedAtOnce: a quorum that is lost in one moment finds itself again.
func TestThreeControlPlanesRebootedAtOnce(t *testing.T) {
	full(t)
	s := newLab(t, 4)
	file, err := s.Deploy("deploy.yaml", "reboot3", threeAndOne())
	must(t, "deploy.yaml", err)
	rebootedAtOnce(t, s, file, "reboot3", 4, 4)
}

// TestEtcdRestoreOfThreeMembers: all members get the data of one snapshot, and the old ones cannot join them.
func TestEtcdRestoreOfThreeMembers(t *testing.T) {
	full(t)
	s := newLab(t, 4)
	file, err := s.Deploy("deploy.yaml", "etcd3", threeAndOne())
	must(t, "deploy.yaml", err)
	deploy(t, s, file)
	snapshotAndRestore(t, s, file, "etcd3", []string{"n1", "n2", "n3"}, 4)
}
