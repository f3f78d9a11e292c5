package account_test

import (
	"database/sql"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
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
	server := account.Identity{Subject: "idp server", Name: "Server", Role: access.Viewer}
	_, err = s.LoginProvider(t.Context(), "192.0.2.1", server, "")
	wantCode(t, "a name of the audit log", err, "account.reserved")
	server.Subject = ann.Subject
	_, err = s.LoginProvider(t.Context(), "192.0.2.1", server, "")
	wantCode(t, "another name, one of the audit log", err, "account.reserved")
	other := nothing
	other.Subject = "idp nobody"
	_, err = s.LoginProvider(t.Context(), "192.0.2.1", other, "")
	wantCode(t, "somebody unknown", err, "account.no-role")
}

// A group whose role was for a cluster that was deleted gives none on another one with its name, until an administrator
// says so again. A role of before counts once more if the entry is newer than the deletion.
func TestAGroupsRoleEndsWithItsCluster(t *testing.T) {
	s := newServer(t)
	rack := account.Given{Cluster: "rack", Role: access.Operator}
	ann := account.Identity{Subject: "idp ann", Name: "ann", Given: []account.Given{rack,
		{Cluster: "hall", Role: access.Viewer}}}
	on := func(i account.Identity) account.Grants {
		t.Helper()
		session, err := s.LoginProvider(t.Context(), "192.0.2.1", i, "")
		if err != nil {
			t.Fatal(err)
		}
		return session.User.Grants
	}
	want := func(what string, got, want account.Grants) {
		t.Helper()
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	both, hall := account.Grants{"rack": access.Operator, "hall": access.Viewer}, account.Grants{"hall": access.Viewer}
	want("before", on(ann), both)
	forget := func(cluster string) {
		t.Helper()
		if err := s.db.Update(t.Context(), func(tx *sql.Tx) error {
			return s.ForgetCluster(t.Context(), tx, cluster)
		}); err != nil {
			t.Fatal(err)
		}
	}
	forget("rack")
	want("deleted", on(ann), hall)
	gone, err := s.Lapsed(t.Context(), ann.Given)
	if err != nil || len(gone) != 1 || !gone[rack].Equal(s.clock.now()) {
		t.Error(gone, err)
	}
	ann.Given[0].Since = s.clock.now()
	want("said in the same moment", on(ann), hall)
	s.clock.pass(time.Hour)
	ann.Given[0].Since = s.clock.now()
	want("said again", on(ann), both)
	s.clock.pass(time.Hour)
	forget("rack")
	want("deleted again", on(ann), hall)
	forget("hall")
	_, err = s.LoginProvider(t.Context(), "192.0.2.1", ann, "")
	wantCode(t, "nothing is left", err, "account.no-role")
	if u, err := s.Find(t.Context(), "ann"); err != nil || len(u.Grants) > 0 {
		t.Error(u, err)
	}
}

// A provider's name that has the form of an ID is refused, unless the user has had it before that was so.
func TestANameLikeAnIDFromAProvider(t *testing.T) {
	s := newServer(t)
	const id = "0123456789abcdef"
	login := func(subject, name string) error {
		_, err := s.LoginProvider(t.Context(), "192.0.2.1", account.Identity{Subject: subject, Name: name,
			Role: access.Viewer}, "")
		return err
	}
	wantCode(t, "new", login("idp eve", strings.ToUpper(id)), "account.like-id")
	wantCode(t, "another name", login("idp eve", "eve"), "")
	wantCode(t, "renamed", login("idp eve", id), "account.like-id")
	if err := s.db.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "UPDATE users SET name = ?", id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "of before", login("idp eve", id), "")
	wantCode(t, "the way out", login("idp eve", "eve"), "")
}
