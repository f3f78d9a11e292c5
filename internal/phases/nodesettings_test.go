package phases_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// labelled is a cluster whose worker has labels and taints.
func labelled(c *config.Cluster, s config.NodeSettings) *config.Cluster {
	own := *c
	own.Eggo.Nodes = map[string]config.NodeSettings{"w1": s}
	return &own
}

// wears wants the worker's Node to have these labels and taints, beside those of its role.
func wears(t *testing.T, l *phasestest.Lab, labels map[string]any, taints ...string) {
	t.Helper()
	o := l.API.Object("/api/v1/nodes/w1")
	is, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
	maps.DeleteFunc(is, func(_ string, v any) bool { return v == nil })
	if diff := cmp.Diff(labels, is); diff != "" {
		t.Error("labels:", diff)
	}
	var have []string
	list, _ := o["spec"].(map[string]any)["taints"].([]any)
	for _, x := range list {
		m := x.(map[string]any)
		value, _ := m["value"].(string)
		have = append(have, config.Taint{Key: m["key"].(string), Value: value, Effect: m["effect"].(string)}.String())
	}
	if !slices.Equal(have, taints) {
		t.Errorf("taints %v, want %v", have, taints)
	}
}

// Labels and taints of deploy.yaml come when a node joins, change and go with a later deploy, and leave alone what
// others have put on the Node.
func TestLabelsAndTaintsFollowTheFile(t *testing.T) {
	l := shaped(t, phasestest.Shape{Masters: 1, Workers: 1})
	edge := config.NodeSettings{Labels: map[string]string{"disk": "ssd", "node-role.kubernetes.io/edge": ""},
		Taints: []config.Taint{{Key: "dedicated", Value: "edge", Effect: "NoSchedule"}}}
	l.Cluster = labelled(l.Cluster, edge)
	b, _ := dryRun(t, l, phases.Deploy)
	if !slices.Contains(changes(b, "w1"), "change.node-settings") {
		t.Errorf("the plan says nothing of labels: %v", changes(b, "w1"))
	}
	deploy(t, l)
	both := map[string]any{"disk": "ssd", "node-role.kubernetes.io/edge": ""}
	wears(t, l, both, "dedicated=edge:NoSchedule")
	again(t, l, phases.Deploy)

	if err := l.API.Merge("/api/v1/nodes/w1", map[string]any{"metadata": map[string]any{"labels": map[string]any{
		"theirs": "x"}}, "spec": map[string]any{"taints": []any{
		map[string]any{"key": "dedicated", "value": "edge", "effect": "NoSchedule"},
		map[string]any{"key": "theirs", "effect": "NoExecute"}}}}); err != nil {
		t.Fatal(err)
	}
	again(t, l, phases.Deploy)
	l.Cluster = labelled(l.Cluster, config.NodeSettings{Labels: map[string]string{"disk": "hdd"}})
	b, _ = dryRun(t, l, phases.Deploy)
	i := slices.IndexFunc(of[event.Change](b), func(c event.Change) bool {
		return c.Desc.Key == "change.node-settings"
	})
	if i < 0 || of[event.Change](b)[i].Desc.Args["changes"] != "disk=hdd, node-role.kubernetes.io/edge-, "+
		"dedicated:NoSchedule-" {
		t.Errorf("the plan: %+v", of[event.Change](b))
	}
	deploy(t, l)
	wears(t, l, map[string]any{"disk": "hdd", "theirs": "x"}, "theirs:NoExecute")

	l.Cluster = labelled(l.Cluster, config.NodeSettings{})
	deploy(t, l)
	wears(t, l, map[string]any{"theirs": "x"}, "theirs:NoExecute")
	if left := l.API.Object("/api/v1/namespaces/kube-system/configmaps/eggo-node-w1"); left != nil {
		t.Errorf("the record is left: %v", left)
	}
	again(t, l, phases.Deploy)
}
