package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// The runs of the tests are processes of this program, as those of a server are; and so are some servers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == operation.DetachedVerb || os.Args[1] == "serve") {
		os.Exit(realMain(nil)) // machines of the tests are on loopback
	}
	os.Exit(m.Run())
}

// administrator sets a server up, and gives an API token.
func (s *started) administrator() string {
	s.t.Helper()
	setup, err := os.ReadFile(filepath.Join(s.data, setupToken))
	if err != nil {
		s.t.Fatal(err)
	}
	code, _, header := s.call("", "POST", "/api/v1/setup", fmt.Sprintf(
		`{"token":%q,"name":"chief","password":"a long enough passphrase"}`, strings.TrimSpace(string(setup))))
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	ends := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	code2, answer, _ := s.call("cookie "+cookie, "POST", "/api/v1/tokens",
		`{"name":"test","role":"admin","ends":"`+ends+`"}`)
	token, _ := answer["token"].(string)
	if code != http.StatusOK || code2 != http.StatusCreated || token == "" {
		s.t.Fatal(code, code2, answer)
	}
	return token
}

// becomes asks until what is answered is as it should be.
func (s *started) becomes(token, path, what string, is func(map[string]any) bool) map[string]any {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		code, answer, _ := s.call(token, "GET", path, "")
		if code == http.StatusOK && is(answer) {
			return answer
		}
		short, done := context.WithTimeout(ctx, 20*time.Millisecond)
		<-short.Done()
		done()
	}
	_, last, _ := s.call(token, "GET", path, "")
	s.t.Fatalf("%s is never %s: %v", path, what, last)
	return nil
}

// silent is a node that takes connections and says nothing, and a function that ends it. What connects is told on come.
func silent(t *testing.T, host string) (port int, come <-chan bool, end func()) {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	seen, over := make(chan bool, 64), make(chan struct{})
	go func() {
		defer close(over)
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
			seen <- true
		}
		for _, c := range open {
			c.Close()
		}
	}()
	end = sync.OnceFunc(func() { l.Close(); <-over })
	t.Cleanup(end)
	return l.Addr().(*net.TCPAddr).Port, seen, end
}

// A run is a process of its own: the server ends and another one starts, and the run is at work all the while, in the
// state that it was in. It is canceled by the server that is there now.
func TestARunOutlivesTheServer(t *testing.T) {
	data, root := t.TempDir(), t.TempDir()
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := phasestest.WriteBundle(bundle); err != nil {
		t.Fatal(err)
	}
	m1, come, end1 := silent(t, "127.0.0.1")
	w1, _, end2 := silent(t, "127.0.0.2")
	s := start(t, data, root)
	token := s.administrator()
	code, answer, _ := s.call(token, "POST", "/api/v1/clusters", fmt.Sprintf(`{"name":"one",
		"server_address":"192.0.2.250","domain":"cluster.local","ssh":{"user":"root","password":"hunter2"},
		"bundles":{"amd64":%q},"options":{"allow_unsigned":true},
		"nodes":[{"name":"m1","address":"127.0.0.1","port":%d,"roles":["controlplane","etcd"]},
			{"name":"w1","address":"127.0.0.2","port":%d,"roles":["worker"]}]}`, bundle, m1, w1))
	if code != http.StatusAccepted {
		t.Fatal(code, answer)
	}
	const one = "/api/v1/clusters/one"
	<-come
	run := ""
	s.becomes(token, one, "at work", func(m map[string]any) bool {
		o, _ := m["operation"].(map[string]any)
		if list, _ := o["runs"].([]any); len(list) > 0 {
			run, _ = list[0].(string)
		}
		return run != ""
	})
	if got := s.end(); got != 0 {
		t.Error(got)
	}

	s = start(t, data, root)
	defer func() { s.end() }()
	if code, m, _ := s.call(token, "GET", one, ""); code != http.StatusOK || m["state"] != "Creating" {
		t.Fatal(code, m)
	}
	if _, m, _ := s.call(token, "GET", one+"/runs/"+run, ""); m["status"] != "running" {
		t.Error(m)
	}
	if code, m, _ := s.call(token, "POST", one+"/cancel", ""); code != http.StatusAccepted ||
		m["state"] != "Canceling" {
		t.Error(code, m)
	}
	end1()
	end2()
	is := func(key, want string) func(map[string]any) bool {
		return func(m map[string]any) bool { return m[key] == want }
	}
	if m := s.becomes(token, one, "Unavailable", is("state", "Unavailable")); m["fault"] == nil {
		t.Error(m)
	}
	if _, m, _ := s.call(token, "GET", one+"/runs/"+run, ""); m["status"] == "running" {
		t.Error(m)
	}
	for _, file := range []string{root, filepath.Join(data, databaseFile), filepath.Join(data, databaseFile+"-wal")} {
		if found := holding(t, file, "hunter2"); found != "" {
			t.Error(found, "has the password")
		}
	}
}

// holding is a file below a directory that has a text.
func holding(t *testing.T, dir, text string) (path string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if os.IsNotExist(err) { // the run gives its lock back after its last word
			return nil
		}
		if err == nil && e.Type().IsRegular() {
			got, err := os.ReadFile(name)
			if err == nil && strings.Contains(string(got), text) {
				path = name
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return path
}

// With systemd, a run is a scope of its own, by a command that hands over its pipes: what was asked with its secrets
// goes in, which run it is comes out, and the words of the command have none of it.
func TestARunIsAScope(t *testing.T) {
	bin, root := t.TempDir(), t.TempDir()
	said := filepath.Join(bin, "said")
	if err := os.WriteFile(filepath.Join(bin, "systemd-run"), []byte("#!/bin/sh\necho \"$@\" >"+said+
		"\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	file := filepath.Join(t.TempDir(), "deploy.yaml")
	if err := os.WriteFile(file, []byte(operationtest.Nobody), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := launcher(root, i18n.English, true).Launch(request.Deploy{Common: request.OfFile(file)},
		request.Answers{Secrets: map[string]string{"password": "hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := h.Started(t.Context())
	if err != nil || run.Cluster != "away" {
		t.Fatal(run, err)
	}
	<-h.Done()
	words, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	scope, program, _ := strings.Cut(string(words), " -- ")
	if !strings.HasPrefix(scope, "--scope ") || !strings.Contains(scope, "--collect") ||
		!strings.Contains(program, " "+operation.DetachedVerb+" deploy ") ||
		strings.Contains(string(words), "hunter2") {
		t.Error(string(words))
	}
	if found := holding(t, root, "hunter2"); found != "" {
		t.Error(found)
	}
}
