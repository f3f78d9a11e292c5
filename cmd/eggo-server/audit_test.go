package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/database"
)

// The server deletes what is older in the audit log than it was told to keep, and nothing where it keeps all.
func TestOldEntriesOfTheAuditLog(t *testing.T) {
	for days, want := range map[string]map[string]bool{
		"":      {"of-two-years-ago": false, "of-last-month": true},
		"7":     {"of-two-years-ago": false, "of-last-month": false},
		"0":     {"of-two-years-ago": true, "of-last-month": true},
		"ahead": {"of-two-years-ago": true, "of-last-month": true}, // the clock may be wrong
	} {
		data := t.TempDir()
		if days == "ahead" {
			text, err := json.Marshal(clockState{Time: time.Now().AddDate(-1, -6, 0)})
			if err == nil {
				err = os.WriteFile(filepath.Join(data, clockFile), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		record(t, data, map[string]time.Time{"of-two-years-ago": time.Now().AddDate(-2, 0, 0),
			"of-last-month": time.Now().AddDate(0, -1, 0)})
		var more []string
		if days != "" && days != "ahead" {
			more = []string{"--audit-days", days}
		}
		s := start(t, data, t.TempDir(), more...)
		token := s.administrator()
		has := func(action string) bool {
			_, answer, _ := s.call(token, "GET", "/api/v1/audit?action="+action, "")
			list, _ := answer["items"].([]any)
			return len(list) > 0
		}
		if days == "" || days == "7" {
			s.becomes(token, "/api/v1/audit?action=delete-audit", "told", func(answer map[string]any) bool {
				list, _ := answer["items"].([]any)
				return len(list) == 1
			})
		}
		for action, there := range want {
			if has(action) != there {
				t.Errorf("--audit-days %s: is %s there? want %v", days, action, there)
			}
		}
		s.end()
	}
}

// record writes entries into the audit log of a server that does not run.
func record(t *testing.T, data string, entries map[string]time.Time) {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(data, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	a, err := account.Open(t.Context(), db, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for action, at := range entries {
		entry := access.Entry{At: at, Caller: access.Caller{Name: "ann"}, Action: action}
		if err := a.Record(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
	}
}
