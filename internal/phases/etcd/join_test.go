package etcd_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/eggo-k8s/eggo/internal/event/eventtest"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
)

// having has a log in the data directory of these nodes.
func having(names ...string) func(name, script string) string {
	return func(name, script string) string {
		if strings.Contains(script, "/member/wal") && slices.Contains(names, name) {
			return "0000000000000000.wal\n"
		}
		return ""
	}
}

func TestMembersWithoutDataFormACluster(t *testing.T) {
	f := newFake(t, "e1 e2", "e1", "e2")
	if err := f.do(t, "etcd.membership"); err != nil {
		t.Fatal(err)
	}
	if err := f.do(t, "etcd.start/e1"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"form e1 new", "start e1"}; !slices.Equal(f.does, want) {
		t.Errorf("%q, want %q", f.does, want)
	}
	if got := slices.Sorted(maps.Keys(f.formed.Members)); !slices.Equal(got, []string{"e1", "e2"}) {
		t.Errorf("formed with %q", got)
	}
}

// A cluster that begins where nodes have joined one would lose that one's data in silence.
func TestNoClusterBeginsWhereNodesHaveJoinedOne(t *testing.T) {
	f := newFake(t, "e1", "e1")
	f.SetFact("e1", &facts.Facts{Joined: true})
	if got := eventtest.Fault(t, f.do(t, "etcd.membership"), "etcd.data-lost", ""); got.Args["joined"] != "e1" {
		t.Errorf("%+v", got)
	}
}

func TestAMemberWithItsDataIsStartedAsItIs(t *testing.T) {
	f := newFake(t, "e1 e2")
	f.says = having("e1", "e2")
	f.idle["e1"] = true
	for _, id := range []string{"etcd.membership", "etcd.start/e1", "etcd.start/e2"} {
		if err := f.do(t, id); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"start e1"}; !slices.Equal(f.does, want) {
		t.Errorf("%q, want %q", f.does, want)
	}
}

// It has its data before its vote counts, and what was there is saved before anything is changed.
func TestANodeJoinsAsALearner(t *testing.T) {
	f := newFake(t, "e1 e2 e3", "e3")
	f.says = having("e1", "e2")
	for _, id := range []string{"etcd.membership", "etcd.start/e3"} {
		if err := f.do(t, id); err != nil {
			t.Fatal(err)
		}
	}
	e3 := layout.PeerURL(f.env.Cluster.Nodes[2])
	if want := []string{"add " + e3, "form e3 existing", "start e3", "promote e3"}; !slices.Equal(f.does, want) {
		t.Errorf("%q, want %q", f.does, want)
	}
	if got := slices.Sorted(maps.Keys(f.formed.Members)); !slices.Equal(got, []string{"e1", "e2", "e3"}) {
		t.Errorf("joins %q", got)
	}
	if got := f.notices(); !slices.Contains(got, "notice.no-snapshot") { // the fake gives nothing that could be one
		t.Errorf("nobody tried to save what was there: %q", got)
	}
}

// One more while another is away would make the quorum larger, and the cluster weaker.
func TestANodeJoinsWhenTheOthersAreReady(t *testing.T) {
	f := newFake(t, "e1 e2 e3", "e3")
	f.says = having("e1", "e2")
	f.sick["e2"], f.heals = true, "e2"
	for _, id := range []string{"etcd.membership", "etcd.start/e3"} {
		if err := f.do(t, id); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.does) < 2 || f.does[0] != "heal e2" || !strings.HasPrefix(f.does[1], "add ") {
		t.Errorf("%q", f.does)
	}
}

// The cluster remembers it, but what it knew is gone: as the same member it would break its promises.
func TestAMemberThatLostItsDataIsReplaced(t *testing.T) {
	f := newFake(t, "e1 e2 e3")
	f.says = having("e1", "e2")
	f.idle["e3"], f.sick["e3"] = true, true
	if err := f.do(t, "etcd.membership"); err != nil {
		t.Fatal(err)
	}
	f.sick["e3"] = false
	if err := f.do(t, "etcd.start/e3"); err != nil {
		t.Fatal(err)
	}
	if len(f.does) < 2 || f.does[0] != "remove e3" || !strings.HasPrefix(f.does[1], "add ") {
		t.Errorf("%q", f.does)
	}
}

func TestALearnerThatRunsIsPromoted(t *testing.T) {
	f := newFake(t, "e1 e2")
	f.says = having("e1", "e2")
	f.list[1].IsLearner = true
	for range 2 { // it votes then, and nothing is left to do
		if err := f.do(t, "etcd.membership"); err != nil {
			t.Fatal(err)
		}
		if err := f.do(t, "etcd.start/e2"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"start e2", "promote e2"}; !slices.Equal(f.does, want) {
		t.Errorf("%q, want %q", f.does, want)
	}
}

func TestAMemberOfNobodyIsReported(t *testing.T) {
	f := newFake(t, "e1")
	f.says = having("e1")
	f.list = append(f.list, &pb.Member{ID: 7, Name: "x", PeerURLs: []string{"https://192.0.2.77:2380"}})
	if err := f.do(t, "etcd.membership"); err != nil {
		t.Fatal(err)
	}
	if got := f.notices(); !slices.Equal(got, []string{"notice.etcd-stranger"}) {
		t.Errorf("%q", got)
	}
}
