package phases_test

import (
	stdcmp "cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/phasestest"
)

func script(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	put(t, path, text)
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// What would run as root has to be the caller's own and nobody else's to write.
func TestWhichHooksAreTaken(t *testing.T) {
	dir := t.TempDir()
	good := script(t, dir, "a.sh", "true\n", 0o750)
	link := filepath.Join(dir, "link.sh")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	several := filepath.Join(dir, "several")
	script(t, several, "20.bash", "two\n", 0o700)
	script(t, several, "10.sh", "one\n", 0o750)
	mixed := filepath.Join(dir, "mixed")
	script(t, mixed, "10.sh", "one\n", 0o750)
	script(t, mixed, "README", "words\n", 0o640)
	open := filepath.Join(dir, "open")
	script(t, open, "10.sh", "one\n", 0o750)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind       string
		flag, code string
		names      string
		role       bundle.Role
	}{
		"a file":           {"", good, "", "a.sh", bundle.ControlPlane},
		"for workers":      {"", good + ",worker", "", "a.sh", bundle.Worker},
		"for etcd":         {"", good + ",etcd", "", "a.sh", bundle.Etcd},
		"a directory":      {"", several, "", "10.sh 20.bash", bundle.ControlPlane},
		"another role":     {"", good + ",boss", "hook.role", "", ""},
		"relative":         {"", "a.sh", "hook.path", "", ""},
		"absent":           {"", filepath.Join(dir, "b.sh"), "hook.unreadable", "", ""},
		"a link":           {"", link, "hook.not-regular", "", ""},
		"others write":     {"", script(t, dir, "w.sh", "true\n", 0o777), "hook.mode", "", ""},
		"the group writes": {"", script(t, dir, "g.sh", "true\n", 0o770), "hook.mode", "", ""},
		"others read":      {"", script(t, dir, "r.sh", "true\n", 0o755), "hook.mode", "", ""},
		"owner alone":      {"", script(t, dir, "o.sh", "true\n", 0o600), "", "o.sh", bundle.ControlPlane},
		"nothing in it":    {"", script(t, dir, "n.sh", "", 0o750), "hook.size", "", ""},
		"1 MiB": {"", script(t, dir, "m.sh", strings.Repeat("#", 1<<20), 0o750), "", "m.sh",
			bundle.ControlPlane},
		"more than 1 MiB":    {"", script(t, dir, "l.sh", strings.Repeat("#", 1<<20+1), 0o750), "hook.size", "", ""},
		"another ending":     {"", script(t, dir, "x.py", "true\n", 0o750), "hook.name", "", ""},
		"a name with words":  {"", script(t, dir, "a b.sh", "true\n", 0o750), "hook.name", "", ""},
		"more than scripts":  {"", mixed, "hook.name", "", ""},
		"an open directory":  {"", open, "hook.mode", "", ""},
		"an empty one":       {"", empty, "hook.empty", "", ""},
		"of a join":          {phases.PreHook, good, "", "a.sh", ""},
		"of workers that go": {phases.PostHook, good + ",worker", "", "a.sh", bundle.Worker},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := phases.LoadHooks(stdcmp.Or(c.kind, phases.ClusterPreHook), c.flag)
			if c.code != "" {
				if f := event.AsFault(err); f == nil || f.Code != c.code || f.Class != event.ClassUsage {
					t.Errorf("%v, want %s", err, c.code)
				}
				return
			}
			var names []string
			for _, h := range got {
				names = append(names, h.Name)
				if h.Role != c.role || h.Type != stdcmp.Or(c.kind, phases.ClusterPreHook) || len(h.Data) == 0 {
					t.Errorf("%+v", h)
				}
			}
			if err != nil || strings.Join(names, " ") != c.names {
				t.Error(names, err)
			}
		})
	}
	if os.Geteuid() == 0 {
		f := script(t, dir, "foreign.sh", "true\n", 0o750)
		if err := os.Chown(f, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := phases.LoadHooks(phases.PreHook, f); event.AsFault(err) == nil ||
			event.AsFault(err).Code != "hook.owner" {
			t.Error(err)
		}
	}
}

// A hook that no machine is there for was given for nothing, and that is said before anything is touched.
func TestAHookHasAMachineToRunOn(t *testing.T) {
	nodes := []config.Node{{Name: "m1", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}},
		{Name: "w1", Roles: []bundle.Role{bundle.Worker}}}
	for name, c := range map[string]struct {
		hook  phases.Hook
		nodes []config.Node
		runs  bool
	}{
		"of a role":                   {phases.Hook{Role: bundle.Worker}, nodes, true},
		"of a role that nobody has":   {phases.Hook{Role: bundle.LoadBalancer}, nodes, false},
		"of any role":                 {phases.Hook{Nodes: []string{"w1"}}, nodes, true},
		"of masters, a worker leaves": {phases.Hook{Role: bundle.ControlPlane, Nodes: []string{"w1"}}, nodes, false},
		"of workers, a worker leaves": {phases.Hook{Role: bundle.Worker, Nodes: []string{"w1"}}, nodes, true},
	} {
		err := phases.HooksRun([]phases.Hook{c.hook}, c.nodes)
		if f := event.AsFault(err); (err == nil) != c.runs || err != nil &&
			(f.Code != "hook.nowhere" || f.Class != event.ClassUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func with(hooks ...phases.Hook) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan {
		e.Hooks = hooks
		return phases.Deploy(e)
	}
}

// Hooks of the command line run before anything is touched and after everything is proven, on the machines of their
// role, each time.
func TestHooksOfTheCommandLine(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	before := phases.Hook{Type: phases.ClusterPreHook, Name: "before.sh", Role: bundle.Worker,
		Data: []byte("[ ! -e $SIM/root/etc/kubernetes ] || exit 9\nenv | grep ^EGGO_ | sort " +
			">$SIM/root/opt/env-$EGGO_NODE_NAME\necho said before\n")}
	after := phases.Hook{Type: phases.ClusterPostHook, Name: "after.bash", Role: bundle.ControlPlane,
		Data: []byte("#!/bin/sh\n[ -e $SIM/root/etc/kubernetes/manifests ] || [ -e $SIM/root/etc/kubernetes ]\necho " +
			"again >>$SIM/root/opt/after\n")}
	b, sum, err := run(t, l, with(before, after))
	if err != nil {
		t.Fatal(err, sum.Failed)
	}
	want := []string{"EGGO_CLUSTER_API_ENDPOINT=192.0.2.11:6443", "EGGO_CLUSTER_CONFIG_DIR=/etc/kubernetes",
		"EGGO_CLUSTER_ID=sim", "EGGO_HOOK_TYPE=cluster-prehook", "EGGO_NODE_ARCH=amd64",
		"EGGO_NODE_IP=192.0.2.22", "EGGO_NODE_NAME=w2", "EGGO_NODE_ROLE=worker", "EGGO_OPERATOR=deploy"}
	if diff := cmp.Diff(want, lines(t, l.Nodes["w2"].Path("/opt/env-w2"))); diff != "" {
		t.Error(diff)
	}
	ran := 0
	for _, c := range of[event.Change](b) {
		if c.Desc.Key == "change.hook" {
			ran++
		} else if ran < 2 {
			t.Fatalf("%s was changed before the hooks had run", c.Desc.Key)
		}
	}
	if ran != 3 {
		t.Errorf("%d hooks were announced", ran)
	}
	if got := lines(t, l.Nodes["m1"].Path("/opt/after")); len(got) != 1 {
		t.Error(got)
	}
	b, _, err = run(t, l, with(after))
	if err != nil || len(lines(t, l.Nodes["m1"].Path("/opt/after"))) != 2 || len(of[event.Change](b)) != 1 {
		t.Error("a second time:", err, of[event.Change](b))
	}
	for p := range tree(t, l) {
		if strings.Contains(p, "hooks") {
			t.Error("left:", p)
		}
	}
}

func TestAHookThatFailsBeforeStopsAll(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	was := tree(t, l)
	_, sum, err := run(t, l, with(phases.Hook{Type: phases.ClusterPreHook, Name: "no.sh", Role: bundle.Worker,
		Data: []byte("echo the disk is not ready >&2\nexit 7\n")}))
	if len(sum.Failed) == 0 || err == nil && len(sum.Failed) == 0 {
		t.Fatal(err, sum)
	}
	f := sum.Failed[0].Fault
	if f.Code != "hook.failed" || f.Args["status"] != "7" || f.Node != "w1" ||
		!strings.Contains(f.Cause, "disk is not ready") {
		t.Errorf("%+v", f)
	}
	if diff := cmp.Diff(was, tree(t, l)); diff != "" {
		t.Error("touched:", diff)
	}
	// One that fails after the work leaves a cluster that works, and a run that says that it is not all done.
	_, sum, _ = run(t, l, with(phases.Hook{Type: phases.ClusterPostHook, Name: "no.sh", Role: bundle.Worker,
		Data: []byte("exit 1\n")}))
	if len(sum.Failed) != 1 || sum.Failed[0].Fault.Class != event.ClassPartial {
		t.Errorf("%+v", sum.Failed)
	}
	if b := deploy(t, l); len(of[event.Change](b)) > 0 {
		t.Error("the cluster was not done:", of[event.Change](b))
	}
}

func TestAHookIsBounded(t *testing.T) {
	t.Parallel()
	sim, err := phasestest.NewNode(t.TempDir(), "n1", "192.0.2.11")
	if err != nil {
		t.Fatal(err)
	}
	n := node.New(sim, func(event.Event) error { return nil })
	try := func(name, text string, limit time.Duration) (int64, *event.Fault) {
		cut, err := n.RunHook(t.Context(), node.Hook{Dir: "x", Name: name, Data: []byte(text), Timeout: limit,
			Passing: true})
		return cut, event.AsFault(err)
	}
	began := time.Now()
	if _, f := try("hang.sh", "echo begun; sleep 300 & sleep 300\n", time.Second); f == nil ||
		f.Code != "hook.timeout" || f.Args["timeout"] != "1s" || !strings.Contains(f.Cause, "begun") {
		t.Errorf("%+v", f)
	}
	if took := time.Since(began); took > 60*time.Second {
		t.Error("it took", took)
	}
	if cut, f := try("loud.sh", "head -c 1048576 /dev/zero | tr '\\0' x\necho end\n", 20*time.Second); f != nil ||
		cut != 1<<20+4-64<<10 {
		t.Error(cut, f)
	}
	if _, f := try("says.bash", "echo \"$0\"; exit 3", time.Second); f == nil || f.Args["status"] != "3" {
		t.Errorf("%+v", f)
	}
	if left, err := filepath.Glob(sim.Path(node.Dir + "/*")); err != nil || len(left) > 0 {
		t.Error("left:", left, err)
	}
}

func TestHooksOfACleanup(t *testing.T) {
	t.Parallel()
	was := tree(t, newLab(t, 1))
	l := deployed(t, workers(1))
	plan := func(e phases.Env) *engine.Plan {
		e.Verb = "cleanup"
		e.Hooks = []phases.Hook{
			{Type: phases.ClusterPreHook, Name: "first.sh", Role: bundle.ControlPlane,
				Data: []byte("[ -e $SIM/root/etc/kubernetes ] && [ \"$EGGO_OPERATOR\" = cleanup ]\n")},
			{Type: phases.ClusterPostHook, Name: "last.sh", Role: bundle.ControlPlane,
				Data: []byte("[ ! -e $SIM/root/etc/kubernetes ]\n")},
		}
		return phases.Cleanup(e, true)
	}
	b := cleanup(t, l, plan)
	if diff := cmp.Diff(was, tree(t, l)); diff != "" {
		t.Error(diff)
	}
	n := 0
	for _, c := range of[event.Change](b) {
		if c.Desc.Key == "change.hook" {
			n++
		}
	}
	if n != 2 {
		t.Error("hooks that ran:", n)
	}
}

// hostname: set gives the machines their names and takes them back.
func TestHostNames(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 2)
	put(t, l.Nodes["m1"].Path("/proc/sys/kernel/hostname"), "localhost\n")
	put(t, l.Nodes["w1"].Path("/proc/sys/kernel/hostname"), "w1.example.com\n")
	put(t, l.Nodes["w1"].Path("/etc/hostname"), "w1.example.com\n")
	put(t, l.Nodes["w2"].Path("/proc/sys/kernel/hostname"), "other\n")
	put(t, l.Nodes["w2"].Path("/etc/hostname"), "another\n")
	l.Cluster.Eggo.Hostname = "set"
	was := tree(t, l)
	deploy(t, l)
	for name, want := range map[string][]string{"m1": {"m1", "m1"}, "w1": {"w1.example.com", "w1.example.com"},
		"w2": {"w2", "w2"}} {
		got := slices.Concat(lines(t, l.Nodes[name].Path("/proc/sys/kernel/hostname")),
			lines(t, l.Nodes[name].Path("/etc/hostname")))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if b := deploy(t, l); len(of[event.Change](b)) > 0 {
		t.Error("a second deploy changed", of[event.Change](b))
	}
	cleanup(t, l, purge)
	if diff := cmp.Diff(was, tree(t, l)); diff != "" {
		t.Error(diff)
	}
}
