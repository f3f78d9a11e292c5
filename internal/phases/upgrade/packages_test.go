package upgrade

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Load balancers are restarted one after another, those with a kubelet in their turns too: each has its place to itself
// until it answers, and one that does not end well is the last one.
func TestLoadBalancersAreMovedOneAtATime(t *testing.T) {
	t.Parallel()
	node := func(name string, roles ...bundle.Role) config.Node { return config.Node{Name: name, Roles: roles} }
	e := &input.Env{Cluster: &config.Cluster{Nodes: []config.Node{node("m1", bundle.ControlPlane),
		node("lb1", bundle.LoadBalancer), node("lb2", bundle.LoadBalancer), node("lb3", bundle.LoadBalancer),
		node("w1", bundle.Worker, bundle.LoadBalancer)}}}
	var did []string
	step := func(what string, err error) func(config.Node) *engine.Step {
		return func(n config.Node) *engine.Step {
			return &engine.Step{Check: func(context.Context) (bool, error) { return false, nil },
				Apply: func(context.Context) error { did = append(did, what+" "+n.Name); return err }}
		}
	}
	k := NewKubelets(&clients.Clients{Env: e}, nil, nil, Options{})
	silent := errors.New("silent")
	k.Moves = &Moves{Move: step("move", nil), Balancer: step("start", nil),
		Answers: func(_ context.Context, n config.Node) error {
			did = append(did, "answers "+n.Name)
			if n.Name == "lb3" {
				return silent
			}
			return nil
		},
		Alone: func(ctx context.Context, host string, f func(context.Context) error) error {
			did = append(did, "alone "+host)
			err := f(ctx)
			did = append(did, "end "+host)
			return err
		}}
	before := ""
	for _, s := range k.Steps([]string{"settled"}) {
		if s.Host != "lb1" && s.Host != "lb2" && s.Host != "lb3" {
			continue
		}
		if want := map[string]string{"": "nodes.turn/m1", "lb1": "nodes.packages/lb1",
			"lb2": "nodes.packages/lb2"}[before]; !slices.Equal(s.Needs, []string{want}) {
			t.Errorf("%s needs %v, want %s", s.ID, s.Needs, want)
		}
		before = s.Host
		if err := s.Apply(t.Context()); (err != nil) != (s.Host == "lb3") {
			t.Errorf("%s: %v", s.ID, err)
		}
	}
	if err := k.Moves.part(e, e.Cluster.Nodes[4], step("runtime", nil)).apply(t.Context()); err != nil {
		t.Error(err)
	}
	var want []string
	for _, n := range []string{"lb1", "lb2", "lb3"} {
		want = append(want, "alone "+n, "move "+n, "start "+n, "answers "+n, "end "+n)
	}
	want = append(want, "alone w1", "move w1", "runtime w1", "start w1", "answers w1", "end w1")
	if !slices.Equal(did, want) {
		t.Errorf("%q", did)
	}
}
