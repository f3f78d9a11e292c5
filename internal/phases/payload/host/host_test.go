package host

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// machine answers what it is asked with a text, and keeps what is written to it.
type machine struct {
	node.Host
	name, says string
	ran        []string
}

func (m *machine) Name() string { return m.name }

func (m *machine) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	if c.Stdin != nil {
		m.ran, m.says = append(m.ran, c.Script), string(c.Stdin)
		return shell.Result{}, nil
	}
	return shell.Result{Stdout: []byte(m.says)}, nil
}

// two are a control plane and a worker, of which the worker is reached.
func two(m *machine) *Host {
	n := func(name, ip string, roles ...bundle.Role) config.Node {
		return config.Node{Name: name, IP: netip.MustParseAddr(ip), Arch: "amd64", Roles: roles}
	}
	emit := func(event.Event) error { return nil }
	h := &Host{&payload.Payload{Nodes: inventory.New(&input.Env{Emit: emit, Cluster: &config.Cluster{Name: "mine",
		Endpoint: "api.example.org:6443", PodCIDR: netip.MustParsePrefix("10.200.0.0/16"),
		Nodes: []config.Node{n("m1", "192.0.2.11", bundle.ControlPlane, bundle.Etcd),
			n("w1", "192.0.2.21", bundle.Worker)}}}, facts.Places{})}}
	m.name = "w1"
	h.SetNode("w1", node.New(m, emit))
	return h
}

func done(t *testing.T, s *engine.Step) bool {
	t.Helper()
	ok, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// TestWhatIsClaimed: a node of another cluster is not taken for ours, nor is one whose directories are not all ours.
func TestWhatIsClaimed(t *testing.T) {
	m := &machine{says: "other\nw1\n/a \n"}
	h := two(m)
	etcd := config.Node{Name: "w1", Roles: []bundle.Role{bundle.Etcd}}
	one, more := []node.Tree{{Path: "/a", Mode: 0o700}}, []node.Tree{{Path: "/a", Mode: 0o700}, {Path: "/b"}}
	if done(t, h.Claim(etcd, one, nil)) {
		t.Error("another cluster's node is taken for ours")
	}
	if err := h.Claim(etcd, one, []string{"/etc/x y"}).Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.says != "mine\nw1\n/a /etc/x y \n" || len(m.ran) != 1 || !strings.Contains(m.ran[0], "dirs '/etc/x y'\n") {
		t.Errorf("%q, %q", m.says, m.ran)
	}
	if !done(t, h.Claim(etcd, one, []string{"/etc/x y"})) {
		t.Error("what was claimed is not")
	}
	if done(t, h.Claim(etcd, more, []string{"/etc/x y"})) {
		t.Error("a directory more is claimed already")
	}
}

func TestAMachineThatHasItsName(t *testing.T) {
	for says, want := range map[string]bool{"w1\nw1\n": true, "W1.example.org\nw1\n": true, "w1\n": false,
		"w1\nm1\n": false, "w10\nw1\n": false, "": false} {
		h := two(&machine{says: says})
		if got := done(t, h.Hostname(h.Cluster.Nodes[1])); got != want {
			t.Errorf("%q: %v", says, got)
		}
	}
}

// TestTheNamesOfNodes: the endpoint stands there for a machine that has no other way to its address.
func TestTheNamesOfNodes(t *testing.T) {
	for resolves, endpoint := range map[string]string{"no": "192.0.2.11 api.example.org\n",
		"ours": "192.0.2.11 api.example.org\n", "192.0.2.99": ""} {
		h := two(&machine{})
		h.SetFact("w1", &facts.Facts{Resolves: resolves})
		want := "# eggo begin\n192.0.2.11 m1\n192.0.2.21 w1\n" + endpoint + "# eggo end\n"
		if got := h.hostsBlock(h.Cluster.Nodes[1], h.EndpointAddress()); got != want {
			t.Errorf("%s: %q", resolves, got)
		}
	}
}

func TestPortsOfRoles(t *testing.T) {
	ports := func(h *Host, n config.Node) string {
		var out []string
		for _, p := range h.Inbound(n) {
			out = append(out, p.String())
		}
		return strings.Join(out, " ")
	}
	h := two(&machine{})
	h.Cluster.DNS.Type, h.Cluster.LBPort = "binary", 8443
	h.Cluster.OpenPorts = map[bundle.Role][]config.Port{bundle.Etcd: {{Port: 2379, Protocol: "tcp"},
		{Port: 111, Protocol: "udp"}}}
	lb := config.Node{Roles: []bundle.Role{bundle.LoadBalancer}}
	for want, n := range map[string]config.Node{"8443/tcp": lb, "10250/tcp 10256/tcp": h.Cluster.Nodes[1],
		"2379/tcp 2380/tcp 111/udp": {Roles: []bundle.Role{bundle.Etcd}},
		"2379/tcp 2380/tcp 6443/tcp 53/tcp 53/udp 9153/tcp 10250/tcp 10256/tcp 111/udp": h.Cluster.Nodes[0]} {
		if got := ports(h, n); got != want {
			t.Errorf("%v: %s", n.Roles, got)
		}
	}
	for plugin, want := range map[string]string{"flannel": "8472/udp", "calico": "179/tcp", "cilium": "4240/tcp",
		"weave": "6783/tcp", "kube-router": "179/tcp", "canal": "8472/udp"} {
		h.Cluster.NetworkPlugin = plugin
		if got := ports(h, h.Cluster.Nodes[1]); !slices.Contains(strings.Fields(got), want) {
			t.Errorf("%s: %v", plugin, got)
		}
	}
}

// TestRulesThatABootForgets: their owner's files keep those of firewalld and ufw.
func TestRulesThatABootForgets(t *testing.T) {
	rules := []string{"firewalld public port=1/tcp", "nft inet filter input tcp 1", "ufw allow 1/tcp"}
	if got := forgets(rules); !slices.Equal(got, rules[1:2]) || len(rules) != 3 {
		t.Errorf("%q", got)
	}
}

// TestFilesOfOurs cannot be named by a bundle or deploy.yaml.
func TestFilesOfOurs(t *testing.T) {
	for _, file := range []string{layout.UnitDir + FirewallUnit, firewallScriptPath, sysctlPath, modulesPath} {
		if nodepath.Check(nodepath.Listed, file) == nil {
			t.Errorf("%s may come from outside", file)
		}
	}
}
