package operation

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
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
