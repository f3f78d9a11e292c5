package driver_test

import (
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// TestADriverThatHasStepsOfItsOwn: they wait for what the caller waits for, and the component waits for them; so a
// static pod has its kubelet and its images.
func TestADriverThatHasStepsOfItsOwn(t *testing.T) {
	n := config.Node{Name: "m1"}
	kubelet := plan.Step(plan.PhaseEtcd, "kubelet", n.Name, []string{"infrastructure.runtime/m1"})
	w := driver.Work{Needs: []string{"infrastructure.load-images/m1"}, Before: []*engine.Step{kubelet},
		Timeout: time.Minute, Retry: engine.Retry{Tries: 7}}
	steps := w.Steps(plan.PhaseEtcd, "start", n, []string{"etcd.membership"})
	if ids := plan.StepIDs(steps); !slices.Equal(ids, []string{"etcd.kubelet/m1", "etcd.start/m1"}) {
		t.Fatal(ids)
	}
	for i, want := range [][]string{{"etcd.membership", "infrastructure.runtime/m1"},
		{"etcd.membership", "infrastructure.load-images/m1", "etcd.kubelet/m1"}} {
		if got := steps[i].Needs; !slices.Equal(got, want) {
			t.Errorf("%s needs %v, want %v", steps[i].ID, got, want)
		}
	}
	if s := steps[1]; s.Timeout != time.Minute || s.Retry.Tries != 7 || s.Host != "m1" {
		t.Errorf("%+v", s)
	}
}
