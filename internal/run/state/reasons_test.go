package state

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What made a run fail are the errors of the newest try of a check, and the faults of steps; warnings, what an earlier
// try found and what was ignored are none of it.
func TestReasons(t *testing.T) {
	finding := func(sev event.Severity, host, code string) event.Finding {
		return event.Finding{Host: host, Severity: sev, Fault: event.Fault{Code: code}}
	}
	fault := func(code string) *event.Fault { return &event.Fault{Code: code} }
	plan := event.PlanMade{Steps: []event.Step{{ID: "facts/w2", Host: "w2"}, {ID: "check"},
		{ID: "etcd/m1", Host: "m1"}}}
	check := func(events ...event.Event) (out []string) {
		s := New()
		for i, e := range events {
			s.Apply(event.Record{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0), Event: e})
		}
		for _, r := range s.Reasons() {
			out = append(out, r.Host+" "+r.Fault.Code)
		}
		return out
	}
	same := func(got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatal(got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Error(got, want)
			}
		}
	}
	refused := event.RunEnded{Outcome: event.Failed, Fault: fault(CheckFailed)}
	same(check(plan, event.StepStarted{Step: "facts/w2", Try: 1},
		event.StepEnded{Step: "facts/w2", Outcome: event.Ignored, Fault: fault("ssh.unreachable")},
		event.StepStarted{Step: "check", Try: 1}, finding(event.Error, "w2", "check.old"),
		event.StepStarted{Step: "check", Try: 2}, finding(event.Warning, "m1", "check.swap"),
		finding(event.Error, "w2", "ssh.unreachable"),
		event.StepEnded{Step: "check", Outcome: event.Failed, Fault: fault(CheckFailed)}, refused),
		"w2 ssh.unreachable")
	same(check(plan, event.StepStarted{Step: "check", Try: 1}, finding(event.Error, "w2", "check.old"),
		event.StepStarted{Step: "check", Try: 2}, event.StepEnded{Step: "check", Outcome: event.OK},
		event.StepStarted{Step: "etcd/m1", Try: 1},
		event.StepEnded{Step: "etcd/m1", Outcome: event.Failed, Fault: fault("etcd.unhealthy")},
		event.RunEnded{Outcome: event.Failed, Fault: fault("engine.steps-failed")}), "m1 etcd.unhealthy")
	same(check(finding(event.Error, "w2", "ssh.unreachable"), refused), "w2 ssh.unreachable")
	same(check(refused))
}
