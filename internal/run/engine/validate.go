package engine

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Validate says whether the plan can be run: IDs are unique, phases, hosts and needs exist, and no step needs itself by
// any way; the fault of a cycle names the steps on it.
func (p *Plan) Validate() error {
	phases, hosts := map[string]bool{}, map[string]bool{"": true}
	for _, ph := range p.Phases {
		if phases[ph.ID] {
			return badPlan("engine.duplicate-phase", "phase", ph.ID)
		}
		phases[ph.ID] = true
	}
	for _, h := range p.Hosts {
		hosts[h.Name] = true
	}
	byID := make(map[string]*Step, len(p.Steps))
	for _, s := range p.Steps {
		switch {
		case s.ID == "" || byID[s.ID] != nil:
			return badPlan("engine.duplicate-step", "id", s.ID)
		case !phases[s.Phase]:
			return badPlan("engine.unknown-phase", "id", s.ID, "phase", s.Phase)
		case !hosts[s.Host]:
			return badPlan("engine.unknown-host", "id", s.ID, "host", s.Host)
		}
		byID[s.ID] = s
	}
	barriers := p.barrierSteps()
	for _, s := range barriers {
		if s.ID == "" || byID[s.ID] != nil {
			return badPlan("engine.duplicate-step", "id", s.ID)
		}
		byID[s.ID] = s
	}
	all := slices.Concat(p.Steps, barriers)
	for _, s := range all {
		for _, n := range s.Needs {
			if byID[n] == nil {
				return badPlan("engine.unknown-need", "id", s.ID, "need", n)
			}
		}
	}
	if cycle := findCycle(all, byID); cycle != nil {
		return badPlan("engine.cycle", "steps", strings.Join(cycle, " → "))
	}
	return nil
}

// barrierSteps are the barriers as steps of no host and no phase.
func (p *Plan) barrierSteps() []*Step {
	var out []*Step
	for _, b := range p.Barriers {
		out = append(out, &Step{ID: b.ID, Needs: b.Needs})
	}
	return out
}

func badPlan(code string, kv ...string) *event.Fault {
	return event.NewFault(event.ClassFailed, code, nil, kv...)
}

// findCycle walks the needs depth first without recursion, for a chain may be as long as the plan.
func findCycle(steps []*Step, byID map[string]*Step) []string {
	const open, closed = 1, 2
	state := make(map[string]int, len(steps))
	type frame struct {
		step *Step
		next int
	}
	for _, root := range steps {
		if state[root.ID] != 0 {
			continue
		}
		stack := []frame{{step: root}}
		state[root.ID] = open
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(top.step.Needs) {
				state[top.step.ID] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			need := top.step.Needs[top.next]
			top.next++
			switch state[need] {
			case 0:
				state[need] = open
				stack = append(stack, frame{step: byID[need]})
			case open:
				cycle := []string{need}
				for i := len(stack) - 1; stack[i].step.ID != need; i-- {
					cycle = append([]string{stack[i].step.ID}, cycle...)
				}
				return append([]string{need}, cycle...)
			}
		}
	}
	return nil
}
