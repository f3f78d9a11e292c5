package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// moveTo puts one of the workload's two replicas onto a node: the one that is on from.
func moveTo(t *testing.T, s *stand.Stand, from, to string) {
	t.Helper()
	kubectl := func(args ...string) string {
		out, err := s.Kubectl(t.Context(), args...)
		must(t, "kubectl "+strings.Join(args, " "), err)
		return out
	}
	kubectl("cordon", from)
	kubectl("delete", "pod", "-l", "app=web", "--field-selector", "spec.nodeName="+from)
	must(t, "a replica on "+to, stand.Until(t.Context(), 2*time.Minute, "a replica on "+to,
		func(ctx context.Context) error {
			out, err := s.Kubectl(ctx, "get", "pods", "-l", "app=web", "--field-selector", "spec.nodeName="+to,
				"--no-headers")
			if err == nil && !strings.Contains(out, "1/1") {
				err = fmt.Errorf("%q", out)
			}
			return err
		}))
	kubectl("uncordon", from)
}

// address of a lab node.
func address(t *testing.T, s *stand.Stand, name string) string {
	t.Helper()
	ip, err := s.Lab.Address(name)
	must(t, name, err)
	return ip
}

// absent wants the cluster to know nothing of a node.
func absent(t *testing.T, s *stand.Stand, cluster, name string) {
	t.Helper()
	if out, err := s.Kubectl(t.Context(), "get", "nodes", "-o", "name"); err != nil ||
		strings.Contains(out, "node/"+name) {
		t.Errorf("nodes: %s %v", out, err)
	}
	data, err := os.ReadFile(filepath.Join(s.State(), cluster, "deploy.yaml"))
	if err != nil || strings.Contains(string(data), "name: "+name+"\n") {
		t.Errorf("the cluster's own deploy.yaml: %v\n%s", err, data)
	}
	if _, err := os.Stat(filepath.Join(s.State(), cluster, "pki", "nodes", name)); err == nil {
		t.Errorf("certificates of %s are still on the jump host", name)
	}
	if out, err := s.Lab.Run(t.Context(), s.Admin, "grep ' "+name+"$' /etc/hosts || true"); err != nil || out != "" {
		t.Errorf("%s still names it: %q %v", s.Admin, out, err)
	}
}

const budget = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
`

// budgeted deletes a worker whose pod's disruption budget allows no eviction: at first in vain, and all is as it was;
// then the budget goes while the drain waits for it.
func budgeted(t *testing.T, s *stand.Stand, cluster, node string) stand.Try {
	t.Helper()
	ctx := t.Context()
	must(t, "budget", s.Apply(ctx, budget))
	vain := try(t, s, 1, "delete", "--id", cluster, "--yes", "--purge", "--drain-timeout", "15s", node)
	if err := vain.Has("waiting for the eviction of default/web-", "disruption budget", "leave.drain-timeout",
		"--drain-timeout"); err != nil {
		t.Errorf("why the drain ended: %v\n%s", err, tail(vain.Out, 30))
	}
	must(t, "use after a drain in vain", s.Works(ctx, 3))
	must(t, "status", stand.Until(ctx, time.Minute, "all is well", func(ctx context.Context) error {
		// other pods were evicted
		got, err := s.Try(ctx, "", "status", "--id", cluster)
		if err == nil && got.Code != 0 {
			err = fmt.Errorf("exit code %d: %s", got.Code, got.Out)
		}
		return err
	}))
	try(t, s, 0, "deploy", "--id", cluster)
	noChange(t, s.State(), cluster)

	r, err := s.Start(ctx, "", "delete", "--id", cluster, "--yes", "--purge", node)
	must(t, "delete", err)
	waits, err := r.When(ctx, cluster, func(runs [][]event.Record) bool {
		return slices.ContainsFunc(runs[len(runs)-1], func(r event.Record) bool {
			n, ok := r.Event.(event.Notice)
			return ok && n.Text.Key == "notice.drain-waits"
		})
	})
	must(t, "delete", err)
	_, err = s.Kubectl(ctx, "delete", "poddisruptionbudget", "web")
	must(t, "the budget's end", err)
	gone, err := r.Wait()
	must(t, "delete", err)
	if !waits || gone.Code != 0 {
		t.Fatalf("the drain waited: %v, exit code %d\n%s", waits, gone.Code, tail(gone.Out, 40))
	}
	return gone
}

// TestWorkerComesAndGoes: a worker joins, carries pods, has its Node deleted by hand and is registered again, and
// leaves as it came.
func TestWorkerComesAndGoes(t *testing.T) {
	turn(t, 1)
	thirteen := otherRelease(t) == "13" // the one that comes and goes
	s := newLabWith(t, 3, map[bool][]string{true: {"n3"}}[thirteen]...)
	ctx := t.Context()
	file, err := s.Deploy("comings.yaml", "comings", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	if thirteen {
		file, err = s.Vary(file, "comings-13.yaml", "eggo:\n", "eggo:\n  bundles: [\""+debian13Bundle(t, s)+"\"]\n")
		must(t, "deploy.yaml", err)
	}
	before := untouched(t, s, 3)
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))

	// The machine is asked for its architecture; the other nodes learn its name.
	try(t, s, 0, "join", "--id", "comings", "--name", "n3", address(t, s, "n3"))
	must(t, "use", s.Works(ctx, 3))
	try(t, s, 0, "join", "--id", "comings", "--name", "n3", address(t, s, "n3"))
	noChange(t, s.State(), "comings")
	if got := try(t, s, 5, "deploy", "-f", file); got.Has("n3", "delete n3 --id comings") != nil {
		t.Errorf("a deploy.yaml without n3 is refused by name:\n%s", tail(got.Out, 20))
	}

	_, err = s.Kubectl(ctx, "delete", "node", "n3")
	must(t, "delete node", err)
	try(t, s, 0, "deploy", "--id", "comings")
	must(t, "use after its Node was deleted by hand", s.Works(ctx, 3))

	moveTo(t, s, "n1", "n3")
	gone := budgeted(t, s, "comings", "n3")
	if err := gone.Has("evict from n3"); err != nil {
		t.Error(err)
	}
	absent(t, s, "comings", "n3")
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "comings")
	try(t, s, 2, "delete", "--id", "comings", "--yes", "n1")
	try(t, s, 0, "cleanup", "--id", "comings", "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}
