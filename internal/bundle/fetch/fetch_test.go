package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func sum(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }

func code(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

// rig is a client and a server whose answers a test gives one after the other; the last one repeats.
type rig struct {
	*Client
	url   string
	mu    sync.Mutex
	asked []string // Range headers
}

func (r *rig) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

func newRig(t *testing.T, answers ...http.HandlerFunc) *rig {
	t.Helper()
	r := &rig{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, req.Header.Get("Range"))
		n := len(r.asked)
		r.mu.Unlock()
		answers[min(n, len(answers))-1](w, req)
	}))
	t.Cleanup(srv.Close)
	cache, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.url = srv.URL + "/file"
	r.Client = &Client{HTTP: NewHTTPClient(http.DefaultTransport), Cache: cache, Tries: 3, Delay: time.Millisecond,
		Stall: 10 * time.Second}
	return r
}

var body = bytes.Repeat([]byte("0123456789"), 1000)

func whole(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// half sends the right length and breaks in the middle.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Write(body[:len(body)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func status(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) }
}

func TestServers(t *testing.T) {
	ignoresRange := func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }
	wrongRange := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(body)-1, len(body)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(body)
	}
	more := func(w http.ResponseWriter, _ *http.Request) { w.Write(body); w.(http.Flusher).Flush(); w.Write(body) }
	other := func(w http.ResponseWriter, _ *http.Request) {
		w.Write(bytes.ToUpper(bytes.Repeat([]byte("x"), len(body))))
	}
	tests := []struct {
		name    string
		answers []http.HandlerFunc
		want    string
		asked   int
	}{
		{"good", []http.HandlerFunc{whole}, "", 1},
		{"broken once", []http.HandlerFunc{half, whole}, "", 2},
		{"ignores the range", []http.HandlerFunc{half, ignoresRange}, "", 2},
		{"answers another range", []http.HandlerFunc{half, wrongRange, whole}, "", 3},
		{"range not satisfiable", []http.HandlerFunc{half, status(416), whole}, "", 3},
		{"overloaded, then well", []http.HandlerFunc{status(503), status(429), whole}, "", 3},
		{"overloaded for ever", []http.HandlerFunc{status(503)}, "fetch.refused", 3},
		{"not there", []http.HandlerFunc{status(404)}, "fetch.not-found", 1},
		{"forbidden", []http.HandlerFunc{status(403)}, "fetch.denied", 1},
		{"teapot", []http.HandlerFunc{status(418)}, "fetch.refused", 1},
		{"more than it should", []http.HandlerFunc{more}, "fetch.too-large", 1},
		{"another length", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)-1))
			w.Write(body[1:])
		}}, "fetch.size", 1},
		{"ends early without a word", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Write(body[1:])
		}}, "fetch.truncated", 3},
		{"another content", []http.HandlerFunc{other}, "fetch.sum-mismatch", 1},
		{"hangs up", []http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
			"fetch.network", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.answers...)
			b, err := r.Get(context.Background(), Source{URL: r.url, SHA256: sum(body), Size: int64(len(body)),
				What: "it"})
			if asked := r.requests(); code(err) != tt.want || len(asked) != tt.asked {
				t.Fatalf("%v after %q, want %q", err, asked, tt.want)
			}
			_, there := r.Cache.Find(sum(body), -1)
			if there != (tt.want == "") {
				t.Fatalf("in the cache: %v", there)
			}
			if tt.want == "" && b.Size != int64(len(body)) {
				t.Fatalf("%+v", b)
			}
			if left, _ := filepath.Glob(filepath.Join(r.Cache.dir, "*", "part-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A length that is no length, when nothing but the sum is known.
func TestLiesAboutTheLength(t *testing.T) {
	claims := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, out, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(out, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", n, body)
			out.Flush()
		}
	}
	noLength := func(n int) http.HandlerFunc { // its end is that of the connection
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, out, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(out, "HTTP/1.0 200 OK\r\n\r\n%s", body[:n])
			out.Flush()
		}
	}
	for _, tt := range []struct {
		name    string
		answers []http.HandlerFunc
		want    string
		asked   int
	}{
		{"too long, but all is there", []http.HandlerFunc{claims(len(body) + 1)}, "", 1},
		{"too short", []http.HandlerFunc{claims(len(body) - 1)}, "fetch.sum-mismatch", 1},
		{"none, cut once", []http.HandlerFunc{noLength(len(body) / 2), whole}, "", 2},
		{"none, cut for ever", []http.HandlerFunc{noLength(len(body) / 2)}, "fetch.sum-mismatch", 2},
		{"none, all there", []http.HandlerFunc{noLength(len(body))}, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.answers...)
			f := &file{}
			_, err := r.Get(context.Background(), Source{URL: r.url, SHA256: sum(body), Size: -1, Limit: 1 << 20}, f)
			if code(err) != tt.want || len(r.requests()) != tt.asked {
				t.Fatal(err, r.requests())
			}
			if tt.want == "" {
				wantBytes(t, r.Cache, body, f)
			}
		})
	}
}

func TestStalledServer(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body[:10])
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-req.Context().Done():
		}
	}, whole)
	r.Stall = 50 * time.Millisecond
	if _, err := r.Get(context.Background(), Source{URL: r.url, SHA256: sum(body),
		Size: int64(len(body))}); err != nil {
		t.Fatal(err)
	}
	if asked := r.requests(); len(asked) != 2 || asked[1] != "bytes=10-9999" {
		t.Fatalf("asked %q", asked)
	}
}

func TestUnknownSize(t *testing.T) {
	r := newRig(t, whole)
	if _, err := r.Get(context.Background(), Source{URL: r.url, Size: -1, Limit: 100}); code(err) != "fetch.too-large" {
		t.Fatal(err)
	}
	b, err := r.Get(context.Background(), Source{URL: r.url, Size: -1, Limit: 1 << 20})
	if err != nil || b.SHA256 != sum(body) {
		t.Fatal(b, err)
	}
}

func TestInterruptedFetch(t *testing.T) {
	r := newRig(t, status(503))
	ctx, cancel := context.WithCancel(context.Background())
	r.Progress = func(Progress) { cancel() }
	if _, err := r.Get(ctx, Source{URL: r.url, Size: -1, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestCacheVerifiesWhatItGives(t *testing.T) {
	c, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Put(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{body[1:], append(bytes.Clone(body), 'x'),
		bytes.ToUpper(bytes.Replace(body, []byte("0"), []byte("a"), 1))} {
		if err := os.WriteFile(c.path(b.SHA256), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := c.Open(b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(r)
		r.Close()
		if code(err) != "fetch.cache-damaged" {
			t.Fatal(err)
		}
		if _, there := c.Find(b.SHA256, -1); there {
			t.Fatal("still there")
		}
	}
	if _, err := c.Put(bytes.NewReader(body), 10); code(err) != "fetch.oversize" {
		t.Fatal(err)
	}
}

func TestMirrors(t *testing.T) {
	m, err := ParseMirrors([]string{"https://dl.k8s.io=http://127.0.0.1:80/dl.k8s.io",
		"https://dl.k8s.io/release=https://m.test/r/", "http://deb.debian.org=http://mirror.test",
		"registry.k8s.io=127.0.0.1:80/registry.k8s.io", "ghcr.io=m.test"})
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"https://dl.k8s.io/x?y":        "http://127.0.0.1:80/dl.k8s.io/x?y",
		"https://dl.k8s.io/release/v1": "https://m.test/r/v1", "https://dl.k8s.io.evil/x": "https://dl.k8s.io.evil/x",
		"https://other/x": "https://other/x", "http://deb.debian.org/debian": "http://mirror.test/debian",
	} {
		if got := m.URL(from, false); got != want {
			t.Errorf("%s → %s, want %s", from, got, want)
		}
	}
	for from, want := range map[string]string{"registry.k8s.io": "127.0.0.1:80 registry.k8s.io/", "ghcr.io": "m.test ",
		"quay.io": "quay.io "} {
		if h, p := m.Registry(from, false); h+" "+p != want {
			t.Errorf("%s → %s %s", from, h, p)
		}
	}
	for _, bad := range []string{"x", "=y", "x=", "https://a.test=http://b.test", "https://a.test=ftp://b.test",
		"a.test/x=b", "a.test=http://b"} {
		if _, err := ParseMirrors([]string{bad}); code(err) != "fetch.mirror" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
