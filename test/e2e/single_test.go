package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// asOps is a deploy.yaml whose machines are reached as the user ops, whose password comes from EGGO_OPS and is that of
// sudo too. more are further lines of its map eggo.
func asOps(t *testing.T, s *stand.Stand, base, name, more string) string {
	t.Helper()
	t.Setenv("EGGO_OPS", lab.OpsPassword)
	file, err := s.Vary(base, name, "username: root\n", "username: ops\n",
		"private-key-path: "+s.Lab.IdentityFile()+"\n", "",
		"eggo:\n", "eggo:\n  password-from: env:EGGO_OPS\n"+more)
	must(t, name, err)
	return file
}

// TestSingleMachine is a cluster of one machine with every role, installed by a user with a password and sudo through
// two bastions, one behind the other.
func TestSingleMachine(t *testing.T) {
	s := newLab(t, 3)
	ctx := t.Context()
	base, err := s.Deploy("root.yaml", "single", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	outer, err := s.Lab.Address("n2")
	must(t, "address", err)
	inner, err := s.Lab.Address("n3")
	must(t, "address", err)
	before := untouched(t, s, 3)
	file := asOps(t, s, base, "ops.yaml", "  bastion: "+outer+":22,ops@"+inner+"\n")

	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "single")
	loginsFrom(t, s, "n1", inner)
	loginsFrom(t, s, "n3", outer)
	loginsFrom(t, s, "n2", s.Lab.HostAddress())
	secretAtRest(t, s)

	plain := try(t, s, 0, "cleanup", "-f", file, "--yes")
	if err := plain.Has("kept: ", "/var/lib/containerd", "etcd snapshot: "); err != nil {
		t.Errorf("a plain cleanup says what it kept: %v\n%s", err, tail(plain.Out, 40))
	}
	if kept, err := filepath.Glob(filepath.Join(s.State(), "single", "snapshots", "*.db")); err != nil ||
		len(kept) != 1 {
		t.Errorf("not one snapshot of etcd: %v %v", kept, err)
	}
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
	secretFree(t, filepath.Join(s.State(), "single", "runs"), lab.OpsPassword)
}

// loginsFrom wants the two runs until now to have come to a node from one address, in one connection each.
func loginsFrom(t *testing.T, s *stand.Stand, node, addr string) {
	t.Helper()
	out, err := s.Lab.Run(t.Context(), node, "journalctl -u ssh -o cat --no-pager | grep '^Accepted .* for ops '")
	must(t, "log of "+node+"'s sshd", err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, l := range lines {
		if !strings.Contains(l, " from "+addr+" ") {
			t.Errorf("%s was logged in to from elsewhere than %s: %s", node, addr, l)
		}
	}
	if len(lines) != 2 {
		t.Errorf("%d logins on %s in two runs, want one each:\n%s", len(lines), node, out)
	}
}

// secretAtRest wants a Secret to lie encrypted in etcd, and a ConfigMap as it is.
func secretAtRest(t *testing.T, s *stand.Stand) {
	t.Helper()
	const canary = "canary-that-nobody-may-read"
	for _, kind := range []string{"secret generic", "configmap"} {
		args := append(append([]string{"create"}, strings.Fields(kind)...), "at-rest", "--from-literal=word="+canary)
		_, err := s.Kubectl(t.Context(), args...)
		must(t, "create "+kind, err)
	}
	const get = "ETCDCTL_API=3 etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt " +
		"--cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key get --print-value-only "
	plain, err := s.Lab.Run(t.Context(), "n1", get+"/registry/configmaps/default/at-rest")
	must(t, "etcdctl", err)
	if !strings.Contains(plain, canary) {
		t.Errorf("the ConfigMap is not to be read in etcd, so this test proves nothing: %q", plain)
	}
	secret, err := s.Lab.Run(t.Context(), "n1", get+"/registry/secrets/default/at-rest")
	must(t, "etcdctl", err)
	if !strings.HasPrefix(secret, "k8s:enc:") || strings.Contains(secret, canary) {
		t.Errorf("the Secret is not encrypted in etcd: %.40q", secret)
	}
}
