package account_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/database"
)

const (
	good  = "correct horse battery"
	other = "another horse battery"
)

// clock is one that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type server struct {
	*account.Accounts
	clock *clock
	db    *database.DB
}

func cheap() account.Cost { return account.Cost{Passes: 1, Memory: 8, Threads: 1} }

func newServer(t *testing.T) server {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "server", "eggo.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c := &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return server{reopen(t, db, c, cheap()), c, db}
}

func reopen(t *testing.T, db *database.DB, c *clock, cost account.Cost) *account.Accounts {
	t.Helper()
	a, err := account.Open(t.Context(), db, account.Options{Now: c.now, Cost: cost})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s server) user(t *testing.T, name string, role access.Role, grants account.Grants) account.User {
	t.Helper()
	u, err := s.Create(t.Context(), account.New{Name: name, Password: good, Role: role, Grants: grants})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (s server) login(t *testing.T, name, password string) account.Session {
	t.Helper()
	session, err := s.Login(t.Context(), "192.0.2.1", name, password, "")
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// wantCode checks the code of an error; "" is none.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	f := (*event.Fault)(nil)
	if code == "" && err != nil || code != "" && (!errors.As(err, &f) || f.Code != code) {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}
