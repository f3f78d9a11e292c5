package state

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A node is silent when nothing at all comes from it: a step that prints nothing beside one that does is none, and how
// long it has been silent counts from the last sign of life, not from the start of a step.
func TestANodeIsSilentWhenAllItsStepsAre(t *testing.T) {
	l := newTeller()
	h := History{}
	quietFor := func(sec float64) (time.Duration, string) {
		x, ok := h.Silent(l.s.Host("n1"), t0.Add(time.Duration(sec*float64(time.Second))))
		if !ok {
			return 0, ""
		}
		return x.Quiet, x.Step.ID
	}
	for _, c := range []struct {
		name  string
		at    float64
		event event.Event
		look  float64
		quiet time.Duration
		step  string
	}{
		{"nothing runs", 0, event.HostState{Host: "n1", State: "connected"}, 300, 0, ""},
		{"a step has begun", 10, event.StepStarted{Step: "up/n1", Try: 1}, 39, 0, ""},
		{"it prints", 20, event.Output{Host: "n1", Step: "up/n1", Line: "x"}, 49, 0, ""},
		{"the age is that of the line", 20, event.Output{Host: "n1", Step: "up/n1", Line: "x"}, 69, 49 * time.Second,
			"up/n1"},
		{"a second one begins", 60, event.StepStarted{Step: "etcd/n1", Try: 1}, 89, 0, ""},
		{"the first one is silent, the second is not", 100, event.Output{Host: "n1", Step: "etcd/n1", Line: "y"}, 129,
			0, ""},
		{"both are", 100, event.Output{Host: "n1", Step: "etcd/n1", Line: "y"}, 149, 49 * time.Second, "up/n1"},
		{"progress counts", 150, event.Progress{Host: "n1", Step: "up/n1", What: "f", Done: 1, Total: 9}, 179, 0, ""},
		{"so does a step that ends", 175, event.StepEnded{Step: "etcd/n1", Outcome: event.OK}, 204, 0, ""},
		{"and a line of no step", 190, event.Output{Host: "n1", Line: "z"}, 219, 0, ""},
		{"both are again", 200, event.StepStarted{Step: "etcd/n1", Try: 1}, 231, 31 * time.Second, "up/n1"},
		{"what waits for a person is none", 402, event.StepAsked{Step: "etcd/n1", Try: 1}, 800, 0, ""},
	} {
		if c.name == "what waits for a person is none" { // one that usually takes long is given its time, and no more
			h["etcd"] = 200 * time.Second
			if quiet, _ := quietFor(399); quiet != 0 {
				t.Errorf("silent for %s within the usual time", quiet)
			}
			if quiet, _ := quietFor(401); quiet != 201*time.Second {
				t.Errorf("silent for %s after the usual time", quiet)
			}
		}
		l.at(c.at, c.event)
		if quiet, step := quietFor(c.look); quiet != c.quiet || step != c.step {
			t.Errorf("%s: silent for %s at %q, want %s at %q", c.name, quiet, step, c.quiet, c.step)
		}
	}
}
