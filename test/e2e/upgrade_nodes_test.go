package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestUpgradeDrain: a disruption budget that allows no eviction is named before anything is done. One that comes in the
// middle ends the upgrade when its time is over, and the node takes pods again; when the budget is gone, the upgrade
// continues.
func TestUpgradeDrain(t *testing.T) {
	full(t)
	u := installed(t, "drain", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}, nil)
	patch := u.patched()
	u.kubectl("delete", "poddisruptionbudget", "steady") // a pod of two budgets is never evicted
	must(t, "budget", u.Apply(t.Context(), budget))
	u.Say("== it is named beforehand")
	u.refused(5, u.args([]string{patch}), "default/web", "disruption budget")
	u.kubectl("delete", "poddisruptionbudget", "web")

	u.Say("== it comes in the middle")
	u.until("control-plane.turn/n1", u.args([]string{patch}, "--drain-timeout", "20s"), func(r *stand.Running) {
		must(t, "budget", stand.Until(t.Context(), time.Minute, "the budget is made",
			func(ctx context.Context) error { return u.Apply(ctx, budget) })) // its only API server has its turn
		got, err := r.Wait()
		must(t, "upgrade", err)
		if got.Code != 1 && got.Code != 3 {
			t.Errorf("exit code %d", got.Code)
		}
		u.Say("it ended after %s with exit code %d:\n%s", got.Took, got.Code, tail(got.Out, 30))
		u.says(got, "default/web", "disruption budget", "--drain-timeout")
	})
	if out := u.kubectl("get", "nodes"); strings.Contains(out, "SchedulingDisabled") {
		t.Errorf("a node takes no pods:\n%s", out)
	}
	must(t, "use", u.WorksOn(t.Context(), u.kubelets()...))
	u.unfinished()
	u.kubectl("delete", "poddisruptionbudget", "web")
	must(t, "budget", u.Apply(t.Context(), steadyBudget))
	u.more(0)
	u.allRun(aPatch)
	u.spread()
	u.gone()
}

// TestUpgradeNodeDies: a worker loses its power while it has its turn. The upgrade ends and names it; when it is back,
// the upgrade continues.
func TestUpgradeNodeDies(t *testing.T) {
	full(t)
	u := installed(t, "dies", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}, nil)
	patch := u.patched()
	u.until("nodes.turn/n2", u.args([]string{patch}), func(r *stand.Running) {
		must(t, "kill n2", u.Lab.Kill(t.Context(), "n2"))
		got, err := r.Wait()
		must(t, "upgrade", err)
		if got.Code != 1 && got.Code != 3 {
			t.Errorf("exit code %d", got.Code)
		}
		u.Say("it ended after %s with exit code %d:\n%s", got.Took, got.Code, tail(got.Out, 30))
		u.says(got, "n2")
	})
	u.unfinished()
	u.run(aPatch, controlPlane, "n1")
	must(t, "power on", u.Lab.Start(t.Context(), "n2"))
	u.more(0)
	u.allRun(aPatch)
	if out := u.kubectl("get", "nodes"); strings.Contains(out, "SchedulingDisabled") {
		t.Errorf("a node takes no pods:\n%s", out)
	}
	u.spread()
	u.gone()
}
