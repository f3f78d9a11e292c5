package e2e

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// originalScript lays a node out as the original eggo does.
//
//go:embed testdata/original.sh
var originalScript string

// byOriginal is a lab with nodes that the original eggo may have made, with a workload: a cluster of the binary driver
// in the layout of the original. Control planes that are not workers have no kubelet, as the original makes them. dir
// is its state directory; the one of Eggo is gone.
func byOriginal(t *testing.T, machines int, nodes ...stand.Node) (s *stand.Stand, dir string) {
	t.Helper()
	s = newLab(t, machines)
	ctx := t.Context()
	base, err := s.Deploy("old.yaml", "old", nodes)
	must(t, "deploy.yaml", err)
	file, err := s.Vary(base, "old-root.yaml", "eggo:\n", "eggo:\n  etcd-user: root\n")
	must(t, "deploy.yaml", err)
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, len(nodes)))

	var kubelets []string
	for _, n := range nodes {
		s.Say("%s is laid out as the original eggo does", n.Name)
		send(t, s, n.Name, "sh -s", originalScript)
		if strings.Contains(n.Roles, "n") {
			kubelets = append(kubelets, n.Name)
		} else {
			withoutKubelet(t, s, n.Name)
		}
	}
	must(t, "use", s.WorksOn(ctx, kubelets...))

	dir = filepath.Join(s.Dir, "etc-eggo", "old")
	must(t, "old directory", os.RemoveAll(dir))
	keep := func(name string, data []byte, err error) {
		t.Helper()
		must(t, name, err)
		at := filepath.Join(dir, filepath.FromSlash(name))
		must(t, name, os.MkdirAll(filepath.Dir(at), 0o700))
		must(t, name, os.WriteFile(at, data, 0o600))
	}
	for _, name := range phases.ForeignSecrets() {
		data, err := os.ReadFile(filepath.Join(s.State(), "old", "pki", filepath.FromSlash(name)))
		keep("pki/"+name, data, err)
	}
	key, err := s.Lab.Run(ctx, "n1", "cat /etc/kubernetes/encryption-config.yaml")
	keep("encryption-config.yaml", []byte(key), err)
	text, err := os.ReadFile(base)
	theirs, _, _ := strings.Cut(string(text), "eggo:\n") // the original has no such keys
	keep("deploy.yaml", []byte(theirs), err)
	must(t, "state", os.RemoveAll(s.State()))
	return s, dir
}

// withoutKubelet takes kubelet, kube-proxy and container runtime from a control plane.
func withoutKubelet(t *testing.T, s *stand.Stand, node string) {
	t.Helper()
	ctx := t.Context()
	run := func(what, script string) {
		t.Helper()
		_, err := s.Lab.Run(ctx, node, script)
		must(t, what+" of "+node, err)
	}
	run("kubelet", "systemctl disable -q --now kubelet kube-proxy && apt-get -y -q remove containerd runc")
	must(t, "reboot", s.Lab.Reboot(ctx, node)) // it ends what the runtime has started
	run("what is left", "apt-get -y -q purge containerd runc && cd /etc/kubernetes && rm -rf kubelet.kubeconfig "+
		"kubelet_config.yaml kube-proxy-config.yaml kube-proxy.conf pki/kubelet.crt pki/kubelet.key /var/lib/kubelet "+
		"/var/lib/containerd /etc/containerd /etc/systemd/system/containerd.service.d /opt/cni /etc/cni /var/lib/cni "+
		"/var/log/pods /var/log/containers /usr/bin/kubelet /usr/bin/kube-proxy "+
		"/usr/lib/systemd/system/kubelet.service /usr/lib/systemd/system/kube-proxy.service && "+
		"systemctl daemon-reload")
	must(t, "Node of "+node, stand.Until(ctx, 2*time.Minute, "the API server answers", func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "delete", "node", node)
		return err
	}))
	_, err := s.Kubectl(ctx, "delete", "pods", "-A", "--field-selector", "spec.nodeName="+node, "--force",
		"--grace-period=0")
	must(t, "pods of "+node, err)
	_, err = s.Kubectl(ctx, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=2m")
	must(t, "CoreDNS elsewhere", err)
}

// TestImportOriginal: a cluster in the layout of the original eggo is imported from its state directory, twice, without
// that a component is restarted or a file changes; it is looked at and backed up; what would change its nodes is
// refused; a cleanup stops it, and its files stay.
func TestImportOriginal(t *testing.T) {
	full(t)
	s, dir := byOriginal(t, 2, stand.Node{Name: "n1", Roles: "mne"}, stand.Node{Name: "n2", Roles: "n"})
	ctx := t.Context()

	s.Say("== imported, and nothing of it is restarted")
	before := whatRuns(t, s, 2)
	same := func(after string) {
		t.Helper()
		if now := whatRuns(t, s, 2); !slices.Equal(now, before) {
			t.Errorf("%s has changed what runs: %v, and before %v", after, now, before)
		}
	}
	args := []string{"import", "--from-eggo", dir, "--host-keys", "accept-new"}
	try(t, s, 0, args...)
	same("the import")
	try(t, s, 0, args...)
	noChange(t, s.State(), "old")

	s.Say("== looked at and backed up")
	must(t, "status", try(t, s, 0, "status", "--id", "old").Has("n1", "n2"))
	must(t, "certificates", try(t, s, 0, "certs", "list", "--id", "old").Has("apiserver"))
	snapshot := filepath.Join(s.Dir, "old.db")
	must(t, "snapshot", try(t, s, 0, "etcd", "snapshot", "--id", "old", "--out", snapshot).Has(snapshot))
	must(t, "why", try(t, s, 5, "certs", "renew", "--id", "old").Has("deploy --id old"))
	must(t, "plan", try(t, s, 0, "plan", "deploy", "--id", "old").Has("n1", "n2", "/etc/etcd/etcd.conf"))
	same("a look at it")
	must(t, "use after the import", s.Works(ctx, 2))

	s.Say("== removed")
	must(t, "what stays", try(t, s, 0, "cleanup", "--id", "old", "--yes", "--purge").Has("was imported"))
	left, err := s.Each(ctx, 2, "pgrep -x kubelet || true; pgrep -x kube-apiserver || true; ls /var/lib/eggo-node "+
		"2>/dev/null || true; ls /usr/lib/systemd/system/kubelet.service /etc/kubernetes/kubelet_config.yaml")
	must(t, "what is left", err)
	for i, out := range left {
		if out != "/etc/kubernetes/kubelet_config.yaml\n/usr/lib/systemd/system/kubelet.service" {
			t.Errorf("n%d has left %q", i+1, out)
		}
	}
}
