package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// server is eggo-server as a process, and an administrator who calls it.
type server struct {
	*stand.Stand
	t       *testing.T
	address string
	data    string
	token   string
	admin   string   // the token of the administrator, while another one calls
	args    []string // more of serve
	client  *http.Client
	process *exec.Cmd
	said    bytes.Buffer // all answers
}

// atWork starts a server on the stand's state directory, and sets it up.
func atWork(t *testing.T, s *stand.Stand, args ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, "port", err)
	v := &server{Stand: s, t: t, address: l.Addr().String(), data: t.TempDir(), args: args}
	must(t, "port", l.Close())
	v.start()
	t.Cleanup(v.kill)
	setup, err := os.ReadFile(filepath.Join(v.data, "setup-token"))
	must(t, "setup token", err)
	v.setUp(string(setup))
	return v
}

// start has the server run, and waits until it answers.
func (v *server) start() {
	v.t.Helper()
	out, err := os.OpenFile(filepath.Join(v.data, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(v.t, "log", err)
	defer out.Close()
	v.process = exec.Command(v.Program("eggo-server"), append([]string{"serve", "--listen", v.address, "--data-dir",
		v.data, "--state-dir", v.State()}, v.args...)...)
	v.process.Stdout, v.process.Stderr = out, out
	must(v.t, "eggo-server", v.process.Start())
	v.answers(func(context.Context) ([]byte, error) { return os.ReadFile(filepath.Join(v.data, "tls", "ca.crt")) })
}

// answers waits until the server answers, whose CA is read by ca.
func (v *server) answers(ca func(context.Context) ([]byte, error)) {
	v.t.Helper()
	must(v.t, "eggo-server", stand.Until(v.t.Context(), time.Minute, "the server answers",
		func(ctx context.Context) error {
			pem, err := ca(ctx)
			if err != nil {
				return err
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(pem)
			v.client = &http.Client{Timeout: time.Minute,
				Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
			q, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+v.address+"/readyz", nil)
			if err != nil {
				return err
			}
			res, err := v.client.Do(q)
			if err == nil {
				err = res.Body.Close()
			}
			return err
		}))
}

// setUp creates the administrator, and an API token for the calls that follow.
func (v *server) setUp(setup string) {
	v.t.Helper()
	var who struct{ Token string }
	cookie := v.call("POST", "/setup", map[string]any{"token": strings.TrimSpace(setup), "name": "ann",
		"password": "a long enough passphrase"}, 200, nil).Get("Set-Cookie")
	cookie, _, _ = strings.Cut(cookie, ";")
	v.token = "cookie " + cookie
	v.call("POST", "/tokens", map[string]any{"name": "e2e", "role": "admin",
		"ends": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)}, 201, &who)
	v.token = who.Token
}

// kill ends the server as a power cut does.
func (v *server) kill() {
	_ = v.process.Process.Signal(syscall.SIGKILL)
	_ = v.process.Wait()
}

// call wants a status, and decodes what is answered.
func (v *server) call(method, path string, body any, want int, into any) http.Header {
	v.t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		must(v.t, path, err)
	}
	q, err := http.NewRequestWithContext(v.t.Context(), method, "https://"+v.address+"/api/v1"+path,
		bytes.NewReader(text))
	must(v.t, path, err)
	if cookie, is := strings.CutPrefix(v.token, "cookie "); is {
		q.Header.Set("Cookie", cookie)
	} else if v.token != "" {
		q.Header.Set("Authorization", "Bearer "+v.token)
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	res, err := v.client.Do(q)
	must(v.t, path, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must(v.t, path, err)
	v.said.Write(answer)
	v.Say("%s %s: %d", method, path, res.StatusCode)
	if res.StatusCode != want {
		v.t.Fatalf("%s %s: %d, want %d\n%s", method, path, res.StatusCode, want, answer)
	}
	if into != nil {
		must(v.t, path, json.Unmarshal(answer, into))
	}
	return res.Header
}

// refused wants a status and a code, of the answer or of one of the errors in it.
func (v *server) refused(method, path string, body any, want int, code string) {
	v.t.Helper()
	var p struct {
		Code   string
		Errors []struct{ Code string }
	}
	v.call(method, path, body, want, &p)
	for _, e := range p.Errors {
		if e.Code == code {
			return
		}
	}
	if p.Code != code {
		v.t.Errorf("%s %s is refused by %+v, not by %s", method, path, p, code)
	}
}

// seen is a cluster as the server shows it.
type seen struct {
	State     string
	Operation *struct {
		Kind string
		Runs []string
	}
	Fault *struct{ Code, Detail string }
}

func (v *server) cluster(name string) (is seen) {
	v.t.Helper()
	v.call("GET", "/clusters/"+name, nil, 200, &is)
	return is
}

// awaits waits until the cluster has a state.
func (v *server) awaits(name, state string, limit time.Duration) {
	v.t.Helper()
	began := time.Now()
	must(v.t, state, stand.Until(v.t.Context(), limit, name+" is "+state, func(context.Context) error {
		if is := v.cluster(name); is.State != state {
			return fmt.Errorf("%+v", is)
		}
		return nil
	}))
	v.Say("%s is %s after %s", name, state, time.Since(began).Round(time.Second))
}

// rests waits until the cluster is Running and nothing is in progress: a snapshot leaves it Running meanwhile.
func (v *server) rests(name string, limit time.Duration) {
	v.t.Helper()
	must(v.t, name, stand.Until(v.t.Context(), limit, name+" is Running, and nothing is in progress",
		func(context.Context) error {
			if is := v.cluster(name); is.State != "Running" || is.Operation != nil {
				return fmt.Errorf("%+v", is)
			}
			return nil
		}))
}

// changing waits until the operation in progress has changed something on a node.
func (v *server) changing(name string) {
	v.t.Helper()
	must(v.t, "a change", stand.Until(v.t.Context(), 5*time.Minute, "a node is changed", func(context.Context) error {
		is := v.cluster(name)
		if is.Operation == nil || len(is.Operation.Runs) == 0 {
			return fmt.Errorf("%+v", is)
		}
		runs, err := stand.Runs(v.State(), name)
		if err == nil && changes(runs[len(runs)-1:]) == 0 {
			err = fmt.Errorf("nothing was changed")
		}
		return err
	}))
}

// killedIn kills the server while the cluster is in a state, and wants it to be in that state again afterwards, with
// the same run, or to have left it in the way of one that was not killed.
func (v *server) killedIn(name, state string, next ...string) {
	v.t.Helper()
	was := v.cluster(name)
	if was.State != state {
		v.t.Fatalf("%s is %+v, want %s", name, was, state)
	}
	v.Say("== the server is killed while %s is %s", name, state)
	v.kill()
	v.start()
	is := v.cluster(name)
	if !strings.Contains(" "+strings.Join(append(next, state), " ")+" ", " "+is.State+" ") {
		v.t.Errorf("%s is %+v, and was %s", name, is, state)
	}
	if was.Operation != nil && is.Operation != nil && !slices.Equal(was.Operation.Runs, is.Operation.Runs) &&
		is.State == state {
		v.t.Errorf("%s has the runs %q, and had %q", name, is.Operation.Runs, was.Operation.Runs)
	}
}

// strays lists the processes that logins have left, wherever their parents are now, but for this one.
const strays = `me=" $$ "; p=$PPID
while [ "$p" -gt 1 ]; do me="$me$p "; p=$(awk '/^PPid/ {print $2}' /proc/$p/status); done
for d in /proc/[0-9]*; do
	p=${d#/proc/}
	case $me in *" $p "*) continue ;; esac
	grep -qE '/ssh\.service|/session-[0-9c]+\.scope' $d/cgroup 2>/dev/null || continue
	case $(tr '\0' ' ' 2>/dev/null <$d/cmdline) in *'[listener]'*|'') continue ;; esac
	[ "$(awk '/^PPid/ {print $2}' $d/status 2>/dev/null)" = $$ ] || echo "$p $(tr '\0' ' ' <$d/cmdline)"
done`

// idle wants no process of a run to be left on the nodes.
func (v *server) idle(nodes ...string) {
	v.t.Helper()
	for _, n := range nodes {
		must(v.t, n, stand.Until(v.t.Context(), 30*time.Second, "nothing of the run is left on "+n,
			func(ctx context.Context) error {
				out, err := v.Lab.Run(ctx, n, strays)
				if err == nil && strings.TrimSpace(out) != "" {
					err = fmt.Errorf("%s", out)
				}
				return err
			}))
	}
}

// findsStrays wants a process that a login left behind to be found.
func (v *server) findsStrays(node string) {
	v.t.Helper()
	pid, err := v.Lab.Run(v.t.Context(), node, "setsid sleep 4321 >/dev/null 2>&1 </dev/null & echo $!")
	must(v.t, "a process that stays", err)
	out, err := v.Lab.Run(v.t.Context(), node, strays)
	must(v.t, "strays", err)
	if !strings.Contains(out, "sleep 4321") {
		v.t.Errorf("a process that a login left on %s is not found: %q", node, out)
	}
	_, err = v.Lab.Run(v.t.Context(), node, "pkill -x -f 'sleep 4321'; true")
	must(v.t, "the end of "+pid, err)
}

// create begins a cluster of these nodes.
func (v *server) create(name string, nodes []any, more map[string]any) {
	v.t.Helper()
	key, err := os.ReadFile(v.Lab.IdentityFile())
	must(v.t, "key", err)
	known, err := os.ReadFile(v.Lab.KnownHosts())
	must(v.t, "known hosts", err)
	body := map[string]any{"name": name, "server_address": "192.0.2.250", "domain": "cluster.local",
		"ssh":     map[string]any{"user": "root", "key": string(key), "known_hosts": string(known)},
		"bundles": map[string]any{runtime.GOARCH: v.Bundle}, "nodes": nodes,
		"options": map[string]any{"allow_unsigned": true}}
	maps.Copy(body, more)
	v.call("POST", "/clusters", body, http.StatusAccepted, nil)
}

// node is one as a request has it.
func (v *server) node(name string, roles ...string) map[string]any {
	return map[string]any{"name": name, "address": address(v.t, v.Stand, name), "roles": roles}
}

// TestServerKilled: the server is killed while it creates a cluster, and while the cluster runs.
func TestServerKilled(t *testing.T) {
	s := newLab(t, 1)
	before := untouched(t, s, 1)
	v := atWork(t, s, "--shared-roles")
	v.create("one", []any{v.node("n1", "controlplane", "etcd", "worker")}, nil)
	v.changing("one")
	v.killedIn("one", "Creating")
	v.awaits("one", "Running", 15*time.Minute)
	v.killedIn("one", "Running", "Connecting")
	v.awaits("one", "Running", time.Minute)
	nothingHalfDone(t, s, 1)
	v.call("DELETE", "/clusters/one?purge=true", nil, http.StatusAccepted, nil)
	v.gone()
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// gone waits until the server has no cluster any more.
func (v *server) gone() {
	v.t.Helper()
	must(v.t, "the end", stand.Until(v.t.Context(), 10*time.Minute, "the cluster is gone", func(context.Context) error {
		var list struct{ Items []seen }
		v.call("GET", "/clusters", nil, 200, &list)
		if len(list.Items) > 0 {
			return fmt.Errorf("%+v", list)
		}
		return nil
	}))
}

// TestServer: a cluster's life by REST. The server is killed in every state that lasts, and what it was is so
// afterwards; the command line works on the same cluster; what the rules forbid is refused; nothing is left.
func TestServer(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	before := untouched(t, s, 3)
	v := atWork(t, s)
	key, err := os.ReadFile(s.Lab.IdentityFile())
	must(t, "key", err)
	two := []any{v.node("n1", "controlplane", "etcd"), v.node("n2", "worker")}
	three := append(two[:2:2], v.node("n3", "worker"))

	s.Say("== create")
	v.create("rest", two, nil)
	v.changing("rest")
	v.killedIn("rest", "Creating")
	if got := try(t, s, 11, "deploy", "--id", "rest"); got.Has("lock.cluster-held") != nil {
		t.Errorf("a deploy beside it is not refused:\n%s", tail(got.Out, 10))
	}
	v.awaits("rest", "Running", 15*time.Minute)
	v.killedIn("rest", "Running", "Connecting")
	v.awaits("rest", "Running", time.Minute)
	s.Admin = "n1"

	s.Say("== a worker is added")
	v.call("PUT", "/clusters/rest", map[string]any{"nodes": three}, 202, nil)
	v.refused("PUT", "/clusters/rest", map[string]any{"nodes": two}, 409, "manager.busy")
	v.changing("rest")
	v.killedIn("rest", "Updating")
	v.awaits("rest", "Running", 15*time.Minute)
	must(t, "workload", s.StartWorkload(t.Context()))
	must(t, "use", s.Works(t.Context(), 3))
	v.refused("PUT", "/clusters/rest", map[string]any{"nodes": []any{v.node("n1", "controlplane"),
		v.node("n2", "worker"), v.node("n3", "worker", "etcd")}}, 422, "profile.kept")
	try(t, s, 0, "status", "--id", "rest")
	v.commandLine("rest", two)
	v.onlySSH("rest")

	s.Say("== its API server is off")
	_, err = s.Lab.Run(t.Context(), "n1", "systemctl stop kube-apiserver")
	must(t, "stop", err)
	v.awaits("rest", "Unreachable", 2*time.Minute)
	v.killedIn("rest", "Unreachable", "Connecting")
	v.killedIn("rest", "Connecting")
	_, err = s.Lab.Run(t.Context(), "n1", "systemctl start kube-apiserver")
	must(t, "start", err)
	v.awaits("rest", "Running", 3*time.Minute)

	s.Say("== renewed, canceled, continued")
	v.call("POST", "/clusters/rest/renew", map[string]any{}, 202, nil)
	v.changing("rest")
	v.call("POST", "/clusters/rest/cancel", nil, 202, nil)
	v.killedIn("rest", "Canceling", "Unavailable")
	v.awaits("rest", "Unavailable", 5*time.Minute)
	v.idle("n1", "n2", "n3")
	v.killedIn("rest", "Unavailable")
	v.call("POST", "/clusters/rest/continue", nil, 202, nil)
	v.awaits("rest", "Running", 15*time.Minute)
	must(t, "use", s.Works(t.Context(), 3))

	s.Say("== a kubeconfig, and what the server keeps")
	v.call("POST", "/clusters/rest/kubeconfig", map[string]any{}, 200, nil)
	v.keepsSecrets("rest", string(key))

	s.Say("== a worker is removed")
	v.call("PUT", "/clusters/rest?purge=true", map[string]any{"nodes": two}, 202, nil)
	v.awaits("rest", "Running", 15*time.Minute)
	same(t, before[2:], func() []lab.Snapshot { return snapshots(t, s, 3)[2:] })
	if out, err := s.Kubectl(t.Context(), "get", "nodes", "-o", "name"); err != nil || out != "node/n1\nnode/n2\n" {
		t.Errorf("the nodes are %q %v", out, err)
	}
	_, err = s.Kubectl(t.Context(), "rollout", "status", "deployment/web", "--timeout=180s")
	must(t, "use", err)

	s.Say("== delete")
	v.call("DELETE", "/clusters/rest?purge=true", nil, 202, nil)
	v.changing("rest")
	v.killedIn("rest", "Destroy")
	v.gone()
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}
