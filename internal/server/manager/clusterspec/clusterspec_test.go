package clusterspec

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

func node(name, address string, roles ...string) Node {
	return Node{Name: name, Address: address, Roles: roles}
}

// someKey is a private key that no machine takes.
const someKey = "-----BEGIN PRIVATE KEY-----\n" +
	"MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----\n"

func right() Cluster {
	return Cluster{Name: "one", ServerAddress: "192.0.2.250:7443", Domain: "cluster.local",
		SSH: SSH{User: "root", Key: someKey}, Nodes: []Node{
			node("m1", "192.0.2.1", ControlPlane, Etcd), node("w1", "192.0.2.2", Worker)}}
}

// said are the findings as "location code".
func said(list []Finding) []string {
	out := []string{}
	for _, f := range list {
		out = append(out, strings.TrimPrefix(f.Location, "body.")+" "+strings.TrimPrefix(f.Fault.Code, "profile."))
	}
	return out
}

// The sentences of the design about a new cluster, each with its number.
func TestCreate(t *testing.T) {
	for _, c := range []struct {
		sentence string
		change   func(*Cluster)
		want     string
	}{
		{"right", func(*Cluster) {}, ""},
		{"C1 name", func(c *Cluster) { c.Name = "" }, "name empty"},
		{"C1 SSH user", func(c *Cluster) { c.SSH.User = "" }, "ssh.user empty"},
		{"C1 SSH key", func(c *Cluster) { c.SSH.Key = "" }, "ssh.key empty"},
		{"no key", func(c *Cluster) { c.SSH.Key = "-----BEGIN OPENSSH PRIVATE KEY-----…" }, "ssh.key ssh-key"},
		{"a public key", func(c *Cluster) { c.SSH.Key = hostKey }, "ssh.key ssh-key"},
		{"no known hosts", func(c *Cluster) { c.SSH.KnownHosts = "# mine\n192.0.2.1 " + hostKey + "\ngarbage\n" },
			"ssh.known_hosts known-hosts"},
		{"C1 server's address", func(c *Cluster) { c.ServerAddress = "" }, "server_address empty"},
		{"C1 domain", func(c *Cluster) { c.Domain = "" }, "domain empty"},
		{"C2 name", func(c *Cluster) { c.Nodes[1].Name = "" }, "nodes[1].name node-empty"},
		{"C2 address", func(c *Cluster) { c.Nodes[1].Address = "" }, "nodes[1].address node-empty"},
		{"C2 roles", func(c *Cluster) { c.Nodes = append(c.Nodes, node("x", "192.0.2.3")) },
			"nodes[2].roles node-empty"},
		{"a label", func(c *Cluster) { c.Nodes[1].Labels = map[string]string{"bad label": "x"} },
			"nodes[1].labels label"},
		{"a taint", func(c *Cluster) { c.Nodes[1].Taints = []string{"a=b:NoSchedule", "a=b"} },
			"nodes[1].taints[1] taint"},
		{"C3", func(c *Cluster) { c.Nodes[0].Roles = append(c.Nodes[0].Roles, Worker) }, "nodes[0].roles exclusive"},
		{"C4 etcd alone", func(c *Cluster) { c.Nodes = append(c.Nodes, node("e", "192.0.2.3", Etcd)) },
			"nodes[2].roles alone"},
		{"C4 edge alone", func(c *Cluster) { c.Nodes = append(c.Nodes, node("e", "192.0.2.3", Edge)) },
			"nodes[2].roles alone"},
		{"C5 address", func(c *Cluster) { c.Nodes[1].Address = "192.0.2.1" }, "nodes[1].address same-address"},
		{"C5 address, written in another way", func(c *Cluster) { c.Nodes[1].Address = "::ffff:192.0.2.1" },
			"nodes[1].address same-address"},
		{"C5 name", func(c *Cluster) { c.Nodes[1].Name = "m1" }, "nodes[1].name same-name"},
		{"C6 control plane", func(c *Cluster) { c.Nodes[0].Roles = []string{Etcd, Worker} }, "nodes too-few"},
		{"C6 etcd", func(c *Cluster) { c.Nodes[0].Roles = []string{ControlPlane} }, "nodes too-few"},
		{"C6 worker", func(c *Cluster) { c.Nodes = c.Nodes[:1] }, "nodes too-few"},
		{"C7", func(c *Cluster) { c.ServerAddress = "192.0.2.2:7443" }, "server_address server-address"},
		{"C7 without a port", func(c *Cluster) { c.ServerAddress = "192.0.2.2" }, "server_address server-address"},
		{"an octet with a zero", func(c *Cluster) { c.Nodes[1].Address = "192.0.2.02" }, "nodes[1].address address"},
		{"a host name", func(c *Cluster) { c.Nodes[1].Address = "w1.example.com" }, "nodes[1].address address"},
		{"a role twice", func(c *Cluster) { c.Nodes[1].Roles = []string{Worker, Worker} }, "nodes[1].roles role-twice"},
		{"no such role", func(c *Cluster) { c.Nodes[1].Roles = []string{Worker, "storage"} },
			"nodes[1].roles role-unknown"},
		{"edge", func(c *Cluster) { c.Nodes[0].Roles = append(c.Nodes[0].Roles, Edge) }, "nodes[0].roles edge"},
	} {
		x := right()
		c.change(&x)
		want := []string{}
		if c.want != "" {
			want = []string{c.want}
		}
		if got := said((Rules{}).Create(x)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.sentence, got, want)
		}
	}
	own := Rules{Own: func() config.Addresses { return config.Addresses{netip.MustParsePrefix("192.0.2.1/32")} }}
	if got := said(own.Create(right())); !slices.Equal(got, []string{"nodes[0].address server"}) {
		t.Error(got)
	}
	both := right() // what the server does have is said of the node
	both.ServerAddress = "192.0.2.1"
	if got := said(own.Create(both)); !slices.Equal(got, []string{"nodes[0].address server"}) {
		t.Error(got)
	}
	// All at once.
	if got := (Rules{}).Create(Cluster{Nodes: []Node{{}}}); len(got) != 5+3+3 {
		t.Errorf("%q", said(got))
	}
}

// The sentences of the design about other nodes, each with its number.
func TestUpdate(t *testing.T) {
	was := []Node{node("m1", "192.0.2.1", ControlPlane, Etcd), node("m2", "192.0.2.2", ControlPlane),
		node("w1", "192.0.2.3", Worker, Etcd), node("w2", "192.0.2.4", Worker)}
	for _, c := range []struct {
		sentence string
		change   func([]Node) []Node
		want     []string
	}{
		{"the same", func(n []Node) []Node { return n }, nil},
		{"a worker goes, another comes", func(n []Node) []Node {
			return append(n[:3], node("w3", "192.0.2.9", Worker))
		}, nil},
		{"U1 (C2)", func(n []Node) []Node { return append(n, node("", "192.0.2.9", Worker)) },
			[]string{"nodes[4].name node-empty"}},
		{"U1 (C3)", func(n []Node) []Node { return append(n, node("x", "192.0.2.9", Worker, ControlPlane)) },
			[]string{"nodes[4].roles exclusive"}},
		{"U1 (C4)", func(n []Node) []Node { return append(n, node("x", "192.0.2.9", Etcd)) },
			[]string{"nodes[4].roles alone"}},
		{"U2 (C5) name", func(n []Node) []Node { return append(n, node("w1", "192.0.2.9", Worker)) },
			[]string{"nodes[4].name same-name"}},
		{"U2 (C5) address", func(n []Node) []Node { return append(n, node("x", "192.0.2.4", Worker)) },
			[]string{"nodes[4].address same-address"}},
		{"U3 (C6)", func(n []Node) []Node { return []Node{n[0], n[1]} },
			[]string{"nodes too-few", "nodes kept"}}, // and w1 was an etcd member
		{"U3 (C6) control plane", func(n []Node) []Node { return n[2:] },
			[]string{"nodes too-few", "nodes kept", "nodes kept", "nodes kept"}},
		{"U3 (C6) etcd", func(n []Node) []Node { n[0].Roles, n[2].Roles = n[1].Roles, n[3].Roles; return n },
			[]string{"nodes too-few", "nodes[0].roles kept", "nodes[2].roles kept"}},
		{"U4 control plane", func(n []Node) []Node { return []Node{n[0], n[2], n[3]} }, []string{"nodes kept"}},
		{"U4 etcd", func(n []Node) []Node { return []Node{n[0], n[1], n[3]} }, []string{"nodes kept"}},
		{"U4 etcd stays as something else", func(n []Node) []Node { n[2].Roles = []string{Worker}; return n },
			[]string{"nodes[2].roles kept"}},
		{"U5 (C7)", func(n []Node) []Node { return append(n, node("x", "192.0.2.250", Worker)) },
			[]string{"nodes[4].address server"}},
		{"another name", func(n []Node) []Node { n[3].Name = "other"; return n }, []string{"nodes[3].name renamed"}},
		{"a worker with another address", func(n []Node) []Node { n[3].Address = "192.0.2.9"; return n },
			[]string{"nodes[3].address moved"}},
		{"a control plane with another address", func(n []Node) []Node { n[1].Address = "192.0.2.9"; return n },
			[]string{"nodes kept"}},
		{"two that change their addresses", func(n []Node) []Node {
			n[2].Address, n[3].Address = n[3].Address, n[2].Address
			n[2].Roles, n[3].Roles = n[3].Roles, n[2].Roles
			return n
		}, []string{"nodes[3].name renamed", "nodes[2].name renamed"}},
		{"another port", func(n []Node) []Node { n[3].Port = 2222; return n }, []string{"nodes[3].port fixed"}},
		{"another architecture", func(n []Node) []Node { n[0].Arch = "arm64"; return n },
			[]string{"nodes[0].arch fixed"}},
		{"what it has, said", func(n []Node) []Node { n[3].Port, n[3].Arch = 22, "amd64"; return n }, nil},
		{"labels", func(n []Node) []Node { n[3].Labels = map[string]string{"a": "b"}; return n },
			[]string{"nodes[3].labels labels-changed"}},
		{"taints", func(n []Node) []Node { n[3].Taints = []string{"a=b:NoSchedule"}; return n },
			[]string{"nodes[3].labels labels-changed"}},
		{"no labels, said", func(n []Node) []Node { n[3].Labels = map[string]string{}; return n }, nil},
		{"another role", func(n []Node) []Node { n[3].Roles = []string{Worker, Etcd}; return n },
			[]string{"nodes[3].roles roles-changed"}},
	} {
		now := make([]Node, len(was))
		for i, n := range was {
			n.Roles = slices.Clone(n.Roles)
			now[i] = n
		}
		if got := said((Rules{}).Update(was, c.change(now), "192.0.2.250")); !slices.Equal(got, c.want) {
			if len(got)+len(c.want) > 0 {
				t.Errorf("%s: %q, want %q", c.sentence, got, c.want)
			}
		}
	}
}

// With shared roles all is allowed that deploy.yaml allows.
func TestSharedRoles(t *testing.T) {
	c := right()
	c.ServerAddress = "192.0.2.1"
	c.Nodes = []Node{node("m1", "192.0.2.1", ControlPlane, Worker), node("e1", "192.0.2.2", Etcd)}
	shared := Rules{Shared: true}
	if got := said(shared.Create(c)); len(got) > 0 {
		t.Error(got)
	}
	if got := said(shared.Update(c.Nodes, c.Nodes[:1], "")); len(got) > 0 {
		t.Error(got)
	}
	if got := said(shared.Create(Cluster{Name: "a", ServerAddress: "b", Domain: "c", SSH: SSH{User: "d", Password: "e"},
		Nodes: []Node{node("w", "192.0.2.1", Worker)}})); !slices.Equal(got, []string{"nodes too-few"}) {
		t.Error(got)
	}
}

// The deploy.yaml of a cluster is valid, means what was asked for, and holds no secret.
func TestDeploy(t *testing.T) {
	c := right()
	c.SSH.Password, c.SSH.SudoPassword = "hunter2", "hunter3"
	c.Bundles = map[string]string{"amd64": "/srv/a.tar.gz"}
	c.Settings = map[string]string{"network.podcidr": "10.99.0.0/16"}
	c.Nodes[1].Port = 2222
	files := Files{Key: "/d/key", Password: "/d/pw", KnownHosts: "/d/known"}
	text, list, err := Rules{}.Deploy(c, files, "/d/deploy.yaml")
	if err != nil || len(list) > 0 {
		t.Fatal(said(list), err)
	}
	got, problems := config.Load(text, "/d/deploy.yaml")
	if got == nil {
		t.Fatal(problems)
	}
	if got.Name != "one" || got.DNSDomain != "cluster.local" || got.PodCIDR.String() != "10.99.0.0/16" ||
		got.SSH.PrivateKeyPath != "/d/key" || got.Eggo.PasswordFrom != "file:/d/pw" || got.Eggo.HostKeys != "strict" {
		t.Errorf("%+v", got)
	}
	if nodes := Of(got); len(nodes) != 2 || nodes[1].Port != 2222 || !sameRoles(nodes[0].Roles, c.Nodes[0].Roles) {
		t.Errorf("%+v", nodes)
	}
	if strings.Contains(string(text), "hunter") {
		t.Error("a secret is in it")
	}
	c.Settings = map[string]string{"network.podcidr": "x", "password": "hunter2", "nonsense": "y"}
	c.Bundles = map[string]string{"riscv": "/srv/a.tar.gz"}
	_, list, err = Rules{}.Deploy(c, Files{Key: "/d/key"}, "/d/deploy.yaml")
	for _, want := range []string{"settings.password setting", "settings.nonsense setting-unknown",
		"bundles.riscv arch"} {
		if !slices.Contains(said(list), want) {
			t.Errorf("%q has no %q", said(list), want)
		}
	}
	cidr := func(f Finding) bool { return f.Location == "body.settings.network.podcidr" }
	if !slices.ContainsFunc(list, cidr) || err != nil {
		t.Error(said(list), err)
	}
	if _, err := node("x", "nowhere").Config(); err == nil {
		t.Error("no address")
	}
}

// Labels and taints of a new node are in its deploy.yaml; those of one that is there are not changed in silence.
func TestLabelsAndTaints(t *testing.T) {
	c := right()
	c.Bundles = map[string]string{"amd64": "/b.tar.gz"}
	c.Nodes[1].Labels = map[string]string{"disk": "ssd"}
	c.Nodes[1].Taints = []string{"only=batch:NoSchedule"}
	text, list, err := Rules{}.Deploy(c, Files{Key: "/k"}, "/deploy.yaml")
	if err != nil || len(list) > 0 {
		t.Fatal(said(list), err)
	}
	made, problems := config.Load(text, "/deploy.yaml")
	if made == nil {
		t.Fatal(problems)
	}
	was := Of(made)
	if i := slices.IndexFunc(was, func(n Node) bool { return n.Name == "w1" }); was[i].Labels["disk"] != "ssd" ||
		!slices.Equal(was[i].Taints, []string{"only=batch:NoSchedule"}) {
		t.Errorf("%s", text)
	}
	now := []Node{c.Nodes[0], node("w1", "192.0.2.2", Worker)}
	if got := said(Rules{}.Update(was, now, "")); len(got) > 0 {
		t.Error(got)
	}
	for _, other := range []map[string]string{{"disk": "hdd"}, {}, {edgeLabel: ""}} {
		now[1].Labels = other
		if got := said(Rules{}.Update(was, now, "")); !slices.Contains(got, "nodes[1].labels labels-changed") {
			t.Error(other, got)
		}
	}
	if got := said(Rules{}.Update(was, was, "")); len(got) > 0 {
		t.Errorf("a node is not what it was read as: %q", got)
	}
}

// A node without a kubelet is no Node of the cluster, which labels and taints would be of.
func TestDeploy_RefusesLabelsWithoutAKubelet(t *testing.T) {
	c := right()
	c.Bundles = map[string]string{"amd64": "/b.tar.gz"}
	for i, labeled := range []string{"w1", "w10"} { // one name begins like the other
		c.Nodes = append(right().Nodes, node("w10", "192.0.2.10", Etcd), node("e", "192.0.2.11", Etcd))
		at := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == labeled })
		c.Nodes[at].Labels = map[string]string{"disk": "ssd"}
		_, list, err := Rules{Shared: true}.Deploy(c, Files{Key: "/k"}, "/deploy.yaml")
		want := [][]string{{}, {"nodes[2].labels config.node-no-kubelet"}}[i]
		if got := said(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", labeled, got, err, want)
		}
	}
}

// The name of one node can be the first part of another's, with a dot after it.
func TestLabelAt_TakesTheLongestName(t *testing.T) {
	nodes := []Node{{Name: "a"}, {Name: "a.b"}}
	for key, want := range map[string]string{"eggo.nodes.a.labels.x": "body.nodes[0].labels",
		"eggo.nodes.a.b.labels.x": "body.nodes[1].labels", "eggo.nodes.a.b.taints[0]": "body.nodes[1].taints"} {
		if got := labelAt(key, nodes); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// A deploy.yaml that says what the API has no words for is not written for other machines without it.
func TestWhatOtherMachinesKeep(t *testing.T) {
	const plain = "cluster-id: one\nusername: root\nmasters:\n- {name: m1, ip: 192.0.2.1}\nnodes:\n" +
		"- {name: w1, ip: 192.0.2.2}\npackage-src: {x86src: /srv/b.tar.gz}\n"
	to := Machines{Nodes: []Node{{Name: "m1", Address: "192.0.2.7", Roles: []string{ControlPlane, Etcd}},
		{Name: "w1", Address: "192.0.2.8", Roles: []string{Worker}}}}
	for more, kept := range map[string]bool{
		"": true, "network: {podcidr: 10.7.0.0/16}\n": true, "eggo: {nodes: {w1: {labels: {disk: ssd}}}}\n": true,
		"password: hunter2\n": false, "loadbalance: {name: lb, ip: 192.0.2.5, port: 22, bind-port: 8443}\n": true,
	} {
		text, wrong, err := Rules{}.Replaced([]byte(plain+more), to, "/x/deploy.yaml")
		if (err == nil) != kept || len(wrong) > 0 {
			t.Errorf("%q: %v %v", more, wrong, err)
		}
		if err == nil && (strings.Contains(string(text), "192.0.2.1}") ||
			!strings.Contains(string(text), "192.0.2.7") ||
			strings.Contains(more, "ssd") != strings.Contains(string(text), "ssd")) {
			t.Errorf("%q:\n%s", more, text)
		}
	}
	for _, fresh := range []bool{false, true} { // machines that are to be installed were not imported
		to.New = fresh
		text, wrong, err := Rules{}.Replaced([]byte(plain+"eggo: {imported: true}\n"), to, "/x/deploy.yaml")
		if err != nil || len(wrong) > 0 || strings.Contains(string(text), "imported: true") == fresh {
			t.Errorf("new %v: %v %v\n%s", fresh, wrong, err, text)
		}
	}
}
