package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// between has something happen after a request was identified, and sends it twice. The first answer is kept: its
// sender may not have got it.
type between struct {
	*account.Accounts
	do    func()
	first *httptest.ResponseRecorder
}

// Identify implements access.Control.
func (b *between) Identify(next http.Handler) http.Handler {
	return b.Accounts.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.do == nil {
			next.ServeHTTP(w, r)
			return
		}
		text, _ := io.ReadAll(r.Body)
		b.do()
		b.do, b.first = nil, httptest.NewRecorder()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		again := r.Clone(ctx)
		again.Body = io.NopCloser(bytes.NewReader(text))
		next.ServeHTTP(&until{b.first, cancel}, again)
		r.Body = io.NopCloser(bytes.NewReader(text))
		next.ServeHTTP(w, r)
	}))
}

// held is a credential of a user: the headers that have it.
type held struct {
	user    account.User
	session account.Session
	token   string // ID
	headers []string
}

// holds gives an administrator who has just been created a session, or an API token.
func (g *guarded) holds(name string, token bool, life time.Duration) held {
	g.t.Helper()
	ctx := g.t.Context()
	u, err := g.accounts.Create(ctx, account.New{Name: name, Password: goodPassword, Role: access.Admin})
	if err != nil {
		g.t.Fatal(err)
	}
	h := held{user: u}
	if token {
		now := time.Now().Add(time.Duration(g.later.Load()))
		x, text, err := g.accounts.NewToken(ctx, u.ID, account.Token{Name: "t", Role: access.Admin,
			Ends: now.Add(life)})
		if err != nil {
			g.t.Fatal(err)
		}
		h.token, h.headers = x.ID, []string{"Authorization", "Bearer " + text}
		return h
	}
	if h.session, err = g.accounts.Login(ctx, "192.0.2.1", name, goodPassword, ""); err != nil {
		g.t.Fatal(err)
	}
	h.headers = []string{"Cookie", account.Cookie + "=" + h.session.Secret}
	return h
}

// end is a way in which a credential ends.
type end struct {
	token bool
	do    func(context.Context, *account.Accounts, held) error
	later time.Duration // the clock moves on
}

// ends are all ways in which a credential ends.
func ends() map[string]end {
	disabled := true
	disable := func(ctx context.Context, a *account.Accounts, h held) error {
		_, err := a.Change(ctx, h.user.Name, account.Change{Disabled: &disabled})
		return err
	}
	reset := func(ctx context.Context, a *account.Accounts, h held) error {
		return a.Reset(ctx, h.user.Name, "another good password")
	}
	remove := func(ctx context.Context, a *account.Accounts, h held) error { return a.Delete(ctx, h.user.Name) }
	nothing := func(context.Context, *account.Accounts, held) error { return nil }
	return map[string]end{
		"revoked": {token: true, do: func(ctx context.Context, a *account.Accounts, h held) error {
			return a.DeleteToken(ctx, h.token, h.user.ID)
		}},
		"expired": {token: true, do: nothing, later: 2 * time.Hour},
		"logged out": {do: func(ctx context.Context, a *account.Accounts, h held) error {
			return a.Logout(ctx, "", h.session)
		}},
		"idle":                  {do: nothing, later: 2 * time.Hour},
		"disabled":              {do: disable},
		"disabled, token":       {token: true, do: disable},
		"password reset":        {do: reset},
		"password reset, token": {token: true, do: reset},
		"deleted":               {do: remove},
		"deleted, token":        {token: true, do: remove},
	}
}

// credentialEnded says whether an answer is that the credential does not hold.
func credentialEnded(w *httptest.ResponseRecorder) bool {
	p := problem.Problem{}
	return json.Unmarshal(w.Body.Bytes(), &p) == nil && w.Code == http.StatusUnauthorized &&
		slices.Contains([]string{"account.ended", "account.token"}, p.Code)
}

// Whatever is sent: when its credential ends after the request was identified, it comes to nothing, however often it
// asks and however the credential has ended. That of a user who has all rights does not fall back to them.
func TestACredentialThatEndsMeanwhile(t *testing.T) {
	b := &between{}
	g := beginGuarded(t, func(o *Options) { b.Accounts = o.Access.(*account.Accounts); o.Access = b })
	all := g.documented()
	g.want(g.call("", "POST", Prefix+"/clusters", oneCluster, g.as("global")...), 202, "")
	open := []string{"login-methods", "login", "setup", "healthz", "readyz"} // for all
	for _, how := range slices.Sorted(maps.Keys(ends())) {
		way := ends()[how]
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if slices.Contains(open, id) {
				continue
			}
			h := g.holds("chief", way.token, time.Hour)
			b.do = func() {
				if err := way.do(t.Context(), g.accounts, h); err != nil {
					t.Error(err)
				}
				g.later.Add(int64(way.later + time.Minute))
			}
			r := httptest.NewRequestWithContext(t.Context(), all[id].method, pathOf(all[id].path),
				strings.NewReader(validBodies()[id]))
			for i := 0; i+1 < len(h.headers); i += 2 {
				r.Header.Set(h.headers[i], h.headers[i+1])
			}
			r.Header.Set("Content-Type", "application/json")
			second := httptest.NewRecorder()
			ctx, cancel := context.WithCancel(t.Context())
			g.handler.ServeHTTP(&until{second, cancel}, r.WithContext(ctx))
			cancel()
			if !credentialEnded(b.first) || !credentialEnded(second) {
				t.Errorf("%s, %s: %d %.200s, and then %d %.200s", how, id, b.first.Code, b.first.Body, second.Code,
					second.Body)
			}
			g.later.Store(0)
			if err := g.accounts.Delete(t.Context(), "chief"); err != nil && how != "deleted" &&
				how != "deleted, token" {
				t.Error(err)
			}
		}
	}
}

// slowly is a body whose reading takes so long that something happens meanwhile.
type slowly struct {
	io.Reader
	do func()
}

// Read implements io.Reader.
func (s *slowly) Read(p []byte) (int, error) {
	if s.do != nil {
		s.do()
		s.do = nil
	}
	return s.Reader.Read(p)
}

// The credential is looked up again when a body has been read, also when it was looked up a moment ago, and another
// process has ended it.
func TestACredentialThatEndsWhileABodyIsRead(t *testing.T) {
	g := beginGuarded(t)
	other, err := account.Open(t.Context(), g.db, account.Options{Cost: cheap()}) // such as eggo-server user
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"revoked", "logged out", "disabled", "password reset, token", "deleted"} {
		way := ends()[how]
		for _, key := range []string{"", "k1"} {
			for path, method := range map[string]string{"/users": "POST", "/clusters": "GET", "/me": "GET",
				"/clusters/one": "DELETE"} {
				h := g.holds("chief", way.token, time.Hour)
				body := &slowly{strings.NewReader(`{"name":"backdoor","password":"` + goodPassword + `"}`), func() {
					if err := way.do(t.Context(), other, h); err != nil {
						t.Error(err)
					}
				}}
				r := httptest.NewRequestWithContext(t.Context(), method, Prefix+path, body)
				for i := 0; i+1 < len(h.headers); i += 2 {
					r.Header.Set(h.headers[i], h.headers[i+1])
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Idempotency-Key", key)
				w := httptest.NewRecorder()
				g.handler.ServeHTTP(w, r)
				if !credentialEnded(w) {
					t.Errorf("%s, %s %s: %d %s", how, method, path, w.Code, w.Body)
				}
				_ = g.accounts.Delete(t.Context(), "chief") // it may be gone
			}
		}
	}
}
