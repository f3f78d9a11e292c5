package phases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// doneTwice has a step do its work: it is not done before, it is done afterwards, and doing it again is no harm.
func doneTwice(t *testing.T, s *engine.Step) {
	t.Helper()
	for i := range 2 {
		if ok, err := s.Check(t.Context()); err != nil || ok != (i > 0) {
			t.Fatalf("%s is done: %v, %v", s.ID, ok, err)
		}
		must(t, s.Apply(t.Context()))
	}
}

// The images of both versions are marked while an upgrade is under way. What somebody else has marked stays marked, and
// an image that is not there is no fault.
func TestImagesOfBothVersionsAreKept(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	e := l.Env(quick(&book{}).Emit)
	ns := inventory.New(&e, facts.Places{})
	ns.SetNode("w1", node.New(l.Nodes["w1"], e.Emit))
	r := &runtimes.Runtimes{Payload: &payload.Payload{Nodes: ns}}
	store := l.Nodes["w1"].Path("/var/lib/containerd")
	text, err := os.ReadFile(filepath.Join(store, "images"))
	must(t, err)
	var images []string
	for line := range strings.Lines(string(text)) {
		images = append(images, strings.Fields(line)[0])
	}
	if len(images) < 2 {
		t.Fatalf("%q", images)
	}
	marked := func() []string {
		text, _ := os.ReadFile(filepath.Join(store, "pinned"))
		return slices.Sorted(strings.FieldsSeq(string(text)))
	}
	theirs := images[0]
	must(t, os.WriteFile(filepath.Join(store, "pinned"), []byte(theirs+"\n"), 0o600))
	n := config.Node{Name: "w1", Roles: []bundle.Role{bundle.Worker}}
	doneTwice(t, r.Pin(n, func() []string { return append(images, "registry.k8s.io/gone:v1") }))
	if is := marked(); !slices.Equal(is, slices.Sorted(slices.Values(images))) {
		t.Errorf("%q", is)
	}
	gone := images[len(images)-1] // somebody has removed it
	must(t, os.WriteFile(filepath.Join(store, "images"),
		[]byte(strings.Join(strings.SplitAfter(string(text), "\n")[:len(images)-1], "")), 0o600))
	doneTwice(t, r.Unpin(n, nil))
	if is := slices.DeleteFunc(marked(), func(s string) bool { return s == gone }); !slices.Equal(is,
		[]string{theirs}) {
		t.Errorf("%q", is)
	}
}

// In an upgrade of static pods the images are kept before the first turn and until it has ended, and the DaemonSet of
// kube-proxy is published for all nodes when all have had their turns, within a limit too.
func TestTheOrderOfAnUpgradeOfStaticPods(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	e := l.Env(quick(&book{}).Emit)
	c := *e.Cluster
	c.Eggo.Driver = config.DriverKubeadm
	e.Cluster = &c
	o := hopsOf(t, l, "v1.34.4")
	after := func(p *engine.Plan) func(later, earlier string) bool {
		needs := map[string][]string{}
		for _, s := range p.Steps {
			needs[s.ID] = s.Needs
		}
		for _, b := range p.Barriers {
			needs[b.ID] = b.Needs
		}
		var waits func(string, string, map[string]bool) bool
		waits = func(later, earlier string, seen map[string]bool) bool {
			if seen[later] {
				return false
			}
			seen[later] = true
			return slices.ContainsFunc(needs[later],
				func(id string) bool { return id == earlier || waits(id, earlier, seen) })
		}
		return func(later, earlier string) bool { return waits(later, earlier, map[string]bool{}) }
	}
	for _, limit := range [][]string{nil, {"m1"}} {
		e.Limit = limit
		p := phases.Upgrade(e, o)
		must(t, p.Validate())
		waits := after(p)
		for _, pair := range [][2]string{
			{"control-plane.turn/m1", "infrastructure.pin-images/m1"},
			{"infrastructure.pin-images/m1", "infrastructure.load-images/m1"},
			{"addons.kube-proxy", "nodes.turn/m1"}, {"addons.kube-proxy", "nodes.turn/w2"},
			{"check.reached", "addons.kube-proxy"}, {"check.unpin-images/w1", "check.reached"},
			{"check.ended", "check.unpin-images/w2"},
		} {
			if !waits(pair[0], pair[1]) {
				t.Errorf("limit %q: %s does not wait for %s", limit, pair[0], pair[1])
			}
		}
		if slices.ContainsFunc(p.Steps, func(s *engine.Step) bool { return s.ID == "control-plane.kube-proxy" }) {
			t.Errorf("limit %q: kube-proxy is published before the nodes' turns", limit)
		}
	}
	e.Limit = nil
	o.Begun = upgrade.Begun{From: o.From, Hops: o.Hops}
	back := phases.Back(e, o)
	must(t, back.Validate())
	waits := after(back)
	if !waits("check.unpin-images/w1", "nodes.turn/m1") || !waits("check.ended", "check.unpin-images/w1") {
		t.Error("the images are let go before the nodes are back, or never")
	}
}
