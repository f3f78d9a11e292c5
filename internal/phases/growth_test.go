package phases_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// fleet is a cluster of three control planes and n workers that nobody connects to.
func fleet(t testing.TB, n int) *config.Cluster {
	t.Helper()
	var b strings.Builder
	b.WriteString("cluster-id: fleet\nusername: root\nprivate-key-path: /root/.ssh/id_rsa\nmasters:\n")
	for i := range 3 {
		fmt.Fprintf(&b, "- {name: m%d, ip: 10.1.0.%d, port: 22, arch: amd64}\n", i, i+1)
	}
	b.WriteString("nodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {name: w%d, ip: 10.2.%d.%d, port: 22, arch: amd64}\n", i, i/250, i%250+1)
	}
	b.WriteString("network: {podcidr: 10.200.0.0/14, plugin: flannel}\npackage-src: {type: tar.gz, x86src: " +
		"/bundle.tar.gz}\n")
	c, problems := config.Load([]byte(b.String()), "deploy.yaml")
	if problems.HasErrors() {
		t.Fatalf("%+v", problems)
	}
	return c
}

// fleetPlans are plans for a cluster of n workers with a hook before and one after the work on every node.
func fleetPlans(t testing.TB, n int) map[string]*engine.Plan {
	c := fleet(t, n)
	hooks := []phases.Hook{{Type: phases.ClusterPreHook, Name: "a.sh", Data: []byte("true\n")},
		{Type: phases.ClusterPostHook, Name: "b.sh", Data: []byte("true\n")}}
	env := func(h []phases.Hook) phases.Env {
		return phases.Env{Cluster: c, Now: time.Now, Emit: func(event.Event) error { return nil }, Hooks: h}
	}
	stay := *c
	stay.Nodes = c.Nodes[:3+n/2]
	leave := env([]phases.Hook{{Type: phases.PreHook, Name: "a.sh"}, {Type: phases.PostHook, Name: "b.sh"}})
	leave.Cluster = &stay
	limited := env(hooks)
	limited.Limit = []string{"w1"}
	return map[string]*engine.Plan{
		"deploy":              phases.Deploy(env(nil)),
		"deploy with hooks":   phases.Deploy(env(hooks)),
		"deploy with a limit": phases.Deploy(limited),
		"cleanup":             phases.Cleanup(env(nil), false),
		"cleanup with hooks":  phases.Cleanup(env(hooks), false),
		"delete of half":      phases.Delete(leave, phases.Leaving{Nodes: c.Nodes[3+n/2:]}),
	}
}

func edges(p *engine.Plan) int {
	sum := 0
	made := p.Describe()
	for _, s := range made.Steps {
		sum += len(s.Needs)
	}
	for _, b := range made.Barriers {
		sum += len(b.Needs)
	}
	return sum
}

// A plan for ten times the nodes has ten times the dependencies, not a hundred times.
func TestPlansGrowWithTheNodesAndNotWithTheirSquare(t *testing.T) {
	few, many := fleetPlans(t, 40), fleetPlans(t, 400)
	for name, p := range many {
		if err := p.Validate(); err != nil {
			t.Error(name, err)
		}
		if a, b := edges(few[name]), edges(p); b > 12*a {
			t.Errorf("%s: %d dependencies for 40 workers, %d for 400", name, a, b)
		}
	}
}

// BenchmarkFleet plans for 1,000 nodes.
func BenchmarkFleet(b *testing.B) {
	for range b.N {
		for name, p := range fleetPlans(b, 997) {
			line, err := json.Marshal(p.Describe())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(edges(p)), strings.ReplaceAll(name, " ", "-")+"-needs")
			b.ReportMetric(float64(len(line))/1e6, strings.ReplaceAll(name, " ", "-")+"-MB")
		}
	}
}
