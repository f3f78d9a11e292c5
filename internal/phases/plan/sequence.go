package plan

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Sequence is one plan of several, each of which begins when the one before it is done. What a later plan has gets its
// name before its own ID.
func Sequence(names []string, plans []*engine.Plan) *engine.Plan {
	all := *plans[0]
	for i, p := range plans[1:] {
		rename(p, names[i+1]+":")
		done := engine.Barrier{ID: names[i+1] + ":begin"}
		for _, s := range plans[i].Steps {
			if !s.Optional {
				done.Needs = append(done.Needs, s.ID)
			}
		}
		for _, s := range p.Steps {
			if len(s.Needs) == 0 {
				s.Needs = []string{done.ID}
			}
		}
		for _, h := range p.Hosts {
			if !slices.ContainsFunc(all.Hosts, func(is event.Host) bool { return is.Name == h.Name }) {
				all.Hosts = append(all.Hosts, h)
			}
		}
		all.Phases = append(slices.Clip(all.Phases), p.Phases...)
		all.Steps = append(slices.Clip(all.Steps), p.Steps...)
		all.Barriers = append(append(slices.Clip(all.Barriers), done), p.Barriers...)
	}
	return &all
}

// rename puts a prefix before all IDs of a plan.
func rename(p *engine.Plan, prefix string) {
	each := func(ids []string) []string {
		out := make([]string, len(ids))
		for i, id := range ids {
			out[i] = prefix + id
		}
		return out
	}
	for i := range p.Phases {
		p.Phases[i].ID = prefix + p.Phases[i].ID
	}
	for i := range p.Barriers {
		p.Barriers[i].ID, p.Barriers[i].Needs = prefix+p.Barriers[i].ID, each(p.Barriers[i].Needs)
	}
	for _, s := range p.Steps {
		s.ID, s.Phase, s.Needs = prefix+s.ID, prefix+s.Phase, each(s.Needs)
	}
}
