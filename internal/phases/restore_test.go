package phases_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// saved takes a snapshot of the lab's etcd.
func saved(t *testing.T, l *phasestest.Lab) *phases.SnapshotFile {
	t.Helper()
	b := &book{}
	path := filepath.Join(t.TempDir(), "out", "snapshot.db")
	sum, err := engine.Run(t.Context(), phases.Snapshot(l.Env(b.emit), path),
		engine.Options{Emit: b.emit, Limits: phases.Limits()})
	if err != nil || len(sum.Failed) > 0 {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if len(of[event.Change](b)) > 0 {
		t.Error("a snapshot changed", of[event.Change](b))
	}
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o600 {
		t.Error("the file:", i, err)
	}
	s, err := phases.ReadSnapshot(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func restore(t *testing.T, l *phasestest.Lab, s *phases.SnapshotFile) (*book, engine.Summary) {
	t.Helper()
	b := &book{}
	p, err := phases.Restore(l.Env(b.emit), s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := engine.Run(t.Context(), p, engine.Options{Emit: b.emit, Limits: phases.Limits()})
	if err != nil && len(sum.Failed) == 0 {
		t.Fatal(err)
	}
	return b, sum
}

// oldData are the directories that restores have kept.
func oldData(t *testing.T, l *phasestest.Lab) []string {
	t.Helper()
	found, err := filepath.Glob(l.Nodes["m1"].Path("/var/lib/etcd/*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		if filepath.Base(f) != "default.etcd" {
			out = append(out, filepath.Base(f))
		}
	}
	return out
}

func TestARestoreKeepsTheOldDataAndEverythingRunsAgain(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	s := saved(t, l)
	for k := 1; k <= 2; k++ { // the same file again is another restore
		b, sum := restore(t, l, s)
		if len(sum.Failed) > 0 {
			t.Fatalf("%+v", sum.Failed)
		}
		if !slices.Contains(b.notices(), "notice.restore-old") ||
			!slices.Contains(b.notices(), "notice.snapshot-saved") {
			t.Error("told:", b.notices())
		}
		if old := oldData(t, l); len(old) != k || !strings.HasPrefix(old[0], "default.etcd.before-") {
			t.Error("kept:", old)
		}
		if files, err := filepath.Glob(filepath.Join(l.StateDir(), "snapshots", "*")); err != nil || len(files) == 0 {
			t.Error("what was there before is not saved", files, err)
		}
		for _, u := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			if _, err := os.Stat(l.Nodes["m1"].State("active/" + u + ".service")); err != nil {
				t.Error(u, "does not run")
			}
		}
		if left, _ := filepath.Glob(l.Nodes["m1"].Path("/var/lib/eggo-node/restore-*")); len(left) > 0 {
			t.Error("left:", left)
		}
	}
	if b := deploy(t, l); len(of[event.Change](b)) > 0 {
		t.Error("a deploy after it changed", of[event.Change](b))
	}
	cleanup(t, l, purge)
	if old := oldData(t, l); len(old) > 0 {
		t.Error("cleanup left", old)
	}
}

// TestARestoreThatWasInterruptedContinues: each change in turn is the last one that is made; the same command then
// finishes, with one copy of the old data and the old data in it.
func TestARestoreThatWasInterruptedContinues(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(0))
	s := saved(t, l)
	stop := errors.New("cut off")
	for at := 1; ; at++ {
		if err := os.WriteFile(l.Nodes["m1"].Path("/var/lib/etcd/default.etcd/mark"), []byte{byte(at)},
			0o600); err != nil {
			t.Fatal(err)
		}
		before := len(oldData(t, l))
		b, changes := &book{}, 0
		emit := func(e event.Event) error {
			if _, is := e.(event.Change); is {
				if changes++; changes > at {
					return stop
				}
			}
			return b.emit(e)
		}
		p, err := phases.Restore(l.Env(emit), s)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := engine.Run(t.Context(), p, engine.Options{Emit: emit, Limits: phases.Limits()})
		done := err == nil && len(sum.Failed) == 0
		if !done {
			if _, sum := restore(t, l, s); len(sum.Failed) > 0 {
				t.Fatalf("cut off after %d changes: %+v", at, sum.Failed)
			}
		}
		old := oldData(t, l)
		if len(old) != before+1 {
			t.Fatalf("cut off after %d changes: kept %v", at, old)
		}
		found := false
		for _, o := range old {
			mark, err := os.ReadFile(l.Nodes["m1"].Path("/var/lib/etcd/" + o + "/mark"))
			found = found || err == nil && mark[0] == byte(at)
		}
		if !found {
			t.Fatalf("cut off after %d changes: the old data are gone", at)
		}
		if done {
			if at < 5 {
				t.Errorf("only %d changes", at)
			}
			return
		}
	}
}

func TestARestoreIsRefusedBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	s := saved(t, l)
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	if err := phasestest.WriteSnapshot(foreign, []byte("another authority")); err != nil {
		t.Fatal(err)
	}
	other, err := phases.ReadSnapshot(t.Context(), foreign)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(s *phases.SnapshotFile, code string) {
		t.Helper()
		b, sum := restore(t, l, s)
		if len(sum.Failed) == 0 || !slices.Contains(b.findings(), code) || len(of[event.Change](b)) > 0 {
			t.Errorf("not %s: %v, changes %v", code, b.findings(), of[event.Change](b))
		}
	}
	refused(other, "preflight.snapshot-foreign")
	if err := os.Remove(l.Nodes["m1"].Path("/usr/local/bin/etcdutl")); err != nil {
		t.Fatal(err)
	}
	refused(s, "preflight.restore-no-etcdutl")
	l.Nodes["m1"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	b, sum := restore(t, l, s)
	if len(sum.Failed) == 0 || len(of[event.Change](b)) > 0 {
		t.Errorf("without its member: %v, changes %v", b.findings(), of[event.Change](b))
	}
}

// TestADeployWaitsForARestoreThatIsHalfDone: what it would start are members with two different pasts.
func TestADeployWaitsForARestoreThatIsHalfDone(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(0))
	put(t, filepath.Join(l.StateDir(), "restore.json"), `{"SHA256":"x","Token":"abcdefghij"}`)
	deploy(t, l) // nothing was exchanged yet
	data := l.Nodes["m1"].Path("/var/lib/etcd/default.etcd")
	for _, kind := range []string{".before-", ".restore-"} {
		if err := os.Mkdir(data+kind+"abcdefghij", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b, _, err := run(t, l, phases.Deploy)
	if err == nil || !slices.Contains(b.findings(), "preflight.restore-half") || len(of[event.Change](b)) > 0 {
		t.Error(err, b.findings(), of[event.Change](b))
	}
	if err := os.Remove(data + ".restore-abcdefghij"); err != nil {
		t.Fatal(err)
	}
	deploy(t, l) // all members have their new data
}

// TestARestoreIsOfAllMembers: one that the file no longer names would live on with the old data.
func TestARestoreIsOfAllMembers(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	s, b := saved(t, l), &book{}
	env := l.Env(b.emit)
	had := *l.Cluster
	had.Nodes = append(slices.Clone(had.Nodes), config.Node{Name: "m9", IP: had.Nodes[1].IP.Next().Next(),
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}})
	env.Saved = &had
	p, err := phases.Restore(env, s)
	if err != nil {
		t.Fatal(err)
	}
	sum, _ := engine.Run(t.Context(), p, engine.Options{Emit: b.emit, Limits: phases.Limits()})
	if len(sum.Failed) == 0 || !slices.Contains(b.findings(), "preflight.node-lost") || len(of[event.Change](b)) > 0 {
		t.Error(sum.Failed, b.findings(), of[event.Change](b))
	}
}

// TestThePlanOfARestoreSaysWhatStopsAndStarts: what would be stopped is started again in the plan too, and nothing is
// done.
func TestThePlanOfARestoreSaysWhatStopsAndStarts(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	s := saved(t, l)
	b, _ := dryRun(t, l, func(e phases.Env) *engine.Plan {
		p, err := phases.Restore(e, s)
		if err != nil {
			t.Error(err)
			return &engine.Plan{}
		}
		return p
	})
	var got []string
	for _, c := range of[event.Change](b) {
		if c.Host == "m1" {
			got = append(got, strings.TrimSpace(c.Desc.Key+" "+c.Desc.Args["unit"]))
		}
	}
	for _, want := range []string{"change.restore-stop", "change.restore-exchange", "change.start etcd",
		"change.start kube-apiserver", "change.start kube-controller-manager kube-scheduler"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in the plan: %v", want, got)
		}
	}
	if n := b.notices(); slices.Contains(n, "notice.restore-old") || slices.Contains(n, "notice.no-snapshot") {
		t.Error("told as if it were done:", n)
	}
}
