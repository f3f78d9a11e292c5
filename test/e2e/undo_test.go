package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestUndo: an installation that fails at its very end is reverted, and the machines are what they were. So is a node
// that joins a cluster which lives: the node is bare again, the others have the settings that they had, the cluster
// works and a deploy has nothing to do. What would change more of that cluster is refused.
func TestUndo(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	ctx := t.Context()
	two := []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}
	file, err := s.Deploy("undo.yaml", "undo", two)
	must(t, "deploy.yaml", err)
	fails := filepath.Join(t.TempDir(), "fails.sh")
	must(t, "hook", os.WriteFile(fails, []byte("#!/bin/sh\necho the switch of the rack says no\nexit 7\n"), 0o700))
	bare := untouched(t, s, 3)

	s.Say("== an installation fails at its end")
	tr := try(t, s, 3, "deploy", "-f", file, "--on-failure", "undo", "--cluster-posthook", fails+",worker")
	must(t, "the log", tr.Has("hook.failed", "The changes of this run on n1, n2 were reverted"))
	same(t, bare, func() []lab.Snapshot { return snapshots(t, s, 3) })
	if _, err := os.Stat(filepath.Join(s.State(), "undo", "deploy.yaml")); err == nil {
		t.Error("the cluster still has a deploy.yaml of its own")
	}

	s.Say("== a node joins a cluster that lives, and the run fails at its end")
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	before := living(snapshots(t, s, 2))
	more, err := s.Deploy("more.yaml", "undo", append(two, stand.Node{Name: "n3", Roles: "n"}))
	must(t, "deploy.yaml", err)
	tr = try(t, s, 3, "deploy", "-f", more, "--on-failure", "undo", "--cluster-posthook", fails+",worker")
	must(t, "the log", tr.Has("hook.failed", "The changes of this run on n3 were reverted"))
	same(t, before, func() []lab.Snapshot { return living(snapshots(t, s, 2)) })
	same(t, bare[2:], func() []lab.Snapshot { return snapshots(t, s, 3)[2:] })
	absent(t, s, "undo", "n3")
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "deploy", "--id", "undo")
	noChange(t, s.State(), "undo")
	tr = try(t, s, 2, "deploy", "--id", "undo", "--on-failure", "undo")
	must(t, "the refusal", tr.Has("undo.living"))

	try(t, s, 0, "cleanup", "--id", "undo", "--yes", "--purge")
	same(t, bare, func() []lab.Snapshot { return snapshots(t, s, 3) })
}

// TestUndoInEveryPhase: an installation fails in one phase after another, by a setting that a component does not start
// with or a hook that fails; each time the machines are what they were.
func TestUndoInEveryPhase(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	good, err := s.Deploy("undo.yaml", "undo", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	text, err := os.ReadFile(good)
	must(t, "deploy.yaml", err)
	fails := filepath.Join(t.TempDir(), "fails.sh")
	must(t, "hook", os.WriteFile(fails, []byte("#!/bin/sh\nexit 7\n"), 0o700))
	bare := untouched(t, s, 2)
	for _, c := range []struct{ phase, component, args string }{
		{phase: "infrastructure"},
		{"etcd", "etcd", "ETCD_HEARTBEAT_INTERVAL: soon"},
		{"control-plane", "kube-apiserver", "--service-node-port-range: 31000-30000"},
		{"bootstrap", "kubelet", "--image-gc-high-threshold: 500"},
	} {
		t.Run(c.phase, func(t *testing.T) {
			args := []string{"deploy", "-f", good, "--on-failure", "undo"}
			if c.component == "" {
				args = append(args, "--cluster-prehook", fails+",worker")
			} else {
				args[2] = filepath.Join(t.TempDir(), "bad.yaml")
				bad := append(text, "config-extra-args:\n- {name: "+c.component+", extra-args: {"+c.args+"}}\n"...)
				must(t, "deploy.yaml", os.WriteFile(args[2], bad, 0o600))
			}
			tr, err := s.Try(t.Context(), "", args...)
			must(t, "deploy", err)
			s.Say("%s: exit code %d after %s", c.phase, tr.Code, tr.Took)
			if err := tr.Has("The changes of this run on n1, n2 were reverted"); err != nil || tr.Code == 0 {
				t.Errorf("exit code %d: %v\n%s", tr.Code, err, tail(tr.Out, 60))
			}
			same(t, bare, func() []lab.Snapshot { return snapshots(t, s, 2) })
		})
	}
}

// living is what does not change by itself on nodes that run workloads: settings, binaries, our record, packages, units
// and accounts.
func living(list []lab.Snapshot) []lab.Snapshot {
	for i := range list {
		files := slices.DeleteFunc(list[i].Sections["files"], func(e lab.Entry) bool {
			return e.Key == "/var/lib/eggo-node/owner" || // with the number of the last run
				!slices.ContainsFunc([]string{"/etc/", "/usr/", "/opt/", "/var/lib/eggo-node"},
					func(dir string) bool { return strings.HasPrefix(e.Key, dir) })
		})
		sections := map[string][]lab.Entry{"files": files}
		for _, name := range []string{"packages", "users", "groups", "failed units"} {
			sections[name] = list[i].Sections[name]
		}
		list[i].Sections = sections
	}
	return list
}
