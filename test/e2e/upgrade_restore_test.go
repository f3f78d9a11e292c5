package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestUpgradeRestored: an upgrade to another minor that is committed has no way back but the snapshot, and says with
// which two commands. They are run, and the cluster is what it was when the upgrade began, without what came later.
func TestUpgradeRestored(t *testing.T) {
	full(t)
	u := installed(t, "restored", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}, nil)
	newer := u.packed(minorAfter)
	u.kubectl("create", "configmap", "before", "--from-literal=x=1")
	u.Say("== killed while the worker has its turn: the new control plane is committed")
	u.killed("nodes.turn/n2", u.args([]string{newer}, "--soak", "0s"))
	u.unfinished()
	u.run(minorAfter, controlPlane, "n1")
	u.kubectl("create", "configmap", "after", "--from-literal=x=1")

	u.Say("== there is no way back but the snapshot")
	saved, err := filepath.Glob(filepath.Join(u.State(), u.cluster, "snapshots", "*-before-"+minorAfter+".db"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("snapshots %q, %v", saved, err)
	}
	back := []string{"upgrade", "--back", "--id", u.cluster, "--yes"}
	u.refused(2, back, "upgrade.no-way-back", "etcd restore", saved[0], "upgrade --back --id "+u.cluster)

	u.Say("== the two commands")
	began := time.Now()
	u.says(try(t, u.Stand, 0, "etcd", "restore", saved[0], "--id", u.cluster, "--yes"),
		"upgrade --back --id "+u.cluster)
	try(t, u.Stand, 0, back...)
	u.Say("the restore and the way back took %s", time.Since(began).Round(time.Second))
	u.allRun(minorOwn)
	u.kubectl("get", "configmap", "before")
	_, err = u.Kubectl(t.Context(), "get", "configmap", "after")
	if err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("what came after the snapshot: %v", err)
	}
	u.spread()
	u.healthy()
	try(t, u.Stand, 0, "deploy", "--id", u.cluster)
	noChange(t, u.State(), u.cluster)
	u.gone()
}
