package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// minors that bundles are packed of; the default spec's is the one between them.
const (
	minorBefore = "v1.33.13"
	minorOwn    = "v1.34.2"
	minorAfter  = "v1.35.4"
)

// TestUpgradeMinor: three control planes behind a load balancer and two workers go to the next minor, while clients
// call the API and a Service ten times a second each, write and watch. The program is killed twice on the way. No call
// fails, and no event is missed.
func TestUpgradeMinor(t *testing.T) {
	full(t)
	u := installed(t, "minor", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"},
		{Name: "n3", Roles: "me"}, {Name: "n4", Roles: "nl"}, {Name: "n5", Roles: "n"}}, nil)
	newer := u.packed(minorAfter)
	soak := []string{"--soak", "30s"}

	u.Say("== an ill member of etcd")
	_, err := u.Lab.Run(t.Context(), "n3", "systemctl stop etcd")
	must(t, "stop etcd", err)
	u.refused(5, u.args([]string{newer}), "n3", "etcd")
	_, err = u.Lab.Run(t.Context(), "n3", "systemctl start etcd")
	must(t, "start etcd", err)
	u.healthy()

	c := u.clients()
	began := time.Now()
	u.Say("== killed while a control plane has its turn")
	u.killed("control-plane.turn/n2", u.args([]string{newer}, soak...))
	u.unfinished()
	u.Say("== continued, and killed while a worker has its turn")
	u.killed("nodes.turn/n4", u.args(nil, soak...))
	u.unfinished()
	u.Say("== continued to its end")
	u.more(0, soak...)
	u.Say("the upgrade took %s, with two kills and a soak of 30 s", time.Since(began).Round(time.Second))
	c.unharmed(t)
	u.reportAbsences()
	u.allRun(minorAfter)
	u.spread()
	u.healthy()
	try(t, u.Stand, 0, "deploy", "--id", u.cluster)
	noChange(t, u.State(), u.cluster)
	u.gone()
}

// unfinished wants an upgrade under way to be said, and what would come between to be refused.
func (u *upgraded) unfinished() {
	u.t.Helper()
	if !u.underWay() {
		u.t.Error("no upgrade is under way")
	}
	u.says(try(u.t, u.Stand, 2, "deploy", "--id", u.cluster), "upgrade.unfinished", "eggo-tui upgrade --id "+u.cluster)
}

// TestUpgradeBack: a control plane that runs as the old minor is reverted while it proves itself; what was written
// meanwhile is still there. Then the upgrade is made once more, to its end.
func TestUpgradeBack(t *testing.T) {
	full(t)
	u := installed(t, "back", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}, nil)
	newer := u.packed(minorAfter)
	u.Say("== a bundle without an image that the cluster runs")
	without, err := u.PackWithout(t.Context(), minorAfter, "coredns")
	must(t, "pack", err)
	u.refused(6, u.args([]string{without}), "upgrade.image-system", "bundle.image-absent", "coredns")
	u.until("soak.watch", u.args([]string{newer}, "--soak", "10m"), func(r *stand.Running) {
		u.Say("== the soak")
		u.run(minorAfter, controlPlane, "n1")
		u.run(minorOwn, everyKubelet, "n1", "n2")
		u.Say("/version: %s", u.kubectl("get", "--raw", "/version"))
		u.kubectl("create", "configmap", "soaked", "--from-literal=x=1")
		must(t, "kill", r.Signal(syscall.SIGKILL)) // Ctrl-C waits for the soak's end
		_, err := r.Wait()
		must(t, "upgrade", err)
	})
	u.unfinished()
	got, err := u.Try(t.Context(), "", "status", "--id", u.cluster)
	must(t, "status", err)
	u.says(got, "upgrade", minorAfter)

	u.Say("== back")
	began := time.Now()
	try(t, u.Stand, 0, "upgrade", "--back", "--id", u.cluster, "--yes")
	u.Say("the way back took %s", time.Since(began).Round(time.Second))
	u.reportAbsences()
	u.allRun(minorOwn)
	u.kubectl("get", "configmap", "soaked")
	u.spread()
	u.healthy()
	try(t, u.Stand, 0, "deploy", "--id", u.cluster)
	noChange(t, u.State(), u.cluster)

	u.Say("== once more, to the end")
	u.to(0, newer, "--soak", "20s")
	u.allRun(minorAfter)
	u.kubectl("get", "configmap", "soaked")
	u.spread()
	u.refused(2, []string{"upgrade", "--back", "--id", u.cluster, "--yes"}, "upgrade.none")
	u.gone()
}

// TestUpgradeBadServer: the first control plane gets an API server that does not start, and is what it was a moment
// later; the other one has never been touched. The upgrade continues with another build of the bundle.
func TestUpgradeBadServer(t *testing.T) {
	full(t)
	u := installed(t, "bad-server", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "mn"}}, nil)
	patch := u.patched()
	bad, err := u.BadServer(t.Context(), patch)
	must(t, "bad API server", err)
	other := u.services()["n2"]
	began := time.Now()
	got := u.to(1, bad)
	u.Say("it ended after %s:\n%s", time.Since(began).Round(time.Second), tail(got.Out, 30))
	u.says(got, "upgrade.reverted", "n1", "kube-apiserver", "this API server does not start")
	u.run(minorOwn, controlPlane, "n1", "n2")
	u.run(minorOwn, everyKubelet, "n1", "n2")
	if now := u.services()["n2"]; !sameProcesses(now, other) {
		t.Errorf("what ran on n2 was\n%s\nand is\n%s", other, now)
	}
	must(t, "use", u.WorksOn(t.Context(), "n1", "n2"))
	u.Say("== continued with another build of the bundle, a good one")
	u.unfinished()
	u.to(0, patch)
	u.allRun(aPatch)
	u.spread()
	u.gone()
}

// TestUpgradeChain: over two minors by one command, with the bundles in any order. Of a damaged bundle that comes later
// is heard before anything is touched.
func TestUpgradeChain(t *testing.T) {
	full(t)
	own := ""
	u := installed(t, "chain", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}},
		func(s *stand.Stand) string {
			own = s.Bundle
			path, err := s.PackVersion(t.Context(), minorBefore)
			must(t, "pack", err)
			return path
		})
	newest := u.packed(minorAfter)
	u.Say("== a damaged bundle in the middle of the chain")
	u.refused(6, u.args([]string{own, u.damaged(newest)}), "bundle.", "damaged-")
	u.Say("== a chain with a gap")
	u.refused(2, u.args([]string{newest}), "upgrade.skipped", minorAfter, "1.34")
	u.Say("== over two minors")
	c := u.clients()
	began := time.Now()
	u.to(0, newest, "--bundle", own, "--soak", "15s")
	u.Say("the upgrade over two minors took %s", time.Since(began).Round(time.Second))
	failed, _ := c.end(t)
	if n := len(failed[c.serve.name]); n > 0 {
		t.Errorf("the Service was called %d times in vain", n)
	}
	u.reportAbsences()
	u.allRun(minorAfter)
	u.spread()
	u.healthy()
	u.gone()
}

// sameProcesses says whether the same services run, whatever lies in the directories of binaries.
func sameProcesses(a, b string) bool {
	units := func(s string) string {
		before, _, _ := strings.Cut(s, "/opt/eggo:")
		return before
	}
	return units(a) == units(b)
}
