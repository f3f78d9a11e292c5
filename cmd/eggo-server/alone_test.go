package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/upkeep"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
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

// Two servers share neither a data directory nor a state directory: both would own the same clusters. When one ends,
// the next starts.
func TestTwoServersShareNoDirectory(t *testing.T) {
	data, state := t.TempDir(), t.TempDir()
	s := start(t, data, state)
	for what, dirs := range map[string][2]string{"both": {data, state}, "the data directory": {data, t.TempDir()},
		"the state directory": {t.TempDir(), state}} {
		code, _, errs := command(t, "", "serve", "--listen", "127.0.0.1:0", "--data-dir", dirs[0],
			"--state-dir", dirs[1])
		if code != 11 || !strings.Contains(errs, "[server.running]") {
			t.Errorf("%s: %d\n%s", what, code, errs)
		}
	}
	s.end()
	start(t, t.TempDir(), state).end()
}

// Directories in which other users of the host can replace files are refused, with what to do about it, before anything
// is written. What is only read by others, and what is not there yet, is not.
func TestDirectoriesThatOthersWrite(t *testing.T) {
	for mode, refused := range map[os.FileMode]bool{0o777: true, 0o1777: true, 0o770: true, 0o702: true, 0o755: false,
		0o700: false} {
		for n := range 2 {
			dirs := []string{t.TempDir(), t.TempDir()}
			sticky := map[bool]os.FileMode{true: os.ModeSticky}[mode > 0o777]
			if err := os.Chmod(dirs[n], mode&0o777|sticky); err != nil {
				t.Fatal(err)
			}
			if !refused {
				start(t, dirs[0], dirs[1]).end()
				continue
			}
			code, _, errs := command(t, "", "serve", "--listen", "127.0.0.1:0", "--data-dir", dirs[0],
				"--state-dir", dirs[1])
			if code != 2 || !strings.Contains(errs, "[server.open-directory]") ||
				!strings.Contains(errs, "chmod 0700 "+dirs[n]) {
				t.Errorf("%o: %d\n%s", mode, code, errs)
			}
			if list, err := os.ReadDir(dirs[n]); err != nil || len(list) > 0 {
				t.Error(list, err)
			}
		}
	}
	at := filepath.Join(t.TempDir(), "new")
	start(t, filepath.Join(at, "data"), filepath.Join(at, "state")).end()
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
