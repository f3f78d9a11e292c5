package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestOwnKernelRefusals: real swap, and a clock that is an hour or a day behind until chrony steps it, are refused with
// what to do, and nothing is touched.
func TestOwnKernelRefusals(t *testing.T) {
	full(t)
	s := newVM(t)
	base, err := s.Deploy("base.yaml", "refused", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := alone(t, s, base)

	s.Say("== swap")
	onNode(t, s, "fallocate -l 256M /swap && chmod 600 /swap && mkswap -q /swap && swapon /swap", "")
	must(t, "swap", try(t, s, 5, "preflight", "-f", file).Has("preflight.swap", "n1"))
	onNode(t, s, "swapoff /swap && rm /swap", "")

	for off, says := range map[string]string{"1 hour ago": "1h0m", "1 day ago": "24h0m"} {
		s.Say("== a clock of %s", off)
		onNode(t, s, "date -s "+"'"+off+"'", "")
		must(t, "clock", try(t, s, 5, "preflight", "-f", file).Has("preflight.clock", says))
		must(t, "clock", try(t, s, 5, "deploy", "-f", file).Has("preflight.clock", says))
		stepped(t, s)
	}
	try(t, s, 0, "preflight", "-f", file)
	out := onNode(t, s, "ls /etc/eggo /var/lib/eggo /etc/kubernetes 2>/dev/null || true", "")
	if strings.TrimSpace(out) != "" {
		t.Errorf("n1 was touched: %s", out)
	}
}

// extra returns a script that installs the packages of a directory that every virtual machine of the lab has.
func extra(dir string) string {
	return "set -e\nexport DEBIAN_FRONTEND=noninteractive\ncd /usr/lib/lab/packages/" + dir + "\n" +
		"if [ ! -e installed ]; then\n" +
		"  for again in 1 2 3 4; do dpkg -i *.deb >/run/dpkg.log 2>&1 && break; done ||\n" + // in the order of names
		"    { tail -n 20 /run/dpkg.log; exit 1; }\n" +
		"fi\n" +
		"touch installed\n"
}

// stepped has chrony on n1 step the clock to that of this machine.
func stepped(t *testing.T, s *stand.Stand) {
	t.Helper()
	ntp := startNTP(t, s)
	onNode(t, s, extra("chrony")+`
systemctl stop chrony
chronyd -q -t 60 'server `+ntp+` iburst' 'makestep 1 -1' 2>&1`, "")
}

// TestOwnKernelFeatures: what a kernel of its own has and the lab's other nodes have not: kube-proxy in nftables and
// IPVS mode, AppArmor, a volume of NFS, eviction by memory, a disk that is full.
func TestOwnKernelFeatures(t *testing.T) {
	full(t)
	s := newVM(t)
	ctx := t.Context()
	base, err := s.Deploy("base.yaml", "features", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := alone(t, s, base)
	fastThenOwn(t, s, file)
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))
	appArmor(t, s)
	nfs(t, s)
	for _, mode := range []struct{ name, rules string }{
		{"nftables", "/usr/lib/lab/nft/run list tables"},
		{"ipvs", "cat /proc/net/ip_vs"},
	} {
		s.Say("== kube-proxy in %s mode", mode.name)
		moved, err := s.Vary(file, mode.name+".yaml", "config-extra-args:\n", "config-extra-args:\n"+
			"- {name: kube-proxy, extra-args: {--proxy-mode: "+mode.name+"}}\n")
		must(t, "deploy.yaml", err)
		deploy(t, s, moved)
		must(t, "use", s.Works(ctx, 1))
		want := map[string]string{"nftables": "table ip kube-proxy", "ipvs": "0A20"}[mode.name] // 10.32.0.0/16
		if out := onNode(t, s, mode.rules, ""); !strings.Contains(out, want) {
			t.Errorf("%s: no %s in %s", mode.name, want, out)
		}
		deploy(t, s, moved)
		noChange(t, s.State(), "features")
	}
	s.Say("== kube-proxy in iptables mode again")
	deploy(t, s, file)
	must(t, "use", s.Works(ctx, 1))
	fullDisk(t, s)
	evicted(t, s)
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
}

// ownProfile denies what it names, and allows the rest.
const ownProfile = `#include <tunables/global>
profile eggo-test flags=(attach_disconnected) {
  #include <abstractions/base>
  file, network, capability, signal,
  deny /tmp/denied w,
}`

// confined returns the manifest of a pod with an AppArmor profile.
func confined(name, profile string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {appArmorProfile: %s}
  containers:
  - name: %[1]s
    image: registry.k8s.io/e2e-test-images/agnhost:2.57
    args: [pause]
`, name, profile)
}

// appArmor checks that the runtime's default profile and a profile of the node are enforced.
func appArmor(t *testing.T, s *stand.Stand) {
	t.Helper()
	ctx := t.Context()
	s.Say("== AppArmor")
	c := s.Lab.SSH(ctx, "n1", "cat >/etc/apparmor.d/eggo-test && apparmor_parser -r /etc/apparmor.d/eggo-test")
	c.Stdin = strings.NewReader(ownProfile)
	out, err := c.CombinedOutput()
	must(t, "profile: "+string(out), err)
	must(t, "pods", s.Apply(ctx, confined("default-profile", "{type: RuntimeDefault}")+"---\n"+
		confined("own-profile", "{type: Localhost, localhostProfile: eggo-test}")))
	for pod, want := range map[string]string{"default-profile": "cri-containerd.apparmor.d (enforce)",
		"own-profile": "eggo-test (enforce)"} {
		podRuns(t, s, pod)
		got, err := s.Kubectl(ctx, "exec", pod, "--", "cat", "/proc/1/attr/current")
		must(t, pod, err)
		if strings.TrimSpace(got) != want {
			t.Errorf("%s runs as %q, not %q", pod, got, want)
		}
	}
	got, err := s.Kubectl(ctx, "exec", "own-profile", "--", "sh", "-c",
		"(: >/tmp/allowed) && echo allowed; (: >/tmp/denied) 2>/dev/null || echo denied")
	must(t, "own-profile", err)
	if got != "allowed\ndenied\n" {
		t.Errorf("the profile of the node: %q", got)
	}
	_, err = s.Kubectl(ctx, "delete", "pod", "default-profile", "own-profile")
	must(t, "pods", err)
}

// podRuns waits until a pod is ready.
func podRuns(t *testing.T, s *stand.Stand, pod string) {
	t.Helper()
	must(t, pod, stand.Until(t.Context(), s.Limit(2*time.Minute), "the pod runs", func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=5s", "pod/"+pod)
		return err
	}))
}

// claimed has a volume on an NFS server, a claim, and a pod that writes to it.
const claimed = `apiVersion: v1
kind: PersistentVolume
metadata: {name: shared}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  storageClassName: ""
  nfs: {server: SERVER, path: /srv/shared}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  volumeName: shared
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: writer
    image: registry.k8s.io/e2e-test-images/agnhost:2.57
    command: [sh, -c, "echo from a pod >/shared/file && exec /agnhost pause"]
    volumeMounts: [{name: shared, mountPath: /shared}]
  volumes: [{name: shared, persistentVolumeClaim: {claimName: shared}}]
`

// nfs checks that a pod can write to a claimed volume on an NFS server, which is n1's own kernel.
func nfs(t *testing.T, s *stand.Stand) {
	t.Helper()
	ctx := t.Context()
	s.Say("== a claimed volume of NFS")
	onNode(t, s, extra("nfs")+`
mkdir -p /srv/shared
chmod 777 /srv/shared
echo '/srv/shared *(rw,no_subtree_check,no_root_squash,insecure)' >/etc/exports
systemctl restart nfs-server
exportfs -ra`, "")
	address, err := s.Lab.Address("n1")
	must(t, "address", err)
	must(t, "volume", s.Apply(ctx, strings.ReplaceAll(claimed, "SERVER", address)))
	podRuns(t, s, "writer")
	if out := onNode(t, s, "cat /srv/shared/file; grep ' nfs' /proc/mounts", ""); !strings.Contains(out, "from a pod") {
		t.Errorf("the volume has %q", out)
	}
	_, err = s.Kubectl(ctx, "delete", "pod/writer", "pvc/shared", "pv/shared")
	must(t, "volume", err)
}

// hungry is a pod without limits that allocates TOTAL MiB.
const hungry = `apiVersion: v1
kind: Pod
metadata: {name: hungry}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: hungry
    image: registry.k8s.io/e2e-test-images/agnhost:2.57
    args: [stress, --mem-total, TOTALMi, --mem-alloc-size, 10Mi, --mem-alloc-sleep, 200ms]
`

// evicted checks that the kubelet evicts a pod that takes the node's memory, and that the workload survives.
func evicted(t *testing.T, s *stand.Stand) {
	t.Helper()
	ctx := t.Context()
	s.Say("== memory runs out")
	// The kubelet evicts below 100 MiB. A node without swap that has none left reads its programs again and again, and
	// answers no more.
	left := strings.TrimSpace(onNode(t, s, "awk '/^MemAvailable/ {print int($2/1024)-50}' /proc/meminfo", ""))
	must(t, "hungry pod", s.Apply(ctx, strings.ReplaceAll(hungry, "TOTAL", left)))
	must(t, "hungry pod", stand.Until(ctx, s.Limit(3*time.Minute), "it is evicted", func(ctx context.Context) error {
		out, err := s.Kubectl(ctx, "get", "pod", "hungry", "-o",
			"jsonpath={.status.phase} {.status.reason}{.status.containerStatuses[0].state.terminated.reason}")
		if err == nil && !strings.HasPrefix(out, "Failed Evicted") {
			err = fmt.Errorf("hungry: %s", out)
		}
		if err == nil {
			s.Say("hungry is %s", out)
		}
		return err
	}))
	_, err := s.Kubectl(ctx, "delete", "pod", "hungry")
	must(t, "hungry pod", err)
	must(t, "use", s.Works(ctx, 1))
}

// fullDisk fills the node's disk and checks that the kubelet reports it, that status still works, and that the node
// recovers.
func fullDisk(t *testing.T, s *stand.Stand) {
	t.Helper()
	ctx := t.Context()
	s.Say("== the disk is full")
	onNode(t, s, "fallocate -l $(df --output=avail -B1M / | tail -1 | awk '{print $1-100}')M /var/full", "")
	must(t, "pressure", stand.Until(ctx, s.Limit(2*time.Minute), "DiskPressure", func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "wait", "node/n1", "--for=condition=DiskPressure=True", "--timeout=5s")
		return err
	}))
	got, err := s.Try(ctx, "", "status", "--id", "features")
	must(t, "status", err)
	s.Say("status of a full disk: exit code %d\n%s", got.Code, tail(got.Out, 30))
	must(t, "status", got.Has("Ready,DiskPressure"))
	onNode(t, s, "rm /var/full", "")
	must(t, "pressure", stand.Until(ctx, s.Limit(7*time.Minute), "the node recovers", func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "wait", "node/n1", "--for=condition=DiskPressure=False", "--timeout=5s")
		return err
	}))
	must(t, "use", s.Works(ctx, 1))
}

// TestOwnKernelSELinux is a single machine whose kernel enforces Debian's SELinux policy: installed, used, deployed
// again, rebooted, removed without a trace.
func TestOwnKernelSELinux(t *testing.T) {
	full(t)
	s := newVM(t)
	enforcing(t, s)
	base, err := s.Deploy("base.yaml", "selinux", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 1)
	ownLife(t, s, alone(t, s, base), "selinux", ofContainerd, "SystemdCgroup = true", func() {
		must(t, "reboot", s.Lab.Reboot(t.Context(), "n1"))
		must(t, "use after the reboot", s.Works(t.Context(), 1))
		out := onNode(t, s, "getenforce; journalctl -k -b --no-pager -o cat | grep 'avc: *denied' || true", "")
		s.Say("SELinux: %s", out)
		if !strings.HasPrefix(out, "Enforcing\n") {
			t.Errorf("SELinux is %s", out)
		}
		for _, program := range []string{"etcd", "kube", "containerd", "runc", "flannel", "coredns"} {
			if strings.Contains(out, `comm="`+program) {
				t.Errorf("something is denied to %s", program)
			}
		}
	})
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// enforcing has the kernel of n1 enforce Debian's SELinux policy: the files are labelled under a kernel that only
// warns, and the machine boots again.
func enforcing(t *testing.T, s *stand.Stand) {
	t.Helper()
	ctx := t.Context()
	s.Say("== SELinux")
	onNode(t, s, extra("selinux"), "")
	must(t, "kernel options", s.Lab.KernelOptions("n1", "security=selinux selinux=1"))
	again := func() {
		must(t, "stop", s.Lab.Stop(ctx, "n1"))
		must(t, "start", s.Lab.Start(ctx, "n1"))
	}
	again()
	onNode(t, s, "setfiles -F -q /etc/selinux/default/contexts/files/file_contexts / 2>&1 | tail -n 3\n"+
		"sed -i 's/^SELINUX=.*/SELINUX=enforcing/' /etc/selinux/config", "")
	again()
	if out := onNode(t, s, "getenforce", ""); strings.TrimSpace(out) != "Enforcing" {
		t.Fatalf("SELinux is %s", out)
	}
}

// startNTP answers questions for the time on the lab's address of this machine, and returns what chrony calls the
// server.
func startNTP(t *testing.T, s *stand.Stand) string {
	t.Helper()
	c, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", net.JoinHostPort(s.Lab.HostAddress(), "0"))
	must(t, "NTP", err)
	context.AfterFunc(t.Context(), func() { _ = c.Close() })
	go func() {
		for ask := make([]byte, 512); ; {
			n, from, err := c.ReadFrom(ask)
			if err != nil {
				return
			}
			if n >= 48 {
				_, _ = c.WriteTo(ntpAnswer(ask[:48], time.Now()), from)
			}
		}
	}()
	return fmt.Sprintf("%s port %d", s.Lab.HostAddress(), c.LocalAddr().(*net.UDPAddr).Port)
}

// ntpAnswer returns the answer of a stratum 1 clock (RFC 5905).
func ntpAnswer(ask []byte, now time.Time) []byte {
	const since1900 = 2208988800
	b := make([]byte, 48)
	b[0], b[1], b[2], b[3] = 0<<6|4<<3|4, 1, ask[2], 0xEC // no leap second, version 4, a server; a microsecond
	copy(b[12:16], "LOCL")
	at := uint64(now.Unix()+since1900)<<32 | uint64(now.Nanosecond())<<32/1e9
	for _, k := range []int{16, 32, 40} { // reference, receive, transmit
		binary.BigEndian.PutUint64(b[k:], at)
	}
	copy(b[24:32], ask[40:48])
	return b
}
