package page

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/route"
)

// growing is the log of a run that other processes write; at is called before the record of a number is read.
type growing struct {
	mu   sync.Mutex
	list []event.Record
	read int
	at   map[int]func()
}

func (l *growing) Next() (event.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read == len(l.list) {
		return event.Record{}, io.EOF
	}
	if do := l.at[l.read]; do != nil {
		do()
	}
	l.read++
	return l.list[l.read-1], nil
}

func (l *growing) add(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.list) + 1
	l.list = append(l.list, event.Record{Seq: uint64(n), Time: time.Unix(int64(n), 0), Event: e})
}

func (l *growing) Alive() bool { return true }
func (l *growing) Close()      {}

// answering returns a route that answers with nothing.
func answering[I, O any](r *route.Route[I, O]) *route.Route[I, O] {
	out := *r
	out.Method = func(context.Context, access.Grant, *I) (*O, error) { return new(O), nil }
	return &out
}

// ofRun has a cluster with a run, whose log this is.
func (g *guarded) ofRun(log Log) account.Session {
	g.t.Helper()
	if _, err := g.m.Create(g.t.Context(), "one", manager.Request{By: "chief"}); err != nil {
		g.t.Fatal(err)
	}
	api := *g.page.api
	api.GetRun = answering(api.GetRun) // the run is in the log alone
	g.page.api = &api
	g.page.Open = func(context.Context, string, string) (Log, error) { return log, nil }
	return g.login()
}

// The board of a run that continues shows nothing more to a reader who has been logged out, and its stream ends.
func TestTheStreamOfABoardEndsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := beginGuarded(t)
		log := &growing{list: failing(3, true)}
		session := g.ofRun(log)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/clusters/one/runs/r/live?node=n0", nil)
		r.AddCookie(g.accounts.CookieOf(session))
		w, over := &recorded{head: http.Header{}}, make(chan struct{})
		go func() { g.handler.ServeHTTP(w, r); close(over) }()
		time.Sleep(5 * time.Second)
		log.add(event.Output{Host: "n0", Step: "s/n0", Line: "before it ended"})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		before := w.now()
		if !strings.Contains(before, "before it ended") {
			t.Fatalf("nothing comes: %s", before)
		}
		if err := g.accounts.Logout(t.Context(), "", session); err != nil {
			t.Fatal(err)
		}
		log.add(event.Output{Host: "n0", Step: "s/n0", Line: "after it ended"})
		time.Sleep(beat + 10*time.Second)
		synctest.Wait()
		select {
		case <-over:
		default:
			t.Error("it does not end")
		}
		if after := strings.TrimPrefix(w.now(), before); strings.Contains(after, "html") {
			t.Error(after)
		}
	})
}

// What a node has printed is sent in parts, none of them after the reader has been logged out.
func TestTheLogOfANodeEndsWithItsSession(t *testing.T) {
	g := beginGuarded(t)
	log := &growing{list: failing(1, true), at: map[int]func(){}}
	session := g.ofRun(log)
	for range 3 {
		log.add(event.Output{Host: "n0", Step: "s/n0", Line: strings.Repeat("x", 40<<10)})
	}
	log.add(event.Output{Host: "n0", Step: "s/n0", Line: "after it ended"})
	log.at[len(log.list)-1] = func() {
		if err := g.accounts.Logout(t.Context(), "", session); err != nil {
			t.Error(err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/clusters/one/runs/r/log?node=n0", nil)
	r.AddCookie(g.accounts.CookieOf(session))
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	if text := w.Body.String(); !strings.Contains(text, "xxx") || strings.Contains(text, "after it ended") {
		t.Errorf("%d: %d bytes, the end: %s", w.Code, len(text), text[max(0, len(text)-100):])
	}
}
