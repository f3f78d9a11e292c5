package plan

import (
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Within is the plan as one phase, for a run that has another plan already: no step or barrier of it has an ID that the
// other may have. What its phases did when they ended is not done.
func Within(p *engine.Plan, phase string) *engine.Plan {
	id := func(s string) string { return phase + "." + s }
	all := func(ids []string) []string {
		out := make([]string, 0, len(ids))
		for _, s := range ids {
			out = append(out, id(s))
		}
		return out
	}
	out := &engine.Plan{Hosts: p.Hosts, Spare: p.Spare, Slowness: p.Slowness,
		Phases: []engine.Phase{{ID: phase, Title: event.M("phase." + phase)}}}
	for _, s := range p.Steps {
		own := *s
		own.ID, own.Phase, own.Needs = id(s.ID), phase, all(s.Needs)
		out.Steps = append(out.Steps, &own)
	}
	for _, b := range p.Barriers {
		out.Barriers = append(out.Barriers, engine.Barrier{ID: id(b.ID), Needs: all(b.Needs)})
	}
	return out
}
