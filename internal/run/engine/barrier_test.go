package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// gated is a plan in which the work of every host waits for the hooks of all hosts and the end for all work, with
// barriers or without. The hook on the second host fails.
func gated(barriers bool, hook func(context.Context) error) (*engine.Plan, *[]string) {
	var steps []*engine.Step
	var hooks, work []string
	undone := &[]string{}
	add := func(id string, f func(context.Context) error) *engine.Step {
		s := step(id, f)
		s.Undo = func(context.Context) error {
			*undone = append(*undone, id)
			if strings.HasPrefix(id, "work/n1") {
				return fmt.Errorf("it stays")
			}
			return nil
		}
		steps = append(steps, s)
		return s
	}
	for i := range 4 {
		f := nothing
		if i == 2 {
			f = hook
		}
		hooks = append(hooks, add(fmt.Sprintf("hook/n%d", i), f).ID)
	}
	last := []string{}
	for i := range 4 {
		s := add(fmt.Sprintf("work/n%d", i), nothing)
		work, last = append(work, s.ID), append(last, s.ID)
	}
	end := add("end", fails("at the end"))
	p := plan(steps...)
	before, after := hooks, work
	if barriers {
		p.Barriers = []engine.Barrier{{ID: "inner", Needs: hooks}, {ID: "hooks.before", Needs: []string{"inner"}},
			{ID: "work.done", Needs: last}}
		before, after = []string{"hooks.before"}, []string{"work.done"}
	}
	for _, s := range p.Steps {
		if strings.HasPrefix(s.ID, "work/") {
			s.Needs = before
		}
	}
	end.Needs = after
	return p, undone
}

// Steps behind a barrier end as if they needed everything before it themselves.
func TestABarrierStandsForAllThatItNeeds(t *testing.T) {
	spare := func(host string) bool { return host == "n2" }
	for name, c := range map[string]struct {
		hook  func(context.Context) error
		opts  engine.Options
		spare func(string) bool
	}{
		"all is well":         {hook: nothing},
		"all is undone":       {hook: nothing, opts: engine.Options{Undo: true}},
		"one fails":           {hook: fails("bad")},
		"one fails and abort": {hook: fails("bad"), opts: engine.Options{OnFailure: engine.Abort}},
		"one is left out":     {hook: fails("bad"), opts: engine.Options{OnFailure: engine.LeaveOut}, spare: spare},
		"one cannot be": {hook: fails("bad"), opts: engine.Options{OnFailure: engine.LeaveOut},
			spare: func(string) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			ends := func(barriers bool) []string {
				p, undone := gated(barriers, c.hook)
				p.Spare = c.spare
				if err := p.Validate(); err != nil {
					t.Fatal(err)
				}
				l, sum, err := run(t, p, c.opts)
				out := []string{"error " + codeOf(err), fmt.Sprint(sum.Counts), "left out " + fmt.Sprint(sum.LeftOut),
					"undone " + fmt.Sprint(len(*undone))}
				for _, e := range l.all {
					switch e := e.(type) {
					case event.StepEnded:
						why := ""
						if e.Why != nil {
							why = "because of " + e.Why.Args["step"]
						}
						out = append(out, fmt.Sprint(e.Step, " ", e.Outcome, " ", why))
					}
				}
				slices.Sort(out[4:])
				return out
			}
			if d := cmp.Diff(ends(false), ends(true)); d != "" {
				t.Errorf("without barriers (-) and with them (+):\n%s", d)
			}
		})
	}
}

// A barrier without needs, or whose needs are barriers, is passed; one that nobody waits for is no matter.
func TestBarriersAreNoEvents(t *testing.T) {
	p := plan(step("a/n1", nothing, "open"), step("b/n2", nothing, "chain"))
	p.Barriers = []engine.Barrier{{ID: "open"}, {ID: "chain", Needs: []string{"open", "link"}},
		{ID: "link", Needs: []string{"a/n1"}}, {ID: "idle", Needs: []string{"b/n2"}}}
	l, sum, err := run(t, p, engine.Options{})
	if err != nil || !slices.Equal(sum.Changed, []string{"a/n1", "b/n2"}) || len(sum.Left) > 0 {
		t.Fatal(err, sum)
	}
	chain := ""
	for _, s := range sum.LongestChain {
		chain += s.Step + " "
	}
	if chain != "a/n1 b/n2 " {
		t.Error("the longest chain:", chain)
	}
	for _, e := range l.all {
		line, _ := json.Marshal(e)
		if _, plan := e.(event.PlanMade); !plan && (strings.Contains(string(line), "link") ||
			strings.Contains(string(line), "open")) {
			t.Errorf("%s", line)
		}
	}
	for _, bad := range []engine.Barrier{{ID: "a/n1"}, {ID: "open"}, {ID: "x", Needs: []string{"nobody"}},
		{ID: "x", Needs: []string{"x"}}, {}} {
		q := *p
		q.Barriers = append(slices.Clone(p.Barriers), bad)
		if q.Validate() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
