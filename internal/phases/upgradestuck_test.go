package phases_test

import (
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Where the old version does not come up either both components are named, and the same command continues when what
// held them is gone.
func TestAControlPlaneThatCannotBeReverted(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.4")
	broken := l.Nodes["m1"].State("broken/kube-scheduler.service")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if f := sum.Failed[0].Fault; f.Code != "upgrade.not-reverted" || f.Args["component"] != "kube-scheduler" ||
		f.Args["other"] != "kube-scheduler" {
		t.Errorf("%+v", f)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, " v1.34.4")
}

// What a probe says last stands in the fault, without what a terminal would obey.
func TestAProbeThatFailsIsQuoted(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	o.Probe = "echo well; printf 'the shop is closed\\033[2J\\n' >&2; exit 3"
	b, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.soak-failed" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	said := false
	for _, n := range of[event.Notice](b) {
		why := n.Text.Args["why"]
		said = said || n.Text.Key == "notice.soak-miss" && strings.Contains(why, "the shop is closed") &&
			strings.Contains(why, "upgrade.probe-failed") && !strings.Contains(why, "\x1b")
	}
	if !said {
		t.Errorf("%+v", of[event.Notice](b))
	}
}
