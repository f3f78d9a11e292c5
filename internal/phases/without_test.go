package phases_test

import (
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A worker that does not come up is left out on request; the cluster is made and checked without it, and the next run
// takes it in.
func TestAWorkerIsLeftOutAndComesLater(t *testing.T) {
	long(t)
	l := newLab(t, 2)
	broken := l.Nodes["w2"].State("broken/kubelet.service")
	put(t, broken, "")
	b := &book{}
	opts := quick(b)
	opts.OnFailure = engine.LeaveOut
	sum, err := engine.Run(t.Context(), phases.Deploy(l.Env(b.emit)), opts)
	if f := event.AsFault(err); f == nil || f.Code != "engine.left-out" || f.Class != event.ClassPartial ||
		f.Args["hosts"] != "w2" {
		t.Fatal(err, sum.Failed)
	}
	outcome := map[string]event.Outcome{}
	for _, e := range of[event.StepEnded](b) {
		outcome[e.Step] = e.Outcome
		if e.Outcome == event.Blocked && !strings.HasSuffix(e.Step, "/w2") {
			t.Error("blocked:", e.Step)
		}
	}
	if outcome["check.nodes"] != event.OK || outcome["check.system"] != event.OK ||
		outcome["bootstrap.join/w1"] != event.Changed || outcome["bootstrap.join/w2"] != event.Blocked {
		t.Error(outcome)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	deploy(t, l)
}

// The control plane is what everything needs: leaving it out leaves everything that waits for it undone.
func TestAControlPlaneIsNotSpared(t *testing.T) {
	l := newLab(t, 1)
	put(t, l.Nodes["m1"].State("broken/kube-apiserver.service"), "")
	b := &book{}
	opts := quick(b)
	opts.OnFailure = engine.LeaveOut
	sum, err := engine.Run(t.Context(), phases.Deploy(l.Env(b.emit)), opts)
	if f := event.AsFault(err); f == nil || f.Class != event.ClassFailed || len(sum.LeftOut) > 0 ||
		sum.Counts[event.Blocked] == 0 {
		t.Fatal(err, sum.Counts)
	}
}
