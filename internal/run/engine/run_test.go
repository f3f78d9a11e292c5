package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is the journal of a test: it keeps the events of a run in order.
type log struct {
	mu  sync.Mutex
	all []event.Event
}

func (l *log) Emit(e event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
	return nil
}

// story tells the log in words, one event each.
func (l *log) story() []string {
	var out []string
	for _, e := range l.all {
		switch e := e.(type) {
		case event.PlanMade: // always the first; see TestThePlanIsToldFirst
		case event.PhaseStarted:
			out = append(out, "phase "+e.Phase)
		case event.PhaseEnded:
			out = append(out, strings.TrimSpace(fmt.Sprintf("phase %s %s %s", e.Phase, e.Outcome, code(e.Fault))))
		case event.StepStarted:
			out = append(out, fmt.Sprintf("start %s %d", e.Step, e.Try))
		case event.StepRetry:
			out = append(out, fmt.Sprintf("retry %s in %v: %s", e.Step, e.Delay, e.Fault.Code))
		case event.StepEnded:
			s := fmt.Sprintf("end %s %s", e.Step, e.Outcome)
			if e.Fault != nil {
				s += " " + e.Fault.Code
			}
			if e.Why != nil {
				s += " " + e.Why.Key + e.Why.Args["step"]
			}
			out = append(out, s)
		case event.StepUndone:
			out = append(out, strings.TrimSpace(fmt.Sprintf("undone %s %s %s", e.Step, e.Outcome, code(e.Fault))))
		default:
			out = append(out, event.Kind(e))
		}
	}
	return out
}

func (l *log) has(t *testing.T, want ...string) {
	t.Helper()
	story := l.story()
	for _, w := range want {
		if !slices.Contains(story, w) {
			t.Errorf("%q is not in the log:\n%s", w, strings.Join(story, "\n"))
		}
	}
}

func code(f *event.Fault) string {
	if f == nil {
		return ""
	}
	return f.Code
}

func nothing(context.Context) error { return nil }

func fails(code string) func(context.Context) error {
	return func(context.Context) error { return event.NewFault(event.ClassFailed, code, errors.New("no")) }
}

func retriable(code string) error {
	f := event.NewFault(event.ClassFailed, code, nil)
	f.Retry = true
	return f
}

// step makes a step of phase p on the host that its ID ends with ("what/host"; no slash: the jump host).
func step(id string, apply func(context.Context) error, needs ...string) *engine.Step {
	_, host, _ := strings.Cut(id, "/")
	return &engine.Step{ID: id, Phase: "p", Host: host, Apply: apply, Needs: needs}
}

func plan(steps ...*engine.Step) *engine.Plan {
	p := &engine.Plan{Phases: []engine.Phase{{ID: "p"}}, Steps: steps}
	seen := map[string]bool{"": true}
	for _, s := range steps {
		if !seen[s.Host] {
			seen[s.Host] = true
			p.Hosts = append(p.Hosts, event.Host{Name: s.Host})
		}
	}
	return p
}

func run(t *testing.T, p *engine.Plan, o engine.Options) (*log, engine.Summary, error) {
	t.Helper()
	l := &log{}
	o.Emit = l.Emit
	s, err := engine.Run(t.Context(), p, o)
	return l, s, err
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

func TestAPlanThatCannotBeRunIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, code, args string
		plan             *engine.Plan
	}{
		{"twice the same", "engine.duplicate-step", "a/n", plan(step("a/n", nil), step("a/n", nil))},
		{"no name", "engine.duplicate-step", "", plan(step("", nil))},
		{"a need that is not there", "engine.unknown-need", "b", plan(step("a", nil, "b"))},
		{"itself", "engine.cycle", "a → a", plan(step("a", nil, "a"))},
		{"a ring with a tail", "engine.cycle", "b → c → d → b",
			plan(step("a", nil, "b"), step("b", nil, "c"), step("c", nil, "d"), step("d", nil, "b"))},
		{"a strange phase", "engine.unknown-phase", "a", &engine.Plan{Steps: []*engine.Step{step("a", nil)}}},
		{"a strange host", "engine.unknown-host", "n9",
			&engine.Plan{Phases: []engine.Phase{{ID: "p"}}, Steps: []*engine.Step{step("a/n9", nil)}}},
		{"two phases of a name", "engine.duplicate-phase", "p",
			&engine.Plan{Phases: []engine.Phase{{ID: "p"}, {ID: "p"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, _, err := run(t, c.plan, engine.Options{})
			f := event.AsFault(err)
			if f == nil || f.Code != c.code || !strings.Contains(fmt.Sprint(f.Args), c.args) {
				t.Fatalf("%v %v", err, f)
			}
			if len(l.all) > 0 {
				t.Error("something was begun")
			}
		})
	}
	if _, _, err := run(t, plan(), engine.Options{}); err != nil {
		t.Error("an empty plan is done:", err)
	}
}

func TestHowAStepEnds(t *testing.T) {
	yes := func(context.Context) (bool, error) { return true, nil }
	no := func(context.Context) (bool, error) { return false, nil }
	never := func(context.Context) error { panic("must not be called") }
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		step engine.Step
		want []string
		err  string
	}{
		{"does its work", engine.Step{Check: no, Apply: nothing, Verify: nothing},
			[]string{"start s 1", "end s changed"}, ""},
		{"finds it done", engine.Step{Check: yes, Apply: never, Verify: never}, []string{"start s 1", "end s ok"}, ""},
		{"applies to nothing", engine.Step{When: func(context.Context) (bool, event.Msg, error) {
			return false, event.M("because"), nil
		}, Check: yes, Apply: never}, []string{"start s 1", "end s skipped because"}, ""},
		{"cannot tell whether it applies", engine.Step{When: func(context.Context) (bool, event.Msg, error) {
			return false, event.Msg{}, broken
		}, Apply: never}, []string{"start s 1", "end s failed internal"}, "internal"},
		{"cannot check", engine.Step{Check: func(context.Context) (bool, error) { return true, broken }, Apply: never},
			[]string{"start s 1", "end s failed internal"}, "internal"},
		{"had nothing to change", engine.Step{Apply: func(context.Context) error {
			return fmt.Errorf("upload: %w", engine.ErrUnchanged)
		}}, []string{"start s 1", "end s ok"}, ""},
		{"only looks", engine.Step{Verify: nothing}, []string{"start s 1", "end s ok"}, ""},
		{"looks and sees nothing good", engine.Step{Apply: nothing, Verify: fails("v")},
			[]string{"start s 1", "end s failed v"}, "v"},
		{"fails", engine.Step{Apply: fails("a"), Verify: never, Retry: engine.Retry{Tries: 5}},
			[]string{"start s 1", "end s failed a"}, "a"},
		{"may fail", engine.Step{Apply: fails("a"), Optional: true}, []string{"start s 1", "end s ignored a"}, ""},
		{"panics", engine.Step{Apply: func(context.Context) error { panic("ouch") }},
			[]string{"start s 1", "end s failed engine.panic"}, "engine.panic"},
		{"ends its goroutine", engine.Step{Apply: func(context.Context) error { runtime.Goexit(); return nil }},
			[]string{"start s 1", "end s failed engine.panic"}, "engine.panic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.step
			s.ID, s.Phase = "s", "p"
			l, sum, err := run(t, plan(&s), engine.Options{})
			story := l.story()
			if d := cmp.Diff(c.want, story[1:len(story)-1]); d != "" {
				t.Error(d)
			}
			if codeOf(err) != c.err || (err != nil) != (len(sum.Failed) == 1) {
				t.Errorf("%v %v", err, sum.Failed)
			}
		})
	}
}

func TestThePlanIsToldFirst(t *testing.T) {
	s := step("a/n1", nothing)
	s.Lane, s.Title = "bulk", event.M("t")
	p := plan(s, step("b/n1", nothing, "a/n1"))
	l, _, err := run(t, p, engine.Options{})
	want := event.PlanMade{Phases: []event.Phase{{ID: "p"}}, Hosts: p.Hosts, Steps: []event.Step{
		{ID: "a/n1", Phase: "p", Host: "n1", Lane: "bulk", Title: event.M("t")},
		{ID: "b/n1", Phase: "p", Host: "n1", Needs: []string{"a/n1"}},
	}}
	if d := cmp.Diff(event.Event(want), l.all[0]); d != "" || err != nil {
		t.Error(d, err)
	}
	ran := false
	_, err = engine.Run(t.Context(), plan(step("a", func(context.Context) error { ran = true; return nil })),
		engine.Options{Emit: func(event.Event) error { return errors.New("full") }})
	if codeOf(err) != "journal.write" || ran {
		t.Error(err, ran)
	}
}

func TestAPanicTellsWhereItWas(t *testing.T) {
	_, sum, _ := run(t, plan(step("boom/n1", func(context.Context) error { panic(errors.New("ouch")) })),
		engine.Options{})
	f := sum.Failed[0].Fault
	if f.Args["value"] != "ouch" || !strings.Contains(f.Cause, "run_test.go:") || strings.Contains(f.Cause, " /") ||
		len(f.Cause) > 2000 || f.Node != "n1" || f.Step != "boom/n1" {
		t.Errorf("%+v", f)
	}
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s := step("s/n1", func(context.Context) error {
			if tries++; tries < 5 {
				return retriable("busy")
			}
			return nil
		})
		s.Retry = engine.Retry{Tries: 5, Delay: time.Second, MaxDelay: 3 * time.Second}
		start := time.Now()
		l, sum, err := run(t, plan(s), engine.Options{})
		if err != nil || sum.Counts[event.Changed] != 1 {
			t.Fatal(err, sum)
		}
		l.has(t, "retry s/n1 in 1s: busy", "retry s/n1 in 2s: busy", "retry s/n1 in 3s: busy", "start s/n1 5",
			"end s/n1 changed")
		if took := time.Since(start); took != 9*time.Second || sum.Steps[0].Took() != took {
			t.Errorf("took %v, the timing says %v", took, sum.Steps[0].Took())
		}
		tries = -10
		if _, sum, err = run(t, plan(s), engine.Options{}); codeOf(err) != "busy" || tries != -5 ||
			sum.Failed[0].Fault.Node != "n1" {
			t.Error("five tries and no more:", err, tries)
		}
	})
}

func TestALostOutcomeIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name            string
			done            bool // whether the command was done although its end was not heard
			check           bool
			applies         int
			second, outcome string
		}{
			{"it was done", true, true, 1, "", "changed"},
			{"it was not done", false, true, 2, "", "changed"},
			{"nobody can tell", true, false, 2, "", "changed"},
			{"lost again", false, true, 2, engine.CodeUnknown, "unknown " + engine.CodeUnknown},
		} {
			applies, there := 0, false
			s := step("s/n1", func(context.Context) error {
				applies++
				switch {
				case applies == 1:
					there = c.done
					return event.NewFault(event.ClassFailed, engine.CodeUnknown, nil)
				case c.second != "":
					return event.NewFault(event.ClassFailed, c.second, nil)
				}
				there = true
				return nil
			})
			if c.check {
				s.Check = func(context.Context) (bool, error) { return there, nil }
			}
			l, _, _ := run(t, plan(s), engine.Options{})
			l.has(t, "retry s/n1 in 1s: "+engine.CodeUnknown, "end s/n1 "+c.outcome)
			if applies != c.applies {
				t.Errorf("%s: applied %d times", c.name, applies)
			}
		}
	})
}

func TestAStepHasItsTimeAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step("s/n1", func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("waiting for godot: %w", ctx.Err())
		})
		s.Timeout = 7 * time.Second
		start := time.Now()
		_, sum, err := run(t, plan(s), engine.Options{})
		f := event.AsFault(err)
		if f.Code != "engine.timeout" || f.Args["timeout"] != "7s" || !strings.Contains(f.Cause, "godot") ||
			time.Since(start) != 7*time.Second {
			t.Errorf("%+v after %v", f, time.Since(start))
		}
		if sum.Failed[0].Took != 7*time.Second {
			t.Error(sum.Failed[0].Took)
		}
	})
}

func TestAFailureStopsThoseThatNeedItAndNoOther(t *testing.T) {
	l, sum, err := run(t, plan(
		step("a/n1", fails("a")), step("b/n1", nothing, "a/n1"), step("c/n2", nothing, "b/n1"), step("d/n1", nothing),
		step("e/n2", nothing, "d/n1"),
	), engine.Options{})
	if codeOf(err) != "a" {
		t.Fatal(err)
	}
	l.has(t, "end a/n1 failed a", "end b/n1 blocked engine.blockeda/n1", "end c/n2 blocked engine.blockeda/n1",
		"end d/n1 changed", "end e/n2 changed", "phase p failed")
	if sum.Counts[event.Blocked] != 2 || len(sum.Failed) != 1 || len(sum.Left) != 0 {
		t.Errorf("%+v", sum)
	}
	l, sum, err = run(t, plan(step("a", fails("a")), step("b", nothing)), engine.Options{OnFailure: engine.Abort})
	if codeOf(err) != "a" || !slices.Equal(sum.Left, []string{"b"}) {
		t.Error("abort:", err, sum.Left)
	}
	l.has(t, "phase p failed")
}

func TestSeveralFailuresAreOneError(t *testing.T) {
	a, b := fails("a"), fails("b")
	_, _, err := run(t, plan(step("a/n1", a), step("b/n2", b)), engine.Options{})
	f := event.AsFault(err)
	if f.Code != "engine.steps-failed" || f.Args["count"] != "2" || !strings.Contains(f.Err.Error(), "n1: a/n1: a") {
		t.Errorf("%+v", f)
	}
}

func TestALostHostDoesNotHoldUpTheOthers(t *testing.T) {
	for _, gone := range []*event.Fault{
		event.NewFault(event.ClassAuth, "ssh.auth", nil), event.NewFault(event.ClassFailed, "ssh.lost", nil),
		event.NewFault(event.ClassFailed, "ssh.unreachable", nil),
	} {
		l, sum, _ := run(t, plan(
			step("a/n1", func(context.Context) error { return gone }), step("b/n1", nothing), step("c/n2", nothing),
			step("d/n2", nothing, "b/n1"), step("e/n2", nothing, "c/n2"),
		), engine.Options{})
		l.has(t, "end a/n1 failed "+gone.Code, "end b/n1 blocked engine.host-losta/n1",
			"end d/n2 blocked engine.blockeda/n1", "end e/n2 changed")
		if len(sum.Failed) != 1 {
			t.Error(sum.Failed)
		}
	}
}

func TestAnIgnoredLossStopsNobodyAndHidesNoFailure(t *testing.T) {
	gone := event.NewFault(event.ClassFailed, "ssh.unreachable", nil)
	look := step("look/n1", func(context.Context) error { return gone })
	look.Optional = true
	l, sum, err := run(t, plan(look, step("a/n1", func(context.Context) error {
		return event.NewFault(event.ClassPartial, "node.gone", nil)
	}, "look/n1"), step("b/n2", nothing, "look/n1")), engine.Options{})
	l.has(t, "end look/n1 ignored ssh.unreachable", "end a/n1 failed node.gone", "end b/n2 changed")
	if f := event.AsFault(err); f == nil || f.Class != event.ClassPartial || len(sum.Failed) != 1 {
		t.Error(err, sum.Failed)
	}
}

func TestTheHooksOfAPhase(t *testing.T) {
	var heard []string
	two := func(before, apply, after error) *engine.Plan {
		heard = nil
		p := plan(step("a/n1", func(context.Context) error { heard = append(heard, "a"); return apply }),
			step("b/n1", nothing, "a/n1"))
		p.Phases[0].Before = func(context.Context) error { heard = append(heard, "before"); return before }
		p.Phases[0].After = func(_ context.Context, o event.Outcome) error {
			heard = append(heard, "after "+string(o))
			return after
		}
		return p
	}
	bad := event.NewFault(event.ClassFailed, "bad", nil)
	for _, c := range []struct {
		name                 string
		before, apply, after error
		heard                string
		last, err            string
	}{
		{"all well", nil, nil, nil, "before a after changed", "phase p changed", ""},
		{"a step fails", nil, bad, nil, "before a after failed", "phase p failed", "bad"},
		{"before fails", bad, nil, nil, "before after failed", "phase p failed", "bad"},
		{"after fails", nil, nil, bad, "before a after changed", "phase p failed bad", "bad"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, _, err := run(t, two(c.before, c.apply, c.after), engine.Options{})
			story := l.story()
			if strings.Join(heard, " ") != c.heard || story[len(story)-1] != c.last || codeOf(err) != c.err ||
				story[0] != "phase p" {
				t.Errorf("heard %v, error %v\n%s", heard, err, strings.Join(story, "\n"))
			}
		})
	}
	p := two(nil, nil, nil)
	p.Phases[0].Before = func(context.Context) error { runtime.Goexit(); return nil }
	if l, _, err := run(t, p, engine.Options{}); codeOf(err) != "engine.panic" {
		t.Error(err, l.story())
	}
}

func TestCancelTellsTheRunningStepsAndStartsNoMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &log{}
	p := plan(
		step("a/n1", func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }),
		step("b/n1", nothing), step("c/n2", func(ctx context.Context) error { <-ctx.Done(); return nil }),
		step("d/n2", nothing, "c/n2"))
	after := false
	p.Phases[0].After = func(ctx context.Context, _ event.Outcome) error { after = true; return ctx.Err() }
	sum, err := engine.Run(ctx, p, engine.Options{Emit: l.Emit})
	if f := event.AsFault(err); f.Code != "engine.interrupted" || f.Class != event.ClassInterrupted ||
		f.Args["left"] != "3" {
		t.Errorf("%+v", f)
	}
	l.has(t, "end a/n1 interrupted internal", "end c/n2 changed", "phase p interrupted")
	if d := cmp.Diff([]string{"a/n1", "b/n1", "d/n2"}, sum.Left); d != "" || !after {
		t.Error(d, after)
	}
	sum, err = engine.Run(ctx, p, engine.Options{})
	if codeOf(err) != "engine.interrupted" || len(sum.Left) != 4 {
		t.Error("a cancelled context starts nothing:", err, sum)
	}
}

func TestStopLetsTheRunningStepsEndAndCutsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		paused := step("p/n2", func(context.Context) error { return retriable("busy") })
		paused.Retry = engine.Retry{Tries: 9, Delay: time.Hour, MaxDelay: time.Hour}
		placeless := step("q/n3", func(context.Context) error { return retriable("busy") })
		placeless.Retry, placeless.Limit = engine.Retry{Tries: 9, Delay: time.Minute}, "one"
		hog := step("h/n4", func(context.Context) error { time.Sleep(2 * time.Hour); return nil })
		hog.Limit = "one"
		l, sum, err := run(t, plan(
			step("a/n1", func(context.Context) error {
				time.Sleep(30 * time.Minute)
				close(stop)
				time.Sleep(time.Minute)
				return nil
			}),
			step("b/n1", nothing), paused, placeless, hog,
		), engine.Options{Stop: stop})
		if codeOf(err) != "engine.interrupted" || !slices.Equal(sum.Left, []string{"b/n1", "p/n2", "q/n3"}) {
			t.Error(err, sum.Left)
		}
		l.has(t, "end a/n1 changed", "end h/n4 changed", "end p/n2 interrupted busy", "end q/n3 interrupted busy")
	})
}

// A step that only waits is cut off by a stop, and continued another time; it has not failed.
func TestAStopCutsOffWhatOnlyWaits(t *testing.T) {
	stop := make(chan struct{})
	watch := &engine.Step{ID: "soak/n1", Phase: "p", Host: "n1", Waits: true, Apply: func(ctx context.Context) error {
		close(stop)
		<-ctx.Done()
		return ctx.Err()
	}}
	events, sum, err := run(t, plan(watch), engine.Options{Stop: stop})
	if f := event.AsFault(err); f == nil || f.Class != event.ClassInterrupted || len(sum.Failed) != 0 {
		t.Errorf("%v %+v\n%v", err, sum, events)
	}
}

// A step that waits for its turn and has begun nothing ends when the run is to stop: it is left, and has not failed.
// One that does not ask, or has begun something, is finished.
func TestAStepThatHasBegunNothingStops(t *testing.T) {
	stop := make(chan struct{})
	both := make(chan struct{}, 2)
	waits := func(id, host string, asks bool) *engine.Step {
		return &engine.Step{ID: id, Phase: "p", Host: host, Retry: engine.Retry{Tries: 3},
			Apply: func(ctx context.Context) error {
				if both <- struct{}{}; len(both) == 2 {
					close(stop)
				}
				for !engine.Stopping(ctx) {
					runtime.Gosched()
				}
				if asks {
					return fmt.Errorf("n1: %w", engine.ErrStopped)
				}
				return nil
			}}
	}
	events, sum, err := run(t, plan(waits("turn/n1", "n1", true), waits("turn/n2", "n2", false)),
		engine.Options{Stop: stop})
	f := event.AsFault(err)
	if f == nil || f.Class != event.ClassInterrupted || len(sum.Failed) != 0 ||
		!slices.Equal(sum.Left, []string{"turn/n1"}) {
		t.Errorf("%v %+v\n%v", err, sum, events)
	}
	if engine.Stopping(t.Context()) {
		t.Error("there is no run")
	}
}

func TestUndoTakesBackWhatWasChangedInReverse(t *testing.T) {
	var undone []string
	u := func(id string, apply func(context.Context) error, undo error, needs ...string) *engine.Step {
		s := step(id, apply, needs...)
		s.Undo = func(ctx context.Context) error { undone = append(undone, engine.StepID(ctx)); return undo }
		return s
	}
	mk := func(last, undoC error) *engine.Plan {
		undone = nil
		already := u("already/n1", nothing, nil)
		already.Check = func(context.Context) (bool, error) { return true, nil }
		return plan(already, u("a/n1", nothing, nil, "already/n1"), u("b/n2", nothing, nil, "a/n1"),
			u("c/n1", nothing, undoC, "b/n2"),
			u("d/n1", func(context.Context) error { return last }, nil, "c/n1"), u("e/n1", nothing, nil, "d/n1"))
	}
	bad := event.NewFault(event.ClassFailed, "bad", nil)
	l, sum, err := run(t, mk(bad, nil), engine.Options{Undo: true})
	if got := strings.Join(undone, " "); got != "d/n1 c/n1 b/n2 a/n1" || codeOf(err) != "bad" ||
		!slices.Equal(sum.Undone, undone) {
		t.Error(got, err)
	}
	l.has(t, "undone a/n1 changed")
	l, _, _ = run(t, mk(bad, bad), engine.Options{Undo: true})
	if got := strings.Join(undone, " "); got != "d/n1 c/n1" {
		t.Error("what a step rests on that is still there must stay:", got)
	}
	l.has(t, "undone c/n1 failed bad")
	if _, _, _ = run(t, mk(nil, nil), engine.Options{Undo: true}); len(undone) > 0 {
		t.Error("a run that went well is not undone")
	}
	if _, _, _ = run(t, mk(bad, nil), engine.Options{}); len(undone) > 0 {
		t.Error("undo is done only when asked for")
	}
}

// TestAStepThatWaitedForItsNextTryIsUndone: another step ends the run meanwhile; what the first try did is reverted.
func TestAStepThatWaitedForItsNextTryIsUndone(t *testing.T) {
	bad := event.NewFault(event.ClassFailed, "bad", nil)
	again := event.NewFault(event.ClassFailed, "again", nil)
	again.Retry = true
	var undone []string
	waiting := make(chan struct{})
	a := step("a/n1", func(context.Context) error { return again })
	a.Retry = engine.Retry{Tries: 5}
	a.Undo = func(ctx context.Context) error { undone = append(undone, engine.StepID(ctx)); return nil }
	b := step("b/n2", func(context.Context) error { <-waiting; return bad })
	_, sum, err := run(t, plan(a, b), engine.Options{Undo: true, OnFailure: engine.Abort,
		Sleep: func(ctx context.Context, _ time.Duration) error {
			close(waiting)
			<-ctx.Done()
			return ctx.Err()
		}})
	if !slices.Equal(undone, []string{"a/n1"}) || codeOf(err) != "bad" || !slices.Equal(sum.Undone, undone) {
		t.Error(undone, err)
	}
}

// TestAStopEndsTheUndo: the step that is undone ends, no other is begun.
func TestAStopEndsTheUndo(t *testing.T) {
	stop := make(chan struct{})
	var undone []string
	u := func(id string, needs ...string) *engine.Step {
		s := step(id, nothing, needs...)
		s.Undo = func(ctx context.Context) error {
			undone = append(undone, engine.StepID(ctx))
			close(stop)
			return nil
		}
		return s
	}
	bad := step("c/n1", func(context.Context) error { return event.NewFault(event.ClassFailed, "bad", nil) }, "b/n1")
	_, _, _ = run(t, plan(u("a/n1"), u("b/n1", "a/n1"), bad), engine.Options{Undo: true, Stop: stop})
	if !slices.Equal(undone, []string{"b/n1"}) {
		t.Error(undone)
	}
}

func TestAStepKnowsItsName(t *testing.T) {
	var got string
	_, _, err := run(t, plan(step("a/n1", func(ctx context.Context) error { got = engine.StepID(ctx); return nil })),
		engine.Options{})
	if err != nil || got != "a/n1" || engine.StepID(t.Context()) != "" {
		t.Error(got, err)
	}
}
