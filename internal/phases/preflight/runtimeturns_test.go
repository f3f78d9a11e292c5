package preflight

import (
	"errors"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// changingInput is a control plane and a worker that run Docker, where deploy.yaml names containerd.
func changingInput() *Input {
	in := newInput()
	in.Change = &Changing{Objects: &objects.Cluster{}}
	for _, n := range in.Cluster.Nodes {
		f := nodestest.Good(n)
		f.Cluster, f.NodeName, f.Kubelet, f.Recorded, f.Joined = "mine", n.Name, "v1.34.2", true, true
		f.OwnRuntimes = []string{"docker"}
		in.SetFact(n.Name, f)
		in.Change.Objects.Nodes = append(in.Change.Objects.Nodes, objects.Node{Name: n.Name, Kubelet: f.Kubelet,
			Open: true})
	}
	return in
}

// What stops a drain is found before the first node loses its runtime; what a run before this one has stopped does not
// stop the one that continues it.
func TestAChangeOfTheRuntimeIsChecked(t *testing.T) {
	const turns = "warning preflight.runtime-turns"
	pod := &objects.Pod{Namespace: "shop", Name: "one", Node: "w1", Kind: "ReplicaSet", Owner: "set", Running: true,
		Ready: true, Images: []string{"registry.test/own:1"}}
	for name, c := range map[string]struct {
		spoil func(in *Input, w1 *facts.Facts)
		want  string
	}{
		"two nodes": {func(*Input, *facts.Facts) {}, turns},
		"none": {func(in *Input, w1 *facts.Facts) {
			in.Fact("m1").OwnRuntimes, w1.OwnRuntimes = []string{"containerd"}, nil
			in.Change.Fault = errors.New("not asked")
		}, ""},
		"the only one that takes pods": {func(in *Input, _ *facts.Facts) { in.Change.Objects.Nodes[0].Open = false },
			turns + ", warning preflight.runtime-alone"},
		"the API server is away": {func(in *Input, _ *facts.Facts) {
			in.Change.Objects, in.Change.Fault = nil, errors.New("x")
		}, turns + ", error upgrade.no-api"},
		"not Ready": {func(in *Input, _ *facts.Facts) { in.Change.Objects.Nodes[1].NotReady = "x" },
			turns + ", w1 error upgrade.not-ready"},
		"not Ready, for its turn was cut off": {func(in *Input, w1 *facts.Facts) {
			in.Change.Objects.Nodes[1].NotReady, w1.Kubelet = "x", ""
		}, turns + ", w1 warning upgrade.not-ready"},
		"a budget and an image": {func(in *Input, _ *facts.Facts) {
			in.Change.Objects.Pods = []*objects.Pod{pod}
			in.Change.Objects.Budgets = []objects.Budget{{Namespace: "shop", Name: "b", Desired: 1, Healthy: 1,
				Pods: []*objects.Pod{pod}}}
		}, turns + ", w1 error upgrade.budget, warning upgrade.pods-single, warning preflight.runtime-images"},
		"a budget, continued": {func(in *Input, w1 *facts.Facts) {
			w1.OwnRuntimes = []string{"containerd", "docker"}
			other := *pod
			other.Node, other.Images = "m1", nil
			in.Change.Objects.Pods = []*objects.Pod{&other}
			in.Change.Objects.Budgets = []objects.Budget{{Namespace: "shop", Name: "b", Desired: 1, Healthy: 1,
				Pods: []*objects.Pod{&other}}}
		}, turns + ", m1 warning upgrade.budget, warning upgrade.pods-single"},
		"outside of the limit": {func(in *Input, _ *facts.Facts) {
			in.Limit = []string{"m1"}
			in.Change.Objects.Pods = []*objects.Pod{pod}
		}, turns + ", warning preflight.runtime-images"},
	} {
		in := changingInput()
		c.spoil(in, in.Fact("w1"))
		if got := found(t, in, checkRuntimeTurns()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := found(t, in, checkOurs()); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	in := changingInput()
	in.Fact("w1").Joined = false
	if got := found(t, in, checkOurs()); got != "w1 error preflight.runtime-change" {
		t.Errorf("not in the cluster yet: %q", got)
	}
	in.Fact("w1").Free["/var/lib/containerd"] = facts.FreeSpace{Device: "/dev/small", Bytes: 1 << 20}
	if got := found(t, in, checkSpace()); got != "w1 error preflight.disk" {
		t.Errorf("without space for the images: %q", got)
	}
}
