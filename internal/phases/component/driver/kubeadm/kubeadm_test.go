package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/binary"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// made is the driver of a run that knows its nodes and certificates, for a deploy.yaml with more keys.
func made(t *testing.T, more string) *Kubeadm {
	t.Helper()
	c, ps := config.Load([]byte("cluster-id: mine\nmasters: [{name: m1, ip: 192.0.2.11}]\nnodes: [{name: w1, ip: "+
		"192.0.2.21}]\netcds: [{name: m1, ip: 192.0.2.11}, {name: e1, ip: 192.0.2.31}]\n"+
		"package-src: {x86src: /b.tar.gz}\neggo: {driver: kubeadm}\n"+more), "deploy.yaml")
	if c == nil {
		t.Fatal(ps)
	}
	e := &input.Env{Cluster: c, Now: time.Now, StateDir: t.TempDir(), Emit: func(event.Event) error { return nil }}
	p := &payload.Payload{Nodes: inventory.New(e, facts.Places{}), Executed: Executes}
	services := &binary.Binary{Env: e, Payload: p, Certs: certs.New(e), Rolling: rolling.New(),
		RuntimeUnit: "containerd.service"}
	m := nodestest.Manifest()
	m.Members = append(m.Members, bundle.Member{Path: "kubeadm", Kind: bundle.Binary, Name: "kubeadm",
		Dst: "/usr/local/bin", Roles: []bundle.Role{bundle.ControlPlane}, SHA256: strings.Repeat("a", 64)})
	for _, name := range []string{"etcd:3.6.5-0", "kube-apiserver:v1.34.2", "kube-controller-manager:v1.34.2",
		"kube-scheduler:v1.34.2", "kube-proxy:v1.34.2"} {
		m.Images = append(m.Images, bundle.Image{Name: "registry.example.com/k8s/" + name, Digest: "sha256:dd"})
	}
	services.SetBundle("amd64", nodestest.Box{Is: m})
	for _, n := range c.Nodes {
		services.SetFact(n.Name, nodestest.Good(n))
	}
	services.Use(&pki.PKI{Nodes: map[string]pki.Node{}})
	return New(services, &clients.Clients{Env: e, Nodes: p.Nodes, Certs: services.Certs})
}

// named is a node of the cluster.
func (r *Kubeadm) named(name string) config.Node {
	return r.Cluster.Nodes[slices.IndexFunc(r.Cluster.Nodes, func(n config.Node) bool { return n.Name == name })]
}

// machine runs scripts in a directory that stands for its own.
type machine struct {
	node.Host
	dir string
	mu  sync.Mutex
}

func (*machine) Name() string { return "m1" }

func (*machine) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("refused")
}

func (m *machine) at(p string) string { return filepath.Join(m.dir, p) }

func (m *machine) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	script := c.Script
	for _, p := range []string{"/etc/kubernetes", "/var/lib/eggo-node", "/var/lib/etcd", "/var/lib/kubelet",
		"/opt/eggo", "/var/log/pods"} {
		script = strings.ReplaceAll(script, p, m.at(p))
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", "sync() { :; }\n"+script)
	cmd.Stdin = bytes.NewReader(c.Stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	r := shell.Result{Stdout: out.Bytes(), Stderr: stderr.Bytes()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Status, err = exit.ExitCode(), nil
	}
	return r, err
}

// kubeadmFake writes a manifest with the revision of the configuration, and what patches say.
const kubeadmFake = `#!/bin/sh
if [ "$3" = addon ]; then
  printf 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: "%s"}\n' "$(env | grep -i _proxy)"
  exit
fi
name=kube-$4; [ "$3" != etcd ] || name=etcd
echo "$*" >>"$KUBEADM_INIT_DRYRUN_DIR/../asked"
while [ "$1" != --config ]; do shift; done
[ "$(grep -c kind: "$2")" = 2 ] || exit 1
d=$(sed -n 's/^ *directory: //p' "$2")
{
  echo metadata:
  echo "    image: x/$name:1"
  grep -A1 EGGO_REVISION "$2"
  env | grep -i _proxy
  [ -z "$d" ] || cat "@@$d"/*
} >"$KUBEADM_INIT_DRYRUN_DIR/$name.yaml"
`

// newMachine has kubeadm and the directories that are made before; its kubelet runs what the manifests say.
func newMachine(t *testing.T, program string) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	for p, text := range map[string]string{program: kubeadmFake, "/etc/kubernetes/x": "", "/var/lib/etcd/x": "",
		"/var/lib/eggo-node/x": ""} {
		if err := os.MkdirAll(filepath.Dir(m.at(p)), 0o700); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "@@", m.dir) // what stands in a file is the node's own path
		if err := os.WriteFile(m.at(p), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// process is one whose executable has the name of a component, with its revision; the function ends it.
func process(t *testing.T, name, revision string) func() {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), file, "600")
	cmd.Env = []string{"A=b", revisionName + "=" + revision}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	end := func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	t.Cleanup(end)
	return end
}

// scheduler is the static pod of the scheduler on a machine.
func scheduler(t *testing.T, r *Kubeadm, nd *node.Node) *pod {
	t.Helper()
	p, err := r.pod(driver.Scheduler, r.named("m1"), nd)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wants(t *testing.T, what string, want bool, ask func(context.Context) (bool, error)) {
	t.Helper()
	if is, err := ask(t.Context()); err != nil || is != want {
		t.Fatalf("%s: %v, want %v; %v", what, is, want, err)
	}
}

// TestAStaticPodFromItsManifestToItsEnd: the manifest is made beside the one that the kubelet has, takes its place at
// once, and what runs is known by its revision; a changed argument is another one. What is stopped stays so until it is
// resumed.
func TestAStaticPodFromItsManifestToItsEnd(t *testing.T) {
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	nd := node.New(m, r.Emit)
	p := scheduler(t, r, nd)
	wants(t, "nothing was made", false, p.Current)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(p.Prepare(t.Context()))
	if _, err := os.Stat(m.at(manifest(p.c))); err == nil {
		t.Fatal("the kubelet has the manifest already")
	}
	must(p.Restart(t.Context()))
	wants(t, "no process", false, p.Current)
	end := process(t, "kube-scheduler", p.revision)
	wants(t, "it runs", true, p.Current)
	wants(t, "it runs", true, func(ctx context.Context) (bool, error) { return r.Runs(ctx, nd, driver.Scheduler) })

	other := made(t, "config-extra-args: [{name: kube-scheduler, extra-args: [--kube-api-qps=99]}]\n")
	next := scheduler(t, other, nd)
	wants(t, "another argument", false, next.Current)
	wants(t, "the old one runs", true, next.Runs)
	must(next.Prepare(t.Context()))
	must(next.Restart(t.Context()))
	if text, err := os.ReadFile(m.at(ownDir + "/kube-scheduler.before")); err != nil ||
		!strings.Contains(string(text), p.revision) {
		t.Errorf("the manifest of before is not kept: %s %v", text, err)
	}
	wants(t, "both run", false, func(ctx context.Context) (bool, error) {
		defer process(t, "kube-scheduler", next.revision)()
		return next.Current(ctx)
	})
	end()
	end = process(t, "kube-scheduler", next.revision)
	wants(t, "the new one runs", true, next.Current)

	stop := func(script string) {
		t.Helper()
		_, err := nd.Change(t.Context(), node.Change{Desc: event.M("change.static-pod"), Script: script})
		must(err)
	}
	stopped := func(ctx context.Context) (bool, error) { return r.Stopped(ctx, nd, driver.Scheduler) }
	wants(t, "it is not stopped", false, stopped)
	end() // as the kubelet does when it sees the manifest go
	stop(r.Stop(driver.Scheduler))
	wants(t, "it is stopped", true, stopped)
	stop(r.Resume(driver.Scheduler))
	wants(t, "it may run", false, stopped)
	process(t, "kube-scheduler", next.revision)
	wants(t, "as it was", true, next.Current)
	stop(r.Stale(driver.Scheduler))
	wants(t, "it is to be restarted", false, next.Current)

	must(os.WriteFile(m.at(manifest(p.c)), []byte("by hand"), 0o600))
	must(os.WriteFile(m.at("/var/lib/eggo-node/applied/kube-scheduler"), []byte(next.revision+"\n"), 0o600))
	wants(t, "somebody has changed the manifest", false, next.Current)
}

// TestAPodThatDoesNotComeUp: the fault has the last words of the component.
func TestAPodThatDoesNotComeUp(t *testing.T) {
	r := made(t, "")
	n := r.named("m1")
	m := newMachine(t, r.Binaries(n, Program)[0].File)
	nd := node.New(m, r.Emit)
	log := m.at("/var/log/pods/kube-system_kube-scheduler-m1_1/kube-scheduler/0.log")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte("2026-11-26T00:00:00Z stderr F no such flag\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, ready := range map[string]driver.Ready{
		"component.not-started":   r.then(driver.Scheduler, n, func(context.Context, *node.Node) error { return nil }),
		"component.pod-unhealthy": r.answers(driver.Scheduler, "https://127.0.0.1:10259/healthz"),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := ready(ctx, nd)
		cancel()
		if f := event.AsFault(err); f == nil || f.Code != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
	if said := r.Log(t.Context(), nd, driver.Scheduler); said != "no such flag" {
		t.Errorf("%q", said)
	}
}
