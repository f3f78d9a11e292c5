package phases_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

func with(hooks ...phases.Hook) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan {
		e.Hooks = hooks
		return phases.Deploy(e)
	}
}

// Hooks of the command line run before anything is touched and after everything is proven, on the machines of their
// role, each time.
func TestHooksOfTheCommandLine(t *testing.T) {
	long(t)
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
	long(t)
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
	long(t)
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
