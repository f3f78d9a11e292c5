package listen_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/listen"
)

// selfMade returns the server's own certificates where both clocks agree.
func selfMade(dir string, names []string, now func() time.Time) (*listen.Certificates, error) {
	return listen.SelfMade(dir, names, now, now)
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if f := (*event.Fault)(nil); !errors.As(err, &f) || f.Code != code {
		t.Errorf("%v; want the fault %s", err, code)
	}
}

// trusting is a client that trusts the CA in a directory, at the time of a clock.
func trusting(t *testing.T, dir string, now func() time.Time, versions ...uint16) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(dir, listen.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), Time: now}
	c.RootCAs.AppendCertsFromPEM(ca)
	if len(versions) > 0 {
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, versions[0]
	}
	tr := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// serve gives the address of a server.
func serve(t *testing.T, h http.Handler, l listen.Limits, certs *listen.Certificates) string {
	t.Helper()
	at, err := listen.Listen(t.Context(), "127.0.0.1:0", certs, l)
	if err != nil {
		t.Fatal(err)
	}
	s := listen.Server(context.WithoutCancel(t.Context()), h, l, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- s.Serve(at) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return at.Addr().String()
}

func hello(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, "hello ", n, " ", err)
}

type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(c.at.Load(), 0) }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Now().Unix())
	return c
}

// ca.crt, which a browser has been made to trust, stays; the certificate is made again before its end, while the server
// runs.
func TestACertificateIsMadeAndRenewed(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "tls"), newClock()
	certs, err := selfMade(dir, []string{"127.0.0.1", "eggo.example"}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "ca.key": 0o600, "server.key": 0o600,
		"ca.crt": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%q: %v %v", name, info, err)
		}
	}
	at := serve(t, http.HandlerFunc(hello), listen.Usual(), certs)
	client := trusting(t, dir, c.now)
	answer, err := client.Get("https://" + at)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.ProtoMajor != 2 || answer.Header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(answer.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error(answer.Proto, answer.Header)
	}
	if _, err := trusting(t, dir, c.now, tls.VersionTLS11).Get("https://" + at); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	ends := certs.Ends()
	again, err := selfMade(dir, []string{"127.0.0.1"}, c.now)
	if err != nil || !again.Ends().Equal(ends) {
		t.Error("a certificate that is good was made again", err)
	}
	if more, err := selfMade(dir, []string{"127.0.0.1", "other.eggo.example"}, c.now); err != nil ||
		more.Ends().Before(ends) {
		t.Error(err)
	}
	c.at.Add(int64((350 * 24 * time.Hour).Seconds()))
	if answer, err = client.Get("https://" + at); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if !certs.Ends().After(ends) || certs.Failed() != nil {
		t.Error("not renewed", certs.Ends(), certs.Failed())
	}
}

// Files that somebody renews are taken over; while they are wrong, those of before are used.
func TestFilesAreReadAgain(t *testing.T) {
	first, second, c := t.TempDir(), t.TempDir(), newClock()
	for _, dir := range []string{first, second} {
		if _, err := selfMade(dir, []string{"127.0.0.1"}, c.now); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	put := func(from, name, to string) {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(to+".new", to); err != nil {
			t.Fatal(err)
		}
	}
	put(first, "server.crt", cert)
	_, err := listen.FromFiles(cert, key, c.now)
	wantCode(t, err, "listen.read")
	put(first, "server.key", key)
	certs, err := listen.FromFiles(cert, key, c.now)
	if err != nil {
		t.Fatal(err)
	}
	at := serve(t, http.HandlerFunc(hello), listen.Usual(), certs)
	trusts := func(dir string) bool {
		answer, err := trusting(t, dir, c.now).Get("https://" + at)
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	}
	put(second, "server.crt", cert) // its key has not come yet
	c.at.Add(20)
	if !trusts(first) || certs.Failed() == nil {
		t.Error("half of a pair is used", certs.Failed())
	}
	put(second, "server.key", key)
	c.at.Add(20)
	if !trusts(second) || trusts(first) || certs.Failed() != nil {
		t.Error("the new pair is not used", certs.Failed())
	}
	c.at.Add(int64((400 * 24 * time.Hour).Seconds()))
	_, err = listen.FromFiles(cert, key, c.now)
	wantCode(t, err, "listen.ended")
}

func TestWhatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := selfMade(filepath.Join(file, "tls"), nil, time.Now)
	wantCode(t, err, "listen.make")
	dir := t.TempDir()
	for _, name := range []string{"ca.crt", "ca.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = selfMade(dir, nil, time.Now)
	wantCode(t, err, "listen.read")
	_, err = listen.Listen(t.Context(), "192.0.2.1:1", nil, listen.Usual())
	wantCode(t, err, "listen.address")
	for address, want := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "localhost:80": true,
		":80": false, "0.0.0.0:80": false, "192.0.2.1:80": false, "nonsense": false} {
		if listen.Loopback(address) != want {
			t.Error(address)
		}
	}
	if names := listen.Names("eggo.example:443", "more.example"); len(names) < 5 {
		t.Error(names)
	}
}

// A body of 10 MB is refused before it is read, with a length or without one, and the server lives.
func TestLargeBodies(t *testing.T) {
	at := serve(t, http.HandlerFunc(hello), listen.Usual(), nil)
	large := strings.Repeat("x", 10<<20)
	answer, err := http.Post("http://"+at+"/api/v1/clusters", "application/json", strings.NewReader(large))
	if err == nil { // the connection may be closed while the client still writes
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestEntityTooLarge ||
			!strings.Contains(string(text), "listen.too-large") {
			t.Error(answer.Status, string(text))
		}
	}
	answer, err = http.Post("http://"+at, "application/json", io.MultiReader(strings.NewReader(large)))
	if err == nil {
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if !strings.Contains(string(text), "request body too large") {
			t.Errorf("%.80s", text)
		}
	}
	answer, err = http.Post("http://"+at, "application/json", strings.NewReader("small"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

// Clients that send slowly, or read slowly, lose their connection; a stream that lasts does not.
func TestSlowClients(t *testing.T) {
	l := listen.Limits{Header: 50 * time.Millisecond, Body: 50 * time.Millisecond, Answer: 50 * time.Millisecond,
		Idle: time.Minute, Bytes: 1 << 20}
	failed := make(chan error, 2)
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			_, err := io.Copy(io.Discard, r.Body)
			failed <- err
		case "/late": // longer than the limits, before it has anything to say
			select {
			case <-r.Context().Done():
			case <-time.After(120 * time.Millisecond):
				fmt.Fprint(w, "late")
			}
		case "/large":
			var err error
			for line := make([]byte, 1<<16); err == nil; {
				_, err = w.Write(line)
			}
			failed <- err
		case "/stream":
			for range 5 {
				fmt.Fprintln(w, "data: x")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(40 * time.Millisecond): // longer than the limits, all in all
				}
			}
			fmt.Fprintln(w, "end")
		}
	}), l, nil)
	dial := func(text string) net.Conn {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := dial("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // waits for the server
		text, _ := io.ReadAll(c)
		t.Logf("the server answers %q", text)
	}
	dial("POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	dial("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := <-failed; err == nil {
		t.Error("a client that does not read was served")
	}
	late, err := http.Get("http://" + at + "/late")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(late.Body); string(text) != "late" || err != nil {
		t.Errorf("%s %v", text, err)
	}
	late.Body.Close()
	for _, kind := range []string{"text/event-stream", "application/jsonl"} {
		c = dial("GET /stream HTTP/1.1\r\nHost: x\r\nAccept: " + kind + "\r\n\r\n")
		lines := bufio.NewScanner(c)
		for lines.Scan() && lines.Text() != "end" {
		}
		if lines.Text() != "end" {
			t.Errorf("the stream of %s was cut", kind)
		}
	}
}

// What goes wrong here is logged; the client hears a problem, or the connection ends.
func TestWhatGoesWrongIsLogged(t *testing.T) {
	var log bytes.Buffer
	h := listen.Server(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("of all things")
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		}
	}), listen.Usual(), slog.New(slog.NewTextHandler(&log, nil))).Handler
	for path, want := range map[string]string{"/panic": "of all things", "/broken": "status=500", "/well": ""} {
		log.Reset()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if (want == "") != (log.Len() == 0) || !strings.Contains(log.String(), want) ||
			(w.Code == 500) != (want != "") || strings.Contains(w.Body.String(), "things") {
			t.Errorf("%s: %d %s\n%s", path, w.Code, w.Body, log.String())
		}
	}
}
