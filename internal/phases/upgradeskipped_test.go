package phases_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// skipping runs a plan that continues without nodes that fail.
func skipping(t *testing.T, plan func(*book) *engine.Plan) (*book, engine.Summary, error) {
	t.Helper()
	b := &book{}
	skips := quick(b)
	skips.OnFailure = engine.LeaveOut
	sum, err := engine.Run(t.Context(), plan(b), skips)
	return b, sum, err
}

// A worker whose turn does not end well and that is skipped has the new kubelet already, and is closed to pods: the
// hop does not end without it, the next one does not begin, and the same command continues with the worker.
func TestAWorkerThatIsSkippedKeepsTheUpgradeUnderWay(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	o := hopsOf(t, l, "v1.34.9", "v1.35.4")
	broken := l.Nodes["w2"].State("broken/kube-proxy.service")
	put(t, broken, "")
	b, sum, err := skipping(t, func(b *book) *engine.Plan { return phases.Upgrade(l.Env(b.emit), o) })
	if !slices.Contains(sum.LeftOut, "w2") {
		t.Fatalf("%v %+v, found %v", err, sum.Failed, b.findings())
	}
	if is, closed, ours := nodeObject(l, "w2"); is != "v1.34.9" || !closed || !ours {
		t.Errorf("w2: %s, closed %v, by us %v", is, closed, ours)
	}
	why := map[string]string{}
	for _, e := range of[event.StepEnded](b) {
		if e.Why != nil {
			why[e.Step] = e.Why.Key + " " + e.Why.Args["nodes"]
		}
		if strings.HasPrefix(e.Step, "v1.35.4:") && e.Outcome != event.Skipped && e.Outcome != event.Blocked {
			t.Errorf("%s was begun: %s", e.Step, e.Outcome)
		}
	}
	if why["check.ended"] != "why.not-all-there w2" {
		t.Errorf("%q", why["check.ended"])
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || !is.Under() || is.Hops[0].Version != "v1.34.9" {
		t.Errorf("%+v, %v", is, err)
	}
	must(t, os.Remove(broken))
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, " v1.35.4")
}

// A worker that dies when the first of two versions is complete ends the run ahead of the second one, by its name, and
// no node has the second one.
func TestAWorkerThatDiesBetweenTwoVersions(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	o := hopsOf(t, l, "v1.34.9", "v1.35.4")
	o.Reached = func(context.Context, upgrade.Hop) error {
		l.Nodes["w2"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
		return nil
	}
	b, sum, err := skipping(t, func(b *book) *engine.Plan { return phases.Upgrade(l.Env(b.emit), o) })
	if err == nil {
		t.Fatalf("%+v", sum)
	}
	for component, is := range running(l) {
		if strings.HasPrefix(is, " v1.35") {
			t.Errorf("%s runs %s", component, is)
		}
	}
	named := slices.ContainsFunc(of[event.Finding](b), func(f event.Finding) bool { return f.Host == "w2" })
	failed := slices.ContainsFunc(sum.Failed, func(f event.StepEnded) bool { return strings.HasSuffix(f.Step, "/w2") })
	if !named && !failed {
		t.Errorf("w2 is not named: %+v, found %v", sum.Failed, b.findings())
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || !is.Under() {
		t.Errorf("%+v, %v", is, err)
	}
}
