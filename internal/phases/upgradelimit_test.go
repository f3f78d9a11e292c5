package phases_test

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// A worker that a limit leaves out may be ill: the soak is of the new control plane.
func TestTheSoakAsksOnlyNodesOfTheLimit(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	must(t, l.API.Merge("/api/v1/nodes/w1", map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}}}}))
	_, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		e.Limit = []string{"m1"}
		return phases.Upgrade(e, o)
	})
	if err != nil {
		t.Errorf("%v %+v", err, sum.Failed)
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || !is.Committed {
		t.Errorf("%+v %v", is, err)
	}
}

// A limit keeps an upgrade to some nodes: the control plane first, which waits for no worker; a worker before it is
// refused. The rest comes with the next run.
func TestAnUpgradeOfSomeNodes(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	const to = "v1.34.9"
	o := hopsOf(t, l, to)
	only := func(name string) error {
		var err error
		o.Begun, err = upgrade.ReadBegun(l.StateDir())
		must(t, err)
		_, _, err = run(t, l, func(e phases.Env) *engine.Plan {
			e.Limit = []string{name}
			return phases.Upgrade(e, o)
		})
		return err
	}
	want := func(m1, w1, w2 string) {
		t.Helper()
		for name, version := range map[string]string{"m1": m1, "w1": w1, "w2": w2} {
			if is, closed, _ := nodeObject(l, name); is != version || closed {
				t.Errorf("%s: %s, closed %v", name, is, closed)
			}
		}
	}
	const was = phasestest.Version
	if err := only("w1"); err == nil {
		t.Error("a kubelet was made newer than its API server")
	}
	want(was, was, was)
	if err := only("m1"); err != nil {
		t.Error(err)
	}
	want(to, was, was)
	if err := only("w2"); err != nil {
		t.Error(err)
	}
	want(to, was, to)
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Errorf("%v %+v", err, sum.Failed)
	}
	want(to, to, to)
}
