package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// taken holds what a client has received from a stream.
type taken struct {
	mu    sync.Mutex
	text  strings.Builder
	ended bool
}

// reads takes all of a connection until it ends.
func (c *taken) reads(conn net.Conn) {
	b := make([]byte, 4096)
	for {
		n, err := conn.Read(b)
		c.mu.Lock()
		c.text.Write(b[:n])
		c.ended = err != nil
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *taken) now() (text string, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String(), c.ended
}

// streaming is a server in the time of a bubble with a cluster, a run of it, and an administrator.
type streaming struct {
	*guarded
	at   pipes
	work *working
}

func beginStreaming(t *testing.T, token bool) (*streaming, held) {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "server.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	a, err := account.Open(t.Context(), db, account.Options{Cost: cheap(), Idle: 2 * time.Hour, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s := &streaming{guarded: &guarded{site: &site{t: t}, accounts: a, db: db, later: new(atomic.Int64)}}
	s.at, _ = piped(t, func(o *Options) {
		s.m, s.root = o.Manager, o.Deps().Store.Where()
		o.Access, o.More = a, func(api huma.API) { routes.Register(api, a, false, o.Manager.Has) }
	})
	if _, err := a.Create(t.Context(), account.New{Name: "global", Password: goodPassword,
		Role: access.Admin}); err != nil { // the last administrator cannot be disabled
		t.Fatal(err)
	}
	h := s.holds("chief", token, time.Hour)
	conn := s.sends("POST", "/clusters", oneCluster, h.headers...)
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 202") {
		t.Fatalf("%s %v", answer, err)
	}
	s.work = s.works()
	t.Cleanup(func() { s.ends(s.work) })
	s.emit(s.work, event.RunStarted{Cluster: "one", Verb: "deploy"})
	return s, h
}

// sends sends a request over a connection of its own.
func (s *streaming) sends(method, path, body string, headers ...string) net.Conn {
	s.t.Helper()
	conn, other := net.Pipe()
	s.t.Cleanup(func() { conn.Close() })
	s.at <- other
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nContent-Type: application/json\r\n",
		method, Prefix+path, len(body))
	upgrades := false
	for i := 0; i+1 < len(headers); i += 2 {
		head += headers[i] + ": " + headers[i+1] + "\r\n"
		upgrades = upgrades || headers[i] == "Upgrade"
	}
	if !upgrades {
		head += "Connection: close\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"+body); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// happens has something happen that the streams would send.
func (s *streaming) happens() {
	s.t.Helper()
	if _, err := s.m.Cancel(s.t.Context(), "one", manager.Request{}); err != nil {
		s.t.Fatal(err)
	}
	s.emit(s.work, event.Change{Host: "m1"})
	time.Sleep(time.Second)
	synctest.Wait()
}

// A stream shows nothing more when its credential has ended, and ends soon, whatever its form and however the
// credential has ended; also where another process has ended it.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	forms := map[string][]string{"lines": nil, "server-sent events": {"Accept", "text/event-stream"},
		"a WebSocket": {"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
			"Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}}
	check := func(t *testing.T, how string, way end, headers []string, of func(*streaming) string, elsewhere bool) {
		s, h := beginStreaming(t, way.token)
		began := time.Now()
		if way.later > 0 { // its end comes while the stream is open
			time.Sleep(time.Hour - 10*time.Second)
		}
		by := s.accounts
		if elsewhere {
			var err error
			if by, err = account.Open(t.Context(), s.db, account.Options{Cost: cheap()}); err != nil {
				t.Fatal(err)
			}
		}
		got := &taken{}
		go got.reads(s.sends("GET", of(s), "", append(slices.Clone(headers), h.headers...)...))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		before, over := got.now()
		if !strings.Contains(before, `"seq"`) || over {
			t.Fatalf("%s: nothing comes: %s", how, before)
		}
		if err := way.do(context.WithoutCancel(t.Context()), by, h); err != nil {
			t.Fatal(err)
		}
		if way.later > 0 {
			time.Sleep(time.Until(began.Add(time.Hour + time.Second)))
		}
		s.happens()
		time.Sleep(holdsFor + beat)
		synctest.Wait()
		all, over := got.now()
		if after := strings.TrimPrefix(all, before); !over || strings.Contains(after, `"seq"`) && !elsewhere {
			t.Errorf("%s: over %t, and then came %q", how, over, after)
		}
	}
	for form, headers := range forms {
		for what, of := range map[string]func(*streaming) string{
			"clusters": func(*streaming) string { return "/events" },
			"a run":    func(s *streaming) string { return "/clusters/one/runs/" + s.work.id + "/events" },
		} {
			t.Run(form+" of "+what, func(t *testing.T) {
				for _, how := range slices.Sorted(maps.Keys(ends())) {
					synctest.Test(t, func(t *testing.T) { check(t, how, ends()[how], headers, of, false) })
				}
				synctest.Test(t, func(t *testing.T) {
					check(t, "by another process", ends()["revoked"], headers, of, true)
				})
			})
		}
	}
}

// holdsFor is how long a request may know its caller without asking, as in account.
const holdsFor = 10 * time.Second
