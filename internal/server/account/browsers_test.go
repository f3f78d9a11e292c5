package account_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// browser keeps what the server gives it, as browsers do.
type browser struct {
	s       server
	at      string // its address
	cookies map[string]string
}

// in does something in the context of a request.
func (b *browser) in(do func(ctx context.Context)) {
	r := httptest.NewRequest(http.MethodPost, "https://eggo.example/", nil)
	r.RemoteAddr = b.at + ":1234"
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	b.s.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		do(r.Context())
	})).ServeHTTP(httptest.NewRecorder(), r)
}

func (b *browser) login(name, password string) (err error) {
	b.in(func(ctx context.Context) {
		var session account.Session
		session, err = b.s.Login(ctx, b.at, name, password, "")
		if err != nil {
			return
		}
		for _, text := range b.s.Cookies(session) {
			c, _ := http.ParseSetCookie(text)
			b.cookies[c.Name] = c.Value
			if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
				err = fmt.Errorf("a cookie like %s", text)
			}
		}
	})
	return err
}

// Wrong passwords of a user lock out browsers that are not known, and not one in which the user has logged in before:
// from the same address, and not while the user changes the password. A known browser allows no more guesses.
func TestStrangersLockOutNoKnownBrowser(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Admin, nil)
	s.user(t, "bob", access.None, nil)
	at := func(address string) *browser { return &browser{s, address, map[string]string{}} }
	home, proxy, stranger := at("192.0.2.1"), at("192.0.2.66"), at("192.0.2.66")
	for _, b := range []*browser{home, proxy} {
		wantCode(t, "the first login", b.login("ann", good), "")
		if b.cookies[account.BrowserCookie] == "" {
			t.Fatal(b.cookies)
		}
	}
	keeps := home.cookies[account.BrowserCookie]
	lock := func() {
		t.Helper()
		for range 5 {
			wantCode(t, "a guess", stranger.login("ann", other), "account.login")
		}
		for n := range 30 {
			_ = stranger.login(fmt.Sprint("x", n), other) // the address, too
		}
		wantCode(t, "one more", stranger.login("ann", good), "account.locked")
	}
	lock()
	wantCode(t, "another browser", at("192.0.2.2").login("ann", good), "account.locked")
	wantCode(t, "the known one", home.login("ann", good), "")
	wantCode(t, "a known one behind the same proxy", proxy.login("ann", good), "")
	wantCode(t, "another user there", proxy.login("bob", good), "account.locked")
	if home.cookies[account.BrowserCookie] != keeps {
		t.Error("it gets another cookie each time")
	}
	home.in(func(ctx context.Context) {
		me := account.Sent(ctx)
		wantCode(t, "the password of before", s.ChangePassword(ctx, me.User.ID, other, other, me, false),
			"account.login")
	})

	// A guess in a known browser counts there, as elsewhere, and says nothing to others.
	for range 5 {
		wantCode(t, "a guess at home", home.login("ann", other), "account.login")
	}
	wantCode(t, "one more at home", home.login("ann", good), "account.locked")
	wantCode(t, "behind the proxy", proxy.login("ann", good), "")
	s.clock.pass(15 * time.Minute)
	wantCode(t, "later at home", home.login("ann", good), "")

	// With a new password, and after half a year, no browser is known.
	home.in(func(ctx context.Context) {
		me := account.Sent(ctx)
		wantCode(t, "another password", s.ChangePassword(ctx, me.User.ID, good, other, me, false), "")
	})
	stranger.at, s.clock.at = "192.0.2.67", s.clock.at.Add(2*time.Hour)
	for range 5 {
		wantCode(t, "a guess", stranger.login("ann", "a third horse battery"), "account.login")
	}
	wantCode(t, "with the cookie of before", proxy.login("ann", other), "account.locked")
	s.clock.pass(15 * time.Minute)
	wantCode(t, "the first login again", home.login("ann", other), "")
	s.clock.pass(181 * 24 * time.Hour)
	for range 5 {
		wantCode(t, "a guess", stranger.login("ann", "a third horse battery"), "account.login")
	}
	wantCode(t, "after half a year", home.login("ann", other), "account.locked")
}

// A user has so many known browsers and no more: the ones that were used last.
func TestKnownBrowsersAreBounded(t *testing.T) {
	s := newServer(t)
	s.user(t, "ann", access.Admin, nil)
	var all []*browser
	for n := range 21 {
		b := &browser{s, fmt.Sprint("192.0.2.", n+1), map[string]string{}}
		wantCode(t, "login", b.login("ann", good), "")
		all = append(all, b)
		s.clock.pass(time.Second)
	}
	stranger := &browser{s, "192.0.2.66", map[string]string{}}
	for range 5 {
		wantCode(t, "a guess", stranger.login("ann", other), "account.login")
	}
	wantCode(t, "the oldest", all[0].login("ann", good), "account.locked")
	wantCode(t, "the second", all[1].login("ann", good), "")
	wantCode(t, "the newest", all[20].login("ann", good), "")
}

// API tokens end with a change of the password if the user wants that, and when the control host says so.
func TestTokensEndWhenTheirUserWants(t *testing.T) {
	s := newServer(t)
	ann, bob := s.user(t, "ann", access.Admin, nil), s.user(t, "bob", access.Viewer, nil)
	has := func(u account.User) int {
		list, err := s.Tokens(t.Context(), u.ID, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for _, u := range []account.User{ann, ann, bob} {
		if _, _, err := s.NewToken(t.Context(), u.ID, account.Token{Name: "t", Role: access.Viewer,
			Ends: s.clock.now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	session := s.login(t, "ann", good)
	wantCode(t, "tokens stay", s.ChangePassword(t.Context(), ann.ID, good, other, session, false), "")
	if n := has(ann); n != 2 {
		t.Error(n)
	}
	wantCode(t, "a wrong password", s.ChangePassword(t.Context(), ann.ID, good, other, session, true), "account.login")
	if n := has(ann); n != 2 {
		t.Error(n)
	}
	wantCode(t, "tokens end", s.ChangePassword(t.Context(), ann.ID, other, good, session, true), "")
	if n := has(ann); n != 0 {
		t.Error(n)
	}
	if n, err := s.RevokeTokens(t.Context(), "BOB"); n != 1 || err != nil || has(bob) != 0 {
		t.Error(n, err)
	}
}
