package phases_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// hopsOf makes the bundles of versions.
func hopsOf(t *testing.T, l *phasestest.Lab, versions ...string) upgrade.Options {
	t.Helper()
	o := upgrade.Options{From: phasestest.Version, Drain: time.Minute, Batch: 1}
	for _, v := range versions {
		path, err := l.Release(v)
		if err != nil {
			t.Fatal(err)
		}
		o.Hops = append(o.Hops, upgrade.Hop{Version: v, Source: sourceOf(l, path)})
	}
	return o
}

// sourceOf is the cluster's package source with another bundle.
func sourceOf(l *phasestest.Lab, path string) config.PackageSource {
	src := l.Cluster.Source
	src.Bundles = map[string]string{"amd64": path}
	return src
}

func upgraded(t *testing.T, l *phasestest.Lab, o upgrade.Options) (*book, engine.Summary, error) {
	t.Helper()
	var err error
	if o.Begun, err = upgrade.ReadBegun(l.StateDir()); err != nil {
		t.Fatal(err)
	}
	if o.Begun.Under() {
		o.From, o.Hops = o.Begun.From, o.Begun.Hops
	}
	return run(t, l, func(e phases.Env) *engine.Plan { return phases.Upgrade(e, o) })
}

// running returns the program that each component of Kubernetes runs, by node and component.
func running(l *phasestest.Lab) map[string]string {
	out := map[string]string{}
	for name, n := range l.Nodes {
		for _, unit := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
			"kube-proxy", "etcd"} {
			if is := n.Runs(unit + ".service"); is != "" {
				out[name+" "+unit] = strings.TrimPrefix(is, "program "+unit)
			}
		}
	}
	return out
}

func TestAPatchUpgrade(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.3")
	b, sum, err := upgraded(t, l, o)
	if err != nil {
		t.Fatalf("%v\n%+v\nfindings %v", err, sum.Failed, of[event.Finding](b))
	}
	everythingRuns(t, l, " v1.34.3")
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
		t.Errorf("%+v, %v", is, err)
	}
}

// everythingRuns wants every component to be of a version.
func everythingRuns(t *testing.T, l *phasestest.Lab, version string) {
	t.Helper()
	for what, is := range running(l) {
		if is != version {
			t.Errorf("%s runs %q", what, is)
		}
	}
}

// unitOf is the text of a unit on a node.
func unitOf(t *testing.T, l *phasestest.Lab, node, unit string) string {
	t.Helper()
	return readFile(t, l.Nodes[node].Path("/etc/systemd/system/"+unit))
}

// A minor has two acts: the new control plane runs as the old minor, and after the soak it does no more. The programs
// that gave way go at the end, and deploy.yaml names the new bundles then.
func TestAMinorUpgradeHasTwoActs(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	during, reached := "", []string{}
	o.Probe = "false"
	o.Reached = func(_ context.Context, h upgrade.Hop) error {
		reached = append(reached, h.Version+" "+h.Source.Bundles["amd64"])
		return nil
	}
	_, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.soak-failed" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	during = unitOf(t, l, "m1", "kube-apiserver.service")
	if is := running(l); is["m1 kube-apiserver"] != " v1.35.4" || is["w1 kubelet"] != "" ||
		!strings.Contains(during, "--emulated-version=1.34") {
		t.Errorf("in the soak: %v\n%s", is, during)
	}
	o.Probe = "true"
	if _, sum, err = upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, " v1.35.4")
	for _, unit := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if text := unitOf(t, l, "m1", unit+".service"); strings.Contains(text, "emulated") {
			t.Errorf("after it:\n%s", text)
		}
	}
	if len(reached) != 1 || reached[0] != "v1.35.4 /bundle-v1.35.4.tar.gz" {
		t.Error(reached)
	}
}

// While the new control plane runs as the old minor the upgrade can be reverted, and everything is as before.
func TestAMinorUpgradeIsReverted(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	before := tree(t, l)
	o := hopsOf(t, l, "v1.35.4")
	o.Probe = "false"
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("the soak ended well")
	}
	begun, err := upgrade.ReadBegun(l.StateDir())
	if err != nil || !begun.Under() || begun.Committed {
		t.Fatalf("%+v, %v", begun, err)
	}
	if _, sum, err := run(t, l, taken(begun)); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, "")
	for path, is := range tree(t, l) {
		if strings.Contains(path, "kubernetes") && before[path] != is {
			t.Errorf("%s is not as before", path)
		}
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
		t.Errorf("%+v, %v", is, err)
	}
}

// A control plane that does not come up gets what it had, and the next one is not begun.
func TestAControlPlaneThatDoesNotComeUpIsReverted(t *testing.T) {
	t.Parallel()
	long(t)
	l := deployed(t, phasestest.Shape{Masters: 3, Workers: 1, Balancer: true})
	o := hopsOf(t, l)
	path, err := l.Release("v1.34.4", "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	o.Hops = []upgrade.Hop{{Version: "v1.34.4", Source: sourceOf(l, path)}}
	_, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.reverted" ||
		sum.Failed[0].Fault.Node != "m1" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	for what, is := range running(l) {
		if is != "" && !strings.HasSuffix(what, " etcd") {
			t.Errorf("%s runs %q", what, is)
		}
	}
	if conf := readFile(t, l.Nodes["lb"].Path("/etc/eggo/nginx-lb.conf")); strings.Contains(conf, "down;") {
		t.Errorf("the load balancer leaves a server out that was reverted:\n%s", conf)
	}
	if o.Hops[0].Source.Bundles["amd64"], err = l.Release("v1.34.4"); err != nil {
		t.Fatal(err)
	}
	if _, sum, err = upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, " v1.34.4")
}

// A chain goes over each version, and ends at the last one. What the checks have warned of they say once.
func TestAChainOfUpgrades(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.3", "v1.35.4", "v1.36.1")
	l.API.Add("/api/v1/nodes/stranger", map[string]any{"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": "stranger"}, "spec": map[string]any{"unschedulable": true}})
	var reached []string
	o.Reached = func(_ context.Context, h upgrade.Hop) error {
		reached = append(reached, h.Version)
		return nil
	}
	b, sum, err := upgraded(t, l, o)
	if err != nil {
		t.Fatalf("%v\n%+v\nfindings %v", err, sum.Failed, of[event.Finding](b))
	}
	everythingRuns(t, l, " v1.36.1")
	if strings.Join(reached, " ") != "v1.34.3 v1.35.4 v1.36.1" {
		t.Error(reached)
	}
	said := map[string]int{}
	for _, f := range of[event.Finding](b) {
		said[f.Fault.Code+" "+f.Host]++
	}
	if said["upgrade.node-stranger stranger"]+said["upgrade.node-stranger "] != 1 {
		t.Errorf("found %v", said)
	}
}

// A dry run says what each hop would change, and changes nothing.
func TestADryRunOfAnUpgrade(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.3", "v1.35.4")
	b, sum := dryRun(t, l, func(e phases.Env) *engine.Plan { return phases.Upgrade(e, o) })
	for _, want := range []string{"etcd.start/m1", "control-plane.turn/m1", "nodes.turn/w1", "v1.35.4:commit.turn/m1"} {
		if !slices.Contains(sum.Changed, want) {
			t.Errorf("%s would change nothing: %v", want, sum.Changed)
		}
	}
	told := map[string]bool{}
	for _, n := range of[event.Notice](b) {
		told[n.Text.Key] = true
	}
	for _, key := range []string{"gap", "back-until-end", "back-until-soak"} {
		if !told["notice.upgrade-"+key] {
			t.Errorf("%s is not told: %v", key, told)
		}
	}
}

// An upgrade that is cut off continues where it was, wherever that is.
func TestAnUpgradeIsContinued(t *testing.T) {
	t.Parallel()
	long(t)
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	for cuts := 0; ; cuts++ {
		if cuts > 60 {
			t.Fatal("it does not come to its end")
		}
		var err error
		if o.Begun, err = upgrade.ReadBegun(l.StateDir()); err != nil {
			t.Fatal(err)
		}
		ctx, cut := context.WithCancel(t.Context())
		b := &book{}
		var changes atomic.Int64
		e := quick(b)
		emit := e.Emit
		e.Emit = func(ev event.Event) error {
			if _, is := ev.(event.Change); is {
				if changes.Add(1) == int64(3+cuts%4) { // a step may need more than three at once
					cut()
				}
			}
			return emit(ev)
		}
		_, err = engine.Run(ctx, phases.Upgrade(l.Env(e.Emit), o), e)
		cut()
		if err == nil {
			break
		}
	}
	everythingRuns(t, l, " v1.35.4")
	if text := unitOf(t, l, "m1", "kube-apiserver.service"); strings.Contains(text, "emulated") {
		t.Errorf("it runs as the old minor:\n%s", text)
	}
}

// A hop without a way back of its own is committed when its work begins, also when a restore of etcd or the end of a
// limit left it uncommitted.
func TestAContinuedHopWithoutAWayBackIsCommitted(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	path, err := l.Release(phasestest.Version, "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	was := upgrade.Begun{From: "v1.33.13", Touched: true, Hops: []upgrade.Hop{{
		Version: phasestest.Version, Source: sourceOf(l, path)}}}
	if err := was.Write(l.StateDir()); err != nil {
		t.Fatal(err)
	}
	if _, sum, err := upgraded(t, l, upgrade.Options{Drain: time.Minute, Batch: 1}); err == nil {
		t.Fatalf("%+v", sum)
	}
	if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || !is.Committed || is.Snapshot == "" {
		t.Errorf("%+v, %v", is, err)
	}
}

// A member of etcd that does not come up gets what it had. The same command again touches no other member.
func TestAMemberOfEtcdThatDoesNotComeUpIsReverted(t *testing.T) {
	t.Parallel()
	long(t)
	l := deployed(t, phasestest.Shape{Masters: 3, Workers: 1, Balancer: true})
	path, err := l.Release("v1.34.4", "etcd")
	if err != nil {
		t.Fatal(err)
	}
	o := hopsOf(t, l)
	o.Hops = []upgrade.Hop{{Version: "v1.34.4", Source: sourceOf(l, path)}}
	for range 2 {
		_, sum, err := upgraded(t, l, o)
		if err == nil || len(sum.Failed) == 0 || sum.Failed[0].Fault.Code != "upgrade.reverted" ||
			sum.Failed[0].Fault.Args["component"] != "etcd" {
			t.Fatalf("%v %+v", err, sum.Failed)
		}
		everythingRuns(t, l, "")
		if is := running(l); len(is) != 3*6+2 {
			t.Errorf("not all run: %v", is)
		}
	}
}

// While another member of etcd is away none that runs is restarted: the quorum would be lost.
func TestAnIllMemberOfEtcdStopsTheRestartOfOthers(t *testing.T) {
	t.Parallel()
	long(t)
	l := deployed(t, phasestest.Shape{Masters: 3, Workers: 1, Balancer: true})
	o := hopsOf(t, l, "v1.34.4")
	from := upgrade.Begun{From: phasestest.Version, Hops: o.Hops}
	if err := from.Write(l.StateDir()); err != nil { // as if it was continued
		t.Fatal(err)
	}
	if err := l.End("m2", "etcd.service"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Nodes["m2"].State("broken/etcd.service"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("it ended well")
	}
	for _, m := range []string{"m1", "m3"} {
		if is := running(l)[m+" etcd"]; is != "" {
			t.Errorf("etcd on %s runs %q", m, is)
		}
	}
}

// Where no API server answers the way back begins with it.
func TestAWayBackWithoutAnAPI(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	o.Probe = "false"
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("the soak ended well")
	}
	begun, err := upgrade.ReadBegun(l.StateDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.End("m1", "kube-apiserver.service"); err != nil {
		t.Fatal(err)
	}
	if _, sum, err := run(t, l, taken(begun)); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, "")
}

// When kubelets are of the new minor an API server that does not come up stays what it is: the old one would be older
// than they are.
func TestNoAPIServerGoesBackUnderNewKubelets(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.35.4")
	for _, n := range l.Nodes { // the kubelet can be asked for its version
		program := []byte("#!/bin/sh\necho \"Kubernetes ${2:-" + phasestest.Version + "}\"\n")
		if err := os.WriteFile(n.State("../bin/program"), program, 0o755); err != nil { //nolint:gosec // it is executed
			t.Fatal(err)
		}
	}
	o.Reached = func(context.Context, upgrade.Hop) error { return errors.New("the control host is full") }
	if _, _, err := upgraded(t, l, o); err == nil {
		t.Fatal("it ended well")
	}
	if err := l.End("m1", "kube-apiserver.service"); err != nil {
		t.Fatal(err)
	}
	broken := l.Nodes["m1"].State("broken/kube-apiserver.service")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, sum, err := upgraded(t, l, o)
	if err == nil || len(sum.Failed) == 0 || strings.HasPrefix(sum.Failed[0].Fault.Code, "upgrade.") {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if text := unitOf(t, l, "m1", "kube-apiserver.service"); strings.Contains(text, "emulated") {
		t.Errorf("it was reverted:\n%s", text)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	o.Reached = nil
	if _, sum, err := upgraded(t, l, o); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	everythingRuns(t, l, " v1.35.4")
}
