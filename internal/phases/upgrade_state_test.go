package phases_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// cutAt makes an upgrade that is cut off when the step begins.
func cutAt(t *testing.T, l *phasestest.Lab, o upgrade.Options, step string) upgrade.Begun {
	t.Helper()
	begun, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	if o.Begun = begun; begun.Under() {
		o.From, o.Hops = begun.From, begun.Hops
	}
	return cutOff(t, l, func(e phases.Env) *engine.Plan { return phases.Upgrade(e, o) }, step)
}

// cutOff runs a plan that is cut off when the step begins.
func cutOff(t *testing.T, l *phasestest.Lab, of func(phases.Env) *engine.Plan, step string) upgrade.Begun {
	t.Helper()
	return cutWhen(t, l, of, func(ev event.Event) bool {
		s, is := ev.(event.StepStarted)
		return is && s.Step == step
	})
}

// cutWhen runs a plan that is cut off when something happens.
func cutWhen(
	t *testing.T, l *phasestest.Lab, of func(phases.Env) *engine.Plan, happens func(event.Event) bool,
) upgrade.Begun {
	t.Helper()
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	b := &book{}
	e := quick(b)
	emit := e.Emit
	e.Emit = func(ev event.Event) error {
		if happens(ev) {
			cut()
		}
		return emit(ev)
	}
	if _, err := engine.Run(ctx, of(l.Env(e.Emit)), e); ctx.Err() == nil {
		t.Fatalf("it did not come so far: %v", err)
	}
	begun, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	return begun
}

// What stops an upgrade that begins stops it as long as no node was touched, also when upgrade.json is there already.
func TestAnUpgradeThatHasTouchedNothingIsCheckedAsOneThatBegins(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.9")
	if is := cutAt(t, l, o, "snapshot.save"); !is.Under() {
		t.Fatalf("%+v", is)
	}
	must(t, l.API.Merge("/api/v1/nodes/w1", map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}}}}))
	before := tree(t, l)
	b, sum, err := upgraded(t, l, o)
	if err == nil || !slices.ContainsFunc(of[event.Finding](b), func(f event.Finding) bool {
		return f.Fault.Code == "upgrade.not-ready" && f.Severity == event.Error
	}) {
		t.Errorf("%v %+v %v", err, sum.Changed, of[event.Finding](b))
	}
	for path, is := range tree(t, l) {
		if before[path] != is {
			t.Error("touched:", path)
		}
	}
}

// A limit that leaves a control plane out neither watches the control plane nor commits it.
func TestALimitDoesNotCommit(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	is := cutAt(t, l, o, "soak.watch")
	if !is.Under() || is.Committed {
		t.Fatalf("%+v", is)
	}
	o.Begun, o.From, o.Hops = is, is.From, is.Hops
	_, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		e.Limit = []string{"w1"}
		return phases.Upgrade(e, o)
	})
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "limit.not-done" ||
		sum.Failed[0].Fault.Node != "m1" {
		t.Errorf("%v %+v", err, sum.Failed)
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Committed {
		t.Errorf("committed: %+v, %v", is, err)
	}
}

// A dry run announces the snapshot, and takes none.
func TestADryRunTakesNoSnapshot(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.9")
	b, sum := dryRun(t, l, func(e phases.Env) *engine.Plan { return phases.Upgrade(e, o) })
	if !slices.ContainsFunc(of[event.Change](b), func(c event.Change) bool { return c.Step == "snapshot.save" }) {
		t.Errorf("it is not announced: %v", sum.Changed)
	}
	for _, n := range of[event.Notice](b) {
		if n.Text.Key == "notice.snapshot-saved" {
			t.Errorf("%+v", n.Text)
		}
	}
}

// A hop without a way back has one until the first component is switched.
func TestAHopIsCommittedWhenTheFirstComponentIsSwitched(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	path, err := l.Release(phasestest.Version, "kube-apiserver")
	must(t, err)
	o := upgrade.Options{From: "v1.33.13", Drain: time.Minute, Batch: 1, Hops: []upgrade.Hop{{
		Version: phasestest.Version, Source: sourceOf(l, path)}}}
	data, err := json.Marshal(map[string]any{"from": o.From, "hops": o.Hops, "touched": true})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(l.StateDir(), "upgrade.json"), data, 0o600))
	if is := cutAt(t, l, o, "control-plane.turn/m1"); !is.Under() || is.Committed || is.Snapshot == "" {
		t.Errorf("before the API server: %+v", is)
	}
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Error("the API server has come up")
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || !is.Committed {
		t.Errorf("after it: %+v, %v", is, err)
	}
}

// Where etcd comes to another minor there is no way back from its first member on, but the new control plane proves
// itself all the same, and is what it was with its own member when it does not.
func TestAHopWithAnotherMinorOfEtcdIsWatched(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, phasestest.NewEtcd)
	o.Probe = "false"
	b, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.soak-failed" {
		t.Fatalf("%v %+v, found %v", err, sum.Failed, b.findings())
	}
	is, err := upgrade.ReadBegun(l.StateDir())
	if err != nil || !is.OneWay || is.Committed || !is.OnlyForward() {
		t.Errorf("%+v %v", is, err)
	}
	if !slices.Contains(b.notices(), "notice.upgrade-etcd-one-way") {
		t.Error(b.notices())
	}
	if unit := unitOf(t, l, "m1", "kube-apiserver.service"); !strings.Contains(unit, "--emulated-version=1.34") {
		t.Error(unit)
	}
	o.Probe = ""
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, " "+phasestest.NewEtcd)
}

// An upgrade that is continued after a restore, and stops before it switches anything, can still be reverted.
func TestARestoreCountsUntilTheUpgradeGoesForward(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	begun := cutAt(t, l, hopsOf(t, l, "v1.35.4"), "nodes.turn/w1")
	begun.Restored = true
	must(t, begun.Write(l.StateDir()))
	if is := cutAt(t, l, upgrade.Options{Drain: time.Minute, Batch: 1}, "infrastructure.load-images/w1"); !is.Restored {
		t.Errorf("before a component is switched: %+v", is)
	}
	if is := cutAt(t, l, upgrade.Options{Drain: time.Minute, Batch: 1}, "check.nodes"); is.Restored {
		t.Errorf("after it: %+v", is)
	}
}

// A later hop does not begin while the one before it has not ended, as when a worker was skipped in it.
func TestALaterHopBeginsWhenTheOneBeforeItHasEnded(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.9", "v1.35.4")
	o.Begun = upgrade.Begun{From: o.From, Hops: o.Hops}
	later := 0
	for _, s := range phases.Upgrade(l.Env(quick(&book{}).Emit), o).Steps {
		if !strings.HasPrefix(s.ID, "v1.35.4:") {
			continue
		}
		later++
		if s.When == nil {
			t.Errorf("%s begins", s.ID)
		} else if yes, why, err := s.When(t.Context()); yes || err != nil || why.Key != "why.upgrade-not-ended" {
			t.Errorf("%s: %v %v %v", s.ID, yes, why, err)
		}
	}
	if later == 0 {
		t.Error("there is no later hop")
	}
}

// A soak is that of the control planes that run then: what has begun to go back soaks again when it comes forward.
func TestAWayBackEndsTheSoak(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	begun := cutAt(t, l, hopsOf(t, l, "v1.35.4"), "soak.watch")
	begun.Soak, begun.Watched = time.Now(), time.Hour
	must(t, begun.Write(l.StateDir()))
	if is := cutOff(t, l, taken(begun), "etcd.health"); !is.Under() || !is.Soak.IsZero() || is.Watched != 0 {
		t.Errorf("%+v", is)
	}
}
