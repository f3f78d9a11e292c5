package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

const aPassword = "correct horse battery"

// guarded is a page over the API, with real users: chief and other are administrators.
type guarded struct {
	t        *testing.T
	accounts *account.Accounts
	m        *manager.Manager
	page     *Page
	handler  http.Handler
	db       *database.DB
}

func beginGuarded(t *testing.T) *guarded {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "server.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	cost := account.Cost{Passes: 1, Memory: 8, Threads: 1}
	a, err := account.Open(t.Context(), db, account.Options{Cost: cost})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chief", "other"} {
		if _, err := a.Create(t.Context(), account.New{Name: name, Password: aPassword,
			Role: access.Admin}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := manager.New(t.Context(), manager.Options{Store: &managertest.Memory{}, Runner: &managertest.World{},
		Clock: managertest.Clock{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	g := &guarded{t: t, accounts: a, m: m, db: db}
	if g.page, err = New(Options{Access: a}); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	d := local.Deps(local.Options{Root: root})
	g.handler = server.New(server.Options{Manager: m, Access: a, Version: "v1", Bundles: t.TempDir(),
		Deps: func() operation.Deps { return d }, Runs: runs.New(runs.Options{Root: root, Data: t.TempDir()}),
		More: func(api huma.API) { g.page.Users = routes.Register(api, a, false, m.Has) }, Page: g.page.Handler})
	return g
}

// login begins a session of chief.
func (g *guarded) login() account.Session {
	g.t.Helper()
	s, err := g.accounts.Login(g.t.Context(), "192.0.2.1", "chief", aPassword, "")
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// slowly is a form whose reading takes so long that something happens meanwhile.
type slowly struct {
	*strings.Reader
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

// A form whose sender is logged out while it is read comes to nothing, whichever it is, also when another process has
// done that.
func TestAFormWhoseSenderIsLoggedOutMeanwhile(t *testing.T) {
	g := beginGuarded(t)
	if _, err := g.m.Create(t.Context(), "one", manager.Request{By: "chief"}); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := account.Open(t.Context(), g.db, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range g.page.patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		if method != http.MethodPost || path == unscripted || path == "/login" { // these are for all
			continue
		}
		path = strings.NewReplacer("{cluster}", "one", "{backup}", "b1").Replace(path)
		for _, by := range []*account.Accounts{g.accounts, elsewhere} {
			session, happened := g.login(), false
			body := &slowly{strings.NewReader("name=one&do=send&nodes=x"), func() {
				happened = true
				if err := by.Logout(t.Context(), "", session); err != nil {
					t.Error(err)
				}
			}}
			r := httptest.NewRequestWithContext(t.Context(), method, path, body)
			r.AddCookie(g.accounts.CookieOf(session))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			g.handler.ServeHTTP(w, r)
			if happened && w.Code != http.StatusUnauthorized && w.Code != http.StatusSeeOther ||
				!happened && w.Code < 400 {
				t.Errorf("%s: %d %.300s", pattern, w.Code, w.Body)
			}
		}
	}
}

// recorded holds what a stream has sent.
type recorded struct {
	mu   sync.Mutex
	text strings.Builder
	head http.Header
}

func (r *recorded) Header() http.Header { return r.head }
func (r *recorded) WriteHeader(int)     {}
func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// Flush implements http.Flusher.
func (r *recorded) Flush() {}

func (r *recorded) now() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// The streams of the page end soon when their reader has been logged out, disabled or deleted, or the password was
// reset, and show nothing more before.
func TestStreamsOfThePageEndWithTheirSession(t *testing.T) {
	disabled := true
	ways := map[string]func(context.Context, *account.Accounts, account.Session) error{
		"logged out": func(ctx context.Context, a *account.Accounts, s account.Session) error {
			return a.Logout(ctx, "", s)
		},
		"disabled": func(ctx context.Context, a *account.Accounts, s account.Session) error {
			_, err := a.Change(ctx, s.User.ID, account.Change{Disabled: &disabled})
			return err
		},
		"deleted": func(ctx context.Context, a *account.Accounts, s account.Session) error {
			return a.Delete(ctx, s.User.ID)
		},
		"password reset": func(ctx context.Context, a *account.Accounts, s account.Session) error {
			return a.Reset(ctx, s.User.ID, "another good password")
		},
	}
	for how, do := range ways {
		for _, path := range []string{"/live", "/clusters/one/live"} {
			synctest.Test(t, func(t *testing.T) {
				g := beginGuarded(t)
				if _, err := g.m.Create(t.Context(), "one", manager.Request{By: "chief"}); err != nil {
					t.Fatal(err)
				}
				session := g.login()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
				r.AddCookie(g.accounts.CookieOf(session))
				w, over := &recorded{head: http.Header{}}, make(chan struct{})
				go func() { g.handler.ServeHTTP(w, r); close(over) }()
				time.Sleep(5 * time.Second)
				synctest.Wait()
				before := w.now()
				if !strings.Contains(before, "one") {
					t.Fatalf("%s: nothing comes: %s", path, before)
				}
				if err := do(t.Context(), g.accounts, session); err != nil {
					t.Fatal(err)
				}
				if _, err := g.m.Cancel(t.Context(), "one", manager.Request{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(beat + 10*time.Second)
				synctest.Wait()
				select {
				case <-over:
				default:
					t.Errorf("%s, %s: it goes on", path, how)
				}
				if after := strings.TrimPrefix(w.now(), before); slices.ContainsFunc(strings.Split(after, "\n"),
					func(l string) bool { return strings.Contains(l, "html") }) {
					t.Errorf("%s, %s: %s", path, how, after)
				}
			})
		}
	}
}
