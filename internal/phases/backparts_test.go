package phases_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// backFrom are the options of the way back.
func backFrom(begun upgrade.Begun) upgrade.Options {
	return upgrade.Options{Begun: begun, Drain: time.Minute}
}

// taken goes the way back from the upgrade under way.
func taken(begun upgrade.Begun) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan { return phases.Back(e, backFrom(begun)) }
}

// A worker that went away in the soak has nothing to go back to: the others go without it, and the upgrade is over.
func TestTheWayBackWithoutAWorkerThatIsAway(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	o := hopsOf(t, l, "v1.35.4")
	o.Probe = "false"
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("the soak ended well")
	}
	begun, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	l.Nodes["w2"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	b, sum, err := run(t, l, taken(begun))
	if err != nil || !slices.Contains(b.findings(), "preflight.back-without") {
		t.Fatalf("%v %+v, found %v", err, sum.Failed, b.findings())
	}
	everythingRuns(t, l, "")
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
		t.Errorf("%+v, %v", is, err)
	}
}

// Of a patch the kubelets may be new: one that is skipped on the way back keeps the upgrade unfinished. After a commit
// and a restore all of them go back before a control plane does.
func TestTheWayBackEndsWithEveryNode(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	o.Reached = func(context.Context, upgrade.Hop) error { return errors.New("cut off") }
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("it came to its end")
	}
	begun, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	begun.Restored = true
	must(t, begun.Write(l.StateDir()))
	l.Nodes["w1"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	if b, _, err := run(t, l, taken(begun)); err == nil || slices.Contains(b.findings(), "preflight.back-without") {
		t.Fatalf("went back without a node that is new: %v", b.findings())
	}
	l.Nodes["w1"].PowerOff(nil)
	b, sum, err := run(t, l, taken(begun))
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, "")
	last := ""
	for _, e := range of[event.StepEnded](b) {
		if strings.Contains(e.Step, ".turn/") {
			last += " " + e.Step
		}
	}
	if last != " nodes.turn/m1 nodes.turn/w1 control-plane.turn/m1" {
		t.Error(last)
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
		t.Errorf("%+v, %v", is, err)
	}
}

// After a restore nobody knows which version the kubelet of a worker has that is away: what etcd says of it is history.
func TestTheWayBackAfterARestoreWaitsForEveryWorker(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	o := hopsOf(t, l, "v1.35.4")
	o.Reached = func(context.Context, upgrade.Hop) error { return errors.New("cut off") }
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("it came to its end")
	}
	begun, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	begun.Restored = true
	must(t, begun.Write(l.StateDir()))
	must(t, l.API.Merge("/api/v1/nodes/w2", map[string]any{"status": map[string]any{"nodeInfo": map[string]any{
		"kubeletVersion": begun.From}}})) // as the snapshot has it
	l.Nodes["w2"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	before := tree(t, l)
	b, _, err := run(t, l, taken(begun))
	if err == nil || !slices.Contains(b.findings(), "ssh.unreachable") {
		t.Errorf("%v, found %v", err, b.findings())
	}
	for path, is := range tree(t, l) {
		if before[path] != is {
			t.Error("touched:", path)
		}
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || !is.Restored {
		t.Errorf("%+v, %v", is, err)
	}
}

// What the upgrade brought is removed before it is over: a way back that is cut off in between can be continued.
func TestAWayBackThatIsCutOffAtItsEnd(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	begun := cutAt(t, l, hopsOf(t, l, "v1.35.4"), "soak.watch")
	if is := cutOff(t, l, taken(begun), "check.old-binaries/w1"); !is.Under() {
		t.Fatal("the upgrade is over, and what it brought is still there")
	}
	if _, sum, err := run(t, l, taken(begun)); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
		t.Errorf("%+v, %v", is, err)
	}
}

// A node that fails on the way back and is skipped keeps the upgrade unfinished.
func TestANodeThatIsLeftOutOfTheWayBack(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	o := hopsOf(t, l, "v1.34.9")
	o.Reached = func(context.Context, upgrade.Hop) error { return errors.New("cut off") }
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("it came to its end")
	}
	begun, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	begun.Committed = false // its deploy.yaml was not written
	must(t, begun.Write(l.StateDir()))
	l.API.AddPod("shop", "one", "w2")
	l.API.Deny(422)
	b := &book{}
	skips := quick(b)
	skips.OnFailure = engine.LeaveOut
	sum, err := engine.Run(t.Context(), taken(begun)(l.Env(b.emit)), skips)
	if len(sum.Failed) != 1 || sum.Failed[0].Step != "nodes.turn/w2" {
		t.Fatalf("%v %+v, found %v", err, sum.Failed, b.findings())
	}
	is, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	why := ""
	for _, e := range of[event.StepEnded](b) {
		if e.Step == "check.ended" && e.Why != nil {
			why = e.Why.Key + " " + e.Why.Args["nodes"]
		}
	}
	if !is.Under() || why != "why.not-all-back w2" {
		t.Errorf("%+v %q", is, why)
	}
	l.API.Deny(0)
	if _, sum, err := run(t, l, taken(is)); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, "")
}
