package phases_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// kits are made once for each shape of a cluster, and so is a deploy for those that only begin with one.
var kits struct {
	sync.Mutex
	dir  string
	made map[phasestest.Shape]*kit
}

type kit struct {
	make     sync.Mutex
	dir      string
	kit      *phasestest.Kit
	deployed *phasestest.Lab
}

// kitOf is a shape's kit, its lock taken.
func kitOf(t testing.TB, s phasestest.Shape) *kit {
	t.Helper()
	kits.Lock()
	if kits.made == nil {
		dir, err := os.MkdirTemp("", "eggo-phases-")
		if err != nil {
			kits.Unlock()
			t.Fatal(err)
		}
		kits.dir, kits.made = dir, map[phasestest.Shape]*kit{}
	}
	k := kits.made[s]
	if k == nil {
		k = &kit{dir: filepath.Join(kits.dir, strconv.Itoa(len(kits.made)))}
		kits.made[s] = k
	}
	kits.Unlock()
	k.make.Lock()
	if k.kit == nil {
		var err error
		if err = os.MkdirAll(k.dir, 0o700); err == nil {
			k.kit, err = phasestest.NewKitOf(k.dir, s)
		}
		if err != nil {
			k.make.Unlock()
			t.Fatal(err)
		}
	}
	return k
}

func workers(n int) phasestest.Shape { return phasestest.Shape{Masters: 1, Workers: n} }

// newLab is one control plane and some workers, bare.
func newLab(t testing.TB, n int) *phasestest.Lab {
	t.Helper()
	return shaped(t, workers(n))
}

// shaped are bare machines for a cluster of a shape.
func shaped(t testing.TB, s phasestest.Shape) *phasestest.Lab {
	t.Helper()
	k := kitOf(t, s)
	k.make.Unlock()
	l, err := phasestest.NewLab(t.TempDir(), k.kit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// long is for tests that deploy clusters of several control planes, or again and again: make test-long runs them, after
// the others and without the race detector; make test does not. In .ci/run they take turns.
func long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
}

// deployed are the machines of a cluster after its deploy, for tests that begin there. Whoever needs the events of the
// deploy, or changes something before it, deploys.
func deployed(t testing.TB, s phasestest.Shape) *phasestest.Lab {
	t.Helper()
	k := kitOf(t, s)
	defer k.make.Unlock()
	if k.deployed == nil {
		l, err := phasestest.NewLab(filepath.Join(k.dir, "deployed"), k.kit)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		deploy(t, l)
		k.deployed = l
	}
	l, err := k.deployed.Copy(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func tree(t testing.TB, l *phasestest.Lab) map[string]string {
	t.Helper()
	m, err := l.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// book keeps the events of a run.
type book struct {
	mu  sync.Mutex
	all []event.Event
}

func (b *book) emit(e event.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, e)
	return nil
}

func of[E event.Event](b *book) []E {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []E
	for _, e := range b.all {
		if x, ok := e.(E); ok {
			out = append(out, x)
		}
	}
	return out
}

// notices are the keys of what was told.
func (b *book) notices() []string {
	var out []string
	for _, n := range of[event.Notice](b) {
		out = append(out, n.Text.Key)
	}
	return out
}

// findings are the codes of what preflight found.
func (b *book) findings() []string {
	var out []string
	for _, f := range of[event.Finding](b) {
		out = append(out, f.Fault.Code)
	}
	return out
}

// quick are the options of a run whose pauses between tries are short.
func quick(b *book) engine.Options {
	return engine.Options{Emit: b.emit, Limits: phases.Limits(),
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-time.After(min(d, 20*time.Millisecond)):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
}

func run(t testing.TB, l *phasestest.Lab, plan func(phases.Env) *engine.Plan) (*book, engine.Summary, error) {
	t.Helper()
	b := &book{}
	sum, err := engine.Run(t.Context(), plan(l.Env(b.emit)), quick(b))
	return b, sum, err
}

func deploy(t testing.TB, l *phasestest.Lab) *book {
	t.Helper()
	b, sum, err := run(t, l, phases.Deploy)
	if err != nil {
		t.Fatalf("deploy: %v\n%+v\nfindings %v", err, sum.Failed, of[event.Finding](b))
	}
	return b
}

func plain(e phases.Env) *engine.Plan { return phases.Cleanup(e, false) }
func purge(e phases.Env) *engine.Plan { return phases.Cleanup(e, true) }

func cleanup(t testing.TB, l *phasestest.Lab, plan func(phases.Env) *engine.Plan) *book {
	t.Helper()
	b, sum, err := run(t, l, plan)
	if err != nil {
		t.Fatalf("cleanup: %v\n%+v", err, sum.Failed)
	}
	return b
}

func TestDeployEndsWellAndASecondOneChangesNothing(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(2))
	after := tree(t, l)
	for _, unit := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
		"kube-proxy", "containerd"} {
		for _, n := range l.Cluster.Nodes {
			_, runs := after[n.Name+"/state/active/"+unit+".service"]
			everywhere := slices.Contains([]string{"kubelet", "kube-proxy", "containerd"}, unit)
			if runs != (everywhere || n.Name == "m1") {
				t.Errorf("%s on %s runs: %v", unit, n.Name, runs)
			}
		}
	}
	for p := range after {
		if strings.HasSuffix(p, "bootstrap-kubelet.conf") || strings.HasSuffix(p, ".eggo-part") ||
			strings.HasSuffix(p, ".eggo-new") || strings.HasSuffix(p, "images.tar") || strings.HasSuffix(p, ".deb") {
			t.Error("left over:", p)
		}
	}
	writes := l.API.Writes()
	b, sum, err := run(t, l, phases.Deploy)
	if err != nil {
		t.Fatal(err)
	}
	if changes := of[event.Change](b); len(changes) > 0 || len(sum.Changed) > 0 {
		t.Errorf("the second deploy changed %v: %+v", sum.Changed, changes)
	}
	if diff := cmp.Diff(after, tree(t, l)); diff != "" {
		t.Error("the second deploy changed files:", diff)
	}
	if more := l.API.Writes()[len(writes):]; len(more) > 0 {
		t.Error("the second deploy wrote to the API:", more)
	}
}

// leftovers are processes of the node's containerd, each a shim of a namespace. What is returned ends them, and says of
// each whether it was running still.
func leftovers(t *testing.T, n *phasestest.Node, namespaces ...string) func() []bool {
	t.Helper()
	all, pids := make([]*exec.Cmd, len(namespaces)), ""
	for i, ns := range namespaces {
		all[i] = &exec.Cmd{Path: "/bin/sh", Args: []string{"/usr/bin/containerd-shim-runc-v2", "-c", "read -r forever",
			"-namespace", ns, "-id", "5"}}
		_, err := all[i].StdinPipe()
		must(t, err)
		must(t, all[i].Start())
		pids += strconv.Itoa(all[i].Process.Pid) + "\n"
	}
	dir := n.Path("/sys/fs/cgroup/system.slice")
	put(t, filepath.Join(dir, "containerd.service", "cgroup.procs"), pids)
	return func() (ran []bool) {
		must(t, os.RemoveAll(dir))
		for _, p := range all {
			_ = p.Process.Signal(syscall.SIGTERM)
			err := p.Wait()
			var exit *exec.ExitError
			ran = append(ran, errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM)
		}
		return ran
	}
}

// kept says whether a plain cleanup leaves a path, with what is in it: the runtime's store, logs, and the record of
// these.
func kept(p string) bool {
	_, p, _ = strings.Cut(p, "/root")
	for _, k := range []string{"/var/lib/containerd", "/var/log/pods", "/var/log/containers", "/var/lib/eggo-node"} {
		if p == k || strings.HasPrefix(p, k+"/") {
			return true
		}
	}
	return false
}

func TestCleanupRestoresTheMachines(t *testing.T) {
	t.Parallel()
	before := tree(t, newLab(t, 1))
	l := deployed(t, workers(1))
	b := cleanup(t, l, plain)
	after := tree(t, l)
	maps.DeleteFunc(after, func(p, _ string) bool { return kept(p) })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("after cleanup:", diff)
	}
	if !slices.Contains(b.notices(), "notice.snapshot") || !slices.Contains(b.notices(), "notice.kept") {
		t.Error("told:", b.notices())
	}
	if files, err := filepath.Glob(filepath.Join(l.StateDir(), "snapshots", "*.db")); err != nil || len(files) != 1 {
		t.Error("snapshots:", files, err)
	} else if s, err := phases.ReadSnapshot(t.Context(), files[0]); err != nil || s.Revision != phasestest.Revision ||
		!slices.Equal(s.Members, []string{"m1"}) {
		t.Errorf("the snapshot is %+v, %v", s, err)
	}
	deploy(t, l) // beside what was kept, and with other certificates
	for _, what := range []string{"tasks", "containers"} {
		if err := os.WriteFile(l.Nodes["w1"].Path("/var/lib/containerd/"+what),
			[]byte("1sandbox\n2app\n3sandbox\n4app\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shims := leftovers(t, l.Nodes["w1"], "k8s.io", "moby")
	cleanup(t, l, purge)
	if _, err := os.Stat(l.Nodes["w1"].State("leaked-shim")); err == nil {
		t.Error("a sandbox was taken away before the pod's containers")
	}
	if ran := shims(); !slices.Equal(ran, []bool{false, true}) {
		t.Error("a shim without a task runs still, or one of others does not:", ran)
	}
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("after a purge:", diff)
	}
	if b := cleanup(t, l, purge); len(of[event.Change](b)) > 0 {
		t.Error("a third cleanup changed", of[event.Change](b))
	}
}
