package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func workers(host string) bool { return strings.HasPrefix(host, "w") }

func TestAHostIsLeftOutAndTheOthersGoOnWithoutIt(t *testing.T) {
	p := plan(step("a/w1", fails("bad")), step("b/w1", nothing, "a/w1"), step("x/w1", nothing), step("a/w2", nothing),
		step("b/w2", nothing, "a/w2"),
		step("all", nothing, "b/w1", "b/w2"), step("own/w1", nothing, "all"), step("end", nothing, "all"))
	p.Spare = workers
	l, sum, err := run(t, p, engine.Options{OnFailure: engine.LeaveOut})
	f := event.AsFault(err)
	if codeOf(err) != "engine.left-out" || f.Class != event.ClassPartial || f.Args["hosts"] != "w1" ||
		!slices.Equal(sum.LeftOut, []string{"w1"}) || len(sum.Left) > 0 {
		t.Errorf("%v %+v", err, sum)
	}
	l.has(t, "end a/w1 failed bad", "end b/w1 blocked engine.blockeda/w1", "end x/w1 blocked engine.host-left-outa/w1",
		"end all changed", "end own/w1 blocked engine.host-left-outa/w1", "end end changed")
}

func TestWhatCannotBeSparedStopsThoseThatNeedIt(t *testing.T) {
	p := plan(step("a/m1", fails("bad")), step("a/w1", nothing), step("b/w1", nothing, "a/m1"), step("c/w2", nothing),
		step("local", fails("here")), step("d/w2", nothing, "local"))
	p.Spare = workers
	l, sum, err := run(t, p, engine.Options{OnFailure: engine.LeaveOut})
	if codeOf(err) != "engine.steps-failed" || len(sum.LeftOut) > 0 {
		t.Error(err, sum.LeftOut)
	}
	l.has(t, "end b/w1 blocked engine.blockeda/m1", "end a/w1 changed", "end c/w2 changed",
		"end d/w2 blocked engine.blockedlocal")
	p = plan(step("a/w1", fails("bad")), step("all", nothing, "a/w1")) // nobody says that it may be spared
	if l, _, err = run(t, p, engine.Options{OnFailure: engine.LeaveOut}); codeOf(err) != "bad" {
		t.Error(err)
	}
	l.has(t, "end all blocked engine.blockeda/w1")
}

func TestALostHostCanBeLeftOut(t *testing.T) {
	p := plan(step("a/w1", func(context.Context) error {
		return event.NewFault(event.ClassFailed, "ssh.lost", nil).On("w1")
	}), step("b/w1", nothing), step("all", nothing, "b/w1"))
	p.Spare = workers
	l, _, err := run(t, p, engine.Options{OnFailure: engine.LeaveOut})
	if codeOf(err) != "engine.left-out" {
		t.Error(err)
	}
	l.has(t, "end all changed")
}

func TestAStepIsTriedAgainAsOftenAsIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s := step("a/w1", func(context.Context) error {
			if tries++; tries < 6 {
				return retriable("busy")
			}
			return nil
		})
		s.Retry = engine.Retry{Tries: 2, Delay: time.Second}
		asked := 0
		start := time.Now()
		l, sum, err := run(t, plan(s, step("after/w1", nothing, "a/w1")),
			engine.Options{Decide: func(_ context.Context, f engine.Failure) engine.Decision {
				if asked++; f.Step.ID != "a/w1" || f.Try != 2*asked || f.Fault.Code != "busy" {
					t.Errorf("%+v", f)
				}
				return engine.TryAgain
			}})
		// Two tries a round, a second between them: the pauses do not grow from round to round.
		if err != nil || asked != 2 || tries != 6 || sum.Counts[event.Changed] != 2 ||
			time.Since(start) != 3*time.Second {
			t.Error(err, asked, tries, time.Since(start))
		}
		if got := strings.Join(l.story(), "\n"); strings.Count(got, "step_asked") != 2 ||
			strings.Count(got, "step_decided") != 2 || strings.Contains(got, "end a/w1 failed") {
			t.Error(got)
		}
	})
}

func TestTheOthersGoOnWhileSomebodyThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step("a/w1", fails("bad"))
		s.Limit = "one"
		other := step("a/w2", func(context.Context) error { time.Sleep(time.Minute); return nil })
		other.Limit = "one"
		p := plan(s, step("later/w1", nothing), other, step("b/w2", nothing, "a/w2"),
			step("all", nothing, "later/w1", "b/w2"))
		p.Spare = workers
		l, _, err := run(t, p, engine.Options{Decide: func(context.Context, engine.Failure) engine.Decision {
			time.Sleep(time.Hour)
			return engine.LeaveOut
		}})
		if codeOf(err) != "engine.left-out" {
			t.Error(err)
		}
		story := l.story()
		if slices.Index(story, "end b/w2 changed") > slices.Index(story, "end a/w1 failed bad") ||
			slices.Contains(story, "start later/w1 1") {
			t.Error(strings.Join(story, "\n"))
		}
		l.has(t, "end all changed")
	})
}

func TestAbortAndAStopEndTheQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(step("a/w1", fails("bad")), step("a/w2", fails("bad")),
			step("slow/w3", func(context.Context) error { time.Sleep(time.Hour); return nil }),
			step("never/w3", nothing, "slow/w3"))
		l, sum, err := run(t, p, engine.Options{Decide: func(ctx context.Context, f engine.Failure) engine.Decision {
			if f.Step.Host == "w1" {
				time.Sleep(time.Minute)
				return engine.Abort
			}
			<-ctx.Done()
			return engine.TryAgain // nobody hears it
		}})
		if codeOf(err) != "engine.steps-failed" || !slices.Equal(sum.Left, []string{"never/w3"}) {
			t.Error(err, sum.Left)
		}
		l.has(t, "end a/w1 failed bad", "end a/w2 failed bad", "end slow/w3 changed")
		stop := make(chan struct{})
		time.AfterFunc(time.Minute, func() { close(stop) })
		_, sum, err = run(t, plan(step("a/w1", fails("bad")), step("b/w1", nothing)),
			engine.Options{Stop: stop, Decide: func(ctx context.Context, _ engine.Failure) engine.Decision {
				<-ctx.Done()
				return engine.TryAgain
			}})
		if codeOf(err) != "engine.interrupted" || len(sum.Failed) != 1 {
			t.Error(err, sum)
		}
	})
}

func TestADeciderThatPanicsDecidesNothing(t *testing.T) {
	l, _, err := run(t, plan(step("a/w1", fails("bad")), step("b/w1", nothing)),
		engine.Options{Decide: func(context.Context, engine.Failure) engine.Decision { panic("no") }})
	if codeOf(err) != "bad" {
		t.Error(err)
	}
	l.has(t, "end b/w1 changed")
}
