// Package e2e installs real clusters on real nodes of the lab. It runs as root with EGGO_E2E=1; make e2e sets that.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// testLog lets a stand print through the test while it runs.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

func newStand(t *testing.T) *stand.Stand {
	t.Helper()
	if os.Getenv("EGGO_E2E") != "1" {
		t.Skip("needs a Linux machine and root: run it by make e2e")
	}
	take(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("EGGO_E2E_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	noNodes(t)
	s, err := stand.New(root, dir, testLog{t})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noNodes ends the nodes that a killed run left behind, so that every test begins with fresh disks.
func noNodes(t *testing.T) {
	t.Helper()
	l, err := lab.Open(lab.Options{Out: testLog{t}})
	must(t, "lab", err)
	must(t, "nodes of an earlier run", l.Down(t.Context(), true))
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestClusterFromNothingAndBack is the life of a cluster: packed, installed, used, rebooted, installed again in vain,
// removed without a trace, and installed once more.
func TestClusterFromNothingAndBack(t *testing.T) {
	full(t)
	s := newStand(t)
	ctx := t.Context()
	must(t, "build", s.Build(ctx))
	pack(t, s)
	must(t, "lab", s.Lab.Up(ctx, 3))
	t.Cleanup(func() {
		if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
			t.Error(err)
		}
	})
	file, err := s.Deploy("deploy.yaml", "e2e", stand.OneAndTwo())
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 3)

	s.Say("== first deploy")
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "first use", s.Works(ctx, 3))

	s.Say("== second deploy changes nothing")
	deploy(t, s, file)
	log, err := s.LastRun("e2e")
	must(t, "event log", err)
	if n := bytes.Count(log, []byte(`"type":"change"`)); n != 0 {
		t.Errorf("the second deploy announced %d changes", n)
	}

	s.Say("== every node is rebooted")
	for _, n := range []string{"n1", "n2", "n3"} {
		must(t, "reboot "+n, s.Lab.Reboot(ctx, n))
	}
	must(t, "use after the reboot", s.Works(ctx, 3))
	deploy(t, s, file)

	s.Say("== cleanup --purge leaves nothing")
	if code, err := s.Eggo(ctx, "cleanup", "-f", file, "--yes", "--purge"); err != nil || code != 0 {
		t.Fatalf("cleanup: exit code %d, %v", code, err)
	}
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })

	s.Say("== a fresh deploy works again")
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "second use", s.Works(ctx, 3))
}

func deploy(t *testing.T, s *stand.Stand, file string) {
	t.Helper()
	began := time.Now()
	code, err := s.Eggo(t.Context(), "deploy", "-f", file)
	if err != nil || code != 0 {
		t.Fatalf("deploy: exit code %d, %v", code, err)
	}
	s.Say("deploy took %s", time.Since(began).Round(100*time.Millisecond))
}

// untouched is the state of machines that have just started and settled.
func untouched(t *testing.T, s *stand.Stand, n int) []lab.Snapshot {
	t.Helper()
	out := make([]lab.Snapshot, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() { out[k], errs[k] = s.Lab.Settled(t.Context(), fmt.Sprintf("n%d", k+1)) })
	}
	wg.Wait()
	must(t, "before", errors.Join(errs...))
	return out
}

func snapshots(t *testing.T, s *stand.Stand, n int) []lab.Snapshot {
	t.Helper()
	var out []lab.Snapshot
	for k := 1; k <= n; k++ {
		snap, err := s.Lab.Snapshot(t.Context(), fmt.Sprintf("n%d", k))
		must(t, "snapshot", err)
		out = append(out, snap)
	}
	return out
}
