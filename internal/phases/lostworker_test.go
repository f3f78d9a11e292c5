package phases_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// A worker that is lost for good in the middle of an upgrade is deleted: no other node changes, and the upgrade comes
// to its end without it.
func TestAWorkerIsLostInAnUpgrade(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	o := hopsOf(t, l, "v1.35.4")
	o.Probe = "false" // it ends in the soak
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("the soak did not fail")
	}
	l.Nodes["w2"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	must(t, os.Remove(l.Nodes["w2"].State("active/kubelet.service")))
	_ = l.API.Merge("/api/v1/nodes/w2", map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}}}})
	o.Probe = ""
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("an upgrade without one of its nodes")
	}
	before := tree(t, l)
	_, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		c, gone := *e.Cluster, e.Cluster.Nodes[2:]
		c.Nodes = slices.Clone(e.Cluster.Nodes[:2])
		e.Cluster = &c
		return phases.DeleteLost(e, phases.Leaving{Nodes: gone, Drain: time.Minute, Force: true})
	})
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	for path, text := range tree(t, l) {
		if path[:2] != "w2" && text != before[path] {
			t.Errorf("%s changed", path)
		}
	}
	l.Cluster.Nodes = slices.DeleteFunc(slices.Clone(l.Cluster.Nodes), func(n config.Node) bool {
		return n.Name == "w2"
	})
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
		t.Errorf("%+v, %v", is, err)
	}
	if is, _, _ := nodeObject(l, "w1"); is != "v1.35.4" {
		t.Error(is)
	}
}

// A control plane with a member of etcd is lost for good in the middle of an upgrade: it is deleted, which one that
// runs may not be; no other node changes, and the upgrade comes to its end without it, or is reverted.
func TestAControlPlaneIsLostInAnUpgrade(t *testing.T) {
	long(t)
	for _, way := range []string{"forward", "back"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l := deployed(t, phasestest.Shape{Masters: 3})
			o := hopsOf(t, l, "v1.35.4")
			o.Probe = "false" // it ends in the soak
			if _, _, err := upgraded(t, l, o); err == nil {
				t.Fatal("the soak did not fail")
			}
			l.Nodes["m3"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
			for _, unit := range []string{"etcd", "kubelet", "kube-apiserver"} {
				must(t, os.Remove(l.Nodes["m3"].State("active/"+unit+".service")))
			}
			o.Probe = ""
			deletion := func(name string) func(phases.Env) *engine.Plan {
				return func(e phases.Env) *engine.Plan {
					c := *e.Cluster
					lost := func(n config.Node) bool { return n.Name == name }
					gone := e.Cluster.Nodes[slices.IndexFunc(e.Cluster.Nodes, lost):][:1]
					c.Nodes = slices.DeleteFunc(slices.Clone(e.Cluster.Nodes), lost)
					e.Cluster = &c
					return phases.DeleteLost(e, phases.Leaving{Nodes: gone, Drain: time.Minute, Force: true})
				}
			}
			before := tree(t, l)
			if b, _, err := run(t, l, deletion("m2")); err == nil ||
				!slices.Contains(b.findings(), "preflight.leave-upgrading") {
				t.Fatal(err, b.findings())
			}
			// Not as long as the cluster sees it alive.
			if b, _, err := run(t, l, deletion("m3")); err == nil ||
				!slices.Contains(b.findings(), "preflight.leave-upgrading") {
				t.Fatal(err, b.findings())
			}
			must(t, l.API.Merge("/api/v1/nodes/m3", map[string]any{"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}}}}))
			for again := range 2 {
				b, sum, err := run(t, l, deletion("m3"))
				if err != nil {
					t.Fatalf("%v %+v %v", err, sum.Failed, b.findings())
				}
				left := slices.ContainsFunc(of[event.Change](b), func(c event.Change) bool {
					return c.Desc.Key == "change.etcd-remove" && c.Desc.Args["member"] == "m3"
				})
				if left != (again == 0) {
					t.Errorf("%d: the member left: %v", again, left)
				}
			}
			for path, text := range tree(t, l) {
				if path[:2] != "m3" && text != before[path] {
					t.Errorf("%s changed", path)
				}
			}
			l.Cluster.Nodes = l.Cluster.Nodes[:2]
			delete(l.Nodes, "m3")
			want := " v1.35.4"
			var sum engine.Summary
			var err error
			if way == "forward" {
				_, sum, err = upgraded(t, l, o)
			} else {
				want = "" // as it was installed
				begun, readErr := upgrade.ReadBegun(l.StateDir())
				must(t, readErr)
				_, sum, err = run(t, l, func(e phases.Env) *engine.Plan { return phases.Back(e, backFrom(begun)) })
			}
			if err != nil {
				t.Fatalf("%v %+v", err, sum.Failed)
			}
			everythingRuns(t, l, want)
			if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
				t.Errorf("%+v, %v", is, err)
			}
		})
	}
}
