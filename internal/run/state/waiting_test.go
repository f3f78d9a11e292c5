package state

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What a step waits for stands until something comes from it.
func TestWhatAStepWaitsFor(t *testing.T) {
	for name, e := range map[string]event.Event{
		"a line":    event.Output{Host: "n1", Step: "up/n1", Line: "x"},
		"its end":   event.StepEnded{Step: "up/n1", Outcome: event.OK},
		"a retry":   event.StepRetry{Step: "up/n1", Try: 1},
		"a failure": event.StepAsked{Step: "up/n1", Try: 1},
		"a new try": event.StepStarted{Step: "up/n1", Try: 2},
	} {
		l := newTeller()
		w := event.Waiting{Host: "n1", Step: "up/n1", Process: "apt-get", PID: 7, State: "S", For: time.Minute}
		l.at(0, w) // nothing runs yet
		l.at(1, event.StepStarted{Step: "up/n1", Try: 1})
		if l.s.Step("up/n1").Waits != nil {
			t.Fatal("a step waits that does not run")
		}
		heard := l.s.Host("n1").Heard
		l.at(2, w)
		st := l.s.Step("up/n1")
		if st.Waits == nil || *st.Waits != w || !l.s.Host("n1").Heard.Equal(heard) {
			t.Fatalf("%+v", st.Waits)
		}
		if l.at(3, e); st.Waits != nil {
			t.Errorf("after %s it still waits", name)
		}
	}
}

// A front end that reads the time of day counts as the log does.
func TestAClockThatWasSet(t *testing.T) {
	l := newTeller()
	l.at(0, event.StepStarted{Step: "up/n1", Try: 1})
	l.at(1, event.Notice{Text: event.M(event.ClockSet, "by", "1h0m0s")})
	l.at(2, event.Notice{Text: event.M(event.ClockSet, "by", "-15s")})
	l.at(3, event.Notice{Text: event.M("other", "by", "9h")})
	if got := l.s.At(t0.Add(time.Hour - 15*time.Second + 5*time.Second)); !got.Equal(t0.Add(5 * time.Second)) {
		t.Error(got)
	}
}
