package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

func TestNodesAreReadyBeforeAnUpgrade(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(in *Input, has *objects.Cluster)
		want  string
	}{
		"all are": {func(*Input, *objects.Cluster) {}, ""},
		"a worker is not": {func(_ *Input, has *objects.Cluster) { has.Nodes[1].NotReady = "KubeletStopped: x" },
			"w1 error upgrade.not-ready"},
		"a worker outside the limit is not": {func(in *Input, has *objects.Cluster) {
			in.Limit, has.Nodes[1].NotReady = []string{"m1"}, "x"
		}, "w1 warning upgrade.not-ready"},
		"a control plane outside the limit is not": {func(in *Input, has *objects.Cluster) {
			in.Limit, has.Nodes[0].NotReady = []string{"w1"}, "x"
		}, "m1 error upgrade.not-ready"},
		"stopped by the upgrade": {func(in *Input, has *objects.Cluster) {
			in.Upgrade.Continues, has.Nodes[0].NotReady = true, "x"
		}, "m1 warning upgrade.not-ready"},
		"one is missing": {func(_ *Input, has *objects.Cluster) { has.Nodes = has.Nodes[:1] },
			"w1 error upgrade.node-absent"},
		"one is nobody's": {func(_ *Input, has *objects.Cluster) {
			has.Nodes = append(has.Nodes, objects.Node{Name: "x9", Kubelet: "v1.33.1"})
		}, "warning upgrade.node-stranger"},
		"not known": {func(in *Input, _ *objects.Cluster) { in.Upgrade.Objects = nil }, ""},
	} {
		in := upgradeInput()
		c.spoil(in, in.Upgrade.Objects)
		if got := found(t, in, checkUpgradeNodes()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// answers is an API server that says these texts.
func answers(texts map[string]string) func(context.Context, config.Node, string) (io.ReadCloser, error) {
	return func(_ context.Context, _ config.Node, path string) (io.ReadCloser, error) {
		text, ok := texts[path]
		if !ok {
			return nil, errors.New("connection refused")
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
}

func TestVersionsThatKubernetesSupportsTogether(t *testing.T) {
	for name, c := range map[string]struct {
		server, worker string
		spoil          func(in *Input)
		want           string
	}{
		"as deployed":       {"v1.33.13", "v1.33.13", nil, ""},
		"an older kubelet":  {"v1.33.13", "v1.31.1", nil, ""},
		"a newer kubelet":   {"v1.33.13", "v1.34.2", nil, "error upgrade.kubelet-newer"},
		"has not said":      {"v1.33.13", "", nil, ""},
		"too old a kubelet": {"v1.33.13", "v1.30.1", nil, "error upgrade.kubelet-older"},
		"old, and left as it is by both hops": {"v1.33.13", "v1.31.1", func(in *Input) {
			in.Limit, in.Upgrade.Later = []string{"m1"}, []Hop{{Version: "v1.35.4"}}
		}, "error upgrade.kubelet-older"},
		"old, and brought along by both hops": {"v1.33.13", "v1.31.1", func(in *Input) {
			in.Upgrade.Later = []Hop{{Version: "v1.35.4"}}
		}, ""},
		"another server": {"v1.33.12", "v1.33.13", nil, "m1 error upgrade.server-version"},
		"begun":          {"v1.34.2", "v1.33.13", func(in *Input) { in.Upgrade.Continues = true }, ""},
		"begun elsewhere": {"v1.34.2", "v1.33.13", nil,
			"m1 error upgrade.server-version"},
		"no server": {"", "v1.33.13", nil, "m1 error upgrade.server"},
		"stopped by the upgrade": {"", "v1.34.2", func(in *Input) { in.Upgrade.Continues = true },
			"m1 warning upgrade.server"},
	} {
		in := upgradeInput()
		in.Upgrade.Objects.Nodes[1].Kubelet = c.worker
		texts := map[string]string{"/version": fmt.Sprintf(`{"major":"1","gitVersion":%q}`, c.server)}
		if c.server == "" {
			texts = nil
		}
		in.Upgrade.Server = answers(texts)
		if c.spoil != nil {
			c.spoil(in)
		}
		if got := found(t, in, checkUpgradeSkew()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	in := upgradeInput()
	in.Upgrade.Server = answers(map[string]string{"/version": "<html>"})
	if got := found(t, in, checkUpgradeSkew()); got != "m1 error upgrade.server" {
		t.Errorf("no JSON: %q", got)
	}
}

// A kubelet that would be newer than an API server outside the limit is refused before anything is touched.
func TestALimitHasTheControlPlanes(t *testing.T) {
	for name, c := range map[string]struct {
		limit  []string
		server string
		worker string
		want   string
	}{
		"all nodes":                          {nil, "v1.33.13", "v1.33.13", ""},
		"a worker":                           {[]string{"w1"}, "v1.33.13", "v1.33.13", "error upgrade.limit"},
		"a worker, behind the server":        {[]string{"w1"}, "v1.34.2", "v1.33.13", ""},
		"a worker that is there":             {[]string{"w1"}, "v1.33.13", "v1.34.2", ""},
		"the control plane":                  {[]string{"m1"}, "v1.33.13", "v1.33.13", ""},
		"a worker, and the server is silent": {[]string{"w1"}, "", "v1.33.13", ""},
	} {
		in := upgradeInput()
		in.Limit, in.Fact("w1").Kubelet = c.limit, c.worker
		texts := map[string]string{"/version": fmt.Sprintf(`{"gitVersion":%q}`, c.server)}
		if c.server == "" {
			texts = nil
		}
		in.Upgrade.Server = answers(texts)
		if got := found(t, in, checkUpgradeLimit()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAnUpgradeInstallsNoMachine(t *testing.T) {
	in := upgradeInput()
	if got := found(t, in, checkUpgradeUnclaimed()); got != "" {
		t.Error(got)
	}
	in.Fact("w1").Cluster = ""
	if got := found(t, in, checkUpgradeUnclaimed()); got != "w1 error upgrade.unclaimed" {
		t.Error(got)
	}
}

func TestTheVersionOfKubeProxy(t *testing.T) {
	for text, want := range map[string]string{
		"Kubernetes v1.33.13\n": "", "Kubernetes v1.31.0\n": "", "": "", "kube-proxy: not found": "",
		"Kubernetes v1.34.2\n": "error upgrade.proxy-newer", "Kubernetes v1.30.1\n": "error upgrade.proxy-older",
	} {
		in := upgradeInput()
		if got := strings.Join(nodestest.Codes(in.proxySkew(worker, text)), ""); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		in.Upgrade.Continues = true
		if got := in.proxySkew(worker, "Kubernetes v1.34.2"); len(got) > 0 {
			t.Error(got)
		}
	}
}

// A kube-proxy that is a pod has its version in its image: no program of the node says it.
func TestTheVersionOfKubeProxyAsAPod(t *testing.T) {
	const repo = "registry.example.com:5000/k8s/kube-proxy"
	for name, c := range map[string]struct {
		image, owner string
		continues    bool
		want         string
	}{
		"of the cluster":         {repo + ":v1.33.13", "kube-proxy", false, ""},
		"newer":                  {repo + ":v1.34.2", "kube-proxy", false, "w1 error upgrade.proxy-newer"},
		"newer, continued":       {repo + ":v1.34.2", "kube-proxy", true, ""},
		"newer, with its digest": {repo + ":v1.34.2@sha256:aa", "kube-proxy", false, "w1 error upgrade.proxy-newer"},
		"too old":                {repo + ":v1.30.1", "kube-proxy", false, "w1 error upgrade.proxy-older"},
		"by its digest alone":    {repo + "@sha256:aa", "kube-proxy", false, ""},
		"of somebody else":       {repo + ":v1.34.2", "mine", false, ""},
		"another image":          {"registry.example.com/wait:v1.34.2", "kube-proxy", false, ""},
	} {
		in := upgradeInput()
		in.Cluster.Eggo.Driver = config.DriverKubeadm
		in.SetNode("w1", node.New(nil, nil)) // that is asked nothing
		in.Upgrade.Proxy, in.Upgrade.Continues = "kube-proxy", c.continues
		in.Upgrade.Objects.Pods = []*objects.Pod{{Namespace: "kube-system", Name: "kube-proxy-x", Node: "w1",
			Kind: "DaemonSet", Owner: c.owner, Images: []string{c.image}}}
		if got := found(t, in, checkUpgradeProxy()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// etcdIn is a manifest with this etcd.
func etcdIn(version string) *bundle.Manifest {
	m := nodestest.Manifest()
	for i := range m.Members {
		if m.Members[i].Name == "etcd" {
			m.Members[i].Version = version
		}
	}
	return m
}

func TestTheWayOfEtcdsVersions(t *testing.T) {
	for _, c := range []struct{ is, to, later, want string }{
		{"3.6.4", "v3.6.4", "", ""},
		{"3.6.4", "v3.6.10", "", ""},
		{"3.6.10", "v3.6.4", "", "error upgrade.etcd-older"},
		{"3.6.4", "v3.7.0", "", ""},
		{"3.5.26", "v3.6.4", "", ""},
		{"3.5.25", "v3.6.4", "", "error upgrade.etcd-through"},
		{"3.5.9", "v3.6.4", "", "error upgrade.etcd-through"},
		{"3.5.9", "v3.5.26", "v3.6.4", ""},
		{"3.5.9", "v3.5.21", "v3.6.4", "error upgrade.etcd-through"},
		{"3.5.27", "v3.7.0", "", "error upgrade.etcd-skips"},
		{"3.5.27", "v3.6.4", "v3.7.0", ""},
		{"3.6.4", "v4.0.0", "", "error upgrade.etcd-skips"},
		{"3.6.4", "", "", ""},
		{"3.6.4", "", "v3.5.1", "error upgrade.etcd-older"},
		{"", "v3.6.4", "", ""},
		{"3.6.0-rc.1", "v3.6.0", "", ""},
	} {
		in := upgradeInput()
		in.SetBundle("amd64", nodestest.Box{Is: etcdIn(c.to)})
		if c.later != "" {
			in.Upgrade.Later = []Hop{{Version: "v1.35.4",
				Bundles: map[string]input.Bundle{"amd64": nodestest.Box{Is: etcdIn(c.later)}}}}
		}
		in.Upgrade.Members = func(context.Context) ([]EtcdMember, error) {
			return []EtcdMember{{Name: "m1", Version: c.is}, {Name: "nobody", Version: "3.1.0"}}, nil
		}
		if got := found(t, in, checkUpgradeEtcd()); got != c.want {
			t.Errorf("%s to %s, %s: %q, want %q", c.is, c.to, c.later, got, c.want)
		}
	}
}

func TestMembersOfEtcdAreHealthyBeforeAnUpgrade(t *testing.T) {
	in := upgradeInput()
	var list []EtcdMember
	var err error
	in.Upgrade.Members = func(context.Context) ([]EtcdMember, error) { return list, err }
	list = []EtcdMember{{Name: "m1", Version: "3.6.4", Fault: errors.New("NOSPACE")}, {Name: "m2", Learner: true}}
	if got := found(t, in, checkUpgradeEtcd()); got != "error upgrade.etcd-ill, error upgrade.etcd-learner" {
		t.Error(got)
	}
	in.Upgrade.Continues = true
	if got := found(t, in, checkUpgradeEtcd()); got != "warning upgrade.etcd-ill, error upgrade.etcd-learner" {
		t.Error("continued:", got)
	}
	err = errors.New("no member runs")
	if got := found(t, in, checkUpgradeEtcd()); got != "warning upgrade.etcd-silent" {
		t.Error("continued:", got)
	}
	in.Upgrade.Continues = false
	if got := found(t, in, checkUpgradeEtcd()); got != "error upgrade.etcd-silent" {
		t.Error(got)
	}
}

func TestWebhooksThatNobodyAnswersFor(t *testing.T) {
	in := upgradeInput()
	in.Upgrade.Objects.Webhooks = []objects.Webhook{{Name: "ready", Ready: true, Guards: true}}
	if got := found(t, in, checkUpgradeWebhooks()); got != "" {
		t.Error(got)
	}
	in.Upgrade.Objects.Webhooks = []objects.Webhook{{Name: "pods", Guards: true}, {Name: "certificates"}}
	if got := found(t, in, checkUpgradeWebhooks()); got != "error upgrade.webhook, warning upgrade.webhook-idle" {
		t.Error(got)
	}
	in.Upgrade.Objects = nil
	if got := found(t, in, checkUpgradeWebhooks()); got != "" {
		t.Error(got)
	}
}

// pod is one of a Deployment, which runs on the worker.
func pod(name string) *objects.Pod {
	return &objects.Pod{Namespace: "shop", Name: name, Node: "w1", Kind: "Deployment", Owner: "web", Running: true,
		Ready: true}
}

func TestBudgetsThatBlockADrain(t *testing.T) {
	for name, c := range map[string]struct {
		budget objects.Budget
		spoil  func(in *Input, p *objects.Pod)
		want   string
	}{
		"allows one":  {objects.Budget{Allowed: 1}, nil, ""},
		"allows none": {objects.Budget{Healthy: 1, Desired: 1}, nil, "w1 error upgrade.budget"},
		"none, by force": {objects.Budget{}, func(in *Input, _ *objects.Pod) { in.Force = true },
			"w1 warning upgrade.budget"},
		"none, continued": {objects.Budget{}, func(in *Input, _ *objects.Pod) { in.Upgrade.Continues = true },
			"w1 warning upgrade.budget"},
		"of a DaemonSet": {objects.Budget{}, func(_ *Input, p *objects.Pod) { p.Kind = "DaemonSet" }, ""},
		"pending":        {objects.Budget{}, func(_ *Input, p *objects.Pod) { p.Running, p.Ready = false, false }, ""},
		"ill, but needed": {objects.Budget{Desired: 1}, func(_ *Input, p *objects.Pod) { p.Ready = false },
			"w1 error upgrade.budget"},
		"ill, enough are": {objects.Budget{Healthy: 2, Desired: 2},
			func(_ *Input, p *objects.Pod) { p.Ready = false }, ""},
		"ill, always": {objects.Budget{Desired: 1, AlwaysAllow: true},
			func(_ *Input, p *objects.Pod) { p.Ready = false }, ""},
		"on a node that stays": {objects.Budget{}, func(in *Input, _ *objects.Pod) { in.Limit = []string{"m1"} }, ""},
		"on a node that was": {objects.Budget{}, func(in *Input, _ *objects.Pod) {
			in.Fact("w1").Kubelet = in.Upgrade.To
		}, ""},
		"nowhere to go": {objects.Budget{}, func(in *Input, _ *objects.Pod) {
			in.Upgrade.Objects.Nodes[0].Open = false
		}, ""},
		"on no node": {objects.Budget{}, func(_ *Input, p *objects.Pod) { p.Node = "" }, ""},
	} {
		in, p := upgradeInput(), pod("web-1")
		has := in.Upgrade.Objects
		has.Nodes[0].Open = true
		c.budget.Namespace, c.budget.Name, c.budget.Pods = "shop", "web", []*objects.Pod{p}
		has.Pods, has.Budgets = []*objects.Pod{p}, []objects.Budget{c.budget}
		if c.spoil != nil {
			c.spoil(in, p)
		}
		if got := found(t, in, checkUpgradeBudgets()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	in, p := upgradeInput(), pod("web-1")
	in.Upgrade.Objects.Nodes[0].Open = true
	in.Upgrade.Objects.Pods = []*objects.Pod{p}
	in.Upgrade.Objects.Budgets = []objects.Budget{{Namespace: "shop", Name: "a", Allowed: 1, Pods: []*objects.Pod{p}},
		{Namespace: "shop", Name: "b", Allowed: 1, Pods: []*objects.Pod{p}}}
	got := allFindings(t, in, checkUpgradeBudgets())
	if len(got) != 1 || got[0].Fault.Code != "upgrade.budgets-overlap" ||
		got[0].Fault.Args["budgets"] != "shop/a, shop/b" {
		t.Errorf("%+v", got)
	}
}

func TestPodsThatADrainTakesAway(t *testing.T) {
	in := upgradeInput()
	has := in.Upgrade.Objects
	has.Nodes[0].Open = true
	add := func(name string, change func(*objects.Pod)) {
		p := pod(name)
		change(p)
		has.Pods = append(has.Pods, p)
	}
	add("web-1", func(p *objects.Pod) {})
	add("web-2", func(p *objects.Pod) { p.Node = "m1" })
	add("agent", func(p *objects.Pod) { p.Kind, p.Owner = "DaemonSet", "agent" })
	add("mirror", func(p *objects.Pod) { p.Kind, p.Owner, p.Mirror = "", "", true })
	add("job", func(p *objects.Pod) { p.Kind, p.Owner = "Job", "job" })
	if got := found(t, in, checkUpgradePods()); got != "" {
		t.Error(got)
	}
	add("db-0", func(p *objects.Pod) { p.Kind, p.Owner = "StatefulSet", "db" })
	for i := range 10 {
		add(fmt.Sprintf("bare-%d", i), func(p *objects.Pod) { p.Kind, p.Owner = "", "" })
	}
	got := allFindings(t, in, checkUpgradePods())
	if len(got) != 2 || got[0].Fault.Code != "upgrade.pods-bare" || got[1].Fault.Code != "upgrade.pods-single" {
		t.Fatalf("%+v", got)
	}
	if a := got[0].Fault.Args; a["count"] != "10" || !strings.HasPrefix(a["pods"], "shop/bare-0, shop/bare-1, ") ||
		!strings.HasSuffix(a["pods"], "shop/bare-7, …") {
		t.Errorf("%v", a)
	}
	if a := got[1].Fault.Args; a["count"] != "1" || a["workloads"] != "StatefulSet shop/db" {
		t.Errorf("%v", a)
	}
	has.Nodes[0].Open = false // nobody else takes pods: they stay
	if got := found(t, in, checkUpgradePods()); got != "" {
		t.Error(got)
	}
}
