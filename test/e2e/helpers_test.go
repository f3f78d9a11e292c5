package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// full leaves a scenario to make e2e-full.
func full(t *testing.T) {
	t.Helper()
	if os.Getenv("EGGO_E2E_FULL") != "1" {
		t.Skip("runs with make e2e-full")
	}
}

// turn is for scenarios of CI that take turns, a third of them at a time: those of turn k run when the number in TURN,
// which .ci/run sets, leaves k when it is divided by three, and the time in EGGO_E2E_UNTIL has not come. make e2e runs
// all of them.
func turn(t *testing.T, k int) {
	t.Helper()
	number, _, _ := strings.Cut(os.Getenv("TURN"), "/")
	if n, err := strconv.Atoi(number); err == nil && n%3 != k {
		t.Skipf("turn %s of CI runs others; those whose number leaves %d by three run it, and so does make e2e",
			os.Getenv("TURN"), k)
	}
	if until, err := strconv.ParseInt(os.Getenv("EGGO_E2E_UNTIL"), 10, 64); err == nil && time.Now().Unix() > until {
		t.Skip("LEFT OUT: CI has no time left for it on a machine as slow as this one; make e2e runs it")
	}
}

// newLab is a stand with programs, a bundle and n running nodes, which are taken away at the end.
func newLab(t *testing.T, n int) *stand.Stand {
	t.Helper()
	return newLabWith(t, n)
}

// newLabWith is newLab, with nodes of Debian 13 among the others.
func newLabWith(t *testing.T, n int, thirteen ...string) *stand.Stand {
	t.Helper()
	return newLabOf(t, n, func(l *lab.Lab) { l.OfDebian13(thirteen...) })
}

// newLabOf is newLab, with nodes of other kinds among the others.
func newLabOf(t *testing.T, n int, of func(*lab.Lab)) *stand.Stand {
	t.Helper()
	s := newStand(t)
	ctx := t.Context()
	must(t, "build", s.Build(ctx))
	pack(t, s)
	t.Cleanup(func() {
		if err := s.EndRuns(context.WithoutCancel(ctx)); err != nil { // or they work on while the nodes go
			t.Error(err)
		}
		if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
			t.Error(err)
		}
	})
	of(s.Lab)
	must(t, "lab", s.Lab.Up(ctx, n))
	must(t, "old state", os.RemoveAll(s.State())) // of another run in the same directory: these nodes are new
	return s
}

// try runs eggo-tui and wants an exit code.
func try(t *testing.T, s *stand.Stand, want int, args ...string) stand.Try {
	t.Helper()
	return tryFrom(t, s, "", want, args...)
}

// tryFrom is try on a jump host of another state directory.
func tryFrom(t *testing.T, s *stand.Stand, state string, want int, args ...string) stand.Try {
	t.Helper()
	got, err := s.Try(t.Context(), state, args...)
	must(t, strings.Join(args, " "), err)
	s.Say("eggo-tui %s: exit code %d after %s", strings.Join(args, " "), got.Code, got.Took)
	if got.Code != want {
		t.Fatalf("eggo-tui %s: exit code %d, want %d\n%s", strings.Join(args, " "), got.Code, want, tail(got.Out, 40))
	}
	return got
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// noChange wants the newest run of a cluster to have announced no change.
func noChange(t *testing.T, state, cluster string) {
	t.Helper()
	runs, err := stand.Runs(state, cluster)
	must(t, "event logs", err)
	for _, r := range runs[len(runs)-1] {
		if c, ok := r.Event.(event.Change); ok {
			t.Errorf("a change was announced: %s on %s: %v", c.Step, c.Host, c.Desc)
		}
	}
}

// restarts says of each pod how often its containers were restarted, but for pods whose name begins with one of those
// given: namespace/name=counts.
func restarts(t *testing.T, s *stand.Stand, but ...string) []string {
	t.Helper()
	out, err := s.Kubectl(t.Context(), "get", "pods", "-A", "-o", "jsonpath={range.items[*]}{.metadata.namespace}/"+
		"{.metadata.name}={.status.containerStatuses[*].restartCount},{end}")
	must(t, "pods", err)
	pods := strings.Split(strings.TrimSuffix(strings.TrimSpace(out), ","), ",")
	return slices.DeleteFunc(pods, func(pod string) bool {
		return slices.ContainsFunc(but, func(name string) bool { return strings.HasPrefix(pod, name) })
	})
}

// noRestart wants all pods that were there to be there, and none of their containers to have been restarted.
func noRestart(t *testing.T, before, after []string) {
	t.Helper()
	if len(before) < 2 {
		t.Errorf("not the pods of a cluster: %q", before)
	}
	for _, pod := range before {
		if !slices.Contains(after, pod) {
			t.Errorf("%s was restarted: %q", pod, after)
		}
	}
}

// same wants the machines to be what they were. What a run started there may take a moment to end (the shell that
// watched over it, a login's session), so a difference counts when it stays.
func same(t *testing.T, before []lab.Snapshot, now func() []lab.Snapshot) {
	t.Helper()
	sameWithin(t, 20*time.Second, before, now)
}

func sameWithin(t *testing.T, limit time.Duration, before []lab.Snapshot, now func() []lab.Snapshot) {
	t.Helper()
	var left []string
	for end := time.Now().Add(limit); ; {
		after := now()
		left = nil
		for i := range before {
			for _, d := range lab.Diff(before[i], after[i]) {
				left = append(left, fmt.Sprintf("%s is not what it was: %s", before[i].Node, d))
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			break
		}
		t.Logf("not yet what it was: %s", strings.Join(left, "; "))
		must(t, "wait", t.Context().Err())
	}
	for _, d := range left {
		t.Error(d)
	}
}

// otherJumpHost is a state directory that knows nothing of the cluster but has the bundles, so that they need not be
// unpacked again.
func otherJumpHost(t *testing.T, s *stand.Stand, name string) string {
	t.Helper()
	dir := filepath.Join(s.Dir, name)
	must(t, "other state", os.RemoveAll(dir))
	must(t, "other state", os.MkdirAll(dir, 0o700))
	return dir
}

// secretFree wants a secret to stand in no file below a directory.
func secretFree(t *testing.T, dir, secret string) {
	t.Helper()
	must(t, "search "+dir, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), secret) {
			err = fmt.Errorf("%s has a secret in it", path)
		}
		return err
	}))
}
