package runs

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// What files say is kept until they change: also when the change leaves their size, and when it comes right after they
// were written.
func TestWhatFilesSaidIsKept(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	long := time.Now().Add(-time.Hour)
	write := func(path, text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	var k kept[string]
	reads := 0
	want := func(text string, more int) {
		t.Helper()
		before := reads
		got, err := k.of("one", stats(file, other), func() (string, error) {
			reads++
			text, err := os.ReadFile(file)
			return string(text), err
		})
		if got != text || err != nil && !errors.Is(err, fs.ErrNotExist) || reads-before != more {
			t.Errorf("%q %v, read %d times", got, err, reads-before)
		}
	}
	want("", 1)
	want("", 1) // an error is not kept
	write(file, "first", long)
	want("first", 1)
	want("first", 0)
	write(file, "other", long.Add(time.Nanosecond))
	want("other", 1)
	want("other", 0)
	write(other, "", long)
	want("other", 1)
	want("other", 0)
	moved := filepath.Join(dir, "c")
	write(moved, "moved", long.Add(time.Nanosecond))
	if err := os.Rename(moved, file); err != nil {
		t.Fatal(err)
	}
	want("moved", 1)
	write(file, "young", time.Now())
	want("young", 1)
	want("young", 1) // it may be written again at the same time
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want("", 1)
}

// A deploy.yaml, and a directory of a newer program, are seen when they come.
func TestWhatAClusterHasIsNotStale(t *testing.T) {
	r := runner(t)
	machines := func() int {
		t.Helper()
		nodes, lb, err := r.Machines(t.Context(), "one")
		if err != nil || lb != nil {
			t.Fatal(lb, err)
		}
		return len(nodes)
	}
	if n := machines(); n != 0 {
		t.Error(n)
	}
	install(t, r)
	dir := filepath.Join(r.o.Root, "one")
	aged := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	aged(filepath.Join(dir, store.ConfigName))
	aged(filepath.Join(dir, journal.FormatFile))
	for range 2 {
		if n := machines(); n != 3 {
			t.Error(n)
		}
	}
	nodes, _, _ := r.Machines(t.Context(), "one")
	nodes[0].Name = "changed by who asked"
	if nodes, _, _ := r.Machines(t.Context(), "one"); nodes[0].Name != "m1" {
		t.Error(nodes)
	}
	if err := os.WriteFile(filepath.Join(dir, journal.FormatFile), []byte(`{"format":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Machines(t.Context(), "one"); err == nil {
		t.Error("of a newer program")
	}
}

// A scan looks again at a cluster of which a run began, or whose deploy.yaml came or went, whichever process did that;
// of all others it keeps what it saw.
func TestScan_SeesWhatOtherProcessesDo(t *testing.T) {
	r := runner(t)
	install(t, r)
	dir := filepath.Join(r.o.Root, "one")
	first := logged(t, r, "deploy", event.RunEnded{Outcome: event.Changed})
	age := func() {
		t.Helper()
		for _, name := range []string{"runs", store.ConfigName, journal.FormatFile} {
			err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-time.Hour))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	seen := func() manager.Found {
		t.Helper()
		list, err := r.Scan(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "one" {
			t.Fatal(list, err)
		}
		return list[0]
	}
	age()
	if f := seen(); f.Run != first || !f.Installed {
		t.Error(f)
	}
	kept := r.found.all["one"]
	if again := seen(); again.Run != first || len(kept.files) == 0 {
		t.Error(again, kept)
	}
	second := logged(t, r, "renew", event.RunEnded{Fault: &event.Fault{Code: "x"}})
	if f := seen(); f.Run != second || f.Kind != manager.Renew || f.Fault == nil {
		t.Error(f)
	}
	age()
	seen()
	if err := os.Rename(filepath.Join(dir, store.ConfigName), filepath.Join(dir, "gone.yaml")); err != nil {
		t.Fatal(err)
	}
	if f := seen(); f.Installed {
		t.Error(f)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Machines(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	if list, err := r.Scan(t.Context()); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	if len(r.found.all) != 0 || len(r.machines.all) != 0 {
		t.Error(r.found.all, r.machines.all)
	}
}

// Requests to an API server that is reached directly share one connection until the kubeconfig changes; through a node,
// each request opens its own.
func TestReach_KeepsAConnection(t *testing.T) {
	var opened atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok"))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.StartTLS()
	defer srv.Close()
	r := runner(t)
	far := manager.Record{Name: "far", Kubeconfig: true}
	keep := func(user string) {
		t.Helper()
		if err := r.Keep("far", kubeconfigName, kubeconfigFor(srv, user)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(r.Kubeconfig(far), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	reach := func(want int32) {
		t.Helper()
		for range 3 {
			if err := r.Reach(t.Context(), far); err != nil {
				t.Fatal(err)
			}
		}
		if n := opened.Load(); n != want {
			t.Errorf("%d connections, not %d", n, want)
		}
	}
	keep(`{"token":"t"}`)
	reach(1)
	keep(`{"token":"another"}`)
	reach(2)
	api, err := r.API(far)
	if err != nil {
		t.Fatal(err)
	}
	through := &apiRoute{now: time.Now, through: &tunnel{to: srv.Listener.Addr().String()},
		first: time.Now().Add(time.Hour), unused: time.NewTimer(time.Hour)}
	api.client.CloseIdleConnections()
	api.route = func() *apiRoute { return through }
	reach(5)
	if err := r.Removed("far"); err != nil {
		t.Fatal(err)
	}
	if len(r.apis.all) != 0 {
		t.Error(r.apis.all)
	}
}

// A path that has begun to drop packets is seen by a new connection, within the same request.
func TestReach_LeavesASilentConnection(t *testing.T) {
	var first atomic.Pointer[string]
	var asked atomic.Int32
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		first.CompareAndSwap(nil, &q.RemoteAddr)
		if asked.Add(1) > 1 && q.RemoteAddr == *first.Load() {
			<-q.Context().Done()
			return
		}
		_, _ = w.Write([]byte("ok"))
	}))
	defer srv.Close()
	api, err := ReadKubeconfig([]byte(kubeconfigFor(srv, `{"token":"t"}`)))
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodGet, http.MethodGet, http.MethodGet} {
		if text, err := api.Do(t.Context(), method, "/readyz", "", nil); string(text) != "ok" || err != nil {
			t.Errorf("%q %v", text, err)
		}
	}
	if n := asked.Load(); n != 4 {
		t.Errorf("%d requests, not 4", n)
	}
}

// Certificates that are issued again have another end, and so has a cluster that has none any more.
func TestTheEndsOfCertificatesAreNotStale(t *testing.T) {
	r := runner(t)
	dir := filepath.Join(r.o.Root, "one", "pki")
	issue := func(now time.Time) {
		t.Helper()
		_, _, err := pki.Ensure(dir, pki.Spec{Domain: "cluster.local", Endpoint: "192.0.2.1",
			ServiceGateway: netip.MustParseAddr("10.32.0.1")}, now)
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(path, time.Time{}, now.Add(-time.Hour)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !r.Expiry("one").IsZero() {
		t.Error(r.Expiry("one"))
	}
	now := time.Now()
	issue(now)
	first := r.Expiry("one")
	leaf, ca := r.Ends("one")
	if again := r.Expiry("one"); first.IsZero() || !again.Equal(first) || !leaf.Equal(first) || !ca.After(first) {
		t.Error(first, again, leaf, ca)
	}
	issue(now.Add(360 * 24 * time.Hour))
	if later := r.Expiry("one"); !later.After(first) {
		t.Error(first, later)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if !r.Expiry("one").IsZero() {
		t.Error(r.Expiry("one"))
	}
}
