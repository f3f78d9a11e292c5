package server

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/listen"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// pipes is a listener whose connections have no buffer: what a client does not read, the server has not written.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	if c, more := <-p; more {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (p pipes) Close() error { return nil }

// Addr implements net.Listener.
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// piped is a server in the time of a bubble. ended gets how long each request took.
func piped(t *testing.T, change ...func(*Options)) (at pipes, ended chan time.Duration) {
	t.Helper()
	m, err := manager.New(t.Context(), manager.Options{Store: &managertest.Memory{}, Runner: &managertest.World{},
		Clock: managertest.Clock{}})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	d := local.Deps(local.Options{Root: root})
	o := Options{Manager: m, Access: &rights{roles: map[string]access.Role{"vera": access.Viewer,
		"ann": access.Admin}}, Version: "v1", Bundles: t.TempDir(), Deps: func() operation.Deps { return d },
		Runs: runs.New(runs.Options{Root: root, Data: t.TempDir()})}
	for _, f := range change {
		f(&o)
	}
	h := New(o)
	at, ended = make(pipes), make(chan time.Duration, 8)
	s := listen.Server(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		h.ServeHTTP(w, r)
		ended <- time.Since(began)
	}), listen.Usual(), slog.New(slog.DiscardHandler))
	over := make(chan error, 1)
	go func() { over <- s.Serve(at) }()
	t.Cleanup(func() {
		close(at)
		m.Close()
		_ = s.Close()
		if err := <-over; !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return at, ended
}

// Whoever takes nothing of a stream, does not answer on a WebSocket, or sends a byte of a body at a time, is waited for
// no longer than the limits say; then the connection ends.
func TestSlowClients(t *testing.T) {
	const head = "Host: x\r\nAuthorization: Bearer ann\r\n"
	for what, c := range map[string]struct {
		text   string
		reads  int           // lines of the answer
		within time.Duration // the request
		drips  bool          // and goes on, a byte at a time
	}{
		"server-sent events": {text: "GET /api/v1/events HTTP/1.1\r\n" + head + "Accept: text/event-stream\r\n\r\n",
			within: writeIn},
		"lines": {text: "GET /api/v1/events HTTP/1.1\r\n" + head + "\r\n", within: writeIn},
		"a WebSocket": {text: "GET /api/v1/events HTTP/1.1\r\n" + head + "Connection: Upgrade\r\n" +
			"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", reads: 1, within: beat + writeIn},
		"a body": {text: "POST /api/v1/clusters HTTP/1.1\r\n" + head + "Content-Length: 1000\r\n\r\n", drips: true,
			within: readIn + 2*time.Minute}, // and the refusal is not read
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at, ended := piped(t)
				conn, other := net.Pipe()
				defer conn.Close()
				at <- other
				if _, err := io.WriteString(conn, c.text); err != nil {
					t.Fatal(err)
				}
				answer := bufio.NewReader(conn)
				for range c.reads {
					if line, err := answer.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 101") {
						t.Fatal(line, err)
					}
				}
				for c.drips {
					if _, err := conn.Write([]byte{' '}); err != nil {
						break
					}
					time.Sleep(5 * time.Second)
				}
				if took := <-ended; took > c.within {
					t.Errorf("the request took %s", took)
				}
				began := time.Now()
				_, _ = io.Copy(io.Discard, answer) // until the connection ends
				if took := time.Since(began); took > listen.Usual().Idle {
					t.Errorf("the connection ended %s later", took)
				}
			})
		})
	}
}
