package phases_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// seeded has the lab's cluster begin with a snapshot.
func seeded(t *testing.T, l *phasestest.Lab) phases.Seed {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(l.StateDir(), "pki", "ca.crt"))
	must(t, err)
	path := filepath.Join(l.StateDir(), "snapshots", "seed.db")
	must(t, os.MkdirAll(filepath.Dir(path), 0o700), phasestest.WriteSnapshot(path, ca))
	s, err := phases.ReadSnapshot(t.Context(), path)
	must(t, err)
	seed := phases.NewSeed(s)
	must(t, seed.Write(l.StateDir()))
	return seed
}

// revisionOf is what a member's data begin with.
func revisionOf(t *testing.T, l *phasestest.Lab, node string) string {
	t.Helper()
	text, err := os.ReadFile(l.Nodes[node].Path("/var/lib/etcd/default.etcd/member/revision"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// New machines come up with the data of a snapshot; the Nodes of the machines before, and the pods on them, go. It is
// over when the cluster is up: a later deploy changes nothing, and cleanup leaves nothing.
func TestADeployBeginsWithASnapshot(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 1)
	before := tree(t, l)
	seeded(t, l)
	b := &book{}
	emit := func(e event.Event) error {
		if s, is := e.(event.StepStarted); is && strings.HasSuffix(s.Step, "strangers") {
			l.API.Add("/api/v1/nodes/old1", map[string]any{"kind": "Node", "apiVersion": "v1",
				"metadata": map[string]any{"name": "old1"}})
			l.API.AddPod("default", "left-behind", "old1")
			l.API.AddPod("default", "stays", "w1")
		}
		return b.emit(e)
	}
	sum, err := engine.Run(t.Context(), phases.Deploy(l.Env(emit)), quick(&book{}))
	if err != nil || len(sum.Failed) > 0 {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if got := revisionOf(t, l, "m1"); got != "1000004711" {
		t.Error("etcd began with", got)
	}
	objects := strings.Join(l.API.Objects(), "\n")
	if strings.Contains(objects, "old1") || strings.Contains(objects, "left-behind") ||
		!strings.Contains(objects, "/nodes/w1") {
		t.Error(objects)
	}
	if _, err := os.Stat(filepath.Join(l.StateDir(), "seed.json")); err == nil {
		t.Error("it is not over")
	}
	if b := deploy(t, l); len(of[event.Change](b)) > 0 {
		t.Error("a second deploy changed", of[event.Change](b))
	}
	cleanup(t, l, purge)
	for path := range tree(t, l) {
		if before[path] == "" && strings.Contains(path, "/var/lib/etcd") {
			t.Error("cleanup left", path)
		}
	}
}

// Each change of etcd in turn is the last one that is made; the same deploy then ends with the snapshot's data.
func TestADeployWithASnapshotThatWasInterruptedContinues(t *testing.T) {
	long(t)
	t.Parallel()
	stop := errors.New("cut off")
	l := newLab(t, 0)
	seed := seeded(t, l)
	for at := 1; ; at++ {
		var mu sync.Mutex
		b, changes := &book{}, 0
		emit := func(e event.Event) error {
			mu.Lock()
			defer mu.Unlock()
			if c, is := e.(event.Change); is && strings.HasPrefix(c.Step, "etcd.") {
				if changes++; changes > at {
					return stop
				}
			}
			return b.emit(e)
		}
		sum, err := engine.Run(t.Context(), phases.Deploy(l.Env(emit)), quick(b))
		if err == nil && len(sum.Failed) == 0 {
			break
		}
		if slices.ContainsFunc(sum.Failed, func(f event.StepEnded) bool { return f.Fault.Code != "internal" }) {
			t.Fatalf("cut off after %d changes: %+v", at, sum.Failed)
		}
		if now, err := seedOf(l); err != nil || now.Token != seed.Token {
			t.Fatalf("cut off after %d changes: %+v %v", at, now, err)
		}
	}
	if got := revisionOf(t, l, "m1"); got != "1000004711" {
		t.Error("etcd began with", got)
	}
}

// seedOf is what the control host keeps of it.
func seedOf(l *phasestest.Lab) (s phases.Seed, err error) {
	text, err := os.ReadFile(filepath.Join(l.StateDir(), "seed.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// A member that has data of something else is not given others in silence, and without the record of the snapshot
// nothing begins.
func TestADeployWithASnapshotIsRefused(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(0))
	seeded(t, l)
	failed := func(code string) {
		t.Helper()
		b, sum, _ := run(t, l, phases.Deploy)
		if !slices.ContainsFunc(of[event.Finding](b), func(f event.Finding) bool { return f.Fault.Code == code }) {
			t.Errorf("not %s: %+v", code, sum.Failed)
		}
		if changes := of[event.Change](b); len(changes) > 0 {
			t.Error("it was found too late:", changes)
		}
	}
	failed("etcd.seed-data")
	put(t, filepath.Join(l.StateDir(), "seed.json"), "{")
	failed("state.read")
}

// The machine of a cluster that was not up yet is installed again: the same deploy gives it the data again, and never
// begins an empty cluster.
func TestADeployWithASnapshotBeginsAgainOnAMachineThatWasReinstalled(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 0)
	seed := seeded(t, l)
	m1 := l.Nodes["m1"]
	put(t, m1.State("broken/kube-apiserver.service"), "")
	if _, _, err := run(t, l, phases.Deploy); err == nil {
		t.Fatal("an API server that does not start is no fault")
	}
	if now, err := seedOf(l); err != nil || !now.Placed || now.Token != seed.Token {
		t.Fatal(now, err)
	}
	must(t, os.RemoveAll(m1.Path("/var/lib/etcd")), os.RemoveAll(m1.State("active/etcd.service")),
		os.RemoveAll(m1.State("broken/kube-apiserver.service")), os.Mkdir(m1.Path("/var/lib/etcd"), 0o700))
	sum, err := engine.Run(t.Context(), phases.Deploy(l.Env(func(e event.Event) error {
		if s, is := e.(event.StepStarted); is && s.Step == "etcd.start/m1" {
			now, err := seedOf(l)
			if err != nil || !now.Placed || now.Token == seed.Token {
				t.Errorf("it is taken for the first try: %+v %v", now, err)
			}
		}
		return nil
	})), quick(&book{}))
	if err != nil || len(sum.Failed) > 0 {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if got := revisionOf(t, l, "m1"); got != "1000004711" {
		t.Error("etcd began with", got)
	}
	if _, err := os.Stat(filepath.Join(l.StateDir(), "seed.json")); err == nil {
		t.Error("it is not over")
	}
}

// The snapshot has the Node of a machine that keeps its name: it proves nothing. The token stays until the kubelet has
// its own kubeconfig, and the cluster is up when the kubelet was heard of.
func TestTheNodesOfASnapshotProveNothing(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 1)
	seeded(t, l)
	w1 := l.Nodes["w1"]
	own, token := w1.Path("/etc/kubernetes/kubelet.conf"), w1.Path("/etc/kubernetes/bootstrap-kubelet.conf")
	var retries []string
	var mu sync.Mutex
	waits := true // for its certificate
	emit := func(e event.Event) error {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case event.StepStarted:
			if e.Step == "bootstrap.join/w1" && waits {
				must(t, os.Rename(own, own+".later"))
			}
		case event.StepRetry:
			retries = append(retries, e.Step+" "+e.Fault.Code)
			if e.Step == "bootstrap.join/w1" && waits {
				if _, err := os.Stat(token); err != nil {
					t.Error("the token is gone:", err)
				}
				must(t, os.Rename(own+".later", own))
				waits = false
			}
		}
		return nil
	}
	options := quick(&book{})
	options.Emit = emit
	sum, err := engine.Run(t.Context(), phases.Deploy(l.Env(emit)), options)
	if err != nil || len(sum.Failed) > 0 {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	for _, want := range []string{"bootstrap.join/w1 bootstrap.not-registered", "check.nodes check.node-not-ready"} {
		if !slices.Contains(retries, want) {
			t.Errorf("no %s: %q", want, retries)
		}
	}
	if _, err := os.Stat(token); err == nil {
		t.Error("the token stays")
	}
}

// A backup's snapshot is written where it is wanted, and what is done with it is a step of the run.
func TestABackupIsASnapshotAndMore(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(0))
	path := filepath.Join(t.TempDir(), "snapshot.db")
	packed := 0
	b, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		return phases.Backup(e, path, func(ctx context.Context) error {
			packed++
			_, err := phases.ReadSnapshot(ctx, path)
			return err
		})
	})
	if err != nil || len(sum.Failed) > 0 || packed != 1 || len(of[event.Change](b)) > 0 {
		t.Error(err, sum.Failed, packed)
	}
}
