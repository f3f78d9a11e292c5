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

// TestOwnKernel is the life of a single machine with a kernel of its own, Debian's, and cgroup v2: installed, used,
// deployed again, rebooted, without power, removed without a trace. The machine is virtual, and slow where it is
// emulated.
func TestOwnKernel(t *testing.T) {
	full(t)
	s := newLabOf(t, 1, func(l *lab.Lab) { l.OfVM(runtime.GOARCH, "n1") })
	ctx := t.Context()
	s.Say("n1 takes %g times as long as this machine", s.Lab.Slowness("n1"))
	base, err := s.Deploy("base.yaml", "ownkernel", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	// As preflight.slow-leases advises: a slow control plane loses its leases. A single one needs none.
	file, err := s.Vary(base, "deploy.yaml", "runtime: containerd\n", "runtime: containerd\nconfig-extra-args:\n"+
		"- {name: kube-controller-manager, extra-args: {--leader-elect: 'false'}}\n"+
		"- {name: kube-scheduler, extra-args: {--leader-elect: 'false'}}\n")
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 1)

	s.Say("== first deploy")
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))
	cgroupV2(t, s)

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

// cgroupV2 wants kubelet and containerd to agree on systemd's slices in the one hierarchy, and the limits of a pod to
// be there.
func cgroupV2(t *testing.T, s *stand.Stand) {
	t.Helper()
	ctx := t.Context()
	must(t, "pod with limits", s.Apply(ctx, limited))
	must(t, "pod with limits", stand.Until(ctx, s.Limit(time.Minute), "the pod runs", func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=5s", "pod/limited")
		return err
	}))
	uid, err := s.Kubectl(ctx, "get", "pod", "limited", "-o", "jsonpath={.metadata.uid}")
	must(t, "pod with limits", err)
	out, err := s.Lab.Run(ctx, "n1", `set -e; stat -fc %T /sys/fs/cgroup
sed -n 's/^cgroupDriver: //p' /etc/kubernetes/kubelet.yaml
containerd --config /etc/eggo/containerd.toml config dump | grep -o 'SystemdCgroup = .*' | sort -u
cd "$(find /sys/fs/cgroup/kubepods.slice -type d -name '*pod`+strings.ReplaceAll(uid, "-", "_")+`.slice')"
cat memory.max cpu.max`)
	must(t, "cgroups", err)
	if want := "cgroup2fs\nsystemd\nSystemdCgroup = true\n67108864\n50000 100000"; strings.TrimSpace(out) != want {
		t.Errorf("cgroups are %q, not %q", out, want)
	}
	_, err = s.Kubectl(ctx, "delete", "pod", "limited", "--wait")
	must(t, "pod with limits", err)
}
