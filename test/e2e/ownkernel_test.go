package e2e

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// newVM returns a stand with one virtual machine, n1, of this machine's architecture, with Debian's kernel and cgroup
// v2. It is slow where it is emulated.
func newVM(t *testing.T) *stand.Stand {
	t.Helper()
	s := newLabOf(t, 1, func(l *lab.Lab) { l.OfVM(runtime.GOARCH, "n1") })
	s.Say("n1 takes %g times as long as this machine", s.Lab.Slowness("n1"))
	return s
}

// alone has a single control plane work without an election: on a slow machine, its components would lose their
// leases.
func alone(t *testing.T, s *stand.Stand, base string) string {
	t.Helper()
	file, err := s.Vary(base, "alone.yaml", "runtime: containerd\n", "runtime: containerd\nconfig-extra-args:\n"+
		"- {name: kube-controller-manager, extra-args: {--leader-elect: 'false'}}\n"+
		"- {name: kube-scheduler, extra-args: {--leader-elect: 'false'}}\n")
	must(t, "deploy.yaml", err)
	return file
}

// fastThenOwn deploys a cluster on n1 in a namespace of this machine, where that is fast, and boots n1 with a kernel of
// its own from the same disk.
func fastThenOwn(t *testing.T, s *stand.Stand, file string) {
	t.Helper()
	s.Say("== deploy in a namespace of this machine")
	must(t, "turn", s.Lab.Turn(t.Context(), "n1", false))
	deploy(t, s, file)
	s.Say("== the same disk with a kernel of its own")
	must(t, "turn", s.Lab.Turn(t.Context(), "n1", true))
}

// secondDisk has etcd's data and containerd's on a file system of the second disk.
const secondDisk = `set -e
mkfs.ext4 -q /dev/vdb
mkdir -p /data /var/lib/etcd /var/lib/containerd
echo '/dev/vdb /data ext4 noatime 0 2' >>/etc/fstab
mount /data
for d in etcd containerd; do
  mkdir -m 700 /data/$d
  echo "/data/$d /var/lib/$d none bind 0 0" >>/etc/fstab
done
systemctl daemon-reload
mount -a`

// TestOwnKernel is the life of a single machine with a kernel of its own, and etcd and images on a second disk:
// installed, used, deployed again, rebooted, without power, removed without a trace.
func TestOwnKernel(t *testing.T) {
	full(t)
	s := newVM(t)
	ctx := t.Context()
	base, err := s.Deploy("base.yaml", "ownkernel", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := alone(t, s, base)
	_, err = s.Lab.Run(ctx, "n1", secondDisk)
	must(t, "second disk", err)
	before := untouched(t, s, 1)

	s.Say("== first deploy")
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))
	cgroupV2(t, s, ofContainerd, "SystemdCgroup = true")
	out, err := s.Lab.Run(ctx, "n1",
		"find /data/etcd/default.etcd/member /data/containerd/io.containerd.content.v1.content -maxdepth 0")
	must(t, "second disk: "+out, err)

	s.Say("== second deploy changes nothing")
	deploy(t, s, file)
	noChange(t, s.State(), "ownkernel")

	downAtOnce(t, s, 1, 1)
	s.Say("== a deploy after that changes nothing")
	deploy(t, s, file)
	noChange(t, s.State(), "ownkernel")

	s.Say("== cleanup --purge leaves nothing")
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// TestOwnKernelFollows: a single machine that was installed under cgroup v1 boots with a kernel of its own and cgroup
// v2. A deploy changes the cgroup drivers, pods run, another deploy changes nothing, and cleanup leaves nothing.
func TestOwnKernelFollows(t *testing.T) {
	full(t)
	s := newVM(t)
	base, err := s.Deploy("base.yaml", "follows", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := alone(t, s, base)
	before := untouched(t, s, 1)
	fastThenOwn(t, s, file)
	ownLife(t, s, file, "follows", ofContainerd, "SystemdCgroup = true", func() {})
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// Scripts that print the cgroup driver of a runtime.
const (
	ofContainerd = "containerd --config /etc/eggo/containerd.toml config dump | grep -o 'SystemdCgroup = .*' | sort -u"
	ofDocker     = "docker info --format '{{.CgroupDriver}} {{.CgroupVersion}}'"
)

// limited is a pod with limits.
const limited = `apiVersion: v1
kind: Pod
metadata: {name: limited}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: limited
    image: registry.k8s.io/e2e-test-images/agnhost:2.57
    args: [pause]
    resources: {limits: {memory: 64Mi, cpu: 500m}}
`

// greedy is a pod that takes more memory than its limit.
const greedy = `apiVersion: v1
kind: Pod
metadata: {name: greedy}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: greedy
    image: registry.k8s.io/e2e-test-images/agnhost:2.57
    args: [stress, --mem-total, 500Mi, --mem-alloc-size, 20Mi, --mem-alloc-sleep, 10ms]
    resources: {limits: {memory: 64Mi}}
`

// cgroupV2 checks that kubelet and runtime use systemd's slices in the single hierarchy, that the limits of a pod are
// set, and that a container that exceeds them is killed. driver is a script that prints the runtime's cgroup driver,
// which must equal want.
func cgroupV2(t *testing.T, s *stand.Stand, driver, want string) {
	t.Helper()
	ctx := t.Context()
	must(t, "pod with limits", s.Apply(ctx, limited))
	must(t, "pod with limits", stand.Until(ctx, s.Limit(time.Minute), "the pod runs", func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=5s", "pod/limited")
		return err
	}))
	uid, err := s.Kubectl(ctx, "get", "pod", "limited", "-o", "jsonpath={.metadata.uid}")
	must(t, "pod with limits", err)
	kubelet, err := s.Kubectl(ctx, "get", "--raw", "/api/v1/nodes/n1/proxy/configz")
	must(t, "configuration of the kubelet", err)
	if !strings.Contains(kubelet, `"cgroupDriver":"systemd"`) {
		t.Errorf("the kubelet's cgroup driver is not systemd: %s", kubelet)
	}
	out, err := s.Lab.Run(ctx, "n1", "set -e; stat -fc %T /sys/fs/cgroup; "+driver+
		"; cd \"$(find /sys/fs/cgroup/kubepods.slice -type d -name '*pod"+strings.ReplaceAll(uid, "-", "_")+
		".slice')\"; cat memory.max cpu.max")
	must(t, "cgroups", err)
	if want := "cgroup2fs\n" + want + "\n67108864\n50000 100000"; strings.TrimSpace(out) != want {
		t.Errorf("cgroups are %q, not %q", out, want)
	}
	_, err = s.Kubectl(ctx, "delete", "pod", "limited", "--wait")
	must(t, "pod with limits", err)
	must(t, "greedy pod", s.Apply(ctx, greedy))
	must(t, "greedy pod", stand.Until(ctx, s.Limit(time.Minute), "it is killed", func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "wait", "--timeout=5s", "pod/greedy",
			"--for=jsonpath={.status.containerStatuses[0].state.terminated.reason}=OOMKilled")
		return err
	}))
	_, err = s.Kubectl(ctx, "delete", "pod", "greedy", "--wait")
	must(t, "greedy pod", err)
}
