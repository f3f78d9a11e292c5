package account_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// who answers with the name of the caller, and the role on all clusters.
func (s server) who() http.Handler {
	return s.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := access.From(r.Context())
		if !ok {
			fmt.Fprint(w, "nobody")
			return
		}
		role, err := s.RoleOf(r.Context(), c, "")
		fmt.Fprint(w, c.Name, " ", role, " ", err)
	}))
}

// asks sends a request with a cookie or a token, and gives status and body.
func (s server) asks(session, token string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, "https://eggo.example/api/v1/clusters", nil)
	if session != "" {
		r.AddCookie(&http.Cookie{Name: account.Cookie, Value: session})
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.who().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (s server) isKnown(t *testing.T, what string, session account.Session, want bool) {
	t.Helper()
	_, body := s.asks(session.Secret, "")
	if known := strings.HasPrefix(body, session.User.Name+" "); known != want {
		t.Errorf("%s: %q", what, body)
	}
}

func TestASessionEnds(t *testing.T) {
	s := newServer(t)
	s.user(t, "chief", access.Admin, nil)
	s.user(t, "ann", access.Viewer, nil)
	t.Run("unused", func(t *testing.T) {
		session := s.login(t, "ann", good)
		for range 4 {
			s.clock.pass(50 * time.Minute)
			s.isKnown(t, "in use", session, true)
		}
		s.clock.pass(61 * time.Minute)
		s.isKnown(t, "unused", session, false)
	})
	t.Run("whatever a stream asks", func(t *testing.T) {
		session := s.login(t, "ann", good)
		var stream context.Context
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.AddCookie(s.CookieOf(session))
		s.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stream = r.Context() })).
			ServeHTTP(httptest.NewRecorder(), r)
		who, _ := access.From(stream)
		for range 6 {
			s.clock.pass(10 * time.Minute)
			if _, err := s.RoleOf(stream, who, ""); err != nil {
				t.Fatal(err)
			}
		}
		s.clock.pass(time.Minute)
		_, err := s.RoleOf(stream, who, "")
		wantCode(t, "an hour without a request", err, "account.ended")
	})
	t.Run("after its life", func(t *testing.T) {
		session := s.login(t, "ann", good)
		for range 24 {
			s.clock.pass(30 * time.Minute)
			s.isKnown(t, "in use", session, true)
		}
		s.clock.pass(time.Minute)
		s.isKnown(t, "too old", session, false)
	})
	t.Run("by logout", func(t *testing.T) {
		session, stays := s.login(t, "ann", good), s.login(t, "ann", good)
		if err := s.Logout(t.Context(), "", session); err != nil {
			t.Fatal(err)
		}
		s.isKnown(t, "logged out", session, false)
		s.isKnown(t, "another one", stays, true)
	})
	t.Run("by another password", func(t *testing.T) {
		session, ends := s.login(t, "ann", good), s.login(t, "ann", good)
		u := session.User
		wantCode(t, "wrong", s.ChangePassword(t.Context(), u.ID, other, other, session, false), "account.login")
		wantCode(t, "right", s.ChangePassword(t.Context(), u.ID, good, other, session, false), "")
		s.isKnown(t, "the one that changed it", session, true)
		s.isKnown(t, "all others", ends, false)
		s.login(t, "ann", other)
	})
	t.Run("by a reset", func(t *testing.T) {
		session := s.login(t, "ann", other)
		_, token, err := s.NewToken(t.Context(), session.User.ID, account.Token{Name: "t", Role: access.Viewer,
			Ends: s.clock.now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, "reset", s.Reset(t.Context(), "ann", good), "")
		s.isKnown(t, "before", session, false)
		if status, _ := s.asks("", token); status != http.StatusUnauthorized {
			t.Errorf("a token of before: %d", status)
		}
		session = s.login(t, "ann", good)
		if _, body := s.asks(session.Secret, ""); !strings.Contains(body, "account.reset") {
			t.Errorf("%q, want that the password has to be changed", body)
		}
		wantCode(t, "changed", s.ChangePassword(t.Context(), session.User.ID, good, other, session, false), "")
		s.isKnown(t, "then", session, true)
		if _, body := s.asks(session.Secret, ""); body != "ann viewer <nil>" {
			t.Error(body)
		}
	})
	t.Run("when the user is disabled", func(t *testing.T) {
		session, off, on := s.login(t, "ann", other), true, false
		if _, err := s.Change(t.Context(), "ann", account.Change{Disabled: &off}); err != nil {
			t.Fatal(err)
		}
		s.isKnown(t, "disabled", session, false)
		_, err := s.Login(t.Context(), "", "ann", other, "")
		wantCode(t, "disabled", err, "account.login")
		if _, err := s.Change(t.Context(), "ann", account.Change{Disabled: &on}); err != nil {
			t.Fatal(err)
		}
		s.isKnown(t, "enabled again", session, false)
	})
}

// A database that cannot be written, as on a full disk, can be read: what is asked for is answered.
func TestASessionIsGoodThoughItsUseCannotBeWritten(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Viewer, nil)
	session := s.login(t, "ann", good)
	run := func(text string) {
		t.Helper()
		if err := s.db.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TRIGGER full BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	s.clock.pass(30 * time.Minute)
	if code, body := s.asks(session.Secret, ""); code != http.StatusOK || !strings.HasPrefix(body, "ann viewer") {
		t.Error(code, body)
	}
	run("DROP TRIGGER full")
	s.isKnown(t, "once there is space", session, true)
	s.clock.pass(40 * time.Minute)
	s.isKnown(t, "used since", session, true)
}

// Whoever plants a session in a browser has nothing when its user logs in.
func TestALoginReplacesTheSession(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Viewer, nil)
	s.user(t, "eve", access.Viewer, nil)
	planted := s.login(t, "eve", good)
	own, err := s.Login(t.Context(), "", "ann", good, planted.Secret)
	if err != nil || own.Secret == planted.Secret || len(own.Secret) < 43 {
		t.Fatal(own, err)
	}
	s.isKnown(t, "planted", planted, false)
	s.isKnown(t, "own", own, true)
	if _, body := s.asks("chosen-by-the-attacker", ""); body != "nobody" {
		t.Error(body)
	}
}

func TestTokens(t *testing.T) {
	s := newServer(t)
	ann := s.user(t, "ann", access.Operator, nil)
	create := func(change func(*account.Token)) (account.Token, string, error) {
		token := account.Token{Name: "backup", Role: access.Viewer, Ends: s.clock.now().Add(time.Hour)}
		change(&token)
		return s.NewToken(t.Context(), ann.ID, token)
	}
	for what, c := range map[string]struct {
		change func(*account.Token)
		want   string
	}{
		"no name":       {func(t *account.Token) { t.Name = " " }, "account.token-name"},
		"control":       {func(t *account.Token) { t.Name = "a\nb" }, "account.token-name"},
		"no role":       {func(t *account.Token) { t.Role = "" }, "account.role"},
		"unknown role":  {func(t *account.Token) { t.Role = "king" }, "account.role"},
		"no end":        {func(t *account.Token) { t.Ends = time.Time{} }, "account.token-end"},
		"ends too late": {func(t *account.Token) { t.Ends = s.clock.now().AddDate(2, 0, 0) }, "account.token-end"},
		"cluster":       {func(t *account.Token) { t.Cluster = "../x" }, "account.cluster"},
	} {
		_, _, err := create(c.change)
		wantCode(t, what, err, c.want)
	}
	token, text, err := create(func(*account.Token) {})
	if err != nil || !strings.HasPrefix(text, "eggo_") || token.User != "ann" {
		t.Fatal(token, text, err)
	}
	if _, body := s.asks("", text); body != "ann viewer <nil>" {
		t.Error(body)
	}
	for _, wrong := range []string{text + "x", "eggo_", "", text[5:]} {
		if status, body := s.asks("", " "+wrong); status != http.StatusUnauthorized ||
			!strings.Contains(body, `"account.token"`) {
			t.Errorf("%q: %d %s", wrong, status, body)
		}
	}
	for range 40 { // a script with an old token locks out itself, and nobody else at its address
		s.asks("", "eggo_old")
	}
	if status, body := s.asks("", "eggo_old"); status != http.StatusTooManyRequests {
		t.Error(status, body)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, body := s.asks("", text); body != "ann viewer <nil>" {
				t.Error(body)
			}
		})
	}
	all.Wait()
	list, err := s.Tokens(t.Context(), ann.ID, "", 10)
	if err != nil || len(list) != 1 || list[0].ID != token.ID {
		t.Error(list, err)
	}
	wantCode(t, "another user's", s.DeleteToken(t.Context(), token.ID, "somebody"), "account.unknown-token")
	s.clock.pass(2 * time.Hour)
	if status, _ := s.asks("", text); status != http.StatusUnauthorized { // the failures are forgotten, too
		t.Errorf("after its end: %d", status)
	}
	wantCode(t, "own", s.DeleteToken(t.Context(), token.ID, ann.ID), "")
	wantCode(t, "again", s.DeleteToken(t.Context(), token.ID, ""), "account.unknown-token")
}

func TestPasswordsAreNotGuessed(t *testing.T) {
	try := func(s server, address, name, password string) error {
		_, err := s.Login(t.Context(), address, name, password, "")
		return err
	}
	t.Run("of one user, from everywhere", func(t *testing.T) {
		s := newServer(t)
		s.user(t, "ann", access.Viewer, nil)
		session := s.login(t, "ann", good)
		for i := range 5 {
			wantCode(t, "guess", try(s, fmt.Sprint("192.0.2.", i), "ann", "wrong"), "account.login")
		}
		wantCode(t, "the right one, too", try(s, "192.0.2.77", "Ann", good), "account.locked")
		if list, err := s.Audit(t.Context(), account.Filter{Action: "login"}, 100); err != nil || len(list) != 6 {
			t.Errorf("%d entries, %v: what is refused unseen fills no disk", len(list), err)
		}
		s.isKnown(t, "who is logged in", session, true)
		s.clock.pass(11 * time.Second)
		wantCode(t, "after the pause", try(s, "192.0.2.77", "ann", "wrong"), "account.login")
		s.clock.pass(11 * time.Second)
		wantCode(t, "the pause is longer", try(s, "192.0.2.77", "ann", good), "account.locked")
		s.clock.pass(10 * time.Second)
		wantCode(t, "then", try(s, "192.0.2.77", "ann", good), "")
		for range 4 {
			wantCode(t, "from the beginning", try(s, "192.0.2.9", "ann", "wrong"), "account.login")
		}
		wantCode(t, "from the beginning", try(s, "192.0.2.9", "ann", good), "")
	})
	t.Run("of many users, from one address", func(t *testing.T) {
		s := newServer(t)
		s.user(t, "ann", access.Viewer, nil)
		for i := range 30 {
			wantCode(t, "guess", try(s, fmt.Sprintf("2001:db8::%x", i), fmt.Sprint("user", i), "x"), "account.login")
		}
		wantCode(t, "the same network", try(s, "2001:db8::ffff", "ann", good), "account.locked")
		wantCode(t, "another one", try(s, "2001:db8:1::1", "ann", good), "")
	})
	t.Run("at once", func(t *testing.T) {
		s := newServer(t)
		s.user(t, "ann", access.Viewer, nil)
		var all sync.WaitGroup
		checked := make(chan bool, 50)
		for range 50 {
			all.Go(func() {
				if err := try(s, "192.0.2.1", "ann", "wrong"); strings.Contains(err.Error(), "account.login") {
					checked <- true
				}
			})
		}
		all.Wait()
		if len(checked) != 5 {
			t.Errorf("%d passwords were checked, want 5", len(checked))
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		s := newServer(t)
		s.user(t, "ann", access.Viewer, nil)
		for range 5 {
			wantCode(t, "guess", try(s, "192.0.2.1", "ann", "wrong"), "account.login")
		}
		s.clock.pass(2 * time.Hour)
		for range 4 {
			wantCode(t, "guess", try(s, "192.0.2.1", "ann", "wrong"), "account.login")
		}
		wantCode(t, "then", try(s, "192.0.2.1", "ann", good), "")
	})
}

func TestTheFirstAdministrator(t *testing.T) {
	s := newServer(t)
	file := filepath.Join(t.TempDir(), "setup-token")
	begin := func() string {
		if needed, err := s.BeginSetup(t.Context(), file); !needed || err != nil {
			t.Fatal(needed, err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode() != 0o600 {
			t.Fatal(info, err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	setup := func(token, password string) error {
		_, err := s.Setup(t.Context(), "192.0.2.1", token, "chief", password)
		return err
	}
	old := begin()
	token := begin()
	wantCode(t, "of an earlier start", setup(old, good), "account.setup-token")
	wantCode(t, "password", setup(token, "short"), "account.password-short")
	wantCode(t, "right", setup(token, good), "")
	if _, err := os.Stat(file); err == nil {
		t.Error("the token is there after its use")
	}
	wantCode(t, "again", setup(token, good), "account.setup-done")
	if u := s.login(t, "chief", good).User; u.Role != access.Admin {
		t.Error(u)
	}
	if needed, err := s.BeginSetup(t.Context(), file); needed || err != nil {
		t.Error(needed, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
	s2 := newServer(t)
	_, err := s2.BeginSetup(t.Context(), filepath.Join(file, "x", "y"))
	wantCode(t, "file", err, "account.setup-file")
	for i := range 30 {
		_, err := s2.Setup(t.Context(), "192.0.2.1", fmt.Sprint(i), "chief", good)
		wantCode(t, "guess", err, "account.setup-token")
	}
	_, err = s2.Setup(t.Context(), "192.0.2.1", "x", "chief", good)
	wantCode(t, "too many", err, "account.locked")
}
