package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// patience is how long a server may take until all of its clusters are ready.
const patience = 5 * time.Minute

func cluster(i int) string { return fmt.Sprintf("c%04d", i) }

// world is a server of its own process, over clusters whose API servers this process answers for.
type world struct {
	state, url, token string
	client            *http.Client
	kube              *httptest.Server
	cmd               *exec.Cmd
	ready             time.Duration // from the start of the program until all clusters were ready
}

// start fills a directory with clusters, starts a server on it, and waits until all are ready.
func start(ctx context.Context, dir, program string, n int) (w *world, err error) {
	w = &world{state: filepath.Join(dir, "state")}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	w.kube = httptest.NewUnstartedServer(http.HandlerFunc(func(o http.ResponseWriter, _ *http.Request) {
		_, _ = o.Write([]byte("ok"))
	}))
	w.kube.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that end with the server
	w.kube.StartTLS()
	for i := range n {
		if err := w.install(ctx, cluster(i)); err != nil {
			return w, err
		}
	}
	began := time.Now()
	data := filepath.Join(dir, "data")
	w.cmd = exec.CommandContext(ctx, program, "serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--state-dir",
		w.state)
	w.cmd.Stderr = os.Stderr
	w.cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		w.cmd = nil
		return w, err
	}
	lines := bufio.NewScanner(out)
	for w.url == "" && lines.Scan() {
		if i := strings.Index(lines.Text(), "https://"); i >= 0 {
			w.url = strings.TrimRight(strings.Fields(lines.Text()[i:])[0], ".")
		}
	}
	if w.url == "" || !lines.Scan() { // the line that names the setup token
		return w, errors.New("the server does not say where it is")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := w.login(ctx, data); err != nil {
		return w, err
	}
	return w, w.wait(ctx, n, began)
}

// install has a cluster of three nodes in the state directory, with the log of a deploy.
func (w *world) install(ctx context.Context, name string) error {
	d := config.Draft{}.WithValues(map[string]string{"cluster-id": name, "username": "root",
		config.BundleKey("amd64"): "/srv/bundle-amd64.tar.gz"})
	for i, role := range []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Worker} {
		m := config.Machine{Name: fmt.Sprintf("n%d", i+1), IP: fmt.Sprintf("192.0.2.%d", i+1),
			Roles: []bundle.Role{role}}
		if i == 0 {
			m.Roles = append(m.Roles, bundle.Etcd)
		}
		d.Machines = append(d.Machines, m)
	}
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: w.kube.Certificate().Raw}))
	text := fmt.Sprintf("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}]\n"+
		"users: [{name: u, user: {token: t}}]\n", w.kube.URL, ca)
	dir := filepath.Join(w.state, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "admin.conf"), []byte(text), 0o600); err != nil {
		return err
	}
	files, err := store.Dir{Root: w.state}.Open(ctx, name)
	if err != nil {
		return err
	}
	if err := errors.Join(files.SaveConfig(ctx, d.YAML()), files.Close()); err != nil {
		return err
	}
	run, err := files.Journal().NewRun("deploy", time.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	bus := event.NewBus(nil, run)
	return errors.Join(bus.Emit(event.RunStarted{Run: run.ID(), Cluster: name, Verb: "deploy"}), bus.Emit(plan(3)),
		bus.Emit(event.RunEnded{Outcome: event.Changed}), run.Close())
}

// login makes the administrator, and a token.
func (w *world) login(ctx context.Context, data string) error {
	ca, err := os.ReadFile(filepath.Join(data, "tls", "ca.crt"))
	if err != nil {
		return err
	}
	setup, err := os.ReadFile(filepath.Join(data, "setup-token"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}}
	var out struct{ Token string }
	header, err := w.call(ctx, "/api/v1/setup", map[string]string{"token": strings.TrimSpace(string(setup)),
		"name": "bench", "password": "a long enough passphrase"}, "", nil)
	if err != nil {
		return err
	}
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	_, err = w.call(ctx, "/api/v1/tokens", map[string]string{"name": "bench", "role": "admin",
		"ends": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)}, cookie, &out)
	w.token = out.Token
	return err
}

func (w *world) call(ctx context.Context, path string, body any, cookie string, into any) (http.Header, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Cookie", cookie)
	res, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s: %s", path, res.Status)
	}
	if into != nil {
		err = json.NewDecoder(res.Body).Decode(into)
	}
	return res.Header, err
}

// wait waits until so many clusters are ready, as the metrics have them.
func (w *world) wait(ctx context.Context, n int, began time.Time) error {
	for time.Since(began) < patience && ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/metrics", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+w.token)
		res, err := w.client.Do(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return err
		}
		if strings.Count(string(text), `state="Running"} 1`) >= n {
			w.ready = time.Since(began)
			return nil
		}
		sleep(ctx, 500*time.Millisecond)
	}
	return fmt.Errorf("not all of %d clusters are ready after %s", n, patience)
}

// cpu is what the server has used so far.
func (w *world) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * time.Second / 100 // the kernel's USER_HZ
}

// memory is what the server has resident, in megabytes.
func (w *world) memory() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib * 1024 / 1e6
}

// close ends the server. What it says of its end is no result.
func (w *world) close() error {
	if w.cmd != nil {
		_ = w.cmd.Process.Signal(syscall.SIGTERM)
		_ = w.cmd.Wait()
		w.cmd = nil
	}
	if w.kube != nil {
		w.kube.CloseClientConnections()
		w.kube.Close()
	}
	return nil
}

// journalOf opens the runs of a cluster, with its lock.
func (w *world) journalOf(name string) (*journal.Cluster, *journal.Lock, error) {
	j, err := journal.Open(w.state, name)
	if err != nil {
		return nil, nil, err
	}
	lock, err := j.Lock(journal.Holder{PID: os.Getpid(), User: "root", Host: "bench", Verb: "deploy",
		Since: time.Now()})
	return j, lock, err
}
