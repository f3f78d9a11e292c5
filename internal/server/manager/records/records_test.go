package records

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

func open(t *testing.T, path string) (*Store, *database.DB) {
	t.Helper()
	db, err := database.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return s, db
}

// What is written is there after a restart; a record and its changes are written together, and only over the revision
// that was read.
func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, db := open(t, path)
	ctx := t.Context()
	r := manager.Record{Name: "one", Revision: 1, Unavailable: true, Epoch: 1, Operation: &manager.Operation{Epoch: 1,
		Kind: manager.Create, Runs: []string{"r1"}}, Fault: &event.Fault{Code: "x", Class: event.ClassFailed}}
	ch := manager.Change{Cluster: "one", Event: state.Create, From: state.Init, To: state.Creating}
	if err := s.Save(ctx, r, 0, ch); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, r, 0, ch); !errors.Is(err, manager.ErrRevision) {
		t.Error(err)
	}
	r.Revision = 3
	if err := s.Save(ctx, r, 2, ch); !errors.Is(err, manager.ErrRevision) {
		t.Error(err)
	}
	if err := s.Save(ctx, r, 1, ch, ch); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = open(t, path)
	got, err := s.Load(ctx)
	if err != nil || len(got) != 1 || got[0].Revision != 3 || got[0].Operation.Run() != "r1" ||
		got[0].Fault.Code != "x" {
		t.Errorf("%+v %v", got, err)
	}
	changes, err := s.Changes(ctx, 1, 1)
	if err != nil || len(changes) != 1 || changes[0].Seq != 2 || changes[0].To != state.Creating {
		t.Errorf("%+v %v", changes, err)
	}
	if err := s.Delete(ctx, "one", 2, "r1", ch); !errors.Is(err, manager.ErrRevision) {
		t.Error(err)
	}
	if err := s.Delete(ctx, "one", 3, "r1", ch); err != nil {
		t.Error(err)
	}
	if f, err := s.Forgotten(ctx); err != nil || f["one"] != "r1" {
		t.Error(f, err)
	}
	if all, err := s.Changes(ctx, 0, 100); err != nil || len(all) != 4 { // what was refused left none
		t.Errorf("%d %v", len(all), err)
	}
	if err := s.Save(ctx, manager.Record{Name: "one", Revision: 1}, 0); err != nil {
		t.Error(err)
	}
	if f, err := s.Forgotten(ctx); err != nil || len(f) > 0 {
		t.Error(f, err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Load(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A record and the change of state that goes with it are one: where the change cannot be written, the record is not.
func TestARecordIsNotWrittenWithoutItsChange(t *testing.T) {
	s, db := open(t, filepath.Join(t.TempDir(), "s.db"))
	ctx := t.Context()
	if err := s.Save(ctx, manager.Record{Name: "one", Revision: 1}, 0); err != nil {
		t.Fatal(err)
	}
	do := func(text string) {
		t.Helper()
		if err := db.Update(ctx, func(tx *sql.Tx) error { _, err := tx.Exec(text); return err }); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"cluster_changes", "cluster_health"} {
		do("CREATE TRIGGER full BEFORE INSERT ON " + table + " BEGIN SELECT RAISE(ABORT, 'full'); END")
		ch := manager.Change{Cluster: "one", To: state.Running}
		if err := s.Save(ctx, manager.Record{Name: "one", Revision: 2}, 1, ch); err == nil {
			t.Error("saved")
		}
		if err := s.Delete(ctx, "one", 1, "", ch); err == nil {
			t.Error("deleted")
		}
		do("DROP TRIGGER full")
		all, err := s.Load(ctx)
		changes, err2 := s.Changes(ctx, 0, 10)
		gone, err3 := s.Forgotten(ctx)
		if err := errors.Join(err, err2, err3); err != nil || len(all) != 1 || all[0].Revision != 1 ||
			len(changes) > 0 || len(gone) > 0 {
			t.Errorf("%s: %v %v %v %v", table, all, changes, gone, err)
		}
	}
	if err := s.Save(ctx, manager.Record{Name: "one", Revision: 2}, 1); err != nil {
		t.Error(err)
	}
}

// What others keep of a cluster goes with it, or neither does.
func TestWhatOthersKeepGoesWithACluster(t *testing.T) {
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var fails error
	var gone []string
	s, err := Open(t.Context(), db, func(_ context.Context, _ *sql.Tx, cluster string) error {
		gone = append(gone, cluster)
		return fails
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), manager.Record{Name: "one", Revision: 1}, 0); err != nil {
		t.Fatal(err)
	}
	fails = errors.New("no")
	if err := s.Delete(t.Context(), "one", 1, ""); !errors.Is(err, fails) {
		t.Error(err)
	}
	if all, err := s.Load(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("the cluster went alone: %v %v", all, err)
	}
	fails = nil
	if err := s.Delete(t.Context(), "one", 1, ""); err != nil || len(gone) != 2 || gone[1] != "one" {
		t.Error(err, gone)
	}
}
