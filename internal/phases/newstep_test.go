package phases_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// beardFile is what the step of this test puts on nodes.
const beardFile = "/etc/kubernetes/beard"

// beard would be a function in the package of its phase: the first place.
func beard(r *inventory.Nodes, n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "beard", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	want := []node.File{layout.PlainFile(beardFile, []byte("long\n"))}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) { return nd.Same(ctx, want) })
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Put(ctx, want)
		return err
	})
	return s
}

// A step is a function of its phase and its title: nothing else has to know it. This adds one on every node, and asks
// everybody who has to do with steps: it is announced and not made in a dry run, made once, limited, and taken back.
func TestAStepIsAFunctionAndItsTitle(t *testing.T) {
	long(t)
	t.Parallel()
	with := func(e phases.Env) *engine.Plan {
		return phases.DeployWith(e, func(r *inventory.Nodes) (out []*engine.Step) {
			for _, n := range e.Cluster.Nodes {
				out = append(out, beard(r, n))
			}
			return out
		})
	}
	l := deployed(t, workers(1))
	there := func(host string) bool {
		_, err := os.Stat(l.Nodes[host].Path(beardFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}
	if b, sum := dryRun(t, l, with); !slices.Contains(sum.Changed, "infrastructure.beard/w1") ||
		!slices.Contains(changes(b, "w1"), "change.file") {
		t.Errorf("a dry run would change %v", sum.Changed)
	}
	_, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		e.Limit = []string{"w1"}
		return with(e)
	})
	if err != nil || !slices.Equal(sum.Changed, []string{"infrastructure.beard/w1"}) || !there("w1") || there("m1") {
		t.Errorf("limited to a node: %v, changed %v", err, sum.Changed)
	}
	if _, sum, err = run(t, l, with); err != nil || !slices.Equal(sum.Changed, []string{"infrastructure.beard/m1"}) {
		t.Errorf("on all: %v, changed %v", err, sum.Changed)
	}
	if cleanup(t, l, plain); there("w1") || there("m1") {
		t.Error("a cleanup leaves it")
	}

	// The second place: a title without a sentence is told.
	p := with(l.Env(func(event.Event) error { return nil }))
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	if got := untitled(p); !slices.Equal(got, []string{"en step.infrastructure.beard",
		"zh step.infrastructure.beard"}) {
		t.Errorf("missing titles: %v", got)
	}
}
