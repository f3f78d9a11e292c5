package e2e

import (
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// asOps is a deploy.yaml whose machines are reached as the user ops, whose password comes from EGGO_OPS and is that of sudo too.
func asOps(t *testing.T, s *stand.Stand, base, name string) string {
	t.Helper()
	t.Setenv("EGGO_OPS", lab.OpsPassword)
	file, err := s.Vary(base, name, "username: root\n", "username: ops\n", "private-key-path: "+s.Lab.IdentityFile()+"\n", "",
		"eggo:\n", "eggo:\n  password-from: env:EGGO_OPS\n")
	must(t, name, err)
	return file
}

// TestSingleMachine is a cluster of one machine with every role, installed by a user with a password and sudo.
func TestSingleMachine(t *testing.T) {
	s := newLab(t, 1)
	ctx := t.Context()
	base, err := s.Deploy("root.yaml", "single", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file := asOps(t, s, base, "ops.yaml")
	before := snapshots(t, s, 1)

	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "single")

	plain := try(t, s, 0, "cleanup", "-f", file, "--yes")
	if err := plain.Has("kept: ", "/var/lib/containerd", "etcd's snapshot: "); err != nil {
		t.Errorf("a plain cleanup says what it kept: %v\n%s", err, tail(plain.Out, 40))
	}
	if kept, err := filepath.Glob(filepath.Join(s.State(), "single", "snapshots", "*.db")); err != nil || len(kept) != 1 {
		t.Errorf("not one snapshot of etcd: %v %v", kept, err)
	}
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })
	secretFree(t, filepath.Join(s.State(), "single", "runs"), lab.OpsPassword)
}
