package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestAHostDoesOneThingAtATimeInTheOrderOfThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nap := func(context.Context) error { time.Sleep(time.Second); return nil }
		up := step("up/n1", nap)
		up.Lane = "bulk"
		start := time.Now()
		_, sum, err := run(t, plan(step("c/n1", nap, "x/n2"), step("a/n1", nap), step("b/n1", nap), up,
			step("x/n2", nothing)), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// a beside up, x at once; when a ends, c comes before b in the plan.
		if strings.Join(sum.Changed[3:], " ") != "c/n1 b/n1" || time.Since(start) != 3*time.Second {
			t.Error(sum.Changed, time.Since(start))
		}
		var chain []string
		for _, s := range sum.LongestChain {
			chain = append(chain, s.Step)
		}
		if len(chain) != 3 || strings.Join(chain[1:], " ") != "c/n1 b/n1" { // a or up before them: both took a second
			t.Error(chain)
		}
	})
}

func TestALimitHasItsPlacesAndAPauseHoldsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []*engine.Step
		for i := range 10 {
			s := step(fmt.Sprintf("s/n%d", i), func(context.Context) error { time.Sleep(time.Second); return nil })
			s.Limit = "uploads"
			steps = append(steps, s)
		}
		for places, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 4: 3 * time.Second,
			10: time.Second} {
			start := time.Now()
			if _, _, err := run(t, plan(steps...),
				engine.Options{Limits: map[string]int{"uploads": places}}); err != nil || time.Since(start) != want {
				t.Errorf("%d places: %v, want %v (%v)", places, time.Since(start), want, err)
			}
		}
		first := true
		steps[0].Retry = engine.Retry{Tries: 2, Delay: 9 * time.Second}
		steps[0].Apply = func(context.Context) error {
			if first {
				first = false
				return retriable("busy")
			}
			return nil
		}
		start := time.Now()
		if _, _, err := run(t, plan(steps...), engine.Options{}); err != nil || time.Since(start) != 9*time.Second {
			t.Error("nine others use the pause:", time.Since(start), err)
		}
	})
}

// world runs random plans and watches the promises of the scheduler while they run.
type world struct {
	t       *testing.T
	mu      sync.Mutex
	lanes   map[string]string // what runs there
	limits  map[string]int
	places  map[string]int
	outcome map[string]event.Outcome // journalled
	byID    map[string]*engine.Step
	applied map[string]int
	asked   map[string]bool
	spared  map[string]bool
}

func (w *world) Emit(e event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case event.StepStarted:
		s := w.byID[e.Step]
		w.asked[e.Step] = false
		for _, n := range s.Needs {
			if other := w.byID[n].Host; !w.outcome[n].Done() && (other == s.Host || !w.spared[other]) {
				w.t.Errorf("%s started but its need %s is %q", e.Step, n, w.outcome[n])
			}
		}
		if lane := s.Host + "|" + s.Lane; w.lanes[lane] != "" && w.lanes[lane] != e.Step {
			w.t.Errorf("%s started beside %s", e.Step, w.lanes[lane])
		} else {
			w.lanes[lane] = e.Step
		}
		if w.limits[s.Limit]++; s.Limit != "" && w.limits[s.Limit] > w.places[s.Limit] {
			w.t.Errorf("%d of %q run", w.limits[s.Limit], s.Limit)
		}
	case event.StepRetry:
		w.asked[e.Step] = true // it holds no place until it starts again
		w.limits[w.byID[e.Step].Limit]--
	case event.StepAsked:
		w.limits[w.byID[e.Step].Limit]--
		w.asked[e.Step] = true
	case event.StepDecided:
		w.asked[e.Step] = e.Decision != engine.TryAgain
	case event.StepEnded:
		s := w.byID[e.Step]
		if w.outcome[e.Step] != "" {
			w.t.Errorf("%s ended twice", e.Step)
		}
		w.outcome[e.Step] = e.Outcome
		if w.lanes[s.Host+"|"+s.Lane] == e.Step {
			w.lanes[s.Host+"|"+s.Lane] = ""
			if e.Outcome != event.Interrupted && !w.asked[e.Step] {
				w.limits[s.Limit]--
			}
		}
	}
	return nil
}

func (w *world) plan(rng *rand.Rand) *engine.Plan {
	var steps []*engine.Step
	hosts, lanes, limits := 1+rng.IntN(5), []string{"", "", "bulk"}, []string{"", "", "x", "y"}
	for i := range 1 + rng.IntN(60) {
		host := ""
		if h := rng.IntN(hosts + 1); h > 0 {
			host = fmt.Sprintf("/n%d", h)
		}
		s := step(fmt.Sprintf("s%d%s", i, host), nil)
		s.Lane, s.Limit = lanes[rng.IntN(len(lanes))], limits[rng.IntN(len(limits))]
		s.Optional = rng.IntN(10) == 0
		s.Retry = engine.Retry{Tries: rng.IntN(3)}
		for range rng.IntN(4) {
			if i > 0 {
				s.Needs = append(s.Needs, steps[rng.IntN(i)].ID)
			}
		}
		var script []error
		for range 3 {
			switch r := rng.IntN(100); {
			case r < 5:
				script = append(script, event.NewFault(event.ClassFailed, "bad", nil))
			case r < 15:
				script = append(script, retriable("busy"))
			case r < 18:
				script = append(script, event.NewFault(event.ClassFailed, engine.CodeUnknown, nil))
			case r < 19:
				script = append(script, event.NewFault(event.ClassFailed, "ssh.lost", nil))
			default:
				script = append(script, nil)
			}
		}
		nap := time.Duration(rng.IntN(5)) * time.Second
		s.Apply = func(context.Context) error {
			w.mu.Lock()
			n := w.applied[s.ID]
			w.applied[s.ID]++
			w.mu.Unlock()
			time.Sleep(nap)
			return script[min(n, 2)]
		}
		steps = append(steps, s)
		w.byID[s.ID] = s
	}
	rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] }) // steps may stand in any order
	return plan(steps...)
}

// decisions has every failure decided by chance in half of the runs. A step that is tried again is so at most once.
func (w *world) decisions(rng *rand.Rand, p *engine.Plan, opts *engine.Options) (aborted *bool) {
	aborted = new(bool)
	p.Spare = func(host string) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.spared[host] = host != "n1"
		return w.spared[host]
	}
	if rng.IntN(2) == 0 {
		return aborted
	}
	again := map[string]bool{}
	dice := rand.New(rand.NewPCG(rng.Uint64(), 2))
	opts.Decide = func(_ context.Context, f engine.Failure) engine.Decision {
		w.mu.Lock()
		n := dice.IntN(20)
		retry := !again[f.Step.ID]
		again[f.Step.ID] = true
		w.mu.Unlock()
		time.Sleep(time.Duration(n) * time.Second / 3)
		switch {
		case n < 8 && retry:
			return engine.TryAgain
		case n < 16:
			return engine.LeaveOut
		case n == 16:
			w.mu.Lock()
			*aborted = true
			w.mu.Unlock()
			return engine.Abort
		}
		return engine.GoOn
	}
	return aborted
}

func TestRandomPlansKeepEveryPromise(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			w := &world{t: t, lanes: map[string]string{}, limits: map[string]int{}, outcome: map[string]event.Outcome{},
				byID: map[string]*engine.Step{}, applied: map[string]int{}, asked: map[string]bool{},
				spared: map[string]bool{}}
			w.places = map[string]int{"x": 1, "y": 1 + rng.IntN(3)}
			p := w.plan(rng)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cut := rng.IntN(4) == 0
			if cut {
				defer time.AfterFunc(time.Duration(rng.IntN(20))*time.Second+time.Millisecond, cancel).Stop()
			}
			opts := engine.Options{Emit: w.Emit, Limits: w.places}
			aborted := w.decisions(rng, p, &opts)
			sum, err := engine.Run(ctx, p, opts)
			failed, left := 0, 0
			for id, s := range w.byID {
				switch o := w.outcome[id]; {
				case o == event.Failed || o == event.Unknown:
					failed++
				case o == event.Blocked:
					if w.applied[id] > 0 {
						t.Errorf("seed %d: %s is blocked but was tried", seed, id)
					}
				case o == "" || o == event.Interrupted:
					left++
				case w.applied[id] == 0:
					t.Errorf("seed %d: %s is %s but was never tried", seed, id, s.ID)
				}
			}
			if left > 0 && !cut && !*aborted || left != len(sum.Left) || failed != len(sum.Failed) ||
				(err == nil) != (failed == 0 && left == 0) {
				t.Errorf("seed %d: %d failed, %d left, error %v, summary %v %v", seed, failed, left, err, sum.Failed,
					sum.Left)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// TestKilledAnywhere kills a run after each of its records and runs it again, as often as it takes.
func TestKilledAnywhere(t *testing.T) {
	dead := errors.New("killed")
	for _, withCheck := range []bool{false, true} {
		for k := 0; ; k++ {
			var mu sync.Mutex
			state, applied := map[string]int{}, map[string]int{}
			var steps []*engine.Step
			for h := range 4 {
				for i := range 5 {
					lane := ""
					if i == 3 {
						lane = "bulk"
					}
					s := step(fmt.Sprintf("s%d/n%d", i, h), nil)
					s.Lane = lane
					s.Apply = func(context.Context) error {
						mu.Lock()
						defer mu.Unlock()
						state[s.ID] = 1 // idempotent
						applied[s.ID]++
						return nil
					}
					if i > 0 {
						s.Needs = []string{fmt.Sprintf("s%d/n%d", i-1, h), fmt.Sprintf("s%d/n%d", i-1, (h+1)%4)}
					}
					if withCheck {
						s.Check = func(context.Context) (bool,
							error) {
							mu.Lock()
							defer mu.Unlock()
							return state[s.ID] == 1, nil
						}
					}
					steps = append(steps, s)
				}
			}
			done, records := map[string]bool{}, 0
			emit := func(e event.Event) error {
				mu.Lock()
				defer mu.Unlock()
				if records == k {
					return dead
				}
				records++
				if end, ok := e.(event.StepEnded); ok && end.Outcome.Done() {
					done[end.Step] = true
				}
				return nil
			}
			_, err := engine.Run(t.Context(), plan(steps...), engine.Options{Emit: emit})
			if err == nil {
				if k < 40 {
					t.Fatal("the run was never killed")
				}
				break // k is beyond the last record
			}
			if codeOf(err) != "journal.write" || !errors.Is(err, dead) {
				t.Fatal(err)
			}
			sum, err := engine.Run(t.Context(), plan(steps...), engine.Options{Done: done})
			if err != nil || len(state) != len(steps) || sum.Counts[event.OK]+sum.Counts[event.Changed] != len(steps) {
				t.Fatalf("after record %d: %v, %d steps done", k, err, len(state))
			}
			again := map[string]int{}
			for _, s := range steps {
				if n := applied[s.ID] - 1; n > 0 {
					again[s.Host+"|"+s.Lane] += n
				}
			}
			for lane, n := range again {
				if n > 1 || withCheck {
					t.Errorf("after record %d: %d steps of %s were done again", k, n, lane)
				}
			}
		}
	}
}

func TestAJournalThatCannotBeWrittenStopsTheRunBeforeTheNextStep(t *testing.T) {
	ran := 0
	count := func(context.Context) error { ran++; return nil }
	emitted := 0
	_, err := engine.Run(t.Context(), plan(step("a", count), step("b", count, "a")),
		engine.Options{Emit: func(e event.Event) error {
			emitted++
			if _, ok := e.(event.StepEnded); ok {
				return errors.New("no space left on device")
			}
			return nil
		}})
	if codeOf(err) != "journal.write" || ran != 1 || emitted != 4 {
		t.Error(err, ran, emitted)
	}
}

func TestAThousandHosts(t *testing.T) {
	var steps []*engine.Step
	for i := range 20 {
		for h := range 1000 {
			s := step(fmt.Sprintf("s%d/n%d", i, h), nothing)
			if i%5 == 0 {
				s.Limit = "uploads"
			}
			if i > 0 {
				s.Needs = []string{fmt.Sprintf("s%d/n%d", i-1, h)}
			}
			steps = append(steps, s)
		}
	}
	start := time.Now()
	sum, err := engine.Run(t.Context(), plan(steps...), engine.Options{Limits: map[string]int{"uploads": 5}})
	if err != nil || sum.Counts[event.Changed] != 20000 {
		t.Fatal(err, sum.Counts)
	}
	t.Logf("20000 steps in %v", time.Since(start))
	if !slices.IsSortedFunc(sum.LongestChain, func(a, b engine.StepTiming) int { return a.Start.Compare(b.Start) }) {
		t.Error("the chain is not in order")
	}
}
