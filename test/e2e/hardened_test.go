package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestHardenedDefaults: a cluster whose etcd runs as root gets the account with its next deploy and keeps its data; a
// restored snapshot is the account's too; the audit log says who read a Secret; nothing remains.
func TestHardenedDefaults(t *testing.T) {
	full(t)
	s := newLab(t, 1)
	ctx := t.Context()
	file, err := s.Deploy("deploy.yaml", "hardened", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	asRoot, err := s.Vary(file, "root.yaml", "eggo:\n", "eggo:\n  etcd-user: root\n")
	must(t, "root.yaml", err)
	before := untouched(t, s, 1)
	deploy(t, s, asRoot)
	const owner = "stat -c %U:%G /var/lib/etcd/default.etcd/member/wal; ps -o user= -C etcd | tr -d ' '"
	prints(t, s, owner, "root:root\nroot")
	_, err = s.Kubectl(ctx, "create", "secret", "generic", "kept", "--from-literal=word=canary")
	must(t, "a secret", err)

	s.Say("== etcd gets an account of its own")
	deploy(t, s, file)
	prints(t, s, owner, "etcd:etcd\netcd")
	prints(t, s, "stat -c '%a %U' /etc/kubernetes/pki/etcd/server.key /etc/systemd/system/kubelet.service "+
		"/etc/kubernetes/kubelet.yaml /var/log/kubernetes/audit/audit.log", "600 root\n600 root\n600 root\n600 root")
	_, err = s.Kubectl(ctx, "get", "secret", "kept")
	must(t, "the secret is there", err)
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "hardened")

	s.Say("== the audit log says who read the secret, and not what is in it")
	must(t, "audit", stand.Until(ctx, time.Minute, "the audit log has it", func(ctx context.Context) error {
		out, err := s.Lab.Run(ctx, "n1", "grep '\"name\":\"kept\"' /var/log/kubernetes/audit/audit.log")
		if err != nil || !strings.Contains(out, `"verb":"get"`) || !strings.Contains(out, "kubernetes-admin") {
			return fmt.Errorf("%q %w", out, err)
		}
		return nil
	}))
	onNode(t, s, "! grep -q canary /var/log/kubernetes/audit/audit.log", "")

	s.Say("== a restored snapshot")
	snapshotAndRestore(t, s, file, "hardened", []string{"n1"}, 1)
	prints(t, s, owner, "etcd:etcd\netcd")

	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// prints wants what a script prints on n1.
func prints(t *testing.T, s *stand.Stand, script, want string) {
	t.Helper()
	if got := strings.TrimSpace(onNode(t, s, script, "")); got != want {
		t.Errorf("%s: %q, want %q", script, got, want)
	}
}
