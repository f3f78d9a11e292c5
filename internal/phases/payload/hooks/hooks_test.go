package hooks

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// machine is one of which every hook's end is told by says.
type machine struct {
	node.Host
	says string
	ran  []string
}

func (*machine) Name() string { return "w1" }

func (m *machine) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	m.ran = append(m.ran, c.Script)
	return shell.Result{Stdout: []byte(m.says)}, nil
}

// of is a run of one control plane and one worker with these hooks on the command line; the worker is reached.
func of(m *machine, list ...input.Hook) *Hooks {
	c := &config.Cluster{Name: "mine", Endpoint: "192.0.2.11:6443", Packages: map[bundle.Role][]config.Package{},
		Nodes: []config.Node{{Name: "m1", IP: netip.MustParseAddr("192.0.2.11"), Arch: "amd64",
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}}, {Name: "w1",
			IP: netip.MustParseAddr("192.0.2.21"), Arch: "arm64", Roles: []bundle.Role{bundle.Worker}}}}
	emit := func(event.Event) error { return nil }
	n := inventory.New(&input.Env{Cluster: c, Emit: emit, Hooks: list}, facts.Places{})
	n.SetNode("w1", node.New(m, emit))
	r := New(&payload.Payload{Nodes: n}, "/etc/kubernetes")
	return r
}

func TestAHookWhoseEndIsNotKnown(t *testing.T) {
	r, s := of(&machine{says: "-1\n"}), &engine.Step{}
	r.fill(s, r.Cluster.Nodes[1], node.Hook{Name: "a.sh", Dir: "x"}, false)
	_, err := s.Check(t.Context())
	if f := event.AsFault(err); f == nil || f.Code != "hook.unknown" || f.Node != "w1" || f.Args["hook"] != "a.sh" {
		t.Errorf("%+v", f)
	}
}

// TestTheEnvironmentOfAHook is that of the manual.
func TestTheEnvironmentOfAHook(t *testing.T) {
	r := of(&machine{})
	want := map[string]string{"EGGO_CLUSTER_ID": "mine", "EGGO_CLUSTER_API_ENDPOINT": "192.0.2.11:6443",
		"EGGO_CLUSTER_CONFIG_DIR": "/etc/kubernetes", "EGGO_NODE_IP": "192.0.2.11", "EGGO_NODE_NAME": "m1",
		"EGGO_NODE_ARCH": "amd64", "EGGO_NODE_ROLE": "master,worker", "EGGO_HOOK_TYPE": "prehook",
		"EGGO_OPERATOR": "deploy"}
	if got := r.environment(r.Cluster.Nodes[0], PreHook); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for verb, want := range map[string]string{"resume": "deploy", "cleanup": "cleanup"} {
		r.Verb = verb
		if got := r.environment(r.Cluster.Nodes[0], PreHook)["EGGO_OPERATOR"]; got != want {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

// TestHooksOfANodeRunInTheirOrder, and only where the limit lets them.
func TestHooksOfANodeRunInTheirOrder(t *testing.T) {
	hook := func(kind, name string, role bundle.Role) input.Hook {
		return input.Hook{Type: kind, Name: name, Role: role}
	}
	r := of(&machine{}, hook(ClusterPreHook, "a.sh", bundle.Worker), hook(ClusterPostHook, "z.sh", bundle.Worker),
		hook(ClusterPreHook, "b.sh", bundle.ControlPlane), hook(ClusterPreHook, "c.sh", bundle.Worker))
	outline := func(after bool) string {
		var out []string
		for _, s := range r.Steps(r.Cluster.Nodes, "infrastructure", after) {
			out = append(out, strings.TrimPrefix(s.ID, "infrastructure.")+"<"+s.Needs[len(s.Needs)-1])
		}
		return strings.Join(out, " ")
	}
	const checked = "<preflight.verdict"
	if got, want := outline(false), "cluster-prehook-1/m1"+checked+" cluster-prehook-1/w1"+checked+
		" cluster-prehook-3/m1<infrastructure.cluster-prehook-1/m1"+
		" cluster-prehook-4/m1<infrastructure.cluster-prehook-3/m1"+
		" cluster-prehook-4/w1<infrastructure.cluster-prehook-1/w1"; got != want {
		t.Errorf("%s", got)
	}
	r.Limit = []string{"w1"}
	if got, want := outline(true), "cluster-posthook-2/w1"+checked; got != want {
		t.Errorf("%s", got)
	}
}

// TestWhatRanInAnotherRun is no reason not to run again.
func TestWhatRanInAnotherRun(t *testing.T) {
	hook := input.Hook{Type: ClusterPreHook, Name: "a.sh"}
	var asked []string
	for range 2 {
		m := &machine{}
		r := of(m, hook)
		if _, err := r.Steps(r.Cluster.Nodes[1:], "infrastructure", false)[0].Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, m.ran...)
	}
	if len(asked) != 2 || asked[0] == asked[1] {
		t.Errorf("%q", asked)
	}
}

// TestAScriptOfTwoRoles is on a node once; one that no cleanup needs is not left there.
func TestAScriptOfTwoRoles(t *testing.T) {
	r := of(&machine{})
	script := func(name, schedule string) config.Package {
		return config.Package{Name: name, Type: "shell", Schedule: schedule, Timeout: time.Minute}
	}
	r.Cluster.Packages[bundle.ControlPlane] = []config.Package{script("a.sh", PreJoin), {Name: "x", Type: "repo"}}
	r.Cluster.Packages[bundle.Worker] = []config.Package{script("a.sh", PreJoin), script("b.sh", PreJoin)}
	steps := r.JoinScripts("infrastructure", PreJoin, r.Cluster.Nodes[0], []string{"first"})
	if len(steps) != 2 || steps[0].Needs[0] != "first" || !slices.Equal(steps[1].Needs, []string{steps[0].ID}) {
		t.Errorf("%+v", steps)
	}
	if s := r.KeepScripts(r.Cluster.Nodes[0]); s != nil {
		t.Errorf("%+v", s)
	}
	r.Cluster.Packages[bundle.Worker] = append(r.Cluster.Packages[bundle.Worker], script("b.sh", PostCleanup))
	if s := r.KeepScripts(r.Cluster.Nodes[0]); len(s) != 1 {
		t.Errorf("%+v", s)
	}
	if s := r.CleanupScripts(PostCleanup, r.Cluster.Nodes[1], nil); len(s) != 1 || !s[0].Optional {
		t.Errorf("%+v", s)
	}
}
