package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// What kubeadm init and join are told, so that no output has to be read.
const (
	handToken = "abcdef.0123456789abcdef"
	handKey   = "e6a2eb8581237ab72a4f494f30285ec12a9694d750b9785706a83bfcbbbd2204"
)

// send has a command line of the node read a text.
func send(t *testing.T, s *stand.Stand, node, line, text string) {
	t.Helper()
	c := s.Lab.SSH(t.Context(), node, line)
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %s: %v\n%s", node, line, err, tail(string(out), 40))
	}
}

// byHand makes the nodes ready for kubeadm with what the stand's bundle has.
func byHand(t *testing.T, s *stand.Stand, nodes ...string) {
	t.Helper()
	pause, packages, err := stand.ByHand(s.Bundle)
	must(t, "bundle", err)
	for _, n := range nodes {
		s.Say("%s is made ready by hand", n)
		f, err := os.Open(s.Bundle)
		must(t, "bundle", err)
		c := s.Lab.SSH(t.Context(), n, "mkdir -p /root/kit && tar -xzf - -C /root/kit")
		c.Stdin = f
		out, err := c.CombinedOutput()
		_ = f.Close()
		must(t, n+": "+string(out), err)
		send(t, s, n, "PAUSE="+shell.Quote(pause)+" sh -s "+shell.QuoteAll(packages), stand.ByHandScript)
	}
}

// waits of kubeadm, for a machine with little processor time.
const patience = "timeouts: {controlPlaneComponentHealthCheck: 15m0s, kubeletHealthCheck: 10m0s, " +
	"tlsBootstrap: 15m0s, discovery: 10m0s, kubernetesAPICall: 5m0s, etcdAPICall: 10m0s}\n"

// initConfig is the cluster as somebody may have asked kubeadm for it.
func initConfig(name, ip, version string) string {
	return fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: %[2]s, bindPort: 6443}
nodeRegistration: {name: %[1]s, criSocket: "unix:///run/containerd/containerd.sock"}
bootstrapTokens: [{token: %[4]s}]
certificateKey: %[5]s
%[6]s---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: %[3]s
controlPlaneEndpoint: "%[2]s:6443"
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.32.0.0/16}
dns: {imageTag: v1.12.1}
apiServer: {extraArgs: [{name: event-ttl, value: 2h0m0s}]}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
maxPods: 90
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0}
`, name, ip, version, handToken, handKey, patience)
}

// joinConfig is a node more.
func joinConfig(name, ip, endpoint string, controlPlane bool) string {
	out := fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {bootstrapToken: {token: %[4]s, apiServerEndpoint: "%[3]s:6443", unsafeSkipCAVerification: true}}
nodeRegistration:
  name: %[1]s
  criSocket: "unix:///run/containerd/containerd.sock"
  kubeletExtraArgs: [{name: node-ip, value: %[2]s}]
%[5]s`, name, ip, endpoint, handToken, patience)
	if controlPlane {
		out += fmt.Sprintf("controlPlane: {localAPIEndpoint: {advertiseAddress: %s, bindPort: 6443}, "+
			"certificateKey: %s}\n", ip, handKey)
	}
	return out
}

// kubeadmByHand makes a cluster of a version with kubeadm: the first node and planes-1 more are control planes, the
// others workers.
func kubeadmByHand(t *testing.T, s *stand.Stand, version string, planes int, nodes ...string) {
	t.Helper()
	byHand(t, s, nodes...)
	first := address(t, s, nodes[0])
	const conf = "cat >/root/kubeadm.yaml && kubeadm "
	const checks = " --config /root/kubeadm.yaml --ignore-preflight-errors=all"
	for i, n := range nodes {
		ip := address(t, s, n)
		if i == 0 {
			s.Say("kubeadm init on %s", n)
			send(t, s, n, conf+"init --upload-certs"+checks, initConfig(n, ip, version))
			send(t, s, n, "kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f /root/kit/addons/kube-flannel.yml",
				"")
			continue
		}
		s.Say("kubeadm join on %s", n)
		send(t, s, n, conf+"join"+checks, joinConfig(n, ip, first, i < planes))
	}
}

// importing are the arguments of an import of the cluster whose first control plane is n1.
func importing(t *testing.T, s *stand.Stand) []string {
	t.Helper()
	return []string{"import", "--id", "taken", "--user", "root", "--key", s.Lab.IdentityFile(), "--host-keys",
		"accept-new", "--" + runtime.GOARCH + "-bundle", s.Bundle, address(t, s, "n1")}
}

// byOthers is a lab of nodes of which all but the last others are a cluster that kubeadm has made by hand: three
// control planes, of which the last runs pods, and workers.
func byOthers(t *testing.T, nodes, others int) *stand.Stand {
	t.Helper()
	s := newLab(t, nodes)
	var err error
	s.Bundle, err = s.PackKubeadm(t.Context(), minorOwn)
	must(t, "pack", err)
	var names []string
	for k := 1; k <= nodes-others; k++ {
		names = append(names, fmt.Sprintf("n%d", k))
	}
	kubeadmByHand(t, s, minorOwn, 3, names...)
	_, err = s.Kubectl(t.Context(), "wait", "--for=condition=Ready", "--timeout=300s", "node", "--all")
	must(t, "nodes", err)
	_, err = s.Kubectl(t.Context(), "taint", "node", "n3", "node-role.kubernetes.io/control-plane-")
	must(t, "taint", err)
	must(t, "workload", s.StartWorkload(t.Context()))
	must(t, "use", s.Works(t.Context(), nodes-others))
	return s
}

// whatRuns are the processes of the components on each node of a lab, and a sum over what they read.
func whatRuns(t *testing.T, s *stand.Stand, nodes int) []string {
	t.Helper()
	out, err := s.Each(t.Context(), nodes, "for p in etcd kube-apiserver kube-controller-manager kube-scheduler "+
		"kubelet kube-proxy; do pgrep -x -o $(printf %.15s $p); done; "+
		"cat /etc/kubernetes/manifests/*.yaml /etc/kubernetes/*.yaml /etc/kubernetes/*.conf "+
		"/etc/kubernetes/*.kubeconfig /etc/kubernetes/pki/*.* /usr/lib/systemd/system/kube*.service "+
		"2>/dev/null | sha256sum")
	must(t, "processes", err)
	return out
}

// refusedPart: a part of a static pod that Eggo would lose refuses the import, and nothing is touched. A scheduler is
// what stands still the least.
func refusedPart(t *testing.T, s *stand.Stand, runs func() []string) {
	t.Helper()
	const manifest, aside = "/etc/kubernetes/manifests/kube-scheduler.yaml", "/root/kube-scheduler.yaml"
	replace := func(edit string) { // at once: the kubelet may read it at any time
		t.Helper()
		_, err := s.Lab.Run(t.Context(), "n2", "set -e; was=$(pgrep -x -o kube-scheduler); cp -p "+aside+
			" /etc/kubernetes/next; "+edit+"; mv /etc/kubernetes/next "+manifest+"; for i in $(seq 90); do "+
			`now=$(pgrep -x -o kube-scheduler || true); [ "${now:-$was}" = "$was" ] || exit 0; sleep 2; done; exit 1`)
		must(t, "scheduler of n2", err)
		must(t, "scheduler of n2", stand.Until(t.Context(), 3*time.Minute, "the scheduler is ready",
			func(ctx context.Context) error {
				_, err := s.Kubectl(ctx, "-n", "kube-system", "wait", "--for=condition=Ready", "--timeout=30s",
					"pod/kube-scheduler-n2")
				return err
			}))
	}
	_, err := s.Lab.Run(t.Context(), "n2", "cp -p "+manifest+" "+aside)
	must(t, "scheduler of n2", err)
	replace("sed -i 's/cpu: 100m/cpu: 50m/' /etc/kubernetes/next")
	before := runs()
	got := try(t, s, 5, importing(t, s)...)
	must(t, "why", got.Has("kube-scheduler on n2", "spec.containers[0].resources.requests.cpu=50m", "import.refused"))
	var wrong []string
	for line := range strings.Lines(got.Out) {
		if strings.HasPrefix(line, "error: ") && !strings.Contains(line, "[import.refused]") {
			wrong = append(wrong, line)
		}
	}
	if len(wrong) != 1 {
		t.Errorf("not one thing is said to be wrong: %q", wrong)
	}
	if after := runs(); !slices.Equal(after, before) {
		t.Errorf("an import that was refused has changed what runs: %v, and before %v", after, before)
	}
	for _, name := range []string{"pki", "deploy.yaml", "runs"} {
		if _, err := os.Stat(filepath.Join(s.State(), "taken", name)); !os.IsNotExist(err) {
			t.Errorf("an import that was refused has left %s: %v", name, err)
		}
	}
	replace(":")
}

// TestImportKubeadm: a cluster of three control planes and a worker that kubeadm has made by hand, with the files of
// upstream's packages. As long as a static pod has what Eggo would lose, the import is refused. Then it is imported
// without a change on its nodes, looked at and backed up; a second import changes nothing; a cleanup stops it and says
// what stays, and kubeadm reset removes that.
func TestImportKubeadm(t *testing.T) {
	full(t)
	s := byOthers(t, 4, 0)
	ctx := t.Context()

	s.Say("== a part that Eggo does not know: refused, and nothing is touched")
	refusedPart(t, s, func() []string { return whatRuns(t, s, 4) })

	s.Say("== imported, and nothing of it is restarted")
	const manifests = "ls -d /etc/kubernetes/manifests 2>/dev/null || true"
	kept, err := s.Each(ctx, 4, manifests)
	must(t, "manifests", err)
	runs := func() []string { return whatRuns(t, s, 4) }
	before := runs()
	args := importing(t, s)
	try(t, s, 0, args...)
	if after := runs(); !slices.Equal(after, before) {
		t.Errorf("the import has changed what runs: %v, and before %v", after, before)
	}
	try(t, s, 0, args...)
	noChange(t, s.State(), "taken")

	s.Say("== looked at and backed up")
	must(t, "status", try(t, s, 0, "status", "--id", "taken").Has("n1", "n2", "n3", "n4"))
	must(t, "certificates", try(t, s, 0, "certs", "list", "--id", "taken").Has("apiserver"))
	snapshot := filepath.Join(s.Dir, "taken.db")
	must(t, "snapshot", try(t, s, 0, "etcd", "snapshot", "--id", "taken", "--out", snapshot).Has(snapshot))
	if after := runs(); !slices.Equal(after, before) {
		t.Errorf("a look at it has changed what runs: %v, and before %v", after, before)
	}
	must(t, "use after the import", s.Works(ctx, 4))

	s.Say("== removed")
	must(t, "what stays", try(t, s, 0, "cleanup", "--id", "taken", "--yes", "--purge").Has("kubeadm reset"))
	left, err := s.Each(ctx, 4, "pgrep -x kubelet || true; pgrep -x kube-apiserver || true; ls /var/lib/eggo-node "+
		"2>/dev/null || true; "+manifests)
	must(t, "what is left", err)
	if !slices.Equal(left, kept) {
		t.Errorf("the nodes have left %q", left)
	}
	_, err = s.Each(ctx, 4, "kubeadm reset -f --skip-phases=remove-etcd-member && "+
		"! ls /etc/kubernetes/manifests/*.yaml 2>/dev/null")
	must(t, "kubeadm reset", err)
}

// changedSince: a setting of all kubelets and a key that verifies tokens came after the import. The deploy is refused
// and names them; both are taken back.
func changedSince(t *testing.T, s *stand.Stand) {
	t.Helper()
	const key, aside = "/etc/kubernetes/pki/sa.pub", "/root/sa.pub"
	pods := func(from, to string) {
		t.Helper()
		_, err := s.Lab.Run(t.Context(), "n1", "export KUBECONFIG=/etc/kubernetes/admin.conf; kubectl -n kube-system "+
			"get configmap kubelet-config -o yaml | sed 's/maxPods: "+from+"/maxPods: "+to+"/' | kubectl replace -f -")
		must(t, "setting", err)
	}
	pods("90", "95")
	_, err := s.Lab.Run(t.Context(), "n2", "set -e; cp -p "+key+" "+aside+"; openssl genrsa 2048 2>/dev/null | "+
		"openssl rsa -pubout 2>/dev/null >>"+key)
	must(t, "key", err)
	must(t, "why", try(t, s, 5, "deploy", "--id", "taken").Has("import.lost-settings", "--max-pods=95",
		"kubelet-config", "import.public-keys", "n2", key))
	_, err = s.Lab.Run(t.Context(), "n2", "mv "+aside+" "+key)
	must(t, "key", err)
	pods("95", "90")
}

// TestImportTakenOver: the same cluster is taken over by a deploy, while a client asks a Service twice a second, and no
// pod is restarted but those that are replaced; then a worker joins, certificates are renewed, a worker of kubeadm
// leaves and gets its files back, the cluster is upgraded to the next minor version, and a control plane of kubeadm
// leaves.
func TestImportTakenOver(t *testing.T) {
	full(t)
	s := byOthers(t, 5, 1)
	ctx := t.Context()
	const dropIn = "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"
	sum := func(node string) string {
		t.Helper()
		out, err := s.Lab.Run(ctx, node, "sha256sum "+dropIn+" /etc/kubernetes/kubelet.conf "+
			"/etc/kubernetes/pki/ca.crt")
		must(t, "files of "+node, err)
		return out
	}
	theirs := sum("n4")
	try(t, s, 0, importing(t, s)...)
	must(t, "why", try(t, s, 5, "certs", "renew", "--id", "taken").Has("deploy --id taken"))

	s.Say("== a flag that somebody has given a kubelet is not lost")
	_, err := s.Lab.Run(ctx, "n4", "echo KUBELET_EXTRA_ARGS=--max-pods=77 >/etc/default/kubelet")
	must(t, "flag", err)
	must(t, "flag", try(t, s, 5, "deploy", "--id", "taken").Has("--max-pods=77", "config-extra-args"))
	if now := sum("n4"); now != theirs {
		t.Errorf("n4 is another one: %s, and before %s", now, theirs)
	}
	_, err = s.Lab.Run(ctx, "n4", "rm /etc/default/kubelet")
	must(t, "flag", err)

	s.Say("== nor is what was changed since the import")
	changedSince(t, s)

	s.Say("== taken over")
	must(t, "plan", try(t, s, 0, "plan", "deploy", "--id", "taken").Has("n1", "n4", "10-kubeadm.conf"))
	replaced := []string{"kube-system/etcd-", "kube-system/kube-apiserver-", "kube-system/kube-controller-manager-",
		"kube-system/kube-scheduler-", "kube-system/kube-proxy-"}
	before := restarts(t, s, replaced...)
	watch := watchService(t, s, "n2", "n1")
	try(t, s, 0, "deploy", "--id", "taken")
	asked, failed := watch()
	s.Say("the Service was asked %d times meanwhile, %d times in vain", asked, failed)
	if asked == 0 || failed > 0 {
		t.Errorf("the workload stood still: %d of %d calls failed", failed, asked)
	}
	noRestart(t, before, restarts(t, s, replaced...))
	runsPods(t, s, "n2", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	must(t, "use", s.Works(ctx, 4))
	try(t, s, 0, "deploy", "--id", "taken")
	noChange(t, s.State(), "taken")
	data, err := s.Each(ctx, 3, "ls -d /var/lib/etcd/member; ls -d /var/lib/etcd/default.etcd 2>/dev/null || true")
	must(t, "data of etcd", err)
	for i, out := range data {
		if out != "/var/lib/etcd/member" {
			t.Errorf("n%d has its data in %q", i+1, out)
		}
	}
	try(t, s, 0, "status", "--id", "taken")

	s.Say("== a worker joins, certificates are renewed, a worker of kubeadm leaves")
	try(t, s, 0, "join", "--id", "taken", "--host-keys", "accept-new", "--name", "n5", address(t, s, "n5"))
	must(t, "use", s.Works(ctx, 5))
	try(t, s, 0, "certs", "renew", "--id", "taken")
	try(t, s, 0, "delete", "--id", "taken", "--yes", "--purge", "n4")
	absent(t, s, "taken", "n4")
	if now := sum("n4"); now != theirs {
		t.Errorf("n4 has not got its files back: %s, and before %s", now, theirs)
	}
	out, err := s.Lab.Run(ctx, "n4", "systemctl is-active kubelet || true; systemctl is-enabled kubelet || true; "+
		"ls /var/lib/eggo-node /etc/systemd/system/kubelet.service 2>/dev/null || true")
	if err != nil || out != "inactive\ndisabled\n" {
		t.Errorf("n4: %q %v", out, err)
	}
	must(t, "use", s.WorksOn(ctx, "n1", "n2", "n3", "n5"))

	s.Say("== to the next minor version")
	u := &upgraded{Stand: s, t: t, cluster: "taken", nodes: []stand.Node{{Name: "n1", Roles: "me"},
		{Name: "n2", Roles: "me"}, {Name: "n3", Roles: "mne"}, {Name: "n5", Roles: "n"}}}
	newer, err := s.PackKubeadm(ctx, minorAfter)
	must(t, "pack", err)
	u.to(0, newer, "--soak", "5s")
	u.allRun(minorAfter)
	u.spread()

	s.Say("== a control plane of kubeadm leaves, and all is removed")
	try(t, s, 0, "delete", "--id", "taken", "--yes", "--purge", "n2")
	absent(t, s, "taken", "n2")
	must(t, "use", s.WorksOn(ctx, "n1", "n3", "n5"))
	must(t, "what stays", try(t, s, 0, "cleanup", "--id", "taken", "--yes", "--purge").Has("kubeadm reset"))
}
