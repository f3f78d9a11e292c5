package etcd_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
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

// seededWith has the members begin with a snapshot that is placed, and answers for those who have its data.
func seededWith(t *testing.T, f *fake, seed etcd.Seed, names ...string) {
	t.Helper()
	if err := seed.Write(f.env.StateDir); err != nil {
		t.Fatal(err)
	}
	f.SetSeed(etcd.ReadSeed(f.env.StateDir))
	wal := having(names...)
	f.says = func(name, script string) string {
		if strings.Contains(script, ".seed-"+seed.Token) && slices.Contains(names, name) {
			return "yes\n"
		}
		return wal(name, script)
	}
}

// One of the members that began with a snapshot was reinstalled: formed by itself it would have another identity.
func TestAMemberThatLostTheDataOfASnapshotJoinsTheOthers(t *testing.T) {
	f := newFake(t, "e1 e2 e3")
	seededWith(t, f, etcd.Seed{Token: "abc", Placed: true}, "e1", "e2")
	f.list[2].ClientURLs = nil // it never came up
	f.idle["e3"] = true
	for _, id := range []string{"etcd.membership", "etcd.start/e3"} {
		if err := f.do(t, id); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.does) < 4 || f.does[0] != "remove e3" || f.does[2] != "form e3 existing" {
		t.Errorf("%q", f.does)
	}
	if s, err := etcd.ReadSeed(f.env.StateDir); err != nil || s.Token != "abc" || !s.Placed {
		t.Error("it begins again:", s, err)
	}
}

// Nobody has the data any more: all get them again, by another token. Where kubelets have joined it was a cluster
// already, whose data would be lost in silence.
func TestMembersThatAllLostTheDataOfASnapshotBeginAgain(t *testing.T) {
	f := newFake(t, "e1 e2", "e1", "e2")
	seededWith(t, f, etcd.Seed{Token: "abc", Placed: true})
	f.SetFact("e1", &facts.Facts{Joined: true})
	eventtest.Fault(t, f.do(t, "etcd.membership"), "etcd.data-lost", "")
	f.SetFact("e1", &facts.Facts{})
	if err := f.do(t, "etcd.membership"); err != nil {
		t.Fatal(err)
	}
	if s, err := etcd.ReadSeed(f.env.StateDir); err != nil || s.Token == "abc" || s.Token == "" || s.Placed {
		t.Error(s, err)
	}
	f.idle["e1"], f.idle["e2"] = false, false
	f.sick["e1"], f.sick["e2"] = true, true
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it would wait for the others
	for _, s := range f.Steps() {
		if s.ID == "etcd.start/e1" {
			if err := s.Apply(ctx); err == nil || len(f.does) > 0 {
				t.Errorf("without data it was formed: %q %v", f.does, err)
			}
		}
	}
}

func TestDataOfSomethingElseAreForeign(t *testing.T) {
	f := newFake(t, "e1")
	seededWith(t, f, etcd.Seed{Token: "abc"})
	f.says = having("e1")
	eventtest.Fault(t, f.do(t, "etcd.membership"), "etcd.seed-data", "")
}
