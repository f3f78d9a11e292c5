package account_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// What another site has a browser send is refused, whatever cookies it has; programs and the own page are not.
func TestRequestsAreNotForged(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Viewer, nil)
	session := s.login(t, "ann", good)
	for _, c := range []struct {
		method, header, value, upgrade string
		want                           int
	}{
		{"POST", "Sec-Fetch-Site", "cross-site", "", 403}, {"POST", "Sec-Fetch-Site", "same-site", "", 403},
		{"DELETE", "Origin", "https://evil.example", "", 403}, {"PUT", "Origin", "null", "", 403},
		{"POST", "Sec-Fetch-Site", "same-origin", "", 200}, {"POST", "Origin", "https://eggo.example", "", 200},
		{"POST", "", "", "", 200}, {"GET", "Sec-Fetch-Site", "cross-site", "", 200},
		{"GET", "Sec-Fetch-Site", "cross-site", "websocket", 403},
		{"GET", "Origin", "https://evil.example", "websocket", 403},
		{"GET", "Origin", "https://eggo.example", "websocket", 200},
	} {
		r := httptest.NewRequest(c.method, "https://eggo.example/api/v1/clusters", nil)
		r.AddCookie(&http.Cookie{Name: account.Cookie, Value: session.Secret})
		r.Header.Set("Accept-Language", "zh")
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		if c.upgrade != "" {
			r.Header.Set("Upgrade", c.upgrade)
		}
		w := httptest.NewRecorder()
		s.who().ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
		if c.want == 403 && (!strings.Contains(w.Body.String(), "account.forged") ||
			w.Header().Get("Content-Type") != "application/problem+json") {
			t.Errorf("%+v: %s", c, w.Body)
		}
	}
}

func TestTheCookieIsForThisServerAlone(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Viewer, nil)
	c := s.CookieOf(s.login(t, "ann", good))
	if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" ||
		!strings.HasPrefix(c.Name, "__Host-") || c.MaxAge != 12*60*60 {
		t.Errorf("%+v", c)
	}
	r := httptest.NewRequest(http.MethodGet, "https://eggo.example/", nil)
	r.AddCookie(&http.Cookie{Name: account.Cookie, Value: "of a session that has ended"})
	w := httptest.NewRecorder()
	s.who().ServeHTTP(w, r)
	if got := w.Result().Cookies(); w.Body.String() != "nobody" || len(got) != 1 || got[0].MaxAge >= 0 {
		t.Errorf("%s %v", w.Body, got)
	}
}

// A stream that began with a session, or a token, ends soon after it.
func TestALongRequestAsksAgain(t *testing.T) {
	s := newServer(t)
	s.user(t, "chief", access.Admin, nil)
	s.user(t, "ann", access.Viewer, nil)
	session := s.login(t, "ann", good)
	role := func(r *http.Request) (access.Role, error) {
		c, _ := access.From(r.Context())
		return s.RoleOf(r.Context(), c, "rack")
	}
	h := s.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got, err := role(r); err != nil || got != access.Viewer {
			t.Error(got, err)
		}
		grants := account.Grants{"rack": access.Operator}
		if _, err := s.Change(t.Context(), "ann", account.Change{Grants: &grants}); err != nil {
			t.Error(err)
		}
		s.clock.pass(time.Minute)
		if got, err := role(r); err != nil || got != access.Operator {
			t.Error(got, err)
		}
		if err := s.Logout(t.Context(), "", session); err != nil {
			t.Error(err)
		}
		s.clock.pass(time.Minute)
		_, err := role(r)
		wantCode(t, "logged out", err, "account.ended")
	}))
	r := httptest.NewRequest(http.MethodGet, "https://eggo.example/", nil)
	r.AddCookie(&http.Cookie{Name: account.Cookie, Value: session.Secret})
	h.ServeHTTP(httptest.NewRecorder(), r)
}

// Who did what, from where, and what became of it.
func TestTheAuditLog(t *testing.T) {
	s := newServer(t)
	ann := s.user(t, "ann", access.Operator, nil)
	if _, err := s.Login(t.Context(), "192.0.2.7", "ann", "my secret", ""); err == nil {
		t.Fatal("the password is wrong")
	}
	if _, err := s.Login(t.Context(), "192.0.2.7", "hunter2 is my password", "x", ""); err == nil {
		t.Fatal("no such user")
	}
	session := s.login(t, "ann", good)
	h := s.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := access.Check(r.Context(), s, access.Operate, "rack")
		if err == nil {
			err = s.Record(r.Context(), access.Entry{Caller: c, Action: "cancel", Cluster: "rack",
				Target: "run\u202e-1\x1b"})
		}
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusConflict)
	}))
	r := httptest.NewRequest(http.MethodPost, "https://eggo.example/", nil)
	r.AddCookie(&http.Cookie{Name: account.Cookie, Value: session.Secret})
	r.RemoteAddr = "192.0.2.8:1234"
	h.ServeHTTP(httptest.NewRecorder(), r)

	list, err := s.Audit(t.Context(), account.Filter{}, 10)
	if err != nil || len(list) != 4 {
		t.Fatal(list, err)
	}
	for i, want := range []string{"ann 192.0.2.8 cancel rack run-1 409", "ann 192.0.2.1 login   ok",
		"? 192.0.2.7 login   failed", "ann 192.0.2.7 login   failed"} {
		e := list[i]
		if got := strings.Join([]string{e.Entry.Caller.Name, e.Entry.Address, e.Entry.Action, e.Entry.Cluster,
			e.Entry.Target, e.Result}, " "); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	if list[0].Entry.Caller.ID != ann.ID || !list[0].Entry.At.Equal(s.clock.now()) {
		t.Error(list[0])
	}
	for what, f := range map[string]account.Filter{"cluster": {Cluster: "rack"}, "action": {Action: "cancel"},
		"user": {User: "ANN", Before: list[3].ID + 1},
		"none": {Since: s.clock.now().Add(time.Second)}} {
		want := 1
		if what == "none" {
			want = 0
		}
		if got, err := s.Audit(t.Context(), f, 10); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	for _, change := range []string{"DELETE FROM audit", "UPDATE audit SET user = 'eve'", "DELETE FROM audit_results",
		"UPDATE audit_results SET status = 200"} {
		if err := s.db.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(change)
			return err
		}); err == nil {
			t.Errorf("%s: done", change)
		}
	}
}

// Whoever reads the database, a copy of it, or an answer cannot log in with it.
func TestNoSecretIsStored(t *testing.T) {
	s := newServer(t)
	ann := s.user(t, "ann", access.Admin, nil)
	session := s.login(t, "ann", good)
	_, token, err := s.NewToken(t.Context(), ann.ID, account.Token{Name: "t", Role: access.Admin,
		Ends: s.clock.now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Login(t.Context(), "", "ann", "a wrong password", ""); err == nil {
		t.Fatal("wrong")
	}
	list, err := s.Audit(t.Context(), account.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(s.db.Path() + "*")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	all := map[string][]byte{"the audit log": text}
	for _, f := range files {
		if all[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range all {
		for _, secret := range []string{good, session.Secret, token, token[5:], "a wrong password"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
}

// Entries that are older than a time go, however many there are, and that is an entry; all others stay, and nothing can
// be deleted afterwards either.
func TestOldEntriesOfTheAuditLogGo(t *testing.T) {
	s := newServer(t)
	ctx := t.Context()
	record := func(n int, action string) {
		t.Helper()
		if err := s.db.Update(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO audit (at, user, user_id, token, address, action, cluster,
				target, result) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				SELECT ?, 'ann', '', '', '', ?, '', '', '' FROM n`, n, s.clock.now().UnixMilli(), action)
			if err == nil {
				_, err = tx.ExecContext(ctx, `INSERT INTO audit_results SELECT id, 200 FROM audit
					WHERE id NOT IN (SELECT audit FROM audit_results)`)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	record(5001, "old")
	s.clock.pass(48 * time.Hour)
	record(3, "new")
	if err := s.ForgetAudit(ctx, s.clock.now().Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	list, err := s.Audit(ctx, account.Filter{}, 100)
	var got []string
	for _, e := range list {
		got = append(got, e.Entry.Caller.Name+" "+e.Entry.Action+" "+e.Entry.Target+" "+e.Result)
	}
	want := []string{"server delete-audit 1 before 2026-01-03T03:04:05Z ok",
		"server delete-audit 5000 before 2026-01-03T03:04:05Z ok", "ann new  200", "ann new  200", "ann new  200"}
	if !slices.Equal(got, want) || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if err := s.ForgetAudit(ctx, s.clock.now().Add(-24*time.Hour)); err != nil { // nothing to do, nothing to tell
		t.Error(err)
	}
	if list, err := s.Audit(ctx, account.Filter{}, 100); len(list) != 5 || err != nil {
		t.Errorf("%d %v", len(list), err)
	}
	for _, table := range []string{"audit", "audit_results"} {
		if err := s.db.Update(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM "+table)
			return err
		}); err == nil {
			t.Errorf("rows of %s can be deleted", table)
		}
	}
}
