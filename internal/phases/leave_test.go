package phases_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/phasestest"
)

// TestMembersThatAreGoneLeaveFirst: of three members one is dead, and it leaves together with one that is well. In the order in which they
// were named the quorum would be lost between the two.
func TestMembersThatAreGoneLeaveFirst(t *testing.T) {
	t.Parallel()
	l := shaped(t, phasestest.Shape{Masters: 3})
	deploy(t, l)
	l.Nodes["m3"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	if err := os.Remove(l.Nodes["m3"].State("active/etcd.service")); err != nil {
		t.Fatal(err)
	}
	leave := func(e phases.Env) *engine.Plan {
		c := *e.Cluster
		going := func(n config.Node) bool { return n.Name == "m2" || n.Name == "m3" }
		var gone []config.Node
		for _, n := range c.Nodes {
			if going(n) {
				gone = append(gone, n)
			}
		}
		c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), going)
		e.Cluster = &c
		return phases.Delete(e, phases.Leaving{Nodes: gone, Drain: time.Minute, Force: true})
	}
	b, sum, err := run(t, l, leave)
	var left []string
	for _, c := range of[event.Change](b) {
		if c.Desc.Key == "change.etcd-remove" {
			left = append(left, c.Desc.Args["member"])
		}
	}
	if err != nil || !slices.Equal(left, []string{"m3", "m2"}) {
		t.Errorf("%v %+v, left: %v, found: %v", err, sum.Failed, left, b.findings())
	}
	// What has left is not missed: the same command again ends well and takes nobody else.
	b, sum, err = run(t, l, leave)
	if err != nil || slices.ContainsFunc(of[event.Change](b), func(c event.Change) bool { return c.Desc.Key == "change.etcd-remove" }) {
		t.Errorf("again: %v %+v", err, sum.Failed)
	}
}
