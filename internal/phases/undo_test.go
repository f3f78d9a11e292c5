package phases_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// broken deploys with a step whose work is done and which then fails for good, and starts nothing after that.
func broken(t *testing.T, l *phasestest.Lab, saved *config.Cluster, step string) {
	t.Helper()
	b := &book{}
	e := l.Env(b.emit)
	e.Undo, e.Saved = true, saved
	p := phases.Deploy(e)
	i := slices.IndexFunc(p.Steps, func(s *engine.Step) bool { return s.ID == step })
	if i < 0 {
		t.Fatal("no step", step)
	}
	s := p.Steps[i]
	apply, verify := s.Apply, s.Verify
	s.Check, s.Verify = nil, nil
	s.Apply = func(ctx context.Context) error {
		if apply != nil {
			if err := apply(ctx); err != nil && !errors.Is(err, engine.ErrUnchanged) {
				return err
			}
		}
		if verify != nil {
			if err := verify(ctx); err != nil {
				return err
			}
		}
		return event.NewFault(event.ClassFailed, "test.broken", nil)
	}
	o := quick(b)
	o.OnFailure = engine.Abort
	_, err := engine.Run(t.Context(), p, o)
	if f := event.AsFault(err); f == nil || !strings.Contains(f.Code+f.Error(), "test.broken") {
		t.Fatal(err, b.findings())
	}
}

// undo reverts what a run did on nodes, as the control host does it.
func undo(t *testing.T, l *phasestest.Lab, was *phases.Memory, u phases.Undoing) (engine.Summary, []string, error) {
	t.Helper()
	b := &book{}
	u.Was = was
	if err := u.Begin(); err != nil {
		t.Fatal(err)
	}
	p, away := phases.Undo(l.Env(b.emit), u)
	o := quick(b)
	if u.Before == nil {
		o.OnFailure = engine.LeaveOut
	}
	sum, err := engine.Run(t.Context(), p, o)
	if err == nil {
		if err := was.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	return sum, away(), err
}

// state are the files of the control host.
func state(t *testing.T, l *phasestest.Lab) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(l.StateDir(), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Base(filepath.Dir(p)) == "snapshots" { // a backup stays
			return err
		}
		data, err := os.ReadFile(p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func remember(t *testing.T, l *phasestest.Lab) *phases.Memory {
	t.Helper()
	m, err := phases.Remember(l.StateDir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAnInstallIsReverted: whichever phase of a first installation fails, the machines are what they were, so are the
// files of the control host, and the same deploy ends well.
func TestAnInstallIsReverted(t *testing.T) {
	long(t)
	t.Parallel()
	for _, step := range []string{"infrastructure.claim/w1", "infrastructure.packages/w1",
		"infrastructure.load-images/w1", "etcd.start/m1", "control-plane.apiserver/m1", "bootstrap.token",
		"bootstrap.kubelet/w1", "bootstrap.proxy/w1", "addons.manifests", "check.nodes", "check.old-binaries/w1"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 1)
			before, files, was := tree(t, l), state(t, l), remember(t, l)
			broken(t, l, nil, step)
			if cmp.Equal(before, tree(t, l)) {
				t.Error("the run changed nothing")
			}
			sum, away, err := undo(t, l, was, phases.Undoing{Nodes: l.Cluster.Nodes})
			if err != nil || len(away) > 0 {
				t.Fatalf("%v %v %+v", err, away, sum.Failed)
			}
			if d := cmp.Diff(before, tree(t, l)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(files, state(t, l)); d != "" {
				t.Error(d)
			}
			if step == "addons.manifests" {
				deploy(t, l)
			}
		})
	}
}

// TestANodeThatIsAwayHoldsNobodyUp: one node is dead when an installation is reverted. The others are what they were,
// and it is said that this one is not.
func TestANodeThatIsAwayHoldsNobodyUp(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 2)
	before, was := tree(t, l), remember(t, l)
	broken(t, l, nil, "addons.manifests")
	dead := tree(t, l)
	l.Nodes["w1"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	sum, away, err := undo(t, l, was, phases.Undoing{Nodes: l.Cluster.Nodes})
	if err == nil || !slices.Equal(away, []string{"w1"}) {
		t.Fatalf("%v, away: %v, %+v", err, away, sum.Failed)
	}
	only := func(m map[string]string, w1 bool) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			if strings.HasPrefix(k, "w1/") == w1 {
				out[k] = v
			}
		}
		return out
	}
	after := tree(t, l)
	if d := cmp.Diff(only(before, false), only(after, false)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(only(dead, true), only(after, true)); d != "" {
		t.Error(d)
	}
}

// TestAJoinIsReverted: nodes join a cluster that lives, and whichever phase fails, they are what they were, the others
// are too, and the cluster knows of no node and no member more.
func TestAJoinIsReverted(t *testing.T) {
	long(t)
	t.Parallel()
	for _, step := range []string{"infrastructure.system/m3", "infrastructure.packages/w2",
		"etcd.start/m3", "control-plane.apiserver/m3", "loadbalance.start/lb", "bootstrap.token",
		"bootstrap.kubelet/w2", "addons.manifests", "check.old-binaries/m3"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			l := shaped(t, phasestest.Shape{Masters: 3, Workers: 2, Balancer: true})
			old := *l.Cluster
			old.Nodes = nil
			var fresh []config.Node
			for _, n := range l.Cluster.Nodes {
				if n.Name == "m3" || n.Name == "w2" {
					fresh = append(fresh, n)
				} else {
					old.Nodes = append(old.Nodes, n)
				}
			}
			if _, sum, err := run(t, l, onlyFor("m3", "w2")); err != nil {
				t.Fatal(err, sum.Failed)
			}
			if step != "infrastructure.packages/w2" { // without it the run makes a new token
				_ = os.Remove(filepath.Join(l.StateDir(), "pki", "bootstrap-token"))
			}
			for _, n := range fresh { // the kit has made them for all
				if err := os.RemoveAll(filepath.Join(l.StateDir(), "pki", "nodes", n.Name)); err != nil {
					t.Fatal(err)
				}
			}
			before, files, was := tree(t, l), state(t, l), remember(t, l)
			objects, members := inCluster(l), l.Etcd.Members()
			broken(t, l, &old, step)
			sum, away, err := undo(t, l, was, phases.Undoing{Nodes: fresh, Before: &old, Drain: time.Minute})
			if err != nil || len(away) > 0 {
				t.Fatalf("%v %v %+v", err, away, sum.Failed)
			}
			if d := cmp.Diff(before, tree(t, l)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(files, state(t, l)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(objects, inCluster(l)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(members, l.Etcd.Members()); d != "" {
				t.Error(d)
			}
			b, sum, err := run(t, l, onlyFor("m3", "w2"))
			if err != nil || slices.ContainsFunc(sum.Changed, func(s string) bool { return s != "bootstrap.token" }) {
				t.Errorf("a deploy has something to do: %v %v %+v", err, sum.Changed, of[event.Change](b))
			}
		})
	}
}

// inCluster are the objects of the API. A Node's lease goes with it, by the garbage collector, which nobody is here.
func inCluster(l *phasestest.Lab) []string {
	return slices.DeleteFunc(l.API.Objects(), func(o string) bool { return strings.Contains(o, "/leases/") })
}

// TestWhatCannotBeRevertedIsRefused: a node has a record of an earlier run, or lacks the one that it should have.
func TestWhatCannotBeRevertedIsRefused(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	before := tree(t, l)
	for code, saved := range map[string]*config.Cluster{"preflight.undo-recorded": nil, "": l.Cluster} {
		b := &book{}
		e := l.Env(b.emit)
		e.Undo, e.Saved = true, saved
		_, err := engine.Run(t.Context(), phases.Deploy(e), quick(b))
		if code != "" && (err == nil || !slices.Contains(b.findings(), code)) || code == "" && err != nil {
			t.Errorf("%q: %v, found: %v", code, err, b.findings())
		}
	}
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error(d)
	}
	l = newLab(t, 1)
	b := &book{}
	e := l.Env(b.emit)
	e.Undo, e.Saved = true, l.Cluster
	if _, err := engine.Run(t.Context(), phases.Deploy(e), quick(b)); err == nil ||
		!slices.Contains(b.findings(), "preflight.undo-unfinished") {
		t.Errorf("%v, found: %v", err, b.findings())
	}
}

// TestANodeThatDiesAfterItJoined: the cluster loses it, the others are what they were, and it is said that it was not
// cleaned.
func TestANodeThatDiesAfterItJoined(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 2)
	old := *l.Cluster
	n := len(old.Nodes) - 1
	old.Nodes = l.Cluster.Nodes[:n]
	if _, sum, err := run(t, l, onlyFor("w2")); err != nil {
		t.Fatal(err, sum.Failed)
	}
	before, was, objects := tree(t, l), remember(t, l), inCluster(l)
	broken(t, l, &old, "addons.manifests")
	l.Nodes["w2"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	if err := os.Remove(l.Nodes["w2"].State("active/kubelet.service")); err != nil {
		t.Fatal(err)
	}
	u := phases.Undoing{Nodes: l.Cluster.Nodes[n:], Before: &old, Drain: time.Second}
	sum, away, err := undo(t, l, was, u)
	if err != nil || !slices.Equal(away, []string{"w2"}) {
		t.Fatalf("%v, away: %v, %+v", err, away, sum.Failed)
	}
	after := tree(t, l)
	for _, m := range []map[string]string{before, after} {
		maps.DeleteFunc(m, func(name, _ string) bool { return strings.HasPrefix(name, "w2/") })
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(objects, inCluster(l)); d != "" {
		t.Error(d)
	}
}

// TestANodeOfThatNameIsNotTakenAway: the cluster has a Node of somebody else's with the name of one that is added, or
// nobody can say whether it has.
func TestANodeOfThatNameIsNotTakenAway(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 1)
	old := *l.Cluster
	old.Nodes = l.Cluster.Nodes[:1]
	if _, sum, err := run(t, l, onlyFor("w1")); err != nil {
		t.Fatal(err, sum.Failed)
	}
	before := tree(t, l)
	refused := func(code string) {
		t.Helper()
		b := &book{}
		e := l.Env(b.emit)
		e.Undo, e.Saved = true, &old
		if _, err := engine.Run(t.Context(), phases.Deploy(e), quick(b)); err == nil ||
			!slices.Contains(b.findings(), code) {
			t.Errorf("%v, found: %v", err, b.findings())
		}
	}
	kubelet := l.Nodes["w1"].State("active/kubelet.service") // by which the simulation has a Node
	put(t, kubelet, "")
	refused("preflight.undo-known")
	if err := os.Remove(kubelet); err != nil {
		t.Fatal(err)
	}
	server := l.Nodes["m1"].State("active/kube-apiserver.service")
	was, err := os.ReadFile(server)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(server); err != nil {
		t.Fatal(err)
	}
	refused("preflight.undo-no-api")
	put(t, server, string(was))
	after := tree(t, l)
	for _, m := range []map[string]string{before, after} {
		maps.DeleteFunc(m, func(name, _ string) bool { return strings.HasPrefix(name, "w1/root/run/flannel") })
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Error(d)
	}
}
