package join

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/eggo-k8s/eggo/internal/config"
)

// What deploy.yaml says is set, what it does not say any more is taken away if Eggo gave it, and what others have put
// on a Node stays.
func TestNodesAreAdapted(t *testing.T) {
	taint := func(text string) config.Taint {
		out, code := config.TaintOf(text)
		if code != "" {
			t.Fatal(text, code)
		}
		return out
	}
	for _, c := range []struct {
		name           string
		labels, taints string // of deploy.yaml
		is, has        string // of the Node
		own            given
		changes        string
		left           string // taints afterwards
		given          given
	}{
		{name: "nothing", is: "x=1", has: "t=1:NoSchedule", left: "t=1:NoSchedule"},
		{name: "fresh", labels: "a=1 b=", taints: "t=1:NoSchedule", has: "o:NoExecute",
			changes: "a=1, b=, t=1:NoSchedule", left: "o:NoExecute t=1:NoSchedule",
			given: given{[]string{"a", "b"}, []string{"t:NoSchedule"}}},
		{name: "done", labels: "a=1", taints: "t=1:NoSchedule", is: "a=1 x=1", has: "t=1:NoSchedule",
			own: given{[]string{"a"}, []string{"t:NoSchedule"}}, left: "t=1:NoSchedule",
			given: given{[]string{"a"}, []string{"t:NoSchedule"}}},
		{name: "others were first", labels: "a=1", taints: "t=1:NoSchedule", is: "a=1", has: "t=1:NoSchedule",
			left: "t=1:NoSchedule"},
		{name: "changed", labels: "a=2", taints: "t=2:NoSchedule", is: "a=1", has: "t=1:NoSchedule",
			own: given{[]string{"a"}, []string{"t:NoSchedule"}}, changes: "a=2, t=2:NoSchedule", left: "t=2:NoSchedule",
			given: given{[]string{"a"}, []string{"t:NoSchedule"}}},
		{name: "removed", is: "a=1 x=1", has: "t=1:NoSchedule o:NoExecute",
			own: given{[]string{"a"}, []string{"t:NoSchedule"}}, changes: "a-, t:NoSchedule-", left: "o:NoExecute"},
		{name: "somebody was faster", is: "x=1", own: given{[]string{"a"}, []string{"t:NoSchedule"}}},
	} {
		s := config.NodeSettings{Labels: map[string]string{}}
		for _, l := range strings.Fields(c.labels) {
			k, v, _ := strings.Cut(l, "=")
			s.Labels[k] = v
		}
		for _, x := range strings.Fields(c.taints) {
			s.Taints = append(s.Taints, taint(x))
		}
		o := &corev1.Node{}
		o.Labels = map[string]string{}
		for _, l := range strings.Fields(c.is) {
			k, v, _ := strings.Cut(l, "=")
			o.Labels[k] = v
		}
		for _, x := range strings.Fields(c.has) {
			w := taint(x)
			o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: w.Key, Value: w.Value,
				Effect: corev1.TaintEffect(w.Effect)})
		}
		a := adapt(s, o, c.own)
		var left []string
		for _, x := range a.taints {
			left = append(left, config.Taint{Key: x.Key, Value: x.Value, Effect: string(x.Effect)}.String())
		}
		if got := strings.Join(a.changes, ", "); got != c.changes {
			t.Errorf("%s: changes %q, want %q", c.name, got, c.changes)
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("%s: taints %q, want %q", c.name, got, c.left)
		}
		if !a.given.equal(c.given) {
			t.Errorf("%s: given %+v, want %+v", c.name, a.given, c.given)
		}
		if _, x := a.labels["x"]; x || slices.Contains(a.given.labels, "x") {
			t.Errorf("%s: somebody else's label is touched", c.name)
		}
	}
}
