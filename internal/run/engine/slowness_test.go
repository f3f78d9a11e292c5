package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// slowBy returns the slowness of hosts; "" is the slowest of them.
func slowBy(hosts map[string]float64) func(string) float64 {
	return func(host string) float64 {
		if host != "" {
			return hosts[host]
		}
		slowest := 0.0
		for _, n := range hosts {
			slowest = max(slowest, n)
		}
		return slowest
	}
}

func TestASlowHostHasMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		fast, slow := step("s/n1", wait), step("s/n2", wait)
		fast.Timeout, slow.Timeout = 7*time.Second, 7*time.Second
		p := plan(fast, slow)
		p.Slowness = slowBy(map[string]float64{"n2": 3}) // of n1 nothing is known
		_, sum, _ := run(t, p, engine.Options{})
		for i, want := range []struct {
			code, timeout string
			took          time.Duration
		}{{"engine.timeout", "7s", 7 * time.Second}, {"engine.timeout-slow", "21s", 21 * time.Second}} {
			f := sum.Failed[i]
			if f.Fault.Code != want.code || f.Fault.Args["timeout"] != want.timeout || f.Took != want.took {
				t.Errorf("%+v after %v", f.Fault, f.Took)
			}
		}
		if f := sum.Failed[1].Fault; f.Args["times"] != "3.0" {
			t.Errorf("%+v", f)
		}
	})
}

func TestAStepThatPollsWaitsForTheSlowestHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := map[string]*atomic.Int32{}
		polls := func(id string, polls bool) *engine.Step {
			tries[id] = &atomic.Int32{}
			s := step(id, func(ctx context.Context) error {
				tries[id].Add(1)
				f := event.NewFault(event.ClassFailed, "later", fmt.Errorf("stretched to %v",
					engine.Stretch(ctx, time.Second)))
				f.Retry = true
				return f
			})
			s.Retry = engine.Retry{Tries: 4, Delay: time.Second, MaxDelay: time.Second, Polls: polls}
			return s
		}
		p := plan(polls("polls/n1", true), polls("tries/n1", false), step("idle/n2", nothing))
		p.Slowness = slowBy(map[string]float64{"n1": 1, "n2": 2.5})
		_, sum, _ := run(t, p, engine.Options{})
		if tries["polls/n1"].Load() != 10 || tries["tries/n1"].Load() != 4 {
			t.Errorf("%d and %d tries", tries["polls/n1"].Load(), tries["tries/n1"].Load())
		}
		for _, f := range sum.Failed {
			want := map[string]string{"polls/n1": "stretched to 2.5s", "tries/n1": "stretched to 1s"}[f.Step]
			if f.Fault.Cause != want {
				t.Errorf("%s: %q, not %q", f.Step, f.Fault.Cause, want)
			}
		}
	})
}
