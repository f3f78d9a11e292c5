package inventory_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// two are a control plane and a worker, both of amd64.
func two() *inventory.Nodes {
	return inventory.New(&input.Env{Cluster: &config.Cluster{
		Nodes: []config.Node{
			{Name: "m1", Arch: "amd64", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}},
			{Name: "w1", Arch: "amd64", Roles: []bundle.Role{bundle.Worker}},
		},
		Source: config.PackageSource{Bundles: map[string]string{"amd64": "a"}, More: []string{"b"}},
	}}, facts.Places{})
}

func TestANodeIsServedFromTheBundleThatFitsIt(t *testing.T) {
	r := two()
	w := r.Cluster.Nodes[1]
	for key, family := range map[string]string{"amd64": "debian", "extra-1": "rpm"} {
		r.SetBundle(key, nodestest.Box{Is: &bundle.Manifest{Arch: "amd64", OS: bundle.OS{Family: family},
			Install: []bundle.Package{{Name: "runc"}}}})
	}
	if b := r.BundleOf(w); b != nil {
		t.Error("a bundle for a machine of which nothing is known:", b)
	}
	f := &facts.Facts{OS: map[string]string{"ID": "openEuler"}, PkgManagers: []string{"dnf"}}
	r.SetFact("w1", f)
	if b := r.BundleOf(w); b == nil || b != r.Bundle("extra-1") {
		t.Error("not the bundle of its operating system:", b)
	}
	if got := r.Served(r.Bundle("extra-1")); len(got) != 1 || got[0].Name != "w1" {
		t.Error("it serves", got)
	}
	r.SetBundle("extra-1", nil)
	if b := r.BundleOf(w); b != nil {
		t.Error("a bundle for another operating system:", b)
	}
}

func TestOnlyWorkersAreSkipped(t *testing.T) {
	r := two()
	if r.Skip("m1") || r.Skip("nobody") || r.SkippedCount() != 0 {
		t.Error("a control plane, or what is no node, is skipped")
	}
	if !r.Skip("w1") || !r.Skipped("w1") || r.Skipped("m1") || r.SkippedCount() != 1 {
		t.Error("a worker is not skipped")
	}
	var left []string
	for _, n := range r.Expected() {
		left = append(left, n.Name)
	}
	if !slices.Equal(left, []string{"m1"}) {
		t.Error("the last checks expect", left)
	}
}

func TestTheLastFaultOfANodeIsKept(t *testing.T) {
	r := two()
	for _, code := range []string{"node.first", "node.second"} {
		fault := event.NewFault(event.ClassAuth, code, nil)
		if err := r.KeepFault("w1", fault); !errors.Is(err, fault) {
			t.Error(err)
		}
	}
	f := r.Failure("w1", "w1")
	if f.Severity != event.Error || f.Fault.Code != "node.second" || f.Fault.Class != event.ClassAuth ||
		f.Fault.Node != "w1" {
		t.Errorf("%+v", f)
	}
	if f := r.Failure("bundle amd64", ""); f.Fault.Code != "internal" || f.Host != "" {
		t.Errorf("what failed without a word: %+v", f)
	}
}
