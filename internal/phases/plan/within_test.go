package plan_test

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestAPlanWithinAPhase: the same graph under other IDs, in one phase; the plan that it was made of stays as it is.
func TestAPlanWithinAPhase(t *testing.T) {
	b := plan.New(plan.Options{Hosts: []event.Host{{Name: "n"}}}, plan.Phase{ID: "a"}, plan.Phase{ID: "b"})
	b.Add(&engine.Step{ID: "a.x/n", Phase: "a", Host: "n"})
	all := b.Barrier("a.all", b.IDs("a", ""))
	b.Add(&engine.Step{ID: "b.y", Phase: "b", Needs: []string{all}})
	was := b.Plan()
	p := plan.Within(was, "undo")
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.Phase+" "+s.ID+" <"+strings.Join(s.Needs, " ")+">")
	}
	if is := strings.Join(got, ", "); is != "undo undo.a.x/n <>, undo undo.b.y <undo.a.all>" || len(p.Phases) != 1 ||
		was.Steps[0].ID != "a.x/n" {
		t.Error(is, p.Phases)
	}
}
