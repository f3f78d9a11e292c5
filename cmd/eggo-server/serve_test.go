package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// started is a server in this process, on a port of loopback.
type started struct {
	t      *testing.T
	url    string
	data   string
	client *http.Client
	end    func() int
}

func start(t *testing.T, data, state string, more ...string) *started {
	t.Helper()
	return startOn(t, nil, data, state, more...)
}

// startOn starts a server whose host has these addresses; nil: any address may be a machine's.
func startOn(t *testing.T, own func() config.Addresses, data, state string, more ...string) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, over := make(chan string, 1), make(chan int, 1)
	var out, errs bytes.Buffer
	args := append([]string{"eggo-server", "serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--state-dir",
		state}, more...)
	go func() {
		over <- run(ctx, &environment{Stdout: &out, Stderr: &errs, Args: args, P: i18n.NewPrinter(i18n.English),
			Getenv: func(string) string { return "" }, Ready: func(a string) { ready <- a }, Own: own})
	}()
	s := &started{t: t, data: data, end: func() int { cancel(); return <-over }}
	select {
	case a := <-ready:
		s.url = "https://" + a
	case code := <-over:
		t.Fatalf("%d\n%s", code, errs.String())
	}
	s.client = trusting(t, data)
	return s
}

// trusting is a client that trusts the CA of a server.
func trusting(t *testing.T, data string) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(data, "tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

func (s *started) call(token, method, path, body string) (int, map[string]any, http.Header) {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if cookie, is := strings.CutPrefix(token, "cookie "); is {
		q.Header.Set("Cookie", cookie)
	} else if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	res, err := s.client.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var out map[string]any
	_ = json.Unmarshal(text, &out)
	return res.StatusCode, out, res.Header
}

// From nothing to a token, over TLS; what was made is there after a restart.
func TestFromNothing(t *testing.T) {
	data, state := t.TempDir(), t.TempDir()
	s := start(t, data, state)
	if code, _, _ := s.call("", "GET", "/api/v1/clusters", ""); code != 401 {
		t.Error(code)
	}
	token := s.administrator()
	if code, answer, _ := s.call(token, "GET", "/api/v1/clusters", ""); code != 200 {
		t.Error(code, answer)
	}
	if got := s.end(); got != 0 {
		t.Error(got)
	}
	s = start(t, data, state)
	defer s.end()
	if code, answer, _ := s.call(token, "GET", "/api/v1/clusters", ""); code != 200 {
		t.Error(code, answer)
	}
	if _, err := os.Stat(filepath.Join(data, setupToken)); err == nil {
		t.Error("the setup token is still there")
	}
}

// What is refused before anything is served.
func TestRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"server.no-tls":       {"--no-tls", "--listen", "0.0.0.0:0"},
		"server.tls-pair":     {"--tls-cert", "x"},
		"server.backup-every": {"--backup-every", "24h"},
		"server.backup-keep":  {"--backup-keep", "-1"},
		"server.audit-days":   {"--audit-days", "-1"},
		"backup.recipient":    {"--backup-recipient", "age1nonsense"},
		"listen.read":         {"--tls-cert", "/nowhere", "--tls-key", "/nowhere"},
	} {
		var errs bytes.Buffer
		args = append([]string{"eggo-server", "serve", "--data-dir", t.TempDir(), "--state-dir", t.TempDir()}, args...)
		code := run(t.Context(), &environment{Stdout: io.Discard, Stderr: &errs, Getenv: os.Getenv, Args: args,
			P: i18n.NewPrinter(i18n.English)})
		if code != 2 || !strings.Contains(errs.String(), "["+want+"]") {
			t.Errorf("%s: %d %s", want, code, errs.String())
		}
	}
	if f := (*event.Fault)(nil); asFault(io.EOF, &f) {
		t.Error("a fault")
	}
}

// Two servers do not own the same clusters.
func TestOneServerOnADirectory(t *testing.T) {
	data := t.TempDir()
	s := start(t, data, t.TempDir())
	var errs bytes.Buffer
	args := []string{"eggo-server", "serve", "--data-dir", data, "--state-dir", t.TempDir(), "--listen", "127.0.0.1:0"}
	if code := run(t.Context(), &environment{Stdout: io.Discard, Stderr: &errs, Getenv: os.Getenv, Args: args,
		P: i18n.NewPrinter(i18n.English)}); code == 0 || !strings.Contains(errs.String(), "[server.running]") {
		t.Error(code, errs.String())
	}
	s.end()
	start(t, data, t.TempDir()).end()
}
