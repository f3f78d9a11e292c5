package main

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/account"
	"github.com/eggo-k8s/eggo/internal/database"
	"github.com/eggo-k8s/eggo/internal/manager"
	"github.com/eggo-k8s/eggo/internal/manager/managertest"
	"github.com/eggo-k8s/eggo/internal/manager/upkeep"
	"github.com/eggo-k8s/eggo/internal/server"
)

// What the schedule begins is in the audit log by the name that it has when somebody asks for it: who looks for the
// backups of a cluster finds all of them.
func TestTheScheduleIsAuditedAsTheAPIIs(t *testing.T) {
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	accounts, err := account.Open(t.Context(), db, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	world := &managertest.World{}
	world.Install("one")
	m, err := manager.New(t.Context(), manager.Options{Store: &managertest.Memory{}, Runner: world,
		Clock: managertest.Clock{}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	idle := func() bool {
		v, err := m.Cluster("one")
		return err == nil && v.State.Ready() && v.Operation == nil
	}
	w := httptest.NewRecorder()
	server.New(server.Options{Manager: m, Access: accounts}).ServeHTTP(w,
		httptest.NewRequest("GET", server.Prefix+"/openapi.json", nil))
	for k, want := range map[manager.Kind]string{manager.Backup: "take-backup", manager.Renew: "renew-certificates"} {
		waitUntil(t, idle)
		former := world.Newest("one")
		if _, err := (recorded{m, accounts}).Begin(t.Context(), "one", k, manager.Request{By: upkeep.By}); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool { return world.Newest("one") != former })
		world.Newest("one").Finish(nil)
		list, err := accounts.Audit(t.Context(), account.Filter{User: upkeep.By, Action: want}, 10)
		if err != nil || len(list) != 1 || list[0].Result != "202" {
			t.Errorf("%s: %+v %v", k, list, err)
		}
		if !strings.Contains(w.Body.String(), `"operationId":"`+want+`"`) {
			t.Errorf("the API has no operation %s", want)
		}
	}
}

func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !is() {
		if (clock{}).Sleep(ctx, 5*time.Millisecond) != nil {
			t.Fatal("never")
		}
	}
}
