package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// controlHost is a control host below a directory, with a server that is a process of its own.
type controlHost struct {
	t     *testing.T
	root  string
	place string // where commands are run
	cmd   *exec.Cmd
	out   lines
}

// lines is what a process has written, for who waits for some of it.
type lines struct{ come chan string }

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		l.come <- string(line)
	}
	return len(p), nil
}

func (h *controlHost) data() string { return filepath.Join(h.root, "var/lib/eggo-server") }

// start is systemctl start.
func (h *controlHost) start() *started {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	h.out = lines{make(chan string, 1024)}
	h.cmd = exec.CommandContext(h.t.Context(), self, "serve", "--listen", "127.0.0.1:0", "--data-dir", h.data(),
		"--state-dir", filepath.Join(h.root, "var/lib/eggo"), "--lang", "en")
	h.cmd.Stdout, h.cmd.Stderr = h.out, h.out
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	late := time.After(time.Minute)
	for {
		select {
		case line := <-h.out.come:
			if _, at, is := strings.Cut(strings.TrimSpace(line), "https://"); is {
				return &started{t: h.t, data: h.data(), url: "https://" + strings.TrimRight(at, "."),
					client: trusting(h.t, h.data()), end: func() int { h.stop(); return 0 }}
			}
		case <-late:
			h.t.Fatal("the server does not start")
		}
	}
}

// stop is systemctl stop.
func (h *controlHost) stop() {
	h.t.Helper()
	if h.cmd == nil {
		return
	}
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Wait(); err != nil {
		h.t.Fatal(err)
	}
	h.cmd = nil
}

// does runs a command of the manual; paths of the host are below its directory.
func (h *controlHost) does(command string) (s *started) {
	h.t.Helper()
	switch command {
	case "sudo systemctl stop eggo-server":
		h.stop()
	case "sudo systemctl start eggo-server":
		return h.start()
	default:
		command = strings.NewReplacer("-C / ", "-C "+h.root+" ", "cd / ", "cd "+h.root+" ", "/root/", h.place+"/").
			Replace(command)
		sh := exec.CommandContext(h.t.Context(), "/bin/sh", "-euc", "sudo() { \"$@\"; }\n"+command)
		sh.Dir = h.place
		if out, err := sh.CombinedOutput(); err != nil {
			h.t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	return nil
}

// known is what a server knows: users, clusters, what was done, and what the command line did.
func known(s *started, token string) map[string]string {
	out := map[string]string{}
	for _, path := range []string{"/clusters", "/users", "/tokens", "/clusters/rack/runs",
		"/audit?action=import-cluster"} {
		code, answer, _ := s.call(token, "GET", "/api/v1"+path, "")
		list, _ := answer["items"].([]any)
		words := []string{fmt.Sprint(code)}
		for _, x := range list {
			o, _ := x.(map[string]any)
			words = append(words, fmt.Sprint(o["id"], o["name"], o["created"], o["at"]))
		}
		out[path] = strings.Join(words, " ")
	}
	return out
}

// byTheCommandLine has a cluster in the state directory, as a deployment by eggo-tui leaves one.
func byTheCommandLine(t *testing.T, root, name string, change ...func(*config.Draft)) {
	t.Helper()
	d := config.Draft{
		Machines: []config.Machine{
			{Name: "m1", IP: "192.0.2.1", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}},
			{Name: "w1", IP: "192.0.2.2", Roles: []bundle.Role{bundle.Worker}}},
	}.WithValues(map[string]string{"cluster-id": name, "username": "root",
		config.BundleKey("amd64"): "/srv/bundle.tar.gz"})
	for _, f := range change {
		f(&d)
	}
	j, err := journal.Open(root, name)
	if err != nil {
		t.Fatal(err)
	}
	log, err := j.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus(time.Now, log)
	for _, e := range []event.Event{event.RunStarted{Cluster: name, Verb: "deploy"},
		event.RunEnded{Outcome: event.Changed}} {
		if err := bus.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := store.Dir{Root: root}.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.SaveConfig(t.Context(), d.YAML()); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
}

// kubeconfig is one of a cluster whose API server does not answer.
func (h *controlHost) kubeconfig() string {
	h.t.Helper()
	ca, err := os.ReadFile(filepath.Join(h.data(), "tls", "ca.crt")) // a CA, if not its own
	if err != nil {
		h.t.Fatal(err)
	}
	return "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: " +
		"{server: \"https://127.0.0.1:1\", certificate-authority-data: " + base64.StdEncoding.EncodeToString(ca) +
		"}}]\nusers: [{name: u, user: {token: t}}]\n"
}

// The server is backed up, and restored on another host, with the commands of the manual: it is the same server, to
// clients too, and nobody but root can read its files.
func TestTheServerIsBackedUpAndRestored(t *testing.T) {
	for _, page := range []string{"server.md", "zh/server.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		var blocks [][]string
		for _, block := range strings.Split(string(text), "\n\n") {
			if strings.HasPrefix(block, "    sudo systemctl stop eggo-server\n") {
				lines := strings.ReplaceAll(strings.TrimSpace(block), "\n    ", "\n")
				blocks = append(blocks, strings.Split(lines, "\n"))
			}
		}
		if len(blocks) != 2 {
			t.Fatalf("%s: %q", page, blocks)
		}
		place := t.TempDir()
		h := &controlHost{t: t, root: t.TempDir(), place: place}
		options := filepath.Join(h.root, "etc/default/eggo-server")
		if err := os.MkdirAll(filepath.Dir(options), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(options, []byte("EGGO_SERVER_OPTIONS=\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s := h.start()
		token := s.administrator()
		byTheCommandLine(t, filepath.Join(h.root, "var/lib/eggo"), "rack")
		if code, answer, _ := s.call(token, "POST", "/api/v1/clusters:import",
			fmt.Sprintf(`{"name":"far","kubeconfig":%q}`, h.kubeconfig())); code != 202 {
			t.Fatal(code, answer)
		}
		s.becomes(token, "/api/v1/clusters/rack", "there", func(map[string]any) bool { return true })
		before := known(s, token)
		var again *started
		for _, command := range blocks[0] {
			again = h.does(command)
		}
		if got := known(again, token); !maps.Equal(got, before) {
			t.Errorf("%s, after the backup: %q, want %q", page, got, before)
		}
		h.stop()
		other := &controlHost{t: t, root: t.TempDir(), place: place}
		for _, command := range blocks[1] {
			again = other.does(command)
		}
		again.client = s.client // it trusts the CA that was there before
		if got := known(again, token); !maps.Equal(got, before) {
			t.Errorf("%s, restored: %q, want %q", page, got, before)
		}
		other.stop()
		for name, want := range map[string]os.FileMode{"var/lib/eggo-server/server.db": 0o600,
			"var/lib/eggo-server/tls/server.key": 0o600, "var/lib/eggo-server/clusters/far/kubeconfig": 0o600,
			"var/lib/eggo/rack": os.ModeDir | 0o700, "etc/default/eggo-server": 0o644} {
			if info, err := os.Stat(filepath.Join(other.root, name)); err != nil || info.Mode() != want {
				t.Errorf("%s: %s %v %v", page, name, info, err)
			}
		}
		if info, err := os.Stat(filepath.Join(place, "eggo-server.tar.gz")); err != nil || info.Mode() != 0o600 {
			t.Error(page, info, err)
		}
	}
}

// What the command line made appears by itself, with what can be asked for of a cluster: nobody imports it.
func TestAClusterOfTheCommandLineAppears(t *testing.T) {
	state := t.TempDir()
	s := start(t, t.TempDir(), state)
	defer s.end()
	token := s.administrator()
	if code, _, _ := s.call(token, "GET", "/api/v1/clusters/rack", ""); code != 404 {
		t.Fatal(code)
	}
	byTheCommandLine(t, state, "rack")
	got := s.becomes(token, "/api/v1/clusters/rack", "there", func(map[string]any) bool { return true })
	nodes, _ := got["nodes"].([]any)
	if got["state"] != "Connecting" || len(nodes) != 2 { // no API server answers
		t.Errorf("%v", got)
	}
	for path, want := range map[string]int{"/runs": 200, "/backups": 200, "/snapshots": 200, "/health/history": 200,
		"/certificates": 422, "/nodes": 503, "/kubeconfig": 404} {
		if code, answer, _ := s.call(token, "GET", "/api/v1/clusters/rack"+path, ""); code != want {
			t.Errorf("%s: %d %v, want %d", path, code, answer, want)
		}
	}
	_, runs, _ := s.call(token, "GET", "/api/v1/clusters/rack/runs", "")
	list, _ := runs["items"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["status"] != "done" {
		t.Errorf("%v", runs)
	}
	if code, answer, _ := s.call(token, "POST", "/api/v1/clusters:import", `{"name":"rack"}`); code != 409 {
		t.Error(code, answer)
	}
}
