package operation

import (
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// A node is inspected by itself, though its cluster is no cluster yet; nothing is locked and no run is logged.
func TestProbe(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	c, problems := config.Load(f.lab.DeployYAML(), "deploy.yaml")
	if c == nil {
		t.Fatal(problems)
	}
	var stages []ProbeStage
	q := ProbeRequest{Cluster: c, Node: c.Nodes[0], HostKeys: "strict"}
	got, err := Probe(t.Context(), q, d, func(s ProbeStage) { stages = append(stages, s) })
	if err != nil || got.Facts == nil || got.Machine.Node != "m1" || !got.Machine.Reached {
		t.Fatalf("%+v %v", got, err)
	}
	if len(stages) == 0 || stages[len(stages)-1] != ProbeInspecting || len(f.locked) > 0 {
		t.Error(stages, f.locked)
	}
	q.HostKeys = "whatever"
	if _, err := Probe(t.Context(), q, d, nil); event.AsFault(err) == nil ||
		event.AsFault(err).Code != "usage.host-keys" {
		t.Error(err)
	}
	q.HostKeys, c.Eggo.PasswordFrom = "strict", "prompt"
	if _, err := Probe(t.Context(), q, d, nil); event.AsFault(err) == nil || event.AsFault(err).Code != "usage.secret" {
		t.Error(err)
	}
}

// A node whose cluster is gone is cleaned without the files of that cluster: nothing is recorded on it any more, and no
// other node has changed. A second time changes nothing, and a node of another cluster is refused.
func TestPurge(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	c, problems := config.Load(f.lab.DeployYAML(), "deploy.yaml")
	if c == nil {
		t.Fatal(problems)
	}
	if refused, err := deployed(t, d, deployOf(f)); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	at := slices.IndexFunc(c.Nodes, func(n config.Node) bool { return !n.Has(bundle.ControlPlane) })
	q := ProbeRequest{Cluster: c, Node: c.Nodes[at], HostKeys: "strict"}
	seen := func(n config.Node) *phases.Facts {
		t.Helper()
		got, err := Probe(t.Context(), ProbeRequest{Cluster: c, Node: n, HostKeys: "strict"}, d, func(ProbeStage) {})
		if err != nil {
			t.Fatal(err)
		}
		return got.Facts
	}
	if x := seen(q.Node); !x.Recorded || x.Cluster != c.Name {
		t.Fatalf("%+v", x)
	}
	other := *c
	other.Name = "other"
	if err := Purge(t.Context(), ProbeRequest{Cluster: &other, Node: q.Node, HostKeys: "strict"}, d,
		t.TempDir()); err == nil {
		t.Error("a node of another cluster was cleaned")
	}
	for range 2 {
		if err := Purge(t.Context(), q, d, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if x := seen(q.Node); x.Recorded || x.Cluster != "" || x.Kubelet != "" {
			t.Errorf("%+v", x)
		}
	}
	if x := seen(c.Nodes[1-at]); !x.Recorded || x.Cluster != c.Name {
		t.Errorf("%+v", x)
	}
	if f.locked[q.Node.Name] == "" {
		t.Error("the node was not locked")
	}
}
