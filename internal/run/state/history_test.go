package state

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A step that failed waits until somebody has decided; several wait in the order in which they failed, and the end of
// the run ends them all.
func TestQuestionsQueueUp(t *testing.T) {
	l := newTeller()
	open := func() (out string) {
		for _, q := range l.s.Open {
			out += q.Step.ID + " "
		}
		return out
	}
	fault := *event.NewFault(event.ClassFailed, "bad", nil)
	for _, s := range []string{"up/n1", "up/n2", "pki"} {
		l.at(0, event.StepStarted{Step: s, Try: 1})
		l.at(1, event.Output{Host: l.s.Step(s).Host, Step: s, Stream: "stderr", Line: "no space on " + s})
		l.at(2, event.StepAsked{Step: s, Try: 3, Fault: fault})
	}
	if got := open(); got != "up/n1 up/n2 pki " {
		t.Fatalf("open: %s", got)
	}
	if q := l.s.Open[1]; q.Try != 3 || q.Fault.Code != "bad" || !q.Since.Equal(t0.Add(2*time.Second)) ||
		len(q.Lines) != 1 || q.Lines[0].Text != "no space on up/n2" {
		t.Errorf("%+v", q)
	}
	l.at(3, event.StepDecided{Step: "up/n2", Decision: event.TryAgain})
	l.at(3, event.StepStarted{Step: "up/n2", Try: 4})
	if got := open(); got != "up/n1 pki " || l.s.Step("up/n2").Asked {
		t.Errorf("after one was decided: %s", got)
	}
	l.at(4, event.StepAsked{Step: "up/n2", Try: 4, Fault: fault})
	l.at(4, event.StepAsked{Step: "up/n2", Try: 4, Fault: fault})
	if got := open(); got != "up/n1 pki up/n2 " {
		t.Errorf("asked again: %s", got)
	}
	l.at(5, event.StepDecided{Step: "up/n1", Decision: event.LeaveOut})
	l.at(5, event.StepEnded{Step: "up/n1", Outcome: event.Failed, Fault: &fault})
	if got := open(); got != "pki up/n2 " || len(l.s.Failures) != 1 {
		t.Errorf("after one was left out: %s", got)
	}
	l.at(6, event.RunEnded{Outcome: event.Interrupted})
	if got := open(); got != "" {
		t.Errorf("after the run: %s", got)
	}
}

// What is usual is the median of what it took where it had to be done and went well at once.
func TestWhatIsUsual(t *testing.T) {
	past := func(took ...float64) *State {
		l := newTeller()
		for i, host := range []string{"n1", "n2"} {
			l.at(0, event.StepStarted{Step: "up/" + host, Try: 1})
			l.at(0, event.StepEnded{Step: "up/" + host, Outcome: event.Changed,
				Took: time.Duration(took[i] * float64(time.Second))})
		}
		l.at(0, event.StepStarted{Step: "pki", Try: 1})
		l.at(0, event.StepEnded{Step: "pki", Outcome: event.OK, Took: time.Hour})
		l.at(0, event.StepStarted{Step: "join/n2", Try: 2})
		l.at(0, event.StepEnded{Step: "join/n2", Outcome: event.Changed, Took: time.Hour})
		return l.s
	}
	h := Learn(past(10, 40), past(90, 20))
	l := newTeller()
	for id, want := range map[string]time.Duration{"up/n1": 40 * time.Second, "up/n2": 40 * time.Second, "pki": 0,
		"join/n2": 0, "etcd/n1": 0} {
		if got, ok := h.Usual(l.s.Step(id)); got != want || ok != (want > 0) {
			t.Errorf("%s usually takes %s, want %s", id, got, want)
		}
	}
}

// A stall is told when nothing has come for half a minute and longer than usual; a sign of life ends it, and so does a
// question.
func TestAStall(t *testing.T) {
	l := newTeller()
	h := History{"up": 40 * time.Second}
	stalled := func(sec float64, step string) bool {
		_, ok := h.Silent(l.s.Host(l.s.Step(step).Host), t0.Add(time.Duration(sec*float64(time.Second))))
		return ok
	}
	l.at(0, event.StepStarted{Step: "up/n1", Try: 1})
	l.at(0, event.StepStarted{Step: "pki", Try: 1})
	for _, c := range []struct {
		sec  float64
		step string
		want bool
	}{{29, "pki", false}, {30, "pki", true}, {30, "up/n1", false}, {39, "up/n1", false}, {41, "up/n1", true},
		{100, "up/n2", false}} {
		if got := stalled(c.sec, c.step); got != c.want {
			t.Errorf("%s after %v s: stalled %v", c.step, c.sec, got)
		}
	}
	x, _ := h.Silent(l.s.Host("n1"), t0.Add(130*time.Second))
	if x.Since != 130*time.Second || x.Quiet != 130*time.Second || x.Usual != 40*time.Second {
		t.Errorf("%+v", x)
	}
	l.at(60, event.Progress{Host: "n1", Step: "up/n1", What: "x", Done: 1})
	if stalled(89, "up/n1") || !stalled(91, "up/n1") {
		t.Error("progress is a sign of life for half a minute")
	}
	l.at(100, event.Output{Host: "n1", Step: "up/n1", Line: "x"})
	if stalled(129, "up/n1") || !stalled(131, "up/n1") {
		t.Error("a line is a sign of life for half a minute")
	}
	l.at(132, event.Notice{Step: "pki", Text: event.M("notice.soak")})
	if stalled(162, "pki") || !stalled(253, "pki") {
		t.Error("who gives notice of how far it is has longer")
	}
	if st := l.s.Step("pki"); st.Said == nil || st.Said.Key != "notice.soak" {
		t.Error("the notice is not the step's")
	}
	l.at(133, event.Notice{Step: "pki", Text: event.M("notice.soak", event.Until,
		t0.Add(time.Hour).UTC().Format(time.RFC3339))})
	if stalled(3599, "pki") || !stalled(3721, "pki") {
		t.Error("who has said until when it waits has that long")
	}
	l.at(140, event.StepAsked{Step: "up/n1"})
	if stalled(500, "up/n1") {
		t.Error("what waits for a person is no stall")
	}
	l.at(600, event.StepDecided{Step: "up/n1", Decision: event.TryAgain})
	l.at(600, event.StepStarted{Step: "up/n1", Try: 2})
	if stalled(639, "up/n1") || !stalled(641, "up/n1") {
		t.Error("how long a person thought is no silence of the step")
	}
	if got := l.s.Step("up/n1").Since(); !got.Equal(t0.Add(600 * time.Second)) {
		t.Error("the step is told as one that runs since", got)
	}
}

// Whoever let --on-failure decide is asked nothing: what failed is tried again by itself.
func TestNobodyIsAskedWhenTheCommandLineDecides(t *testing.T) {
	for value, want := range map[string]int{"ask": 1, "retry=2": 0} {
		l := newTeller()
		l.at(0, event.RunStarted{Verb: "deploy", Flags: []string{"--limit", "n1", "--on-failure", value}})
		l.at(0, event.StepStarted{Step: "up/n1", Try: 1})
		l.at(1, event.StepAsked{Step: "up/n1", Try: 1, Fault: *event.NewFault(event.ClassFailed, "bad", nil)})
		if st := l.s.Step("up/n1"); len(l.s.Open) != want || st.Asked != (want > 0) || l.s.Alone() == (want > 0) ||
			st.Fault.Code != "bad" {
			t.Errorf("%s: %d questions, asked %v", value, len(l.s.Open), st.Asked)
		}
	}
}
