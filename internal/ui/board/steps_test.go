package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// told is a run of one machine that a test tells.
type told struct {
	*state.State
	now time.Time
}

func tell(steps ...string) *told {
	r := &told{state.New(), start}
	plan := event.PlanMade{Phases: []event.Phase{{ID: "p", Title: event.M("phase.infrastructure")}},
		Hosts: []event.Host{{Name: "n1", Roles: []string{"worker"}}}}
	for _, s := range steps {
		plan.Steps = append(plan.Steps, event.Step{ID: s, Phase: "p", Host: "n1", Title: event.M(s)})
	}
	r.happens(event.RunStarted{Cluster: "c", Verb: "deploy"}, plan, event.PhaseStarted{Phase: "p"})
	return r
}

func (r *told) happens(list ...event.Event) {
	for _, e := range list {
		r.Apply(event.Record{Seq: r.Seq + 1, Time: r.now, Event: e})
	}
}

func (r *told) runs(step string, took time.Duration, o event.Outcome) {
	r.happens(event.StepStarted{Step: step, Try: 1})
	r.now = r.now.Add(took)
	r.happens(event.StepEnded{Step: step, Outcome: o, Took: took})
}

// drawn is the pane of the machine, a line for a line, without its border.
func (r *told) drawn(w, h int, spin string) []string {
	b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{}), Spin: spin}
	views := b.views(r.State, r.now)
	var out []string
	for _, l := range b.steps(r.State, r.now, views[0], w, h) {
		out = append(out, strings.TrimRight(ansi.Strip(l), " "))
	}
	return out
}

// A pane shows what ended last with its time, what runs with a spinner, how far it is, and what it prints, below it.
func TestAPaneShowsSteps(t *testing.T) {
	r := tell("zero", "one", "two", "send", "work", "more", "never")
	r.happens(event.StepEnded{Step: "never", Outcome: event.Blocked})
	r.runs("zero", time.Second, event.OK)
	r.runs("one", 1500*time.Millisecond, event.Changed)
	r.runs("two", 95*time.Second, event.Changed)
	if got, want := strings.Join(r.drawn(40, 6, "x"), "\n"), `✔ zero                              1.0s
✔ one                               1.5s
✔ two                              1m35s
◌ send`; got != want {
		t.Errorf("between two steps:\n%s", got)
	}
	r.happens(event.StepStarted{Step: "work", Try: 1}, event.StepStarted{Step: "send", Try: 1},
		event.Progress{Host: "n1", Step: "work", What: "x", Done: 0, Total: 200 << 20},
		event.Output{Host: "n1", Step: "send", Stream: "stdout", Line: "hello"})
	r.now = r.now.Add(4 * time.Second)
	r.happens(event.Progress{Host: "n1", Step: "work", What: "x", Done: 100 << 20, Total: 200 << 20},
		event.Output{Host: "n1", Step: "send", Stream: "stdout", Line: "world"})
	r.now = r.now.Add(700 * time.Millisecond)
	if got, want := strings.Join(r.drawn(40, 8, "x"), "\n"), `✔ one                               1.5s
✔ two                              1m35s
x work                                4s
  ━━━━━━─────    50 % 25 MiB/s 4.0s left
x send                                4s
  hello
  world`; got != want {
		t.Errorf("while two run:\n%s", got)
	}
	r.happens(event.StepEnded{Step: "work", Outcome: event.Changed, Took: 4 * time.Second},
		event.StepRetry{Step: "send", Try: 1, Delay: 20 * time.Second,
			Fault: *event.NewFault(event.ClassFailed, "ssh.lost", nil).On("n1")})
	got := strings.Join(r.drawn(60, 8, "x"), "\n")
	if !strings.Contains(got, "retry in 20s") || strings.Contains(got, "hello") || strings.Contains(got, "x send") {
		t.Errorf("before the next try:\n%s", got)
	}
}

// Nothing jumps: while a step prints and sends, the lines of all steps and the bar stay where they are.
func TestNothingJumpsWhileAStepRuns(t *testing.T) {
	r := tell("one", "two", "send", "work")
	r.runs("one", time.Second, event.OK)
	r.runs("two", time.Second, event.Changed)
	r.happens(event.StepStarted{Step: "send", Try: 1}, event.StepStarted{Step: "work", Try: 1},
		event.Progress{Host: "n1", Step: "send", What: "x", Done: 0, Total: 20 << 30})
	shape := func() string {
		var out []string
		for _, l := range r.drawn(76, 9, "x") {
			head, _, _ := strings.Cut(l, "  ")
			if strings.HasPrefix(l, "  ━") || strings.HasPrefix(l, "  ─") {
				head = fmt.Sprint("bar of ", strings.Count(l, "━")+strings.Count(l, "─"))
			}
			out = append(out, head)
		}
		return strings.Join(out[:5], "\n")
	}
	first := shape()
	for i := range 200 {
		r.now = r.now.Add(1300 * time.Millisecond)
		r.happens(event.Output{Host: "n1", Step: "work", Stream: "stdout", Line: strings.Repeat("word ", i%30)},
			event.Progress{Host: "n1", Step: "send", What: "x", Done: int64(i*i) << 19, Total: 20 << 30})
		if got := shape(); got != first {
			t.Fatalf("after %d lines:\n%s\nbefore:\n%s", i, got, first)
		}
	}
}

// The cursor stays on the machine that the person has put it on when another one is in trouble and stands before it.
func TestTheCursorStaysOnItsMachine(t *testing.T) {
	s, now := story(30)
	b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{})}
	b.Render(s, now, 120, 40)
	b.Move(0, 4)
	b.Render(s, now, 120, 40)
	before, _ := b.Host(s, now)
	s.Apply(event.Record{Seq: s.Seq + 1, Time: now, Event: event.StepEnded{Step: "infrastructure.packages/node-27",
		Outcome: event.Failed, Fault: event.NewFault(event.ClassFailed, "ssh.lost", nil).On("node-27")}})
	b.Render(s, now, 120, 40)
	if after, _ := b.Host(s, now); after != before {
		t.Errorf("the cursor went from %s to %s", before, after)
	}
}
