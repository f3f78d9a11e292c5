package phases_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func limitedTo(names ...string) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan {
		e.Limit = names
		return phases.Deploy(e)
	}
}

// A worker alone cannot be installed before its control plane: the run says which step of which node is missing, and
// touches no other.
func TestALimitDoesNotDoWhatOthersHaveToDoFirst(t *testing.T) {
	l := newLab(t, 1)
	b, sum, err := run(t, l, limitedTo("w1"))
	if err == nil || len(sum.Failed) == 0 {
		t.Fatal(err, sum.Counts)
	}
	for _, f := range sum.Failed {
		if f.Fault.Code != "limit.not-done" || f.Fault.Node != "m1" || f.Fault.Args["step"] != f.Step {
			t.Errorf("%+v", f)
		}
	}
	for _, c := range of[event.Change](b) {
		if c.Host == "m1" {
			t.Errorf("m1 was changed: %+v", c)
		}
	}
	if slices.ContainsFunc(sum.Changed, func(s string) bool { return strings.HasPrefix(s, "bootstrap.") }) {
		t.Error(sum.Changed)
	}
}

// Who was not named is left as it is, and is neither needed nor missed.
func TestALimitKeepsToItsNodes(t *testing.T) {
	long(t)
	l := newLab(t, 2)
	if _, sum, err := run(t, l, limitedTo("m1", "w1")); err != nil {
		t.Fatal(err, sum.Failed)
	}
	for p := range l.API.Paths() {
		if strings.HasSuffix(p, "/nodes/w2") {
			t.Error("w2 has joined")
		}
	}
	deploy(t, l) // the rest

	put(t, l.Nodes["w1"].Path("/etc/kubernetes/kube-proxy.yaml"), "spoilt")
	put(t, l.Nodes["w2"].Path("/etc/kubernetes/kube-proxy.yaml"), "spoilt")
	before := tree(t, l)
	_, sum, err := run(t, l, limitedTo("w1"))
	if err != nil || !slices.Equal(sum.Changed, []string{"bootstrap.proxy/w1"}) {
		t.Fatal(err, sum.Changed, sum.Failed)
	}
	changed := func(a, b map[string]string) []string {
		var out []string
		for p := range a {
			if a[p] != b[p] && strings.HasSuffix(p, "kube-proxy.yaml") {
				out = append(out, p)
			}
		}
		return out
	}
	if got := changed(before, tree(t, l)); len(got) != 1 || !strings.Contains(got[0], "w1") {
		t.Error(got)
	}
	b, sum := dryRun(t, l, limitedTo("w2"))
	if !slices.Equal(sum.Changed, []string{"bootstrap.proxy/w2"}) || len(changes(b, "w1")) > 0 {
		t.Error(sum.Changed, cmp.Diff([]string{}, changes(b, "w1")))
	}
}

// Hooks run on the named nodes only, and wait for nobody else's work.
func TestHooksKeepToTheLimit(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(2))
	for _, w := range []string{"w1", "w2"} {
		put(t, l.Nodes[w].Path("/etc/kubernetes/kube-proxy.yaml"), "spoilt")
	}
	_, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		e.Limit = []string{"w1"}
		e.Hooks = []phases.Hook{{Type: phases.ClusterPreHook, Name: "a.sh", Data: []byte("true\n")},
			{Type: phases.ClusterPostHook, Name: "b.sh", Data: []byte("true\n")}}
		return phases.Deploy(e)
	})
	if err != nil {
		t.Fatal(err, sum.Failed)
	}
	ran := 0
	for _, id := range sum.Changed {
		if strings.Contains(id, "hook-") {
			ran++
		}
		if !strings.HasSuffix(id, "/w1") {
			t.Error(id)
		}
	}
	if ran != 2 {
		t.Error(sum.Changed)
	}
}

// A worker that is away does not hold up work that is kept to another; a control plane that is away does, and so does a
// node that is named.
func TestALimitDoesNotWaitForOthersThatAreAway(t *testing.T) {
	long(t)
	t.Parallel()
	away := event.NewFault(event.ClassFailed, "ssh.unreachable", nil)
	l := deployed(t, workers(2))
	put(t, l.Nodes["w1"].Path("/etc/kubernetes/kube-proxy.yaml"), "spoilt")
	l.Nodes["w2"].PowerOff(away)
	b, sum, err := run(t, l, limitedTo("w1"))
	if err != nil || !slices.Equal(sum.Changed, []string{"bootstrap.proxy/w1"}) ||
		!slices.Contains(b.findings(), "preflight.limit-without") {
		t.Fatal(err, sum.Changed, sum.Failed, b.findings())
	}
	if _, _, err := run(t, l, limitedTo("w1", "w2")); err == nil {
		t.Error("a named node was not missed")
	}
	l.Nodes["w2"].PowerOff(nil)
	l.Nodes["m1"].PowerOff(away)
	if b, _, err := run(t, l, limitedTo("w1")); err == nil || slices.Contains(b.findings(), "preflight.limit-without") {
		t.Error("the control plane was not missed", b.findings())
	}
}
