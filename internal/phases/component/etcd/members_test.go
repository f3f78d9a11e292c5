package etcd_test

import (
	"context"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
)

func TestTheNextMemberIsAskedWhenOneDoesNotAnswer(t *testing.T) {
	f := newFake(t, "e1 e2 e3")
	f.idle["e1"], f.sick["e2"] = true, true
	if list, err := f.List(t.Context()); err != nil || len(list) != 3 {
		t.Error(list, err)
	}
	_, err := f.List(t.Context(), "e3")
	if got := eventtest.Fault(t, err, "etcd.no-quorum", ""); !got.Retry {
		t.Error("nobody waits for it")
	}
	f.idle["e2"], f.idle["e3"] = true, true
	_, err = f.List(t.Context())
	eventtest.Fault(t, err, "etcd.no-quorum", "no member runs")
}

func TestEveryMemberHasToAnswer(t *testing.T) {
	f := newFake(t, "e1 e2 e3")
	if err := f.Health(t.Context()); err != nil {
		t.Error(err)
	}
	f.sick["e2"] = true
	got := eventtest.Fault(t, f.Health(t.Context()), "etcd.unhealthy", "")
	if got.Node != "e2" || !got.Retry || got.Args["log"] != "last words" {
		t.Errorf("%+v", got)
	}
}

// The address of a node counts more than its name: one that was replaced may have given its name to another.
func TestAMemberIsKnownByItsAddressThenByItsName(t *testing.T) {
	f := newFake(t, "e1 e2")
	e1, e2 := f.env.Cluster.Nodes[0], f.env.Cluster.Nodes[1]
	list := []*pb.Member{{ID: 1, Name: "e2", PeerURLs: []string{layout.PeerURL(e1)}},
		{ID: 2, Name: "e1", PeerURLs: []string{"https://192.0.2.99:2380"}}}
	if m := etcd.Listed(list, e1); m == nil || m.ID != 1 {
		t.Error("by address:", m)
	}
	if m := etcd.Listed(list[1:], e1); m == nil || m.ID != 2 {
		t.Error("by name:", m)
	}
	if n, ok := etcd.NodeOf(list[0], []config.Node{e2, e1}); !ok || n.Name != "e1" {
		t.Error("the node of an address:", n.Name)
	}
	if n, ok := etcd.NodeOf(list[1], []config.Node{e2, e1}); !ok || n.Name != "e1" {
		t.Error("the node of a name:", n.Name)
	}
	if _, ok := etcd.NodeOf(list[1], []config.Node{e2}); ok {
		t.Error("it is nobody's")
	}
}

func TestMembersThatAreNotThere(t *testing.T) {
	f := newFake(t, "e1 e2", "e2")
	never := &pb.Member{ID: 2, PeerURLs: []string{"https://192.0.2.12:2380"}}
	err := f.OthersReady(t.Context(), []*pb.Member{never}, nil)
	if got := eventtest.Fault(t, err, "etcd.member-unwell", "never started"); !got.Retry {
		t.Error("nobody waits for it")
	}
	dead := &pb.Member{ID: 3, Name: "m3", ClientURLs: []string{"https://192.0.2.13:2379"}}
	f.sick["e1"], f.sick["e2"] = true, true
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = f.OthersReady(ctx, []*pb.Member{dead}, never)
	if got := eventtest.Fault(t, err, "etcd.member-unwell", ""); got.Args["member"] != "m3" {
		t.Errorf("%+v", got)
	}
	// A learner that somebody removes is not waited for.
	f.sick["e1"] = false
	eventtest.Fault(t, f.Promote(t.Context(), f.env.Cluster.Nodes[1]), "etcd.not-listed", "")
}

func TestAMemberIsRemovedWhenItNoLongerLeads(t *testing.T) {
	f := newFake(t, "e1 e2 e3 e4")
	gone := f.env.Cluster.Nodes[3]
	f.env.Cluster.Nodes, f.Removing = f.env.Cluster.Nodes[:3], []config.Node{gone}
	f.leader = 4
	f.lags = map[string]time.Duration{"e1": 2 * time.Second, "e3": 2 * time.Second} // these were started just before
	if err := f.Remove(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if want := []string{"lead e2", "remove e4"}; !slices.Equal(f.does, want) {
		t.Errorf("%q, want %q", f.does, want)
	}
	if err := f.Remove(t.Context(), gone); err == nil || len(f.does) > 2 {
		t.Error("removed twice:", f.does, err)
	}
}

// Each member that is gone counts in the quorum until it is removed, so it goes before one that answers.
func TestMembersThatAreGoneAreRemovedFirst(t *testing.T) {
	f := newFake(t, "e1 e2 e3 e4 e5")
	alive, dead := f.env.Cluster.Nodes[3], f.env.Cluster.Nodes[4]
	f.env.Cluster.Nodes, f.Removing = f.env.Cluster.Nodes[:3], []config.Node{alive, dead}
	f.leader, f.sick["e5"] = 1, true
	if err := f.Remove(t.Context(), alive); err != nil {
		t.Fatal(err)
	}
	if want := []string{"remove e5", "remove e4"}; !slices.Equal(f.does, want) {
		t.Errorf("%q, want %q", f.does, want)
	}
}
