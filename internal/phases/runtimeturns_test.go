package phases_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// sockets of the runtimes.
func withRuntime(c *config.Cluster, runtime string) *config.Cluster {
	own := *c
	own.Runtime = runtime
	own.RuntimeEndpoint = map[string]string{"docker": "unix:///run/cri-dockerd.sock",
		"containerd": "unix:///run/containerd/containerd.sock"}[runtime]
	return &own
}

// onDocker is a cluster that runs Docker, of a bundle that has containerd too, and what its machines were before.
func onDocker(t *testing.T, workers int) (l *phasestest.Lab, before map[string]string) {
	t.Helper()
	l = newLab(t, workers)
	must(t, l.Rebuild(phasestest.WithDocker))
	before = tree(t, l)
	l.Cluster = withRuntime(l.Cluster, "docker")
	deploy(t, l)
	for _, n := range l.Cluster.Nodes {
		must(t, os.WriteFile(l.Nodes[n.Name].Path("/var/lib/docker/containers"),
			[]byte("box podsandbox\nflannel container\n"), 0o600))
	}
	return l, before
}

// to plans a deploy with another runtime in deploy.yaml, of a cluster that was saved.
func to(runtime string, o upgrade.Options) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan {
		e.Saved, e.Cluster = e.Cluster, withRuntime(e.Cluster, runtime)
		return phases.DeployInTurns(e, o)
	}
}

// allRun wants every node to be open and to run its pods in a runtime, and nothing of the other one to be left.
func allRun(t *testing.T, l *phasestest.Lab, runtime string) {
	t.Helper()
	left := map[string][]string{
		"containerd": {"/etc/eggo/docker.json", "/etc/systemd/system/docker.service.d", "/usr/bin/docker",
			"/etc/systemd/system/cri-dockerd.service", "/usr/local/bin/cri-dockerd", "/var/lib/docker",
			"/var/lib/cri-dockerd", "/etc/docker"},
		"docker": {"/etc/eggo/containerd.toml", "/etc/systemd/system/containerd.service.d"},
	}[runtime]
	for _, n := range l.Cluster.Nodes {
		nd := l.Nodes[n.Name]
		for _, path := range left {
			if _, err := os.Lstat(nd.Path(path)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s has %s: %v", n.Name, path, err)
			}
		}
		for unit, want := range map[string]bool{"containerd.service": true, "docker.service": runtime == "docker",
			"cri-dockerd.service": runtime == "docker", "kubelet.service": true, "kube-proxy.service": true} {
			if is := nd.Runs(unit) != ""; is != want {
				t.Errorf("%s: %s runs: %v", n.Name, unit, is)
			}
		}
		o := l.API.Object("/api/v1/nodes/" + n.Name)
		info := o["status"].(map[string]any)["nodeInfo"].(map[string]any)
		if is, _ := info["containerRuntimeVersion"].(string); !strings.HasPrefix(is, runtime+"://") {
			t.Errorf("%s runs %s", n.Name, is)
		}
		if _, closed, ours := nodeObject(l, n.Name); closed || ours {
			t.Errorf("%s is closed", n.Name)
		}
	}
}

// inTurn are the changes of the turns, as NODE: WHAT [UNIT].
func inTurn(b *book) (out []string) {
	for _, c := range of[event.Change](b) {
		if host, is := strings.CutPrefix(c.Step, "nodes.turn/"); is {
			out = append(out, strings.TrimSpace(host+": "+strings.TrimPrefix(c.Desc.Key, "change.")+" "+
				c.Desc.Args["unit"]))
		}
	}
	return out
}

// One node after another is drained, loses Docker with all containers, gets containerd with its images and its kubelet,
// is opened, and has nothing of Docker any more. A second deploy changes nothing, the old deploy.yaml leads back in the
// same way, and a cleanup leaves the machines as they were.
func TestNodesChangeTheirRuntimeInTurns(t *testing.T) {
	long(t)
	t.Parallel()
	l, before := onDocker(t, 2)
	l.API.AddReplicaSet("shop", 2)
	l.API.AddPod("shop", "one", "w1")
	l.API.AddPod("shop", "two", "w2")
	running := map[string]string{}
	b := &book{}
	env := l.Env(func(e event.Event) error {
		c, ok := e.(event.Change)
		if ok && c.Desc.Key == "change.start" && c.Desc.Args["unit"] == "containerd.service" {
			data, _ := os.ReadFile(l.Nodes[c.Host].Path("/var/lib/docker/containers"))
			running[c.Host] = string(data)
		}
		return b.emit(e)
	})
	sum, err := engine.Run(t.Context(), to("containerd", upgrade.Options{Drain: time.Minute})(env), quick(b))
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if want := map[string]string{"m1": "", "w1": "", "w2": ""}; !cmp.Equal(running, want) {
		t.Errorf("containers of Docker while containerd starts: %v", running)
	}
	allRun(t, l, "containerd")
	var want []string
	for _, n := range []string{"m1", "w1", "w2"} {
		want = append(want, n+": cordon")
		if n != "m1" {
			want = append(want, n+": evict")
		}
		want = append(want, n+": runtime-stop", n+": file", n+": file", n+": start containerd.service", n+": images",
			n+": tables", n+": file", n+": file", n+": start kubelet.service", n+": uncordon", n+": remove",
			n+": runtime-leave")
	}
	if got := inTurn(b); !slices.Equal(got, want) {
		t.Errorf("the turns: %s", cmp.Diff(want, got))
	}
	told := of[event.Finding](b)
	at := slices.IndexFunc(told, func(f event.Finding) bool { return f.Fault.Code == "preflight.runtime-turns" })
	if at < 0 || told[at].Fault.Args["nodes"] != "m1, w1, w2" || told[at].Fault.Args["is"] != "docker" {
		t.Errorf("told beforehand: %+v", told)
	}
	was := l.Cluster
	l.Cluster = withRuntime(l.Cluster, "containerd")
	b, sum, err = run(t, l, to("containerd", upgrade.Options{}))
	if err != nil || len(sum.Changed) > 0 {
		t.Errorf("again: %v, changed %v: %+v", err, sum.Changed, of[event.Change](b))
	}
	if _, sum, err = run(t, l, to("docker", upgrade.Options{Drain: time.Minute})); err != nil {
		t.Fatalf("back: %v %+v", err, sum.Failed)
	}
	allRun(t, l, "docker")
	l.Cluster = was
	cleanup(t, l, purge)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Errorf("after a cleanup:\n%s", diff)
	}
}

// A run that was cut off at any change of a turn is continued by the same command: who was done is not touched again.
// In between no other operation works on the nodes, and a cleanup takes both runtimes away.
func TestAChangeOfTheRuntimeThatWasCutOff(t *testing.T) {
	long(t)
	t.Parallel()
	made, before := onDocker(t, 2)
	made.API.AddReplicaSet("shop", 1)
	made.API.AddPod("shop", "one", "w1")
	for _, at := range []string{"w1: runtime-stop", "w1: start containerd.service", "w1: start kubelet.service",
		"w1: runtime-leave"} {
		l, err := made.Copy(t.TempDir())
		must(t, err)
		t.Cleanup(l.Close)
		l.Cluster = made.Cluster
		b := &book{}
		ctx, kill := context.WithCancel(t.Context())
		env := l.Env(func(e event.Event) error {
			if err := b.emit(e); err != nil {
				return err
			}
			if c, ok := e.(event.Change); ok && slices.Contains(inTurn(b), at) && strings.HasPrefix(c.Step, "nodes.") {
				kill()
				return context.Canceled
			}
			return nil
		})
		if _, err := engine.Run(ctx, to("containerd", upgrade.Options{Drain: time.Minute})(env), quick(b)); err == nil {
			t.Fatalf("%s: not cut off: %v", at, inTurn(b))
		}
		l.Cluster = withRuntime(made.Cluster, "containerd")
		if _, sum, err := run(t, l, phases.Deploy); err == nil || !refusedFor(sum, err) {
			t.Errorf("%s: a join meanwhile: %v", at, err)
		}
		if at == "w1: start containerd.service" {
			other, err := l.Copy(t.TempDir())
			must(t, err)
			t.Cleanup(other.Close)
			other.Cluster = l.Cluster
			cleanup(t, other, purge)
			if diff := cmp.Diff(before, tree(t, other)); diff != "" {
				t.Errorf("%s: after a cleanup:\n%s", at, diff)
			}
		}
		b, sum, err := run(t, l, to("containerd", upgrade.Options{Drain: time.Minute}))
		if err != nil {
			t.Fatalf("%s: %v %+v %+v", at, err, sum.Failed, of[event.Finding](b))
		}
		for _, c := range inTurn(b) {
			if strings.HasPrefix(c, "m1") || at == "w1: runtime-leave" && c == "w1: evict" {
				t.Errorf("%s: again %s", at, c)
			}
		}
		allRun(t, l, "containerd")
	}
}

// refusedFor says whether a run ended in preflight.
func refusedFor(sum engine.Summary, err error) bool {
	return err != nil && len(sum.Changed) == 0 && len(sum.Failed) == 1 && sum.Failed[0].Fault.Code == "preflight.failed"
}

// What would stop a turn is said before a node is touched; and a budget that blocks a drain all the same ends the run
// with the node open, in its old runtime.
func TestAChangeOfTheRuntimeThatIsStopped(t *testing.T) {
	long(t)
	t.Parallel()
	l, _ := onDocker(t, 2)
	codes := func(b *book) (out []string) {
		for _, f := range of[event.Finding](b) {
			out = append(out, f.Fault.Code)
		}
		return out
	}
	own := l.Nodes["w2"].Path("/var/lib/docker/containers")
	must(t, os.WriteFile(own, []byte("box podsandbox\nregistry\n"), 0o600))
	b, sum, err := run(t, l, to("containerd", upgrade.Options{}))
	if !refusedFor(sum, err) || !slices.Contains(codes(b), "preflight.runtime-containers") {
		t.Errorf("a container of somebody: %v %v", err, codes(b))
	}
	must(t, os.WriteFile(own, nil, 0o600))
	b, sum, err = run(t, l, func(e phases.Env) *engine.Plan {
		e.Undo = true
		return to("containerd", upgrade.Options{})(e)
	})
	if !refusedFor(sum, err) || !slices.Contains(codes(b), "preflight.runtime-change") {
		t.Errorf("with undo: %v %v", err, codes(b))
	}
	l.API.AddPod("shop", "one", "w1")
	b, sum, err = run(t, l, func(e phases.Env) *engine.Plan {
		return phases.DryRun(e, to("containerd", upgrade.Options{Drain: time.Minute}))
	})
	for _, what := range []string{"m1: runtime-stop", "w1: cordon", "w1: evict", "w1: runtime-stop",
		"w2: start containerd.service", "w2: runtime-leave"} {
		if err != nil || !slices.Contains(inTurn(b), what) {
			t.Errorf("%v %+v: %s is not among %v", err, sum.Failed, what, inTurn(b))
		}
	}
	l.API.Budget("its budget")
	_, sum, err = run(t, l, to("containerd", upgrade.Options{}))
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.drain-timeout" ||
		sum.Failed[0].Fault.Node != "w1" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if _, closed, _ := nodeObject(l, "w1"); closed || l.Nodes["w1"].Runs("docker.service") == "" ||
		l.Nodes["m1"].Runs("docker.service") != "" || l.Nodes["w2"].Runs("docker.service") == "" {
		t.Error("w1 is closed, or the wrong nodes were changed")
	}
	l.API.Budget("")
	if _, sum, err = run(t, l, to("containerd", upgrade.Options{Drain: time.Minute})); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	allRun(t, l, "containerd")
}

// A limit changes its nodes alone; the others keep their runtime until they have their turn.
func TestTheRuntimeOfALimit(t *testing.T) {
	long(t)
	t.Parallel()
	l, _ := onDocker(t, 2)
	b, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		e.Limit = []string{"w1"}
		return to("containerd", upgrade.Options{Drain: time.Minute})(e)
	})
	if err != nil {
		t.Fatalf("%v %+v %+v", err, sum.Failed, of[event.Finding](b))
	}
	for name, docker := range map[string]bool{"m1": true, "w1": false, "w2": true} {
		if is := l.Nodes[name].Runs("docker.service") != ""; is != docker {
			t.Errorf("%s runs docker: %v", name, is)
		}
	}
	l.Cluster = withRuntime(l.Cluster, "containerd")
	b, sum, err = run(t, l, to("containerd", upgrade.Options{Drain: time.Minute}))
	if err != nil {
		t.Fatalf("%v %+v %+v", err, sum.Failed, of[event.Finding](b))
	}
	allRun(t, l, "containerd")
}

// The pods of a cluster of one machine stay, and are told beforehand to be away for a while.
func TestTheRuntimeOfASingleMachine(t *testing.T) {
	long(t)
	t.Parallel()
	l, _ := onDocker(t, 0)
	l.API.AddPod("shop", "one", "m1")
	b, sum, err := run(t, l, to("containerd", upgrade.Options{Drain: time.Minute}))
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	allRun(t, l, "containerd")
	if !slices.ContainsFunc(of[event.Finding](b), func(f event.Finding) bool {
		return f.Fault.Code == "preflight.runtime-alone"
	}) || slices.Contains(inTurn(b), "m1: evict") || l.API.Object("/api/v1/namespaces/shop/pods/one") == nil {
		t.Errorf("%+v", inTurn(b))
	}
}
