package cleanup_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/remove/cleanup"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// cluster has a member of etcd, a separate control plane, a load balancer and a worker.
func cluster() *config.Cluster {
	return &config.Cluster{Name: "test", Nodes: []config.Node{
		{Name: "e", Roles: []bundle.Role{bundle.Etcd}}, {Name: "m", Roles: []bundle.Role{bundle.ControlPlane}},
		{Name: "lb", Roles: []bundle.Role{bundle.LoadBalancer}}, {Name: "w", Roles: []bundle.Role{bundle.Worker}},
	}}
}

// waits are the steps that an event of the plan comes after, whatever lies between.
func waits(p *engine.Plan, id string) map[string]bool {
	needs := map[string][]string{}
	for _, s := range p.Steps {
		needs[s.ID] = s.Needs
	}
	for _, b := range p.Barriers {
		needs[b.ID] = b.Needs
	}
	seen := map[string]bool{}
	var follow func(string)
	follow = func(id string) {
		for _, n := range needs[id] {
			if !seen[n] {
				seen[n] = true
				follow(n)
			}
		}
	}
	follow(id)
	return seen
}

func TestTheStopOfAWholeCluster(t *testing.T) {
	c := cluster()
	p := planOf(t, c)
	for services, after := range map[string]string{"w": "", "m": "w", "lb": "w", "e": "lb m w"} {
		if got := stopped(p, c, plan.ID(plan.PhaseClean, "services", services)); got != after {
			t.Errorf("the services of %s stop after those of %q, not of %q", services, got, after)
		}
	}
	if !waits(p, "clean.services/e")["clean.snapshot/e"] {
		t.Error("etcd stops before its data are saved")
	}
	for _, n := range c.Nodes {
		if !waits(p, "clean.state")[plan.ID(plan.PhaseClean, "record", n.Name)] {
			t.Error("the cluster is forgotten before " + n.Name + " is clean")
		}
	}
}

// planOf is the cleanup of a whole cluster.
func planOf(t *testing.T, c *config.Cluster) *engine.Plan {
	t.Helper()
	cl := &cleanup.Cleanup{Nodes: inventory.New(&input.Env{Cluster: c}, facts.Places{}),
		Snapshot: func(context.Context, config.Node, *node.Node) error { return nil }}
	b := plan.New(plan.Options{Hosts: inventory.Hosts(c)}, plan.Phase{ID: plan.PhaseClean})
	before, none := cl.InOrder(b), func([]string) []string { return nil }
	for _, n := range c.Nodes {
		b.Add(cl.Steps(n, cleanup.Options{Services: before(n), Last: none})...)
	}
	b.Add(cl.State())
	p := b.Plan()
	if err := p.Validate(); err != nil {
		t.Fatal(c.Eggo.Driver, err)
	}
	return p
}

// stopped are the nodes whose services have stopped before a step.
func stopped(p *engine.Plan, c *config.Cluster, step string) string {
	all := waits(p, step)
	var out []string
	for _, n := range c.Nodes {
		if all[plan.ID(plan.PhaseClean, "services", n.Name)] {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// A control plane of static pods ends with the pods of its node: they wait for what its services would wait for.
func TestStaticPodsStopInTheOrderOfServices(t *testing.T) {
	const binary, kubeadm = config.DriverBinary, config.DriverKubeadm
	after := map[string]map[string]string{ // the nodes whose services have stopped before the pods of one end
		binary:  {"w": "", "lb": "", "m": "", "e": "", "c": ""},
		kubeadm: {"w": "", "lb": "", "m": "w", "e": "", "c": "lb m w"},
	}
	for driver, nodesAfter := range after {
		c := cluster()
		c.Eggo.Driver = driver
		c.Nodes = append(c.Nodes, config.Node{Name: "c", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}})
		p := planOf(t, c)
		for name, want := range nodesAfter {
			if got := stopped(p, c, plan.ID(plan.PhaseClean, "workloads", name)); got != want {
				t.Errorf("%s: the pods of %s end after the services of %q, not of %q", driver, name, got, want)
			}
		}
		if !waits(p, "clean.workloads/c")["clean.snapshot/c"] {
			t.Errorf("%s: etcd stops before its data are saved", driver)
		}
		for id := range waits(p, "clean.snapshot/c") {
			if strings.HasPrefix(id, "clean.services/") {
				t.Errorf("%s: a member is saved only after %s", driver, id)
			}
		}
	}
}

func TestAClusterIsForgottenOnce(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pki/ca.key", "admin.conf", "deploy.yaml", "known_hosts", "upgrade.json",
		"seed.json"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var kept []input.Kept
	e := &input.Env{Cluster: cluster(), StateDir: dir, Emit: func(event.Event) error { return nil },
		Persist: func(_ context.Context, part input.Kept) error { kept = append(kept, part); return nil }}
	state := (&cleanup.Cleanup{Nodes: inventory.New(e, facts.Places{})}).State()
	if err := state.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left []string
	list, err := os.ReadDir(dir)
	for _, f := range list {
		left = append(left, f.Name())
	}
	if got := strings.Join(left, " "); err != nil || got != "deploy.yaml.cleaned known_hosts" {
		t.Error("what is left:", got, err)
	}
	if len(kept) != 8 {
		t.Error("the store was told of", kept)
	}
	if err := state.Apply(t.Context()); err != engine.ErrUnchanged { //nolint:errorlint // it is that value
		t.Error("the second time:", err)
	}
}
