package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestBackupAndLossOfAllMachines: all machines and what the control host has are lost; from the backup the cluster
// comes up on machines with other names and addresses, with the workload and the Secrets of before.
func TestBackupAndLossOfAllMachines(t *testing.T) {
	full(t)
	s, ctx := newLab(t, 4), t.Context()
	file, err := s.Deploy("old.yaml", "saved", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "old.yaml", err)
	fresh, err := s.Deploy("new.yaml", "saved", []stand.Node{{Name: "n3", Roles: "mne"}, {Name: "n4", Roles: "n"}})
	must(t, "new.yaml", err)
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := s.Kubectl(ctx, args...)
		must(t, strings.Join(args, " "), err)
		return out
	}
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "first use", s.Works(ctx, 2))
	kubectl("create", "secret", "generic", "first", "--from-literal=x=kept")

	s.Say("== a backup, verified by a real etcd")
	word := filepath.Join(s.Dir, "word")
	must(t, "passphrase", os.WriteFile(word, []byte("correct horse battery"), 0o600))
	dir := filepath.Join(s.Dir, "backups")
	must(t, "old backups", os.RemoveAll(dir))
	try(t, s, 0, "backup", "run", "-f", file, "--dir", dir, "--keep", "1", "--passphrase-from", "file:"+word)
	found, err := filepath.Glob(filepath.Join(dir, "saved_*.tar.zst.age"))
	must(t, "backups", err)
	if len(found) != 1 {
		t.Fatal(found)
	}
	must(t, "what is proven", try(t, s, 0, "backup", "verify", found[0], "--passphrase-from", "file:"+word, "--output",
		"json").Has(`"etcd":true`, `"cluster":"saved"`))
	kubectl("create", "secret", "generic", "second", "--from-literal=x=lost")

	s.Say("== damaged, and with another passphrase, it is refused")
	data, err := os.ReadFile(found[0])
	must(t, "backup", err)
	bad := filepath.Join(s.Dir, "bad.age")
	must(t, "bad backup", os.WriteFile(bad, data[:len(data)/2], 0o600))
	must(t, "why", try(t, s, 5, "backup", "restore", bad, "--yes", "--passphrase-from", "file:"+word).
		Has("backup.damaged"))
	other := filepath.Join(s.Dir, "other")
	must(t, "passphrase", os.WriteFile(other, []byte("another one"), 0o600))
	must(t, "why", try(t, s, 2, "backup", "restore", found[0], "--yes", "--passphrase-from", "file:"+other).
		Has("backup.wrong-key"))

	s.Say("== onto the machines that there are: what came later is gone")
	try(t, s, 0, "backup", "restore", found[0], "--yes", "--passphrase-from", "file:"+word)
	if out := kubectl("get", "secret", "-o", "name"); !strings.Contains(out, "secret/first") ||
		strings.Contains(out, "secret/second") {
		t.Errorf("after the restore: %s", out)
	}

	s.Say("== all machines and the control host are lost")
	for _, n := range []string{"n1", "n2"} {
		must(t, "power cut", s.Lab.Kill(ctx, n))
	}
	must(t, "loss", os.RemoveAll(filepath.Join(s.State(), "saved")))
	s.Admin = "n3"
	try(t, s, 0, "backup", "restore", found[0], "-f", fresh, "--yes", "--passphrase-from", "file:"+word)
	if out := kubectl("get", "secret", "first", "-o", "jsonpath={.data.x}"); out != "a2VwdA==" {
		t.Errorf("the Secret is %q", out)
	}
	if out := kubectl("get", "nodes", "-o", "name"); strings.Contains(out, "n1") || !strings.Contains(out, "n4") {
		t.Error(out)
	}
	// The first node that came took all replicas.
	kubectl("rollout", "restart", "deployment/web")
	kubectl("rollout", "status", "deployment/web", "--timeout=180s")
	must(t, "use after the restore", s.WorksOn(ctx, "n3", "n4"))
	try(t, s, 0, "deploy", "-f", fresh)
	try(t, s, 0, "cleanup", "-f", fresh, "--yes", "--purge")
}
