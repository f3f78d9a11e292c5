package records

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// The history of a cluster's health says what it became, when and why; what it still is after a restart is no entry. It
// is bounded by age and by number, goes with the cluster, and another cluster's is not touched.
func TestHealth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	s, _ := open(t, filepath.Join(t.TempDir(), "s.db"))
	ctx := t.Context()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	revision := map[string]uint64{}
	become := func(cluster string, day int, to state.State, why *event.Fault) {
		t.Helper()
		r := manager.Record{Name: cluster, Revision: revision[cluster] + 1}
		if err := s.Save(ctx, r, revision[cluster], manager.Change{Cluster: cluster, To: to, Reason: why,
			At: begin.Add(time.Duration(day) * 24 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		revision[cluster]++
	}
	states := func(cluster string, before uint64, n int) (out []state.State, last manager.Health) {
		t.Helper()
		list, err := s.Health(ctx, cluster, before, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range list {
			out, last = append(out, h.State), h
		}
		return out, last
	}
	down := &event.Fault{Code: "manager.unreachable", Class: event.ClassFailed, Cause: "no route"}
	become("two", 0, state.Running, nil)
	become("one", 0, state.Running, nil)
	become("one", 1, state.Unreachable, down)
	become("one", 1, state.Unreachable, down) // found again
	become("one", 2, state.Running, nil)
	got, last := states("one", 0, 2)
	if !slices.Equal(got, []state.State{state.Running, state.Unreachable}) || last.Reason.Code != down.Code ||
		last.Reason.Cause != down.Cause || !last.At.Equal(begin.Add(24*time.Hour)) {
		t.Errorf("%v %+v", got, last)
	}
	if got, _ := states("one", last.Seq, 2); !slices.Equal(got, []state.State{state.Running}) {
		t.Errorf("the next page: %v", got)
	}
	become("one", 95, state.Unreachable, down) // what came before is older than 90 days by now
	if got, _ := states("one", 0, 100); !slices.Equal(got, []state.State{state.Unreachable}) {
		t.Error(got)
	}
	var many []manager.Change
	for range keepHealth/2 + 10 {
		at := begin.Add(95 * 24 * time.Hour)
		many = append(many, manager.Change{Cluster: "one", To: state.Running, At: at},
			manager.Change{Cluster: "one", To: state.Unreachable, Reason: down, At: at})
	}
	revision["one"]++
	r := manager.Record{Name: "one", Revision: revision["one"]}
	if err := s.Save(ctx, r, r.Revision-1, many...); err != nil {
		t.Fatal(err)
	}
	if got, _ := states("one", 0, 10*keepHealth); len(got) != keepHealth {
		t.Errorf("%d entries", len(got))
	}
	if err := s.Delete(ctx, "one", revision["one"], "", manager.Change{Cluster: "one", To: state.Destroy}); err != nil {
		t.Fatal(err)
	}
	if got, _ := states("one", 0, 100); len(got) > 0 {
		t.Errorf("%v of a cluster that is deleted", got)
	}
	if got, _ := states("two", 0, 100); len(got) != 1 { // however old it is: it is Running still
		t.Errorf("%v of another one", got)
	}
}

// That a Running cluster is Connecting for a moment after a start of the server is none of its history; that its API
// server did not answer for longer is.
func TestAStartIsNoneOfTheHistory(t *testing.T) {
	ctx := t.Context()
	s, _ := open(t, filepath.Join(t.TempDir(), "server.db"))
	at, revision := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), uint64(0)
	become := func(after time.Duration, from, to state.State) {
		t.Helper()
		at = at.Add(after)
		revision++
		err := s.Save(ctx, manager.Record{Name: "one", Revision: revision}, revision-1,
			manager.Change{Cluster: "one", From: from, To: to, At: at})
		if err != nil {
			t.Fatal(err)
		}
	}
	become(0, state.Creating, state.Running)
	for _, took := range []time.Duration{time.Second, time.Minute} {
		become(time.Hour, state.Init, state.Connecting)
		become(took, state.Connecting, state.Running)
	}
	list, err := s.Health(ctx, "one", 0, 100)
	var got []state.State
	for _, h := range list {
		got = append(got, h.State)
	}
	if err != nil || !slices.Equal(got, []state.State{state.Running, state.Connecting, state.Running}) {
		t.Error(got, err)
	}
}
