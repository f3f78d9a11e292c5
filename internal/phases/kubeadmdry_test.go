package phases_test

import (
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// TestADryRunWithKubeadm: what is announced of a control plane are the manifests that kubeadm makes, and no services
// but the kubelet. An installation is of bare machines; to leave and to be cleaned the machines have a cluster of
// services: the record of a node is what is looked at. No machine of a test runs static pods, without which the dry run
// of an upgrade ends where it asks etcd: of it there is the plan.
func TestADryRunWithKubeadm(t *testing.T) {
	long(t)
	t.Parallel()
	lab := func(l *phasestest.Lab) *phasestest.Lab {
		if err := l.Rebuild(phasestest.WithKubeadm); err != nil {
			t.Fatal(err)
		}
		if err := l.Use(append(l.DeployYAML(), "eggo: {driver: kubeadm}\n"...)); err != nil {
			t.Fatal(err)
		}
		return l
	}
	bare, made := lab(newLab(t, 1)), lab(deployed(t, workers(1)))
	for name, tc := range map[string]struct {
		l    *phasestest.Lab
		plan func(phases.Env) *engine.Plan
		host string
		want []string
	}{
		"install": {bare, phases.Deploy, "m1", []string{"change.static-pod-made", "change.static-pod"}},
		"delete": {made, leavingBy(phases.Leaving{Drain: time.Minute}, "w1"), "w1",
			[]string{"change.undo-services", "change.undo-files"}},
		"cleanup": {made, purge, "m1", []string{"change.undo-services", "change.undo-files"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := dryRun(t, tc.l, tc.plan)
			is := changes(b, tc.host)
			for _, want := range tc.want {
				if !slices.Contains(is, want) {
					t.Errorf("%s is not in %v", want, is)
				}
			}
		})
	}
	p := phases.Upgrade(made.Env(func(event.Event) error { return nil }), hopsOf(t, made, "v1.34.3"))
	for _, want := range []string{"infrastructure.pin-images/m1", "etcd.kubelet/m1", "etcd.start/m1",
		"control-plane.turn/m1", "nodes.turn/w1", "addons.kube-proxy", "check.unpin-images/w1"} {
		if !slices.ContainsFunc(p.Steps, func(s *engine.Step) bool { return s.ID == want }) {
			t.Errorf("the upgrade has no %s", want)
		}
	}
	if lacks := untitled(p); len(lacks) > 0 {
		t.Error("no title:", lacks)
	}
}
