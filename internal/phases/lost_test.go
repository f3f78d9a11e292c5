package phases_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

func TestADeployYamlThatLacksWhatTheClusterHasIsRefused(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 2)
	before := tree(t, l)
	saved := *l.Cluster
	saved.Nodes = slices.Clone(l.Cluster.Nodes)
	saved.Nodes = append(saved.Nodes, config.Node{Name: "w9", IP: saved.Nodes[1].IP.Next().Next().Next(),
		Roles: []bundle.Role{bundle.Worker}})
	saved.Nodes[1].Roles = append(slices.Clone(saved.Nodes[1].Roles), bundle.Etcd)
	// One that was a worker too, and would remain one behind everybody's back.
	shorter := *l.Cluster
	shorter.Nodes = slices.Clone(l.Cluster.Nodes)
	shorter.Nodes[2].Roles = []bundle.Role{bundle.LoadBalancer}
	accepted := 0
	with := func(plan func(phases.Env) *engine.Plan, s *config.Cluster) func(phases.Env) *engine.Plan {
		return func(e phases.Env) *engine.Plan {
			e.Saved, e.Accepted = s, func(context.Context) error { accepted++; return nil }
			return plan(e)
		}
	}
	b, _, err := run(t, l, with(phases.Deploy, &saved))
	if err == nil || accepted > 0 || !slices.Contains(b.findings(), "preflight.node-lost") ||
		!slices.Contains(b.findings(), "preflight.role-lost") {
		t.Errorf("%v, accepted %d: %v", err, accepted, b.findings())
	}
	b, _, err = run(t, l, func(e phases.Env) *engine.Plan {
		e.Saved, e.Cluster = l.Cluster, &shorter
		return phases.Deploy(e)
	})
	if err == nil || !slices.Contains(b.findings(), "preflight.role-lost") {
		t.Errorf("a worker that is none any more: %v %v", err, b.findings())
	}
	other := *l.Cluster
	other.DNS.Type = "binary"
	b, _, err = run(t, l, with(phases.Deploy, &other))
	if err == nil || !slices.Contains(b.findings(), "preflight.dns-change") {
		t.Errorf("another kind of CoreDNS: %v %v", err, b.findings())
	}
	b, _, err = run(t, l, with(plain, &saved))
	if err == nil || !slices.Contains(b.findings(), "preflight.node-forgotten") {
		t.Errorf("cleanup: %v %v", err, b.findings())
	}
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error("touched:", d)
	}
	if _, sum, err := run(t, l, with(phases.Deploy, l.Cluster)); err != nil || accepted != 1 {
		t.Error(err, sum.Failed, accepted)
	}
	path := filepath.Join(l.StateDir(), "deploy.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cleanup(t, l, plain)
	if _, err := os.Stat(path + ".cleaned"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a cluster that is cleaned up passes for one that lives")
	}
}
