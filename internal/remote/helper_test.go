package remote_test

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

func TestMain(m *testing.M) {
	// most tests wait for clocks and processes and not for a processor; -parallel still counts more
	_ = flag.Set("test.parallel", "6")
	goleak.VerifyTestMain(m)
}

// heard collects events.
type heard struct {
	mu     sync.Mutex
	events []event.Event
}

func (h *heard) emit(e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *heard) all() []event.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]event.Event(nil), h.events...)
}

// lines are the Output events, joined with their stream.
func (h *heard) lines() []string {
	var out []string
	for _, e := range h.all() {
		if o, ok := e.(event.Output); ok {
			out = append(out, o.Stream+": "+o.Line)
		}
	}
	return out
}

func (h *heard) states() []string {
	var out []string
	for _, e := range h.all() {
		if s, ok := e.(event.HostState); ok {
			out = append(out, s.State)
		}
	}
	return out
}

func target(s *remotetest.Server) remote.Target {
	return remote.Target{Name: "n1", Addr: s.IP, Port: s.Port, Password: "secret"}
}

func options(t testing.TB, s *remotetest.Server) remote.Options {
	return remote.Options{
		HostKeys:   remote.AcceptNew,
		KnownHosts: filepath.Join(t.TempDir(), "known_hosts"),
		LockFile:   filepath.Join(s.Root, "lock"),
		Timeouts:   clocks(),
	}
}

// clocks are for all tests but those of clocks: on a busy machine anything may take its time, and limit and moving tell
// of a hang.
func clocks() remote.Timeouts {
	return remote.Timeouts{Connect: time.Minute, Handshake: time.Minute, Start: time.Minute, Keepalive: time.Minute,
		Lease: 2 * time.Minute,
		Kill:  10 * time.Second, Reconnect: time.Minute}
}

// moving is a context for what moves many bytes over connections that are made with o: it ends when none has moved for
// a minute, however long the whole takes on a busy machine.
func moving(t testing.TB, o *remote.Options) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	t.Cleanup(func() { cancel(nil) })
	still := time.AfterFunc(time.Minute, func() { cancel(errors.New("nothing has moved for a minute")) })
	t.Cleanup(func() { still.Stop() })
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &watched{c, still}, err
	}
	return ctx
}

type watched struct {
	net.Conn
	still *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.still.Reset(time.Minute)
	return n, err
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.still.Reset(time.Minute)
	return n, err
}

func dial(t testing.TB, tg remote.Target, o remote.Options) *remote.Host {
	t.Helper()
	h, err := remote.Dial(limit(t), tg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// limit is a context that ends before the test's own limit, so that a hang is told where it is.
func limit(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func run(t testing.TB, h *remote.Host, script string) shell.Result {
	t.Helper()
	r, err := h.Run(limit(t), shell.Command{Script: script})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return r
}

// wantFault checks code and node of a fault.
func wantFault(t testing.TB, err error, code string) *event.Fault {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	f := event.AsFault(err)
	if f.Code != code {
		t.Fatalf("fault %v (%s), want %s", f, f.Code, code)
	}
	if f.Node != "n1" {
		t.Fatalf("fault names the node %q", f.Node)
	}
	return f
}

// eventually waits for something that another process does.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
