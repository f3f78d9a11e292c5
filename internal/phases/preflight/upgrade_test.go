package preflight

import (
	"errors"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// upgradeInput is that of a control plane and a worker of ours, which are brought from v1.33.13 to v1.34.2, as the
// bundle has it.
func upgradeInput() *Input {
	in := newInput()
	in.Upgrade = &Upgrading{From: "v1.33.13", To: "v1.34.2", Objects: &objects.Cluster{}}
	for _, n := range in.Cluster.Nodes {
		f := nodestest.Good(n)
		f.Cluster, f.NodeName, f.Kubelet, f.Recorded = "mine", n.Name, "v1.33.13", true
		in.SetFact(n.Name, f)
		in.Upgrade.Objects.Nodes = append(in.Upgrade.Objects.Nodes, objects.Node{Name: n.Name, Kubelet: f.Kubelet})
	}
	return in
}

// found are the findings of a check, each with its node and severity.
func found(t *testing.T, in *Input, c Check) string {
	t.Helper()
	var out []string
	for _, f := range allFindings(t, in, c) {
		out = append(out, strings.TrimSpace(f.Host+" "+string(f.Severity)+" "+f.Fault.Code))
	}
	return strings.Join(out, ", ")
}

func TestAnUpgradeBeginsFromOneVersion(t *testing.T) {
	for name, c := range map[string]struct {
		worker    string
		continues bool
		limit     []string
		want      string
	}{
		"from":             {"v1.33.13", false, nil, ""},
		"to":               {"v1.34.2", false, nil, "w1 error upgrade.node-version"},
		"to, continued":    {"v1.34.2", true, nil, ""},
		"older, continued": {"v1.32.1", true, nil, "w1 error upgrade.node-version"},
		"another patch":    {"v1.33.12", false, nil, "w1 error upgrade.node-version"},
		"outside":          {"v1.32.1", false, []string{"m1"}, ""},
		"stands still":     {"", false, nil, ""},
	} {
		in := upgradeInput()
		in.Limit, in.Upgrade.Continues = c.limit, c.continues
		in.Fact("w1").Kubelet = c.worker
		if got := found(t, in, checkUpgradeVersion()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		// That the bundle is of another version than the node is why it is upgraded.
		if got := found(t, in, checkOurs()); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The bundles are of v1.34.2.
func TestBundlesOfAnotherVersionAtTheirPlace(t *testing.T) {
	in := upgradeInput()
	if got := found(t, in, checkUpgradeBundle()); got != "" {
		t.Error(got)
	}
	in.Upgrade.To = "v1.34.9"
	if got := found(t, in, checkUpgradeBundle()); got != "error upgrade.bundle-version" {
		t.Error(got)
	}
	if got := found(t, in, checkUpgradeSame()); got != "m1 error upgrade.bundle-replaced, w1 error "+
		"upgrade.bundle-replaced" {
		t.Error(got)
	}
	in.Upgrade.To = "v1.33.13" // as the nodes have it
	in.Fact("w1").Kubelet = ""
	if got := found(t, in, checkUpgradeSame()); got != "" {
		t.Error(got)
	}
}

func TestWhatRunsHasToBeKnownBeforeAnUpgrade(t *testing.T) {
	in := upgradeInput()
	if got := found(t, in, checkUpgradeAPI()); got != "" {
		t.Error(got)
	}
	in.Upgrade.Fault = event.NewFault(event.ClassFailed, "kube.api", errors.New("connection refused"))
	if got := found(t, in, checkUpgradeAPI()); got != "error upgrade.no-api" {
		t.Error(got)
	}
	in.Upgrade.Continues = true // it may have been stopped in a turn
	if got := found(t, in, checkUpgradeAPI()); got != "warning upgrade.no-api" {
		t.Error(got)
	}
}
