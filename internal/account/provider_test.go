package account_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/access"
	"github.com/eggo-k8s/eggo/internal/account"
)

// bearer says whether an API token is accepted.
func (s server) bearer(token string) int {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.Identify(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return w.Code
}

// Who has no role at the provider any more has none here; who never comes back is not trusted for ever.
func TestRemovedAtTheProvider(t *testing.T) {
	s := newServer(t)
	ann := account.Identity{Subject: "idp ann", Name: "ann", Role: access.Admin}
	login := func(i account.Identity) account.Session {
		t.Helper()
		session, err := s.LoginProvider(t.Context(), "192.0.2.1", i, "")
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	token := func(session account.Session) string {
		t.Helper()
		_, text, err := s.NewToken(t.Context(), session.User.ID, account.Token{Name: "t", Role: access.Admin,
			Ends: s.clock.now().Add(300 * 24 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := token(login(ann))
	s.clock.pass(29 * 24 * time.Hour)
	if got := s.bearer(text); got != http.StatusOK {
		t.Error(got)
	}
	s.clock.pass(2 * 24 * time.Hour)
	if got := s.bearer(text); got != http.StatusUnauthorized {
		t.Error(got)
	}
	login(ann)
	if got := s.bearer(text); got != http.StatusOK {
		t.Error(got)
	}
	nothing := ann
	nothing.Role = access.None
	_, err := s.LoginProvider(t.Context(), "192.0.2.1", nothing, "")
	wantCode(t, "without a role", err, "account.no-role")
	if got := s.bearer(text); got != http.StatusUnauthorized {
		t.Error(got)
	}
	if u, err := s.Find(t.Context(), "ann"); err != nil || u.Role != access.None {
		t.Errorf("%+v %v", u, err)
	}
	other := nothing
	other.Subject = "idp nobody"
	_, err = s.LoginProvider(t.Context(), "192.0.2.1", other, "")
	wantCode(t, "somebody unknown", err, "account.no-role")
}
