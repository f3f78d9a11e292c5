package account_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

func TestPasswordsHaveRules(t *testing.T) {
	for password, want := range map[string]string{
		good: "", "密码需要十二个字符才足够长": "", "short": "account.password-short",
		strings.Repeat("abcdef", 60): "account.password-long",
		"with\x00a zero byte":        "account.password-characters",
		"\xff\xfe not a text":        "account.password-characters",
		"i am MALLORY, really":       "account.password-name", "aaaaaaaaaaaaaaaa": "account.password-simple",
		"Password12345": "account.password-simple",
	} {
		wantCode(t, password, account.CheckPassword("mallory", password), want)
	}
}

func TestAPasswordIsHashedAgainWhenItsCostHasChanged(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Viewer, nil)
	stored := func() (out string) {
		if err := s.db.View(t.Context(), func(tx *sql.Tx) error {
			return tx.QueryRow("SELECT password FROM users").Scan(&out)
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := stored()
	s.login(t, "ann", good)
	if !strings.HasPrefix(before, "$argon2id$v=19$m=8,t=1,p=1$") || stored() != before {
		t.Errorf("%s became %s", before, stored())
	}
	s.Accounts = reopen(t, s.db, s.clock, account.Cost{Passes: 2, Memory: 16, Threads: 1})
	s.login(t, "ann", good)
	if !strings.HasPrefix(stored(), "$argon2id$v=19$m=16,t=2,p=1$") {
		t.Error(stored())
	}
	s.login(t, "ann", good)
	for _, damaged := range []string{"plain", "$argon2id$v=19$m=99999999,t=1,p=1$YWFhYQ$YWFhYQ", "$2y$10$abc"} {
		if err := s.db.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec("UPDATE users SET password = ?", damaged)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Login(t.Context(), "192.0.2.1", "ann", good, "")
		wantCode(t, damaged, err, "account.hash-damaged")
	}
}

func TestUsersAreCreatedAndFound(t *testing.T) {
	s := newServer(t)
	grants := account.Grants{"rack-1": access.Operator}
	for _, c := range []struct {
		user account.New
		want string
	}{
		{account.New{Name: "Ann", Password: good, Role: access.Viewer, Grants: grants}, ""},
		{account.New{Name: "王芳", Password: good}, ""},
		{account.New{Name: "ANN", Password: good}, "account.taken"},
		{account.New{Name: "", Password: good}, "account.name"},
		{account.New{Name: "../etc", Password: good}, "account.name"},
		{account.New{Name: "\u0430dmin", Password: good}, "account.scripts"}, // a Cyrillic a
		{account.New{Name: "adm\u03b9n", Password: good}, "account.scripts"}, // a Greek iota
		{account.New{Name: "\u0430\u03b1", Password: good}, "account.scripts"},
		{account.New{Name: "system:masters", Password: good}, "account.name"},
		{account.New{Name: "a\x1b[31m", Password: good}, "account.name"},
		{account.New{Name: "a\u202eb", Password: good}, "account.name"},
		{account.New{Name: "a'; DROP TABLE users;--", Password: good}, "account.name"},
		{account.New{Name: strings.Repeat("a", 65), Password: good}, "account.name"},
		{account.New{Name: "Schedule", Password: good}, "account.reserved"},
		{account.New{Name: "SERVER", Password: good}, "account.reserved"},
		{account.New{Name: "\uff52oot", Password: good}, "account.reserved"}, // a wide r
		{account.New{Name: "0123456789abcdef", Password: good}, "account.like-id"},
		{account.New{Name: "0123456789ABCDEF", Password: good}, "account.like-id"},
		{account.New{Name: "0123456789abcde", Password: good}, ""}, {account.New{Name: "bob", Password: "short"},
			"account.password-short"},
		{account.New{Name: "bob", Password: good, Role: "root"}, "account.role"},
		{account.New{Name: "bob", Password: good, Grants: account.Grants{"../x": "admin"}}, "account.cluster"},
		{account.New{Name: "bob", Password: good, Grants: account.Grants{"x": "root"}}, "account.role"},
	} {
		_, err := s.Create(t.Context(), c.user)
		wantCode(t, c.user.Name, err, c.want)
	}
	u, err := s.Find(t.Context(), "aNN")
	if err != nil || u.Name != "ann" || u.On("rack-1") != access.Operator || u.On("rack-2") != access.Viewer ||
		u.On("") != access.Viewer {
		t.Errorf("%+v, %v", u, err)
	}
	if again, err := s.Find(t.Context(), u.ID); err != nil || again.Name != "ann" {
		t.Error(again, err)
	}
	list, err := s.Users(t.Context(), "", 1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if list, err = s.Users(t.Context(), "ann", 10); err != nil || len(list) != 1 || list[0].Name != "王芳" {
		t.Error(list, err)
	}
	_, err = s.Find(t.Context(), "nobody")
	wantCode(t, "nobody", err, "account.unknown")
}

func TestAnAdministratorIsAlwaysLeft(t *testing.T) {
	s := newServer(t)
	s.user(t, "chief", access.Admin, nil)
	s.user(t, "ann", access.Viewer, nil)
	viewer, admin, off := access.Viewer, access.Admin, true
	change := func(user string, c account.Change) error {
		_, err := s.Change(t.Context(), user, c)
		return err
	}
	wantCode(t, "demoted", change("chief", account.Change{Role: &viewer}), "account.last-admin")
	wantCode(t, "disabled", change("chief", account.Change{Disabled: &off}), "account.last-admin")
	wantCode(t, "deleted", s.Delete(t.Context(), "chief"), "account.last-admin")
	wantCode(t, "second", change("ann", account.Change{Role: &admin}), "")
	wantCode(t, "deleted", s.Delete(t.Context(), "chief"), "")
	wantCode(t, "deleted twice", s.Delete(t.Context(), "chief"), "account.unknown")
}

func TestGrantsAreReplacedAndRolesAreChecked(t *testing.T) {
	s := newServer(t)
	s.user(t, "chief", access.Admin, nil)
	s.user(t, "ann", access.None, account.Grants{"a": access.Viewer, "b": access.Operator})
	grants, wrong := account.Grants{"b": access.Admin}, access.Role("king")
	if _, err := s.Change(t.Context(), "ann", account.Change{Grants: &grants}); err != nil {
		t.Fatal(err)
	}
	u, err := s.Find(t.Context(), "ann")
	if err != nil || u.On("a") != access.None || u.On("b") != access.Admin || len(u.Grants) != 1 {
		t.Error(u, err)
	}
	_, err = s.Change(t.Context(), "ann", account.Change{Role: &wrong})
	wantCode(t, "role", err, "account.role")
	// who calls is known by more than his request: a run that was begun for him may ask later
	for cluster, want := range map[string]access.Role{"": access.None, "a": access.None, "b": access.Admin} {
		if got, err := s.RoleOf(t.Context(), access.Caller{ID: u.ID}, cluster); err != nil || got != want {
			t.Errorf("%q: %q, %v", cluster, got, err)
		}
	}
	if err := s.Delete(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.RoleOf(t.Context(), access.Caller{ID: u.ID}, "b"); err != nil || got != access.None {
		t.Error(got, err)
	}
}

// A token never gives more than its user has, nor more than itself.
func TestATokenLeavesTheLowerRole(t *testing.T) {
	all := []access.Role{access.None, access.Viewer, access.Operator, access.Admin}
	for i, has := range all {
		for j, limit := range all {
			u := account.User{Role: has, Grants: account.Grants{"a": access.Admin}}
			if got := (account.Token{Role: limit}).On(u, "b"); got != all[min(i, j)] {
				t.Errorf("%q, token %q: %q", has, limit, got)
			}
			if got := (account.Token{Role: limit}).On(u, "a"); got != limit {
				t.Errorf("token %q: %q", limit, got)
			}
			if got := (account.Token{Role: limit, Cluster: "a"}).On(u, "b"); got != access.None {
				t.Errorf("token for another cluster: %q", got)
			}
			if got := (account.Token{Role: limit, Cluster: "a"}).On(u, ""); got != access.None {
				t.Errorf("token for one cluster: %q on all", got)
			}
		}
	}
}

// The ID of a user finds that user alone, though another one is called so, as earlier versions allowed: who is asked
// about by ID, changes the password, or makes an API token, is not the other. Both can be named, and still log in.
func TestAUserWhoIsCalledLikeAnID(t *testing.T) {
	s := newServer(t)
	ctx := t.Context()
	chief := s.user(t, "chief", access.Admin, nil)
	eve := s.user(t, "eve", access.Viewer, nil)
	if err := s.db.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE users SET name = ? WHERE id = ?", chief.ID, eve.ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for what, get := range map[string]func() (string, error){
		"by ID":   func() (string, error) { u, err := s.ByID(ctx, chief.ID); return u.Name, err },
		"named":   func() (string, error) { u, err := s.Find(ctx, chief.ID); return u.Name, err },
		"token":   func() (string, error) { return s.tokenOf(t, chief.ID) },
		"changed": func() (string, error) { u, err := s.Change(ctx, chief.ID, account.Change{}); return u.Name, err },
	} {
		if got, err := get(); got != "chief" || err != nil {
			t.Errorf("%s: %q %v", what, got, err)
		}
	}
	if role, err := s.RoleOf(ctx, access.Caller{ID: chief.ID}, ""); role != access.Admin || err != nil {
		t.Error(role, err)
	}
	if err := s.ChangePassword(ctx, chief.ID, good, other, s.login(t, "chief", good), false); err != nil {
		t.Error(err)
	}
	s.login(t, "chief", other)
	if session := s.login(t, chief.ID, good); session.User.ID != eve.ID || !session.User.LikeID() {
		t.Error(session.User)
	}
	if u, err := s.ByName(ctx, chief.ID); u.ID != eve.ID || err != nil {
		t.Error(u, err)
	}
	if _, err := s.ByID(ctx, "chief"); err == nil {
		t.Error("a name is an ID")
	}
	if err := s.Delete(ctx, eve.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.ByID(ctx, chief.ID); err != nil {
		t.Error(err)
	}
}

func (s server) tokenOf(t *testing.T, id string) (string, error) {
	t.Helper()
	x, _, err := s.NewToken(t.Context(), id, account.Token{Name: "t", Role: access.Viewer,
		Ends: s.clock.now().Add(time.Hour)})
	return x.User, err
}
