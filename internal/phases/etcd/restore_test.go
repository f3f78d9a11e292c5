package etcd_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/shell"
)

// step is the one of a name.
func step(t *testing.T, steps []*engine.Step, id string) *engine.Step {
	t.Helper()
	i := slices.IndexFunc(steps, func(s *engine.Step) bool { return s.ID == id })
	if i < 0 {
		t.Fatal("no step", id)
	}
	return steps[i]
}

// The same file restored again is the restore that was begun, until that has ended.
func TestARestoreContinuesWhereItWasInterrupted(t *testing.T) {
	f := newFake(t, "e1")
	var kept []env.Kept
	f.env.Persist = func(_ context.Context, what env.Kept) error { kept = append(kept, what); return nil }
	of := func(sum string) (*etcd.Restore, *engine.Step) {
		t.Helper()
		r, err := f.Restore(&etcd.SnapshotFile{SHA256: sum})
		if err != nil {
			t.Fatal(err)
		}
		return r, step(t, r.Prepare(), "restore.begin")
	}
	first, begin := of("a")
	if done, err := begin.Check(t.Context()); done || err != nil {
		t.Fatal("begun before it was:", err)
	}
	if err := begin.Apply(t.Context()); err != nil || !slices.Equal(kept, []env.Kept{env.KeptRestore}) {
		t.Fatal(err, kept)
	}
	again, begin := of("a")
	if done, err := begin.Check(t.Context()); !done || err != nil || again.Places != first.Places {
		t.Error("it begins again:", again.Places, first.Places, err)
	}
	other, begin := of("b")
	if done, err := begin.Check(t.Context()); done || err != nil || other.Places == first.Places {
		t.Error("another file continues it", err)
	}
	end := step(t, again.ComeBack(nil), "check.restored")
	for range 2 {
		if err := end.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := etcd.ReadBegun(f.env.StateDir); err != nil || b.Token != "" {
		t.Error("it is still under way:", b, err)
	}
	if got := f.notices(); !slices.Contains(got, "notice.restore-old") {
		t.Errorf("told %q", got)
	}
	if err := os.WriteFile(filepath.Join(f.env.StateDir, "restore.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := f.Restore(&etcd.SnapshotFile{})
	wantFault(t, err, "state.read", "restore.json")
}

// A member that answers with the old data was not restored, whatever it says of its health.
func TestARestoreIsVerifiedByItsRevision(t *testing.T) {
	f := newFake(t, "e1 e2")
	r, err := f.Restore(&etcd.SnapshotFile{Revision: 7})
	if err != nil {
		t.Fatal(err)
	}
	health := step(t, r.Exchange(), "restore.health")
	f.revision = 1_000_000_006
	got := wantFault(t, health.Verify(t.Context()), "restore.not-restored", "")
	if got.Node != "e1" || got.Args["revision"] != "1000000006" || got.Retry {
		t.Errorf("%+v", got)
	}
	f.revision++
	if err := health.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	f.sick["e2"] = true
	if got := wantFault(t, health.Verify(t.Context()), "etcd.unhealthy", ""); got.Node != "e2" {
		t.Errorf("%+v", got)
	}
}

// host is this machine's, for scripts that only ask.
type host struct{ node.Host }

func (host) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", c.Script).Output()
	return shell.Result{Stdout: out}, err
}

func TestHowFarAMemberIsShowsInItsDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here")
	nd, p := node.New(host{}, nil), etcd.Begun{Token: "x"}.Places(filepath.Join(dir, "data"))
	for i, c := range []struct {
		dirs []string
		want string
	}{
		{nil, ""}, {[]string{p.Data}, ""}, {[]string{p.Data, p.Fresh}, "made"},
		{[]string{p.Old, p.Fresh}, "made touched"}, {[]string{p.Old, p.Data}, "made touched exchanged"},
		{[]string{p.Old}, "made touched exchanged"},
	} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for _, d := range c.dirs {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, q := range []struct {
			name string
			ask  func(context.Context, *node.Node) (bool, error)
		}{{"made", p.Made}, {"touched", p.Touched}, {"exchanged", p.Exchanged}} {
			yes, err := q.ask(t.Context(), nd)
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				got = append(got, q.name)
			}
		}
		if is := strings.Join(got, " "); is != c.want {
			t.Errorf("%d: %q, want %q", i, is, c.want)
		}
	}
}
