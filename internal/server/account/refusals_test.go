package account_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// asked is a request that is recorded, with the status of its response.
type asked struct {
	action, cluster, target, address string
	status                           int
}

// ask sends a request of a session, and gives the status of the response.
func (s server) ask(session account.Session, q asked) int {
	return s.send(q, "Cookie", account.Cookie+"="+session.Secret)
}

// send sends a request with a header, and gives the status of the response.
func (s server) send(q asked, header, value string) int {
	h := s.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := access.From(r.Context())
		entry := access.Entry{Caller: c, Action: q.action, Cluster: q.cluster, Target: q.target}
		if s.Record(r.Context(), entry) == nil {
			w.WriteHeader(q.status)
		}
	}))
	r := httptest.NewRequest(http.MethodPost, "https://eggo.example/", nil)
	r.RemoteAddr = q.address + ":1234"
	r.Header.Set(header, value)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// logged are the entries of a user besides logins, the oldest first.
func (s server) logged(t *testing.T, user string) (out []string) {
	t.Helper()
	list, err := s.Audit(t.Context(), account.Filter{User: user}, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(list) {
		x := e.Entry
		line := strings.Join(strings.Fields(strings.Join([]string{x.Action, x.Cluster, x.Target, e.Result}, " ")), " ")
		if r := e.Repeats; r != nil {
			line += fmt.Sprintf(" +%d %s", r.Count, r.Last.Sub(x.At))
			if r.Others {
				line += " others"
			}
		}
		if x.Action != "login" {
			out = append(out, line)
		}
	}
	return out
}

// A refusal that is repeated is one entry, with how often and until when. What succeeded, what failed here, what was
// refused for another reason and what another user sent have their own.
func TestRepeatedRefusalsAreOneEntry(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Admin, nil)
	s.user(t, "bob", access.None, nil)
	ann, bob := s.login(t, "ann", good), s.login(t, "bob", good)
	home := "192.0.2.1"
	for _, q := range []asked{
		{"delete-user", "", "x", home, 403}, {"delete-user", "", "x", home, 403}, {"delete-user", "", "x", home, 403},
		{"delete-user", "", "x", home, 404},
		{"delete-user", "", "y", home, 403},
		{"delete-user", "", "x", "192.0.2.2", 403},
		{"delete-cluster", "one", "", home, 403}, {"delete-cluster", "two", "", home, 403},
		{"delete-user", "", "x", home, 204}, {"delete-user", "", "x", home, 204},
		{"delete-user", "", "x", home, 500}, {"delete-user", "", "x", home, 500},
	} {
		s.clock.pass(time.Second)
		if got := s.ask(bob, q); got != q.status {
			t.Errorf("%+v: %d", q, got)
		}
	}
	s.ask(ann, asked{"delete-user", "", "x", home, 403})
	s.clock.pass(50 * time.Minute)
	s.ask(bob, asked{"delete-user", "", "x", home, 403})
	s.clock.pass(11 * time.Minute) // an hour after the first one
	s.ask(s.login(t, "bob", good), asked{"delete-user", "", "x", home, 403})
	want := []string{"delete-user x 403 +3 50m11s", "delete-user x 404", "delete-user y 403", "delete-user x 403",
		"delete-cluster one 403", "delete-cluster two 403", "delete-user x 204", "delete-user x 204",
		"delete-user x 500", "delete-user x 500", "delete-user x 403"}
	if got := s.logged(t, "bob"); !slices.Equal(got, want) {
		t.Errorf("%q,\nwant %q", got, want)
	}
	if got := s.logged(t, "ann"); !slices.Equal(got, []string{"delete-user x 403"}) {
		t.Errorf("%q", got)
	}
	for _, change := range []string{"DELETE FROM audit", "DELETE FROM audit_repeats",
		"UPDATE audit_repeats SET count = 1",
		"INSERT INTO audit_folding SELECT audit FROM audit_results"} {
		if err := s.db.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), change)
			return err
		}); err == nil {
			t.Errorf("%s: done", change)
		}
	}
	if err := s.ForgetAudit(t.Context(), s.clock.now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := s.logged(t, "bob"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// Ten thousand refusals of one user are few entries, also if each is about something else: those that have no entry are
// counted. Too many within a minute are refused before they are recorded, and other users are not.
func TestTenThousandRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	for what, about := range map[string]func(n int) asked{
		"each with another target": func(n int) asked {
			return asked{"delete-user", "", fmt.Sprint(n), "192.0.2.1", 403}
		},
		"of three operations": func(n int) asked {
			return asked{fmt.Sprint("action-", n%3), fmt.Sprint("c", n), "", fmt.Sprint("192.0.2.", n%200), 400 + n%2}
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newServer(t)
			s.user(t, "ann", access.Admin, nil)
			s.user(t, "bob", access.None, nil)
			bob := s.login(t, "bob", good)
			tried, late := 0, 0
			for n := range 10_000 {
				q := about(n)
				switch got := s.ask(bob, q); got {
				case q.status:
					tried++
				case http.StatusTooManyRequests:
					late++
				default:
					t.Fatal(got)
				}
			}
			if tried != 600 || late != 9400 {
				t.Errorf("%d were tried, %d refused before", tried, late)
			}
			counted := 0
			list := s.logged(t, "bob")
			for _, line := range list {
				n := 0
				if _, after, is := strings.Cut(line, " +"); is {
					fmt.Sscan(after, &n)
				}
				counted += 1 + n
			}
			if len(list) > 40 || counted != tried {
				t.Errorf("%d entries for %d requests of %d", len(list), counted, tried)
			}
			if got := s.ask(s.login(t, "ann", good), asked{"delete-user", "", "x", "192.0.2.1", 404}); got != 404 {
				t.Error(got)
			}
			s.clock.pass(-2 * time.Hour) // a clock that is set back locks no user out
			if got := s.ask(s.login(t, "bob", good), about(0)); got == http.StatusTooManyRequests {
				t.Error(got)
			}
		})
	}
}

// A user who is refused for that learns for how long.
func TestTooManyRefusalsSayHowLong(t *testing.T) {
	s := newServer(t)
	s.user(t, "bob", access.None, nil)
	bob := s.login(t, "bob", good)
	var w *httptest.ResponseRecorder
	for range 601 {
		h := s.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, _ := access.From(r.Context())
			_ = s.Record(r.Context(), access.Entry{Caller: c, Action: "cancel"})
			w.WriteHeader(http.StatusForbidden)
		}))
		r := httptest.NewRequest(http.MethodPost, "https://eggo.example/", nil)
		r.AddCookie(&http.Cookie{Name: account.Cookie, Value: bob.Secret})
		w = httptest.NewRecorder()
		h.ServeHTTP(w, r)
	}
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "61" ||
		!strings.Contains(w.Body.String(), `"account.refused"`) {
		t.Error(w.Code, w.Header(), w.Body)
	}
}

// An API token that leaked is no way to lock its user out: the user can still revoke it.
func TestATokenLocksOutNoSession(t *testing.T) {
	s := newServer(t)
	ann := s.login(t, s.user(t, "ann", access.Admin, nil).Name, good)
	_, text, err := s.NewToken(t.Context(), ann.User.ID, account.Token{Name: "metrics", Role: access.Viewer,
		Ends: s.clock.now().Add(24 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	q := asked{"delete-user", "", "x", "192.0.2.1", http.StatusForbidden}
	for range 600 {
		if got := s.send(q, "Authorization", "Bearer "+text); got != q.status {
			t.Fatal(got)
		}
	}
	if got := s.send(q, "Authorization", "Bearer "+text); got != http.StatusTooManyRequests {
		t.Error("with the token:", got)
	}
	if got := s.ask(ann, asked{"delete-token", "", "metrics", "192.0.2.2", http.StatusNoContent}); got != 204 {
		t.Error("with the session:", got)
	}
}
