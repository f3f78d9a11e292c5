package phases_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// leaving plans that nodes leave, with force.
func leaving(names ...string) func(phases.Env) *engine.Plan {
	return leavingBy(phases.Leaving{Drain: time.Minute, Force: true}, names...)
}

func leavingBy(l phases.Leaving, names ...string) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan {
		c := *e.Cluster
		going := func(n config.Node) bool { return slices.Contains(names, n.Name) }
		var gone []config.Node
		for _, n := range c.Nodes {
			if going(n) {
				gone = append(gone, n)
			}
		}
		c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), going)
		e.Cluster = &c
		l.Nodes = gone
		return phases.Delete(e, l)
	}
}

// TestMembersThatAreGoneLeaveFirst: of three members one is dead, and it leaves together with one that is well. In the
// order in which they were named the quorum would be lost between the two.
func TestMembersThatAreGoneLeaveFirst(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 3})
	l.Nodes["m3"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	if err := os.Remove(l.Nodes["m3"].State("active/etcd.service")); err != nil {
		t.Fatal(err)
	}
	leave := leaving("m2", "m3")
	b, sum, err := run(t, l, leave)
	var left []string
	for _, c := range of[event.Change](b) {
		if c.Desc.Key == "change.etcd-remove" {
			left = append(left, c.Desc.Args["member"])
		}
	}
	if err != nil || !slices.Equal(left, []string{"m3", "m2"}) {
		t.Errorf("%v %+v, left: %v, found: %v", err, sum.Failed, left, b.findings())
	}
	// What has left is not missed: the same command again ends well and takes nobody else.
	b, sum, err = run(t, l, leave)
	if err != nil || slices.ContainsFunc(of[event.Change](b),
		func(c event.Change) bool { return c.Desc.Key == "change.etcd-remove" }) {
		t.Errorf("again: %v %+v", err, sum.Failed)
	}
}

// TestNodesLeaveWithoutAWorkerThatIsAway: a machine that does nothing but run workloads need not be there when another
// one leaves. A control plane has to learn of it, and nothing is touched without it.
func TestNodesLeaveWithoutAWorkerThatIsAway(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 3, Workers: 2})
	away := event.NewFault(event.ClassFailed, "ssh.unreachable", nil)
	l.Nodes["m2"].PowerOff(away)
	before := tree(t, l)
	b, _, err := run(t, l, leaving("w1"))
	if err == nil || !slices.Contains(b.findings(), "preflight.leave-needs") {
		t.Errorf("%v, found: %v", err, b.findings())
	}
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error("touched:", d)
	}
	// What is wrong with the leave itself is told with it.
	if err := os.Remove(l.Nodes["m2"].State("active/etcd.service")); err != nil {
		t.Fatal(err)
	}
	b, _, err = run(t, l, leaving("m3"))
	if err == nil || !slices.Contains(b.findings(), "preflight.leave-needs") ||
		!slices.Contains(b.findings(), "preflight.leave-quorum") {
		t.Errorf("%v, found: %v", err, b.findings())
	}
	l.Nodes["m2"].PowerOff(nil)
	deploy(t, l)

	l.Nodes["w2"].PowerOff(away)
	b, sum, err := run(t, l, leaving("m3"))
	if err != nil || !slices.Contains(b.findings(), "preflight.leave-without") {
		t.Fatalf("%v %+v, found: %v", err, sum.Failed, b.findings())
	}
	after := tree(t, l)
	for path, text := range after {
		if strings.HasSuffix(path, "/etc/hosts") && strings.Contains(text, " m3\n") != strings.HasPrefix(path, "w2/") {
			t.Errorf("%s: %s", path, text)
		}
	}
	// It is back, and learns what it missed.
	l.Nodes["w2"].PowerOff(nil)
	if _, sum, err = run(t, l, onlyFor("m3")); err != nil ||
		slices.ContainsFunc(sum.Changed, func(s string) bool { return !strings.HasSuffix(s, "/w2") }) {
		t.Fatalf("%v %+v, changed: %v", err, sum.Failed, sum.Changed)
	}
	if text := tree(t, l)["w2/root/etc/hosts"]; strings.Contains(text, " m3\n") || text == "" {
		t.Error(text)
	}
}

// TestADryRunOfComingsAndGoings: plan tells what join, delete and certs renew would do, on which node, and does none
// of it.
func TestADryRunOfComingsAndGoings(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several deploys of six machines")
	}
	t.Parallel()
	l := shaped(t, phasestest.Shape{Masters: 3, Workers: 2, Balancer: true})
	if _, sum, err := run(t, l, onlyFor("m3", "w2")); err != nil {
		t.Fatal(err, sum.Failed)
	}

	b, _ := dryRun(t, l, phases.Deploy) // of the longer file: join
	for host, want := range map[string][]string{"m3": {"change.claim", "change.start", "change.etcd-add"},
		"w2": {"change.claim", "change.start"}, "m1": {"change.hosts"}, "lb": {"change.hosts", "change.file"}} {
		for _, key := range want {
			if !slices.Contains(changes(b, host), key) {
				t.Errorf("join: %s is not told of %s: %v", key, host, changes(b, host))
			}
		}
	}

	deploy(t, l)
	b, _ = dryRun(t, l, leaving("m1", "w2"))
	for host, want := range map[string][]string{"m1": {"change.undo-services", "change.undo-files"},
		"w2": {"change.undo-services"}, "m2": {"change.hosts", "change.file"}, "lb": {"change.file"}} {
		for _, key := range want {
			if !slices.Contains(changes(b, host), key) {
				t.Errorf("delete: %s is not told of %s: %v", key, host, changes(b, host))
			}
		}
	}
	for _, key := range []string{"change.etcd-remove", "change.delete-node"} {
		if !slices.Contains(changes(b, ""), key) {
			t.Errorf("delete: %s is not told: %v", key, changes(b, ""))
		}
	}

	b, _ = dryRun(t, l, func(e phases.Env) *engine.Plan {
		e.RenewBefore = time.Now().Add(time.Hour)
		return phases.Deploy(e)
	})
	for _, host := range []string{"m1", "m2", "m3", "w1"} {
		if !slices.Contains(changes(b, host), "change.start") {
			t.Errorf("renew: nothing is restarted on %s: %v", host, changes(b, host))
		}
	}
	if _, sum := dryRun(t, l, phases.Deploy); len(sum.Changed) > 0 {
		t.Error("what was only a dry run left a mark:", sum.Changed)
	}
}

// TestABudgetThatForbidsTheDrainLeavesAllAsItWas: a leave ends where a node cannot be emptied; who is waited for and
// why is told, nothing but the drain was begun, and pods may come onto all nodes again.
func TestABudgetThatForbidsTheDrainLeavesAllAsItWas(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	before := tree(t, l)
	const why = "Cannot evict pod as it would violate the pod's disruption budget."
	l.API.AddPod("default", "web", "w2")
	l.API.Budget(why)
	plan := leavingBy(phases.Leaving{Drain: 2 * time.Second}, "w1", "w2")
	b, sum, err := run(t, l, plan)
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "leave.drain-timeout" ||
		sum.Failed[0].Fault.Args["why"] != why || sum.Failed[0].Fault.Args["pods"] != "default/web" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	waits := slices.IndexFunc(of[event.Notice](b),
		func(n event.Notice) bool { return n.Text.Key == "notice.drain-waits" })
	if waits < 0 || of[event.Notice](b)[waits].Text.Args["why"] != why {
		t.Errorf("who is waited for: %+v", of[event.Notice](b))
	}
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error("touched:", d)
	}
	for _, n := range []string{"w1", "w2"} {
		if spec, _ := l.API.Object("/api/v1/nodes/" + n)["spec"].(map[string]any); spec["unschedulable"] == true {
			t.Errorf("%s is still closed to pods", n)
		}
	}
	if _, sum, err = run(t, l, phases.Deploy); err != nil || len(sum.Changed) > 0 {
		t.Error(err, sum.Changed)
	}

	// The budget allows it again while the drain waits.
	plan = leavingBy(phases.Leaving{Drain: time.Minute}, "w1", "w2")
	b = &book{}
	sum, err = engine.Run(t.Context(), plan(l.Env(func(e event.Event) error {
		if n, ok := e.(event.Notice); ok && n.Text.Key == "notice.drain-waits" {
			l.API.Budget("")
		}
		return b.emit(e)
	})), quick(b))
	if err != nil || l.API.Object("/api/v1/nodes/w2") != nil {
		t.Errorf("%v %+v", err, sum.Failed)
	}
}

// TestHooksOfALeave: hooks of the command line run on the nodes that leave and nowhere else, before anything is touched
// and when they have left; one that fails before stops all.
func TestHooksOfALeave(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(2))
	before := tree(t, l)
	hooked := func(hooks ...phases.Hook) func(phases.Env) *engine.Plan {
		return func(e phases.Env) *engine.Plan {
			e.Verb, e.Hooks = "delete", hooks
			for i := range e.Hooks {
				e.Hooks[i].Nodes = []string{"w2"}
			}
			return leaving("w2")(e)
		}
	}
	_, sum, err := run(t, l, hooked(phases.Hook{Type: phases.PreHook, Name: "no.sh",
		Data: []byte("echo it may not go >&2; exit 7\n")}))
	if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Fault.Code != "hook.failed" ||
		sum.Failed[0].Fault.Node != "w2" {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error("touched:", d)
	}
	b, sum, err := run(t, l, hooked(
		phases.Hook{Type: phases.PreHook, Name: "first.sh",
			Data: []byte("[ -e $SIM/root/etc/kubernetes ] && [ \"$EGGO_OPERATOR $EGGO_HOOK_TYPE $EGGO_NODE_NAME\" = " +
				"'delete prehook w2' ]\n")},
		phases.Hook{Type: phases.PostHook, Name: "last.sh",
			Data: []byte("[ ! -e $SIM/root/etc/kubernetes ] && [ $EGGO_HOOK_TYPE = posthook ]\n")}))
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	var ran []string
	for _, c := range of[event.Change](b) {
		if c.Desc.Key == "change.hook" {
			ran = append(ran, c.Host+" "+c.Desc.Args["hook"])
		} else if len(ran) == 0 {
			t.Fatalf("%s was changed before the hook had run", c.Desc.Key)
		}
	}
	if !slices.Equal(ran, []string{"w2 first.sh", "w2 last.sh"}) {
		t.Error("hooks that ran:", ran)
	}
}

// TestTheNextControlPlaneIsAskedWhenOneDies: the API server that a run talks to ends in the middle of a drain, and the
// run continues with another one, which is no less than the first.
func TestTheNextControlPlaneIsAskedWhenOneDies(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 3, Workers: 2})
	l.API.AddPod("default", "web", "w2")
	l.API.Budget("not yet")
	b, ended := &book{}, false
	sum, err := engine.Run(t.Context(), leavingBy(phases.Leaving{Drain: time.Minute},
		"w2")(l.Env(func(e event.Event) error {
		if n, ok := e.(event.Notice); ok && n.Text.Key == "notice.drain-waits" && !ended {
			ended = true
			if err := l.End("m1", "kube-apiserver.service"); err != nil {
				t.Error(err)
			}
			l.API.Budget("")
		}
		return b.emit(e)
	})), quick(b))
	if err != nil || !ended || l.API.Object("/api/v1/nodes/w2") != nil {
		t.Fatalf("%v, ended %v: %+v", err, ended, sum.Failed)
	}
	if _, err := os.Stat(l.Nodes["m1"].State("active/kube-apiserver.service")); err != nil {
		t.Error("the first one was not started again:", err)
	}
}

// TestScriptsOfDeployYaml: a script for precleanup finds a machine as it was, one for postcleanup after all is gone but
// the record; when it leaves the cluster, and when it alone is cleaned.
func TestScriptsOfDeployYaml(t *testing.T) {
	t.Parallel()
	for verb, plan := range map[string]func(phases.Env) *engine.Plan{
		"delete": func(e phases.Env) *engine.Plan { return leaving("w1")(e) },
		"cleanup": func(e phases.Env) *engine.Plan {
			return phases.CleanNodes(e, slices.DeleteFunc(slices.Clone(e.Cluster.Nodes), func(n config.Node) bool {
				return n.Name != "w1"
			}), false)
		},
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			l := deployed(t, workers(1))
			withScripts(t, l)
			_, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
				e.Verb = verb
				return plan(e)
			})
			if err != nil {
				t.Fatalf("%v %+v", err, sum.Failed)
			}
			if d := cmp.Diff([]string{verb + " prehook", "posthook"},
				lines(t, l.Nodes["w1"].Path("/opt/said"))); d != "" {
				t.Error(d)
			}
		})
	}
}

// withScripts puts scripts around a cleanup of the workers into deploy.yaml, and onto w1.
func withScripts(t *testing.T, l *phasestest.Lab) {
	t.Helper()
	w1 := l.Nodes["w1"]
	l.Cluster.Packages = map[bundle.Role][]config.Package{}
	for schedule, text := range map[string]string{
		"precleanup":  "[ -e $SIM/root/etc/kubernetes ] && echo $EGGO_OPERATOR $EGGO_HOOK_TYPE >$SIM/root/opt/said\n",
		"postcleanup": "[ ! -e $SIM/root/etc/kubernetes ] && echo $EGGO_HOOK_TYPE >>$SIM/root/opt/said\n",
	} {
		l.Cluster.Packages[bundle.Worker] = append(l.Cluster.Packages[bundle.Worker],
			config.Package{Name: schedule + ".sh", Type: "shell", Schedule: schedule, Timeout: 20 * time.Second})
		put(t, w1.Path(node.HookDir+"/"+schedule+"-"+schedule+".sh/"+schedule+".sh"), text)
	}
}

// The endpoint's address goes with the control plane that was it: the API servers that stay are restarted once, with
// certificates that have the new one and no longer that of the machine that left.
func TestCertificatesLoseTheAddressOfWhoLeft(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 3})
	names := func(node string) []string {
		text, err := os.ReadFile(l.Nodes[node].Path("/etc/kubernetes/pki/apiserver.crt"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := pki.Describe(text)
		if err != nil {
			t.Fatal(err)
		}
		return c.Names
	}
	if got := names("m2"); !slices.Contains(got, "192.0.2.11") {
		t.Fatal("the endpoint is not in the certificate of another API server:", got)
	}
	plan := leaving("m1")
	b, sum, err := run(t, l, func(e phases.Env) *engine.Plan {
		c := *e.Cluster
		c.Endpoint = "192.0.2.12:6443" // what deploy.yaml without m1 means
		e.Cluster = &c
		return plan(e)
	})
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	starts := map[string]int{}
	for _, c := range of[event.Change](b) {
		if c.Desc.Key == "change.start" && c.Desc.Args["unit"] == "kube-apiserver.service" {
			starts[c.Host]++
		}
	}
	if diff := cmp.Diff(map[string]int{"m2": 1, "m3": 1}, starts); diff != "" {
		t.Error("restarts of the API server:", diff)
	}
	for _, n := range []string{"m2", "m3"} {
		if got := names(n); slices.Contains(got, "192.0.2.11") || !slices.Contains(got, "192.0.2.12") {
			t.Errorf("%s: %v", n, got)
		}
	}
}
