package phases_test

import (
	"context"
	"fmt"
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

const newer = "v1.35.4"

// turns plans the turns of the nodes to a newer version.
func turns(t *testing.T, l *phasestest.Lab, o upgrade.Options) func(phases.Env) *engine.Plan {
	t.Helper()
	path, err := l.Release(newer)
	must(t, err)
	return func(e phases.Env) *engine.Plan {
		c := *e.Cluster
		c.Source.Bundles = map[string]string{"amd64": path}
		e.Cluster = &c
		return phases.NodeTurns(e, o, func(k *upgrade.Kubelets) {
			k.Ready, k.Back, k.Acting = 3*time.Second, time.Second, time.Second
		})
	}
}

// nodeObject is what the API has of a node: its version, whether it is closed, and whether by us.
func nodeObject(l *phasestest.Lab, name string) (version string, closed, ours bool) {
	o := l.API.Object("/api/v1/nodes/" + name)
	meta, _ := o["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	spec, _ := o["spec"].(map[string]any)
	status, _ := o["status"].(map[string]any)
	info, _ := status["nodeInfo"].(map[string]any)
	version, _ = info["kubeletVersion"].(string)
	return version, spec["unschedulable"] == true, notes["eggo.isula.org/cordoned-by"] != nil
}

// setNode closes a node, as us when ours is set.
func setNode(t *testing.T, l *phasestest.Lab, name string, closed, ours bool) {
	t.Helper()
	must(t, l.API.Merge("/api/v1/nodes/"+name, map[string]any{"spec": map[string]any{"unschedulable": closed}}))
	if ours {
		must(t, l.API.Merge("/api/v1/nodes/"+name, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{"eggo.isula.org/cordoned-by": "eggo"}}}))
	}
}

// away counts how many workers were closed at the same time at most, and notes the order of the turns.
type away struct {
	book
	l     *phasestest.Lab
	most  int
	order []string
}

func (a *away) emit(e event.Event) error {
	if s, ok := e.(event.StepStarted); ok && strings.HasPrefix(s.Step, "nodes.turn/") {
		a.mu.Lock()
		a.order = append(a.order, strings.TrimPrefix(s.Step, "nodes.turn/"))
		a.mu.Unlock()
	}
	if c, ok := e.(event.Change); ok && c.Desc.Key == "change.start" {
		now := 0
		for _, n := range a.l.Cluster.Nodes {
			if _, closed, ours := nodeObject(a.l, n.Name); closed && ours {
				now++
			}
		}
		a.mu.Lock()
		a.most = max(a.most, now)
		a.mu.Unlock()
	}
	return a.book.emit(e)
}

// A run that is to stop drains no node any more, also one whose turn has begun: of a batch all have. Their pods stay
// where they are, and the nodes take pods.
func TestAStopIsHonouredBeforeADrain(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	l.API.AddReplicaSet("shop", 1)
	l.API.AddPod("shop", "one", "w1")
	l.API.AddPod("shop", "two", "w2")
	path, err := l.Release(newer)
	must(t, err)
	stop := make(chan struct{})
	var begun atomic.Int32
	plan := func(e phases.Env) *engine.Plan {
		c := *e.Cluster
		c.Source.Bundles = map[string]string{"amd64": path}
		e.Cluster = &c
		return phases.NodeTurns(e, upgrade.Options{Drain: time.Minute, Batch: 2}, func(k *upgrade.Kubelets) {
			runtime := k.Runtime
			k.Runtime = func(n config.Node) *engine.Step {
				s := runtime(n)
				check := s.Check
				s.Check = func(ctx context.Context) (bool, error) { // the first thing in a turn
					if n.Name != "m1" {
						if begun.Add(1) == 2 {
							close(stop)
						}
						for !engine.Stopping(ctx) && ctx.Err() == nil {
							time.Sleep(time.Millisecond)
						}
					}
					return check(ctx)
				}
				return s
			}
		})
	}
	b := &book{}
	o := quick(b)
	o.Stop = stop
	_, err = engine.Run(t.Context(), plan(l.Env(b.emit)), o)
	if f := event.AsFault(err); f == nil || f.Class != event.ClassInterrupted {
		t.Fatal(err)
	}
	for _, n := range []string{"w1", "w2"} {
		if version, closed, ours := nodeObject(l, n); version == newer || closed || ours {
			t.Errorf("%s: %s, closed %v, by us %v", n, version, closed, ours)
		}
	}
	for _, p := range []string{"one", "two"} {
		if l.API.Object("/api/v1/namespaces/shop/pods/"+p) == nil {
			t.Errorf("%s was evicted", p)
		}
	}
}

// Control planes come first, then workers in batches; pods move and come back, who was closed by somebody else stays
// so, and a second run finds nothing to do.
func TestNodesHaveTheirTurns(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(4))
	setNode(t, l, "w3", true, false)
	l.API.AddReplicaSet("shop", 2)
	l.API.AddPod("shop", "one", "w1")
	l.API.AddPod("shop", "two", "w2")
	plan := turns(t, l, upgrade.Options{Drain: time.Minute, Batch: 2})
	a := &away{l: l}
	o := quick(&a.book)
	o.Emit = a.emit
	sum, err := engine.Run(t.Context(), plan(l.Env(a.emit)), o)
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	for _, n := range l.Cluster.Nodes {
		version, closed, ours := nodeObject(l, n.Name)
		if version != newer || closed != (n.Name == "w3") || ours {
			t.Errorf("%s: %s, closed %v, by us %v", n.Name, version, closed, ours)
		}
	}
	if a.order[0] != "m1" || a.most > 2 || a.most == 0 {
		t.Errorf("order %v, %d at once", a.order, a.most)
	}
	if slices.Contains(a.notices(), "notice.upgrade-pods-back") ||
		l.API.Object("/api/v1/namespaces/shop/pods/one") != nil {
		t.Error("told:", a.notices(), l.API.Objects())
	}
	b, sum, err := run(t, l, plan)
	if err != nil || len(sum.Changed) > 0 {
		t.Errorf("again: %v, changed %v: %+v", err, sum.Changed, of[event.Change](b))
	}
}

// While nobody acts as controller manager no node is emptied: what is evicted would stay an endpoint of its Services.
// When the lease is renewed, the same command ends well.
func TestNoNodeIsEmptiedWhileNoControllerActs(t *testing.T) {
	long(t)
	t.Parallel()
	const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager"
	l := deployed(t, workers(1))
	l.API.AddReplicaSet("shop", 1)
	l.API.AddPod("shop", "one", "w1")
	renewed := func(second int) map[string]any {
		return map[string]any{"spec": map[string]any{"renewTime": fmt.Sprintf("2026-01-01T00:00:%02d.000000Z", second)}}
	}
	l.API.Add(lease, renewed(0))
	_, sum, err := run(t, l, turns(t, l, upgrade.Options{Drain: time.Minute}))
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.not-acting" ||
		sum.Failed[0].Fault.Args["component"] != "kube-controller-manager" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if version, closed, _ := nodeObject(l, "w1"); version != phasestest.Version || closed {
		t.Errorf("w1: %s, closed %v", version, closed)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for i := 1; ctx.Err() == nil; i++ {
			_ = l.API.Merge(lease, renewed(i%60))
			time.Sleep(50 * time.Millisecond)
		}
	}()
	if _, sum, err = run(t, l, turns(t, l, upgrade.Options{Drain: time.Minute})); err != nil {
		t.Errorf("%v %+v", err, sum.Failed)
	}
}

// A plan announces a turn no matter who acts, and does not wait; nor is a controller manager that needs no lease waited
// for.
func TestTurnsWithALeaseThatNobodyRenews(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	l.API.AddPod("shop", "one", "w1")
	l.API.Add("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager",
		map[string]any{"spec": map[string]any{"renewTime": "2026-01-01T00:00:00.000000Z"}})
	plan := turns(t, l, upgrade.Options{Drain: time.Minute})
	b, sum, err := run(t, l, func(e phases.Env) *engine.Plan { return phases.DryRun(e, plan) })
	var would []string
	for _, c := range of[event.Change](b) {
		if c.Step == "nodes.turn/w1" {
			would = append(would, strings.TrimPrefix(c.Desc.Key, "change."))
		}
	}
	for _, what := range []string{"cordon", "evict", "switch", "start"} {
		if err != nil || !slices.Contains(would, what) {
			t.Errorf("%v %+v: %s is not among %v", err, sum.Failed, what, would)
		}
	}
	if l.API.Object("/api/v1/namespaces/shop/pods/one") == nil {
		t.Error("evicted in a dry run")
	}
	l.Cluster.ExtraArgs = append(l.Cluster.ExtraArgs, config.ExtraArgs{Component: "kube-controller-manager",
		Args: map[string]string{"leader-elect": "false"}})
	if _, sum, err = run(t, l, plan); err != nil {
		t.Errorf("%v %+v", err, sum.Failed)
	}
}

// A budget that lets no pod go ends the turn before the node is touched: it is opened again, its row stops there, and
// the other row continues. When the budget lets it go, the same command ends well.
func TestADrainThatIsBlockedStopsItsRow(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(4))
	l.API.AddPod("shop", "one", "w1")
	l.API.Budget("its budget")
	plan := turns(t, l, upgrade.Options{Batch: 2})
	_, sum, err := run(t, l, plan)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.drain-timeout" ||
		sum.Failed[0].Fault.Args["pods"] != "shop/one" || sum.Failed[0].Fault.Node != "w1" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	for name, want := range map[string]string{"m1": newer, "w1": phasestest.Version, "w2": newer,
		"w3": phasestest.Version, "w4": newer} {
		if version, closed, _ := nodeObject(l, name); version != want || closed {
			t.Errorf("%s: %s, closed %v", name, version, closed)
		}
	}
	l.API.Budget("")
	plan = turns(t, l, upgrade.Options{Batch: 2, Drain: time.Minute})
	if _, sum, err = run(t, l, plan); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
}

// An eviction that a webhook denies is tried until the time is over, and one that cannot be at all ends the turn at
// once. Nothing of the node was changed, so it is opened.
func TestADrainThatFailsOpensTheNode(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	l.API.AddPod("shop", "one", "w1")
	plan := turns(t, l, upgrade.Options{Batch: 1})
	for status, code := range map[int]string{403: "upgrade.drain-timeout", 422: "kube.api"} {
		l.API.Deny(status)
		_, sum, err := run(t, l, plan)
		if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != code {
			t.Errorf("%d: %v %+v", status, err, sum.Failed)
		}
		if version, closed, ours := nodeObject(l, "w1"); version != phasestest.Version || closed || ours {
			t.Errorf("%d: w1 has %s, closed %v, by us %v", status, version, closed, ours)
		}
	}
}

// A run that was killed leaves nodes closed: one that was started in the new version is opened and not emptied again,
// one that was not has its turn.
func TestATurnThatWasCutOffContinues(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(3))
	plan := turns(t, l, upgrade.Options{Batch: 1, Drain: time.Minute})
	onlyW1 := func(e phases.Env) *engine.Plan { e.Limit = []string{"w1"}; return plan(e) }
	if _, sum, err := run(t, l, onlyW1); err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if version, _, _ := nodeObject(l, "m1"); version != phasestest.Version {
		t.Error("outside of the limit:", version)
	}
	setNode(t, l, "w1", true, true)
	setNode(t, l, "w2", true, true)
	l.API.AddPod("shop", "one", "w1")
	b, sum, err := run(t, l, plan)
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	for _, c := range of[event.Change](b) {
		if strings.HasSuffix(c.Step, "/w1") && c.Desc.Key != "change.uncordon" {
			t.Error("w1 again:", c)
		}
	}
	for _, n := range l.Cluster.Nodes {
		if version, closed, ours := nodeObject(l, n.Name); version != newer || closed || ours {
			t.Errorf("%s: %s, closed %v, by us %v", n.Name, version, closed, ours)
		}
	}
}

// A kubelet that does not come up stops the workers of all rows. Its node stays closed; one whose turn had begun and
// that is well is opened.
func TestAKubeletThatDoesNotComeUpStopsTheOthers(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(4))
	must(t, os.WriteFile(l.Nodes["w1"].State("broken/kubelet.service"), nil, 0o600))
	_, sum, err := run(t, l, turns(t, l, upgrade.Options{Batch: 2, Drain: time.Minute}))
	if err == nil {
		t.Fatal("a kubelet that does not start is taken for upgraded")
	}
	for _, s := range sum.Failed {
		if s.Fault.Node != "w1" && s.Fault.Code != "rolling.stopped" {
			t.Errorf("%+v", s)
		}
	}
	for _, n := range l.Cluster.Nodes {
		if _, closed, ours := nodeObject(l, n.Name); closed != (n.Name == "w1") || ours != closed {
			t.Errorf("%s: closed %v, by us %v", n.Name, closed, ours)
		}
	}
	if version, _, _ := nodeObject(l, "w3"); version != phasestest.Version {
		t.Error("the row of w1 continued:", version)
	}
}

// Pods that could go nowhere stay where they are, and pods that do not come back are named.
func TestPodsThatCannotGoOrDoNotComeBack(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	l.API.AddPod("shop", "one", "w1")
	plan := turns(t, l, upgrade.Options{Drain: time.Minute})
	b, sum, err := run(t, l, plan)
	if err != nil || !slices.Contains(b.notices(), "notice.upgrade-alone") ||
		l.API.Object("/api/v1/namespaces/shop/pods/one") == nil {
		t.Fatalf("%v %+v %v", err, sum.Failed, b.notices())
	}

	l = deployed(t, workers(2))
	l.API.AddReplicaSet("shop", 1)
	l.API.AddPod("shop", "one", "w1")
	setNode(t, l, "m1", false, false)
	plan = turns(t, l, upgrade.Options{Drain: time.Minute})
	b = &book{}
	_, err = engine.Run(t.Context(), plan(l.Env(func(e event.Event) error {
		if c, ok := e.(event.Change); ok && c.Desc.Key == "change.uncordon" && strings.HasSuffix(c.Step, "/w1") {
			l.API.Remove("/api/v1/namespaces/shop/pods/one-again")
		}
		return b.emit(e)
	})), quick(b))
	told := of[event.Notice](b)
	i := slices.IndexFunc(told, func(n event.Notice) bool { return n.Text.Key == "notice.upgrade-pods-back" })
	if err != nil || i < 0 || told[i].Text.Args["pods"] != "shop/set 0/1" {
		t.Errorf("%v %v", err, told)
	}
}

// The pods of a node that is not Ready are not evicted, for nobody is there who could end them; and the turn ends when
// it is not Ready in the version.
func TestANodeThatIsNotReady(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	ready := func(is string) {
		must(t, l.API.Merge("/api/v1/nodes/w1", map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": is, "reason": "KubeletNotReady", "message": "no network"}}}}))
	}
	ready("False")
	l.API.AddPod("shop", "one", "w1")
	plan := turns(t, l, upgrade.Options{Drain: time.Minute})
	b, sum, err := run(t, l, plan)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "upgrade.node-not-ready" ||
		sum.Failed[0].Fault.Node != "w1" || sum.Failed[0].Fault.Args["why"] != "KubeletNotReady: no network" {
		t.Errorf("%v %+v", err, sum.Failed)
	}
	if !slices.Contains(b.notices(), "notice.upgrade-not-ready") ||
		l.API.Object("/api/v1/namespaces/shop/pods/one") == nil {
		t.Error(b.notices())
	}
	ready("True")
	if _, sum, err = run(t, l, plan); err != nil {
		t.Errorf("%v %+v", err, sum.Failed)
	}
}

// Outside of the maintenance window nothing is begun; the wait says when it opens, and ends with the run.
func TestTurnsWaitForTheWindow(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	now := time.Now().UTC()
	opens := now.Truncate(time.Hour).Add(2 * time.Hour)
	from := time.Duration(opens.Hour()) * time.Hour
	plan := turns(t, l, upgrade.Options{Window: upgrade.Window{From: from, To: from + time.Minute}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &book{}
	env := l.Env(func(e event.Event) error {
		if n, ok := e.(event.Notice); ok && n.Text.Key == "notice.upgrade-window" {
			cancel()
		}
		return b.emit(e)
	})
	env.Now = func() time.Time { return now }
	_, err := engine.Run(ctx, plan(env), quick(b))
	told := of[event.Notice](b)
	i := slices.IndexFunc(told, func(n event.Notice) bool { return n.Text.Key == "notice.upgrade-window" })
	if err == nil || i < 0 || told[i].Text.Args["time"] != opens.Format("2006-01-02 15:04 -07:00") {
		t.Errorf("%v %+v", err, told)
	}
	if version, _, _ := nodeObject(l, "m1"); version != phasestest.Version {
		t.Error("begun outside of the window:", version)
	}
}

// Workers wait for their own row alone, and a limit does not wait for nodes outside of it.
func TestRowsOfWorkers(t *testing.T) {
	long(t)
	t.Parallel()
	c := fleet(t, 5)
	for limit, want := range map[string]string{
		"":      "m0<sent m1<m0 m2<m1 w0<m2 w1<m2 w2<w0 w3<w1 w4<w2",
		"m1,w3": "m0<sent m1<sent m2<m0 w0<m2 w1<m2 w2<w0 w3<m1 w4<w1",
	} {
		env := phases.Env{Cluster: c, Now: time.Now, Emit: func(event.Event) error { return nil }}
		if limit != "" {
			env.Limit = strings.Split(limit, ",")
		}
		var got []string
		for _, s := range phases.NodeTurns(env, upgrade.Options{Batch: 2}, func(*upgrade.Kubelets) {}).Steps {
			if s.Phase == "nodes" {
				got = append(got, s.Host+"<"+strings.TrimPrefix(strings.Join(s.Needs, ","), "nodes.turn/"))
			}
		}
		slices.Sort(got)
		if is := strings.Join(got, " "); is != want {
			t.Errorf("limit %q: %s", limit, is)
		}
	}
}
