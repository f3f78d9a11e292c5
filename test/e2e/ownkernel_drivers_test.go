package e2e

import (
	"runtime"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestOwnKernelKubeadm is the life of a control plane of static pods with a kernel of its own: a cluster that was
// installed under cgroup v1 follows to v2 by a deploy; it is used, rebooted, without power, upgraded to the next minor,
// removed without a trace.
func TestOwnKernelKubeadm(t *testing.T) {
	full(t)
	s := newVM(t)
	ctx := t.Context()
	var err error
	s.Bundle, err = s.PackKubeadm(ctx, minorOwn)
	must(t, "pack", err)
	newer, err := s.PackKubeadm(ctx, minorAfter)
	must(t, "pack", err)
	base, err := s.Deploy("base.yaml", "ownpods", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(alone(t, s, base), "deploy.yaml", "eggo:\n", "eggo:\n  driver: kubeadm\n")
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 1)
	fastThenOwn(t, s, file)
	ownLife(t, s, file, "ownpods", ofContainerd, "SystemdCgroup = true", func() {
		runsPods(t, s, "n1", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
		downAtOnce(t, s, 1, 1)
		upgradeOwn(t, s, file, "ownpods", newer)
	})
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// TestOwnKernelUpgrade: the binary driver's single machine goes to the next minor, which by default refuses cgroup v1.
func TestOwnKernelUpgrade(t *testing.T) {
	full(t)
	s := newVM(t)
	newer, err := s.PackVersion(t.Context(), minorAfter)
	must(t, "pack", err)
	base, err := s.Deploy("base.yaml", "ownminor", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := alone(t, s, base)
	fastThenOwn(t, s, file)
	ownLife(t, s, file, "ownminor", ofContainerd, "SystemdCgroup = true", func() {
		upgradeOwn(t, s, file, "ownminor", newer)
	})
}

// TestOwnKernelContainerdTwo: containerd 2 as programs out of the bundle, under cgroup v2.
func TestOwnKernelContainerdTwo(t *testing.T) {
	full(t)
	s := newVM(t)
	containerdTwo(t, s)
	base, err := s.Deploy("base.yaml", "ownctr2", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := alone(t, s, base)
	before := untouched(t, s, 1)
	fastThenOwn(t, s, file)
	ownLife(t, s, file, "ownctr2", ofContainerd, "SystemdCgroup = true", func() {
		runsOn(t, s, "containerd://2.")
		downAtOnce(t, s, 1, 1)
	})
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// TestOwnKernelDocker: Debian's docker with cri-dockerd, under cgroup v2.
func TestOwnKernelDocker(t *testing.T) {
	full(t)
	s := newVM(t)
	example(t, s, "docker.yaml", func(map[string]any) {})
	base, err := s.Deploy("base.yaml", "owndock", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(alone(t, s, base), "deploy.yaml", "runtime: containerd\n", "runtime: docker\n")
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 1)
	deploy(t, s, file)
	ownLife(t, s, file, "owndock", ofDocker, "systemd 2", func() {
		runsOn(t, s, "docker://")
		downAtOnce(t, s, 1, 1)
	})
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// ownLife deploys a cluster of n1, which has a kernel of its own, uses it, deploys it again in vain and removes it.
func ownLife(t *testing.T, s *stand.Stand, file, cluster, driver, want string, use func()) {
	t.Helper()
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(t.Context()))
	must(t, "use", s.Works(t.Context(), 1))
	cgroupV2(t, s, driver, want)
	use()
	s.Say("== another deploy changes nothing")
	try(t, s, 0, "deploy", "--id", cluster) // whose bundle is another one after an upgrade
	noChange(t, s.State(), cluster)
	s.Say("== cleanup --purge")
	try(t, s, 0, "cleanup", "--id", cluster, "--yes", "--purge")
}

// upgradeOwn upgrades a cluster of n1 to the next minor.
func upgradeOwn(t *testing.T, s *stand.Stand, file, cluster, newer string) {
	t.Helper()
	s.Say("== upgrade to %s", minorAfter)
	try(t, s, 0, "upgrade", "--id", cluster, "--yes", "--bundle", newer, "--soak", "20s")
	must(t, "use", s.Works(t.Context(), 1))
	u := &upgraded{Stand: s, t: t, cluster: cluster, file: file, nodes: []stand.Node{{Name: "n1", Roles: "mne"}}}
	u.run(minorAfter, everyKubelet, "n1")
}

// TestOwnKernelDebian13: a single machine of Debian 13 with its own kernel.
func TestOwnKernelDebian13(t *testing.T) {
	full(t)
	s := newLabOf(t, 1, func(l *lab.Lab) { l.OfVM(runtime.GOARCH, "n1"); l.OfDebian13("n1") })
	s.Say("n1 takes %g times as long as this machine", s.Lab.Slowness("n1"))
	s.Bundle = debian13Bundle(t, s)
	base, err := s.Deploy("base.yaml", "own13", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := alone(t, s, base)
	before := untouched(t, s, 1)
	fastThenOwn(t, s, file)
	ownLife(t, s, file, "own13", ofContainerd, "SystemdCgroup = true", func() { downAtOnce(t, s, 1, 1) })
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}
