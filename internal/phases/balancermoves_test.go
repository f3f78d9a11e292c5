package phases_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// balanced are three control planes, a worker and a load balancer on a machine of its own.
func balanced() phasestest.Shape { return phasestest.Shape{Masters: 3, Workers: 1, Balancer: true} }

const balancerLine = "loadbalance: {name: lb, ip: 192.0.2.41, port: 22, arch: amd64, bind-port: 8443}\n"

// lb2Line has another machine in its place.
const lb2Line = "loadbalance: {name: lb2, ip: 192.0.2.42, port: 22, arch: amd64, bind-port: 8443}\n"

// joined are the machines of a cluster whose kubelets have joined, as a simulated kubelet does not by itself.
func joined(t *testing.T, s phasestest.Shape, endpoint string) *phasestest.Lab {
	t.Helper()
	l := deployed(t, s)
	for _, n := range l.Cluster.Nodes {
		if inventory.IsKubelet(n) {
			put(t, l.Nodes[n.Name].Path("/etc/kubernetes/kubelet.conf"),
				"clusters:\n- cluster:\n    server: https://"+endpoint+"\n")
		}
	}
	return l
}

// rebalance makes a deploy.yaml with another load balancer the one of the lab. It returns the cluster as it was, and a
// plan that knows it.
func rebalance(t *testing.T, l *phasestest.Lab, line string) func(phases.Env) *engine.Plan {
	t.Helper()
	was := l.Cluster
	text := bytes.Replace(l.DeployYAML(), []byte(balancerLine), []byte(line), 1)
	must(t, l.Use(text))
	return since(was, l)
}

// since is a deploy of a cluster that was another one before. When it is accepted that of the lab is its own.
func since(was *config.Cluster, l *phasestest.Lab) func(phases.Env) *engine.Plan {
	own := &was
	return func(e phases.Env) *engine.Plan {
		e.Saved = *own
		e.Accepted = func(context.Context) error { *own = l.Cluster; return nil }
		return phases.Deploy(e)
	}
}

// ends runs a plan that ends well.
func ends(t *testing.T, l *phasestest.Lab, plan func(phases.Env) *engine.Plan) *book {
	t.Helper()
	b, sum, err := run(t, l, plan)
	if err != nil {
		t.Fatalf("%v\n%+v\nfindings %v", err, sum.Failed, of[event.Finding](b))
	}
	return b
}

// reaches wants every node, and whoever has the administrator's kubeconfig, to use this endpoint and no other.
func reaches(t *testing.T, l *phasestest.Lab, endpoint string) {
	t.Helper()
	for path, text := range tree(t, l) {
		if !strings.HasSuffix(path, ".conf") || !strings.Contains(path, "/etc/kubernetes/") {
			continue
		}
		for line := range strings.Lines(text) {
			if s, ok := strings.CutPrefix(strings.TrimSpace(line), "server: https://"); ok && s != endpoint &&
				s != "127.0.0.1:6443" {
				t.Errorf("%s: %s", path, s)
			}
		}
	}
	conf := readFile(t, filepath.Join(l.StateDir(), "admin.conf"))
	if !strings.Contains(conf, "https://"+endpoint+"\n") {
		t.Error("admin.conf:", conf)
	}
	if _, err := os.Stat(filepath.Join(l.StateDir(), "endpoint.json")); err == nil {
		t.Error("the former endpoint is not forgotten")
	}
	for _, n := range []string{"m1", "m2", "m3"} {
		c, err := pki.Describe([]byte(readFile(t, l.Nodes[n].Path("/etc/kubernetes/pki/apiserver.crt"))))
		must(t, err)
		host, _, _ := strings.Cut(endpoint, ":")
		if !slices.Contains(c.Names, host) || host != "192.0.2.41" && slices.Contains(c.Names, "192.0.2.41") {
			t.Errorf("the certificate of %s: %v", n, c.Names)
		}
	}
}

// again wants a second deploy to change nothing.
func again(t *testing.T, l *phasestest.Lab, plan func(phases.Env) *engine.Plan) {
	t.Helper()
	before := tree(t, l)
	b := ends(t, l, plan)
	if c := of[event.Change](b); len(c) > 0 {
		t.Errorf("the second deploy changed %+v", c)
	}
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error(d)
	}
}

// order are the changes of a run that matter to those who use the API, as they were made.
func order(b *book) []string {
	var out []string
	for _, c := range of[event.Change](b) {
		switch k := c.Desc.Key; {
		case k == "change.endpoint", k == "change.undo-services", k == "change.balancer-stop",
			k == "change.balancer-port":
			out = append(out, c.Host+" "+strings.TrimPrefix(k, "change."))
		case k == "change.start" && (c.Desc.Args["unit"] == "eggo-lb.service" ||
			c.Desc.Args["unit"] == "kube-apiserver.service" || c.Desc.Args["unit"] == "kubelet.service"):
			out = append(out, c.Host+" "+c.Desc.Args["unit"])
		}
	}
	return out
}

func TestTheLoadBalancerMovesToAnotherMachine(t *testing.T) {
	long(t)
	t.Parallel()
	l := joined(t, balanced(), "192.0.2.41:8443")
	plan := rebalance(t, l, lb2Line)
	b, _ := dryRun(t, l, plan)
	for host, key := range map[string]string{"lb2": "change.claim", "w1": "change.endpoint",
		"lb": "change.undo-services"} {
		if !slices.Contains(changes(b, host), key) {
			t.Errorf("the plan does not tell of %s on %s: %v", key, host, changes(b, host))
		}
	}
	must(t, l.Use(l.DeployYAML())) // in the dry run the new file became its own
	plan = rebalance(t, l, lb2Line)
	b = ends(t, l, plan)
	if got := b.findings(); !slices.Contains(got, "preflight.endpoint-moves") ||
		!slices.Contains(got, "preflight.balancer-leaves") {
		t.Error(got)
	}
	seq := order(b)
	at := func(what string) int { return slices.Index(seq, what) }
	for _, n := range []string{"m1", "m2", "m3", "w1"} {
		if i := at(n + " endpoint"); i < at("lb2 eggo-lb.service") || at("lb undo-services") < i || i < 0 {
			t.Errorf("%s is brought to the new endpoint at the wrong time: %q", n, seq)
		}
		if n != "w1" && at(n+" kube-apiserver.service") > at("m1 endpoint") {
			t.Errorf("the certificate of %s has the new address too late: %q", n, seq)
		}
	}
	reaches(t, l, "192.0.2.42:8443")
	if l.Nodes["lb"].Runs("eggo-lb.service") != "" {
		t.Error("the former load balancer runs")
	}
	if left, err := os.ReadDir(l.Nodes["lb"].Path("/var/lib/eggo-node")); err == nil {
		t.Error("left on its machine:", left)
	}
	again(t, l, plan)
}

// A load balancer that is gone for good is replaced: what is left on its machine is named, and nothing waits for it.
func TestADeadLoadBalancerIsReplaced(t *testing.T) {
	long(t)
	t.Parallel()
	l := joined(t, balanced(), "192.0.2.41:8443")
	l.Nodes["lb"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	plan := rebalance(t, l, lb2Line)
	b := ends(t, l, plan)
	if got := b.findings(); !slices.Contains(got, "preflight.balancer-gone") ||
		!slices.Contains(b.notices(), "notice.balancer-left") {
		t.Error(got, b.notices())
	}
	if n := strings.Count(strings.Join(order(b), "\n"), "kube-apiserver.service"); n != 3 {
		t.Errorf("API servers are restarted %d times for addresses that nobody uses: %q", n, order(b))
	}
	reaches(t, l, "192.0.2.42:8443")
	again(t, l, plan)
}

// It moves to a worker, then to another port there, then there is none, then there is a first one again.
func TestTheLoadBalancerIsAddedAndRemoved(t *testing.T) {
	long(t)
	t.Parallel()
	l := joined(t, balanced(), "192.0.2.41:8443")
	plan := rebalance(t, l, "loadbalance: {name: w1, ip: 192.0.2.21, port: 22, arch: amd64, bind-port: 8443}\n")
	ends(t, l, plan)
	reaches(t, l, "192.0.2.21:8443")
	again(t, l, plan)

	plan = rebalance(t, l, "loadbalance: {name: w1, ip: 192.0.2.21, port: 22, arch: amd64, bind-port: 9443}\n")
	b := ends(t, l, plan)
	if got := b.findings(); !slices.Contains(got, "preflight.balancer-stops") ||
		!slices.Contains(order(b), "w1 balancer-port") {
		t.Error(got, order(b))
	}
	reaches(t, l, "192.0.2.21:9443")
	conf := l.Nodes["w1"].Path("/etc/eggo/nginx-lb.conf")
	if text := readFile(t, conf); strings.Contains(text, "8443") || !strings.Contains(text, "listen 9443 ") {
		t.Error(text)
	}
	again(t, l, plan)

	plan = rebalance(t, l, "")
	b = ends(t, l, plan)
	if !slices.Contains(order(b), "w1 balancer-stop") {
		t.Error(order(b))
	}
	reaches(t, l, "192.0.2.11:6443")
	if _, err := os.Stat(conf); err == nil || l.Nodes["w1"].Runs("eggo-lb.service") != "" {
		t.Error("the load balancer is still there:", err)
	}
	if rec := readFile(t, l.Nodes["w1"].Path("/var/lib/eggo-node/record")); strings.Contains(rec, "eggo-lb") {
		t.Error(rec)
	}
	again(t, l, plan)

	plan = rebalance(t, l, "loadbalance: {name: w1, ip: 192.0.2.21, port: 22, arch: amd64, bind-port: 8443}\n")
	ends(t, l, plan)
	reaches(t, l, "192.0.2.21:8443")
	again(t, l, plan)
}

// Whatever the moment in which a run ends, the next one ends the change: what nodes may still use is kept until then.
func TestTheChangeOfALoadBalancerIsContinued(t *testing.T) {
	long(t)
	t.Parallel()
	for _, moment := range []string{"lb2 change.start eggo-lb.service", "m2 change.start kube-apiserver.service",
		"m2 change.endpoint ", "lb change.undo-services "} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			l := joined(t, balanced(), "192.0.2.41:8443")
			plan := rebalance(t, l, lb2Line)
			ctx, cancel := context.WithCancel(t.Context())
			b := &book{}
			emit := func(e event.Event) error {
				if c, ok := e.(event.Change); ok && c.Host+" "+c.Desc.Key+" "+c.Desc.Args["unit"] == moment {
					cancel()
				}
				return b.emit(e)
			}
			o := quick(b)
			o.Emit = emit
			if _, err := engine.Run(ctx, plan(l.Env(emit)), o); err == nil {
				t.Fatal("the run was not interrupted")
			}
			if _, err := os.Stat(filepath.Join(l.StateDir(), "endpoint.json")); err != nil {
				t.Error(err)
			}
			ends(t, l, plan)
			reaches(t, l, "192.0.2.42:8443")
			if l.Nodes["lb"].Runs("eggo-lb.service") != "" {
				t.Error("the former load balancer runs")
			}
			again(t, l, plan)
		})
	}
}

// Within a limit the former load balancer stays for the others; the endpoint cannot stay at one that is gone.
func TestWhatStaysOfALoadBalancer(t *testing.T) {
	long(t)
	t.Parallel()
	l := joined(t, balanced(), "192.0.2.41:8443")
	text := bytes.Replace(l.DeployYAML(), []byte(balancerLine),
		[]byte(lb2Line+"apiserver-endpoint: 192.0.2.41:8443\n"), 1)
	was := l.Cluster
	must(t, l.Use(text))
	before := tree(t, l)
	b, _, err := run(t, l, since(was, l))
	if err == nil || !slices.Contains(b.findings(), "preflight.endpoint-stays") {
		t.Error(err, b.findings())
	}
	if d := cmp.Diff(before, tree(t, l)); d != "" {
		t.Error("touched:", d)
	}
	l.Cluster = was
	plan := rebalance(t, l, lb2Line)
	b = ends(t, l, func(e phases.Env) *engine.Plan {
		e.Limit = []string{"lb2", "m1", "m2", "m3"}
		return plan(e)
	})
	if !slices.Contains(b.findings(), "preflight.balancer-waits") || l.Nodes["lb"].Runs("eggo-lb.service") == "" {
		t.Error(b.findings(), order(b))
	}
	if conf := readFile(t, l.Nodes["w1"].Path("/etc/kubernetes/kubelet.conf")); !strings.Contains(conf, "41:8443") {
		t.Error(conf)
	}
	ends(t, l, plan)
	reaches(t, l, "192.0.2.42:8443")
}
