package runs

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// tunnel opens connections to one address, whatever it is asked for.
type tunnel struct {
	to     string
	fault  error
	dials  atomic.Int32
	closed atomic.Bool
}

func (n *tunnel) Close() error { n.closed.Store(true); return nil }

func (n *tunnel) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	n.dials.Add(1)
	if n.fault != nil {
		return nil, n.fault
	}
	return (&net.Dialer{}).DialContext(ctx, network, n.to)
}

// until waits until something is so, for a minute at the most.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick, late := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("never: " + what)
		}
	}
}

// nowhere is an address that refuses connections.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Where only SSH leads to the API server, it is reached through a control plane; a login is not waited for.
func TestAnAPIServerIsReachedThroughAControlPlane(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	r := runner(t)
	r.o.Deps = func(map[string]string) operation.Deps { return operation.Deps{} }
	install(t, r)
	there := strings.TrimPrefix(srv.URL, "https://")
	text := strings.ReplaceAll(kubeconfigFor(srv, `{"token":"t"}`), there, nowhere(t))
	if err := os.WriteFile(filepath.Join(r.o.Root, "one", "admin.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	one := manager.Record{Name: "one"}
	w, ssh, logins := r.wayTo(one), &tunnel{to: there}, make(chan struct{})
	w.login = func(context.Context) (nodeTunnel, error) { <-logins; return ssh, nil }
	if err := r.Reach(t.Context(), one); err == nil {
		t.Fatal("reached without a way")
	}
	close(logins)
	until(t, "the API server is reached", func() bool { return r.Reach(t.Context(), one) == nil })
	if ssh.dials.Load() == 0 || w != r.wayTo(one) {
		t.Error("not through the control plane")
	}
	if err := r.Removed("one"); err != nil || !ssh.closed.Load() || r.wayTo(one) == w {
		t.Error("a cluster that is no more is logged in to", err)
	}
	if r.wayTo(manager.Record{Name: "far", Kubeconfig: true}) != nil {
		t.Error("a cluster that is only viewed is logged in to")
	}
}

// Ways of a login that fails, of one that is lost, and of the direct one.
func TestWays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, none := l.Addr().String(), nowhere(t)
	refused := event.NewFault(event.ClassAuth, "ssh.auth", nil).On("m1")
	blind := event.NewFault(event.ClassFailed, "ssh.forward-failed", nil).On("m1")
	lost := event.NewFault(event.ClassFailed, "ssh.lost", nil).On("m1")
	now := time.Now()
	world := func(ssh *tunnel, login error) (w *apiRoute, tries *atomic.Int32) {
		tries = &atomic.Int32{}
		return &apiRoute{now: func() time.Time { return now }, login: func(context.Context) (nodeTunnel, error) {
			tries.Add(1)
			if login != nil {
				return nil, login
			}
			return ssh, nil
		}}, tries
	}
	dial := func(t *testing.T, w *apiRoute, addr string) error {
		t.Helper()
		c, err := w.dial(t.Context(), "tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		until(t, "the login that was begun ends", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !w.busy
		})
		return err
	}
	t.Run("directly, nobody logs in", func(t *testing.T) {
		w, tries := world(nil, nil)
		if err := dial(t, w, here); err != nil || tries.Load() != 0 {
			t.Error(err, tries.Load())
		}
	})
	t.Run("a refused login is not repeated soon, but with another password", func(t *testing.T) {
		w, tries := world(nil, refused)
		for range 3 {
			_ = dial(t, w, none)
			now = now.Add(loginAgain + time.Second)
		}
		if err := dial(t, w, none); err == nil || !strings.Contains(err.Error(), "over SSH: m1: ssh.auth") {
			t.Error(err)
		}
		if tries.Load() != 1 {
			t.Errorf("%d logins", tries.Load())
		}
		w.retry()
		_ = dial(t, w, none)
		now = now.Add(refusedAgain + time.Second)
		_ = dial(t, w, none)
		if tries.Load() != 3 {
			t.Errorf("%d logins", tries.Load())
		}
	})
	t.Run("an API server that is off does not end the login, and is asked directly too", func(t *testing.T) {
		ssh := &tunnel{fault: blind}
		w, tries := world(ssh, nil)
		_ = dial(t, w, none)
		if err := dial(t, w, none); err == nil || ssh.dials.Load() != 1 || ssh.closed.Load() {
			t.Error(err, ssh.dials.Load(), ssh.closed.Load())
		}
		if err := dial(t, w, here); err != nil || !ssh.closed.Load() || tries.Load() != 1 {
			t.Error("the direct way is there again", err, ssh.closed.Load(), tries.Load())
		}
	})
	t.Run("a connection that is lost is made again", func(t *testing.T) {
		ssh := &tunnel{fault: lost}
		w, tries := world(ssh, nil)
		_ = dial(t, w, none)
		_ = dial(t, w, none)
		if !ssh.closed.Load() {
			t.Error("it is kept")
		}
		_ = dial(t, w, none)
		if tries.Load() != 2 {
			t.Errorf("%d logins", tries.Load())
		}
	})
	t.Run("after a while the direct way is first again", func(t *testing.T) {
		ssh := &tunnel{to: here}
		w, _ := world(ssh, nil)
		_ = dial(t, w, none)
		if err := errors.Join(dial(t, w, none), dial(t, w, here)); err != nil || ssh.dials.Load() != 2 {
			t.Error(err, ssh.dials.Load())
		}
		now = now.Add(directFrom + time.Second)
		if err := dial(t, w, none); err != nil || ssh.dials.Load() != 3 { // still the only one
			t.Error(err, ssh.dials.Load())
		}
		now = now.Add(directFrom + time.Second)
		if err := dial(t, w, here); err != nil || ssh.dials.Load() != 3 || !ssh.closed.Load() {
			t.Error(err, ssh.dials.Load(), ssh.closed.Load())
		}
	})
}

// What nobody uses is closed.
func TestAWayThatNobodyUsesIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ssh := &tunnel{}
		w := &apiRoute{now: time.Now, login: func(context.Context) (nodeTunnel, error) { return ssh, nil }}
		w.mu.Lock()
		w.busy = true
		w.mu.Unlock()
		w.open()
		time.Sleep(unusedFor - time.Second)
		if now, _ := w.current(); now == nil || ssh.closed.Load() {
			t.Error("closed too early")
		}
		time.Sleep(unusedFor - time.Second)
		synctest.Wait()
		if ssh.closed.Load() {
			t.Error("closed though it was used")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if t2, _ := w.current(); t2 != nil || !ssh.closed.Load() {
			t.Error("it is kept")
		}
	})
}
