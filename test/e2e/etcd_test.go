package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestEtcdSnapshotAndRestore: what was there at the snapshot is there again, what came later is not, and the workload
// never stands still.
func TestEtcdSnapshotAndRestore(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	file, err := s.Deploy("deploy.yaml", "etcd", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 2)
	deploy(t, s, file)
	snapshotAndRestore(t, s, file, "etcd", []string{"n1"}, 2)
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// snapshotAndRestore proves both on a cluster with these members of etcd and so many kubelets.
func snapshotAndRestore(t *testing.T, s *stand.Stand, file, cluster string, members []string, kubelets int) {
	ctx := t.Context()
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := s.Kubectl(ctx, args...)
		must(t, strings.Join(args, " "), err)
		return out
	}
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "first use", s.Works(ctx, kubelets))
	kubectl("create", "configmap", "first", "--from-literal=x=1")
	pods := kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.uid}")
	snapshot := filepath.Join(s.Dir, "etcd.db")
	must(t, "old snapshot", os.RemoveAll(snapshot))
	got := try(t, s, 0, "etcd", "snapshot", "-f", file, "--out", snapshot)
	must(t, "what it says", got.Has(snapshot, "revision", "sha256"))
	kubectl("delete", "configmap", "first")
	kubectl("create", "configmap", "second", "--from-literal=x=2")

	s.Say("== a damaged snapshot is refused")
	data, err := os.ReadFile(snapshot)
	must(t, "snapshot", err)
	bad := filepath.Join(s.Dir, "bad.db")
	data[len(data)/3] ^= 1
	must(t, "bad snapshot", os.WriteFile(bad, data, 0o600))
	must(t, "why", try(t, s, 5, "etcd", "restore", bad, "-f", file, "--yes").Has("snapshot.damaged"))
	must(t, "bad snapshot", os.WriteFile(bad, data[:len(data)/2], 0o600))
	must(t, "why", try(t, s, 5, "etcd", "restore", bad, "-f", file, "--yes").Has("snapshot.truncated"))

	s.Say("== the plan of the restore names what stops, and stops nothing")
	must(t, "plan", try(t, s, 0, "plan", "etcd", "restore", snapshot, "-f", file).Has("kube-apiserver",
		"start etcd", members[0]))
	kubectl("get", "configmap", "second")

	s.Say("== restore, while a client asks the Service twice a second")
	watch := watchService(t, s, fmt.Sprintf("n%d", min(kubelets, 2)), "n1")
	try(t, s, 0, "etcd", "restore", snapshot, "-f", file, "--yes")
	asked, failed := watch()
	s.Say("the Service was asked %d times meanwhile, %d times in vain", asked, failed)
	if asked == 0 || failed > 0 {
		t.Errorf("the workload stood still: %d of %d calls failed", failed, asked)
	}
	if out := kubectl("get", "configmap", "-o", "name"); !strings.Contains(out, "configmap/first") ||
		strings.Contains(out, "configmap/second") {
		t.Errorf("after the restore: %s", out)
	}
	must(t, "use after the restore", s.Works(ctx, kubelets))
	if now := kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.uid}"); now != pods {
		t.Errorf("the pods were %s and are %s", pods, now)
	}
	kubectl("rollout", "restart", "deployment/web")
	kubectl("rollout", "status", "deployment/web", "--timeout=120s")
	must(t, "use of new pods", s.Works(ctx, kubelets))
	for _, m := range members {
		out, err := s.Lab.Run(ctx, m, "ls -d /var/lib/etcd/default.etcd.before-*")
		if err != nil || strings.Count(out, "\n") != 1 {
			t.Errorf("%s has kept %q, %v", m, out, err)
		}
	}
	deploy(t, s, file)
	noChange(t, s.State(), cluster)
}

// watchService asks the workload's Service from a node through the NodePort of another, twice a second until the
// function that it returns is called, which says how often it asked and how often in vain.
func watchService(t *testing.T, s *stand.Stand, from, through string) func() (asked, failed int) {
	t.Helper()
	ip, err := s.Lab.Address(through)
	must(t, "address", err)
	ctx, stop := context.WithCancel(t.Context())
	c := s.Lab.SSH(ctx, from,
		fmt.Sprintf("while sleep 0.5; do curl -sS -m 2 http://%s:30080/hostname >/dev/null 2>&1 && echo ok || echo "+
			"failed; done", ip))
	var out bytes.Buffer
	c.Stdout = &out
	c.WaitDelay = 5 * time.Second
	must(t, "client", c.Start())
	return func() (int, int) {
		stop()
		_ = c.Wait() // it was stopped
		return strings.Count(out.String(), "\n"), strings.Count(out.String(), "failed")
	}
}
