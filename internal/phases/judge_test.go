package phases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

var etcdOnly = config.Node{Name: "e1", IP: worker.IP, Port: 22, Arch: "amd64", Roles: []bundle.Role{etcdRole}}

func TestJudgeOfANodeThatIsOursOrLooksSo(t *testing.T) {
	for name, c := range map[string]struct {
		node  config.Node
		spoil func(f *facts.Facts)
		want  []string
	}{
		"ours": {worker, func(f *facts.Facts) {
			f.Cluster, f.NodeName, f.Kubelet, f.Recorded = "mine", "w1", "v1.34.2", true
		}, nil},
		"another name": {worker, func(f *facts.Facts) { f.Cluster, f.NodeName = "mine", "w2" },
			[]string{"error preflight.renamed"}},
		"another version": {worker, func(f *facts.Facts) { f.Cluster, f.Kubelet = "mine", "v1.33.9" },
			[]string{"error preflight.version"}},
		"another runtime": {worker, func(f *facts.Facts) { f.Cluster, f.OwnRuntime = "mine", "docker" },
			[]string{"error preflight.runtime-change"}},
		"the same runtime": {worker, func(f *facts.Facts) {
			f.Cluster, f.OwnRuntime = "mine", "containerd"
		}, nil},
		"a kubelet of another cluster": {worker, func(f *facts.Facts) { f.Cluster, f.Kubelet = "theirs", "v1.33.9" },
			[]string{"error preflight.other-cluster"}},
		"kept by a cleanup": {worker, func(f *facts.Facts) {
			f.Recorded, f.Present = true, []string{"/var/lib/kubelet"}
		}, nil},
		"leftovers without a record": {worker, func(f *facts.Facts) { f.Present = []string{"/var/lib/kubelet"} },
			[]string{"error preflight.leftovers"}},
		"a containerd": {worker, func(f *facts.Facts) { f.Runtimes = []string{"containerd"} },
			[]string{"error preflight.foreign-runtime"}},
		"ours, cut off behind packages": {worker, func(f *facts.Facts) {
			f.Cluster, f.Runtimes = "mine", []string{"containerd"}
		}, nil},
		"a containerd beside etcd": {etcdOnly, func(f *facts.Facts) { f.Runtimes = []string{"containerd"} }, nil},
		"no route": {worker, func(f *facts.Facts) { f.NoRoute = true },
			[]string{"error preflight.no-route"}},
		"no route from etcd": {etcdOnly, func(f *facts.Facts) { f.NoRoute = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := good(c.node)
			c.spoil(f)
			if diff := cmp.Diff(c.want, codes(newTestRun().judgeNode(c.node, f))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJudgeOfAuthorities(t *testing.T) {
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	const no = "error preflight.state-elsewhere"
	for name, c := range map[string]struct {
		here            map[string]string
		ca, etcd        string
		deploy, cleanup []string
	}{
		"the same":              {map[string]string{"ca.crt": "a", "etcd/ca.crt": "e"}, sum("a"), sum("e"), nil, nil},
		"not yet on the node":   {map[string]string{"ca.crt": "a", "etcd/ca.crt": "e"}, "", "", nil, nil},
		"only claimed, no keys": {nil, "", "", nil, nil},
		"another": {map[string]string{"ca.crt": "b", "etcd/ca.crt": "e"}, sum("a"), sum("e"),
			[]string{no}, []string{no}},
		"another etcd's": {map[string]string{"ca.crt": "a", "etcd/ca.crt": "x"}, sum("a"), sum("e"),
			[]string{no}, []string{no}},
		"lost":     {nil, sum("a"), sum("e"), []string{no}, nil},
		"one lost": {map[string]string{"ca.crt": "a"}, sum("a"), sum("e"), []string{no}, nil},
		"one lost, one another": {map[string]string{"etcd/ca.crt": "x"}, sum("a"), sum("e"), []string{no},
			[]string{no}},
		"an etcd member alone": {map[string]string{"ca.crt": "a", "etcd/ca.crt": "e"}, "", sum("other"), []string{no},
			[]string{no}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestRun()
			r.StateDir = t.TempDir()
			for file, text := range c.here {
				path := filepath.Join(r.StateDir, "pki", file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := good(worker)
			f.Cluster, f.CA, f.EtcdCA = "mine", c.ca, c.etcd
			if diff := cmp.Diff(c.deploy, codes(r.judgeNode(worker, f))); diff != "" {
				t.Error("deploy:", diff)
			}
			r.SetFact("w1", f)
			if diff := cmp.Diff(c.cleanup, codes(r.judgeAuthorities())); diff != "" {
				t.Error("cleanup:", diff)
			}
			f.Cluster = "theirs"
			if got := r.judgeAuthorities(); got != nil {
				t.Error("of another cluster, which is told elsewhere:", got)
			}
		})
	}
}

const (
	publicZone = `firewalld=
firewalld=public (active)
firewalld=  target: default
firewalld=  icmp-block-inversion: no
firewalld=  interfaces: eth0
firewalld=  sources: 
firewalld=  services: dhcpv6-client ssh
firewalld=  protocols: 
`
	ufwHead = `ufw=Status: active
ufw=Logging: on (low)
ufw=Default: deny (incoming), allow (outgoing), disabled (routed)
ufw=New profiles: skip
ufw=
ufw=To                         Action      From
ufw=--                         ------      ----
ufw=22/tcp (OpenSSH)           ALLOW IN    Anywhere
`
)

func TestJudgeOfFirewalls(t *testing.T) {
	const all = "10250/tcp, 10256/tcp, 8472/udp"
	for name, c := range map[string]struct {
		node        config.Node
		says, extra string
		want, ports string
	}{
		"none":      {worker, "", "", "", ""},
		"firewalld": {worker, publicZone, "", "opens", all},
		"firewalld, some open": {worker, publicZone + "firewalld=  ports: 10250-10256/tcp", "", "opens",
			"8472/udp"},
		"firewalld, all open": {worker, publicZone + "firewalld=  ports: 10250/tcp 8472/udp 10256/tcp", "", "",
			""},
		"firewalld, of a master": {master, publicZone +
			"firewalld=  ports: 10250-10256/tcp 8472/udp 2379/tcp 6443/udp", "", "opens", "2380/tcp, 6443/tcp"},
		"firewalld, etcd port by port": {etcdOnly, publicZone + "firewalld=  ports: 2379/tcp 2380/tcp", "", "", ""},
		"firewalld, a trusted zone":    {worker, "firewalld=trusted (active)\nfirewalld=  target: ACCEPT", "", "", ""},
		"firewalld, a rich rule": {worker, publicZone +
			"firewalld=  rich rules: \nfirewalld=\trule family=\"ipv4\" source address=\"192.0.2.0/24\" accept", "",
			"warning preflight.firewall-unsure", all},
		"firewalld, a zone of sources": {worker, publicZone + "firewalld=sources: 192.0.2.0/24", "",
			"warning preflight.firewall-unsure", all},
		"firewalld, a service": {worker, publicZone + "firewalld=  services: ssh kubelet-worker", "", "opens", all},
		"ufw":                  {worker, ufwHead, "", "opens", all},
		"ufw that denies one": {worker, ufwHead +
			"ufw=10250,10256/tcp ALLOW IN Anywhere\nufw=8472/udp  DENY IN  Anywhere", "", "opens", "8472/udp"},
		"ufw, all open": {worker, ufwHead +
			"ufw=10250:10260/tcp  ALLOW IN  192.0.2.0/24\nufw=8472  ALLOW IN  Anywhere\n", "", "", ""},
		"ufw, only for IPv6": {worker, ufwHead + "ufw=10250:10260/tcp (v6)  ALLOW IN  Anywhere (v6)\n", "",
			"opens", all},
		"ufw, only outwards": {worker, ufwHead + "ufw=10250:10260/tcp  ALLOW OUT  Anywhere\n", "", "opens", all},
		"ufw, all from a network": {worker, ufwHead + "ufw=Anywhere  ALLOW IN  192.0.2.0/24\n", "",
			"warning preflight.firewall-unsure", all},
		"ufw that lets all in": {worker, "ufw=Status: active\nufw=Default: allow (incoming), allow (outgoing)", "", "",
			""},
		"nftables": {worker, "nftables=nft inet filter input input", "", "opens", all},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts.Parse(c.says + "\n" + c.extra)
			r := newTestRun()
			got := r.judgeFirewall(c.node, f)
			if c.want == "opens" {
				if closed := strings.Join(f.Firewalls[0].Closed(r.host.Inbound(c.node)), ", "); got != nil ||
					closed != c.ports {
					t.Errorf("closed %s, %+v", closed, got)
				}
				return
			}
			if c.want == "" {
				if got != nil {
					t.Errorf("%+v", got)
				}
				return
			}
			if !slices.Equal(codes(got), []string{c.want}) || got[0].Fault.Args["ports"] != c.ports {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A bundle that serves members of etcd and load balancers alone needs neither images nor manifests.
func TestABundleForServersNeedsNoImages(t *testing.T) {
	r := newTestRun()
	m := *r.Bundle("amd64").Manifest()
	m.Images, m.Members = nil, m.Members[:2]
	if got := codes(r.judgeBundle(box{&m}, []bundle.Role{etcdRole, bundle.LoadBalancer})); len(got) > 0 {
		t.Error(got)
	}
	if got := codes(r.judgeBundle(box{&m}, []bundle.Role{workerRole})); !slices.Equal(got,
		[]string{"error bundle.image-absent", "error bundle.image-absent"}) {
		t.Error(got)
	}
}

// The findings come in the same order each time.
func TestJudgeOfABundleIsInOrder(t *testing.T) {
	r := newTestRun()
	for _, role := range []bundle.Role{workerRole, etcdRole, cpRole, bundle.LoadBalancer} {
		r.Cluster.Packages[role] = []config.Package{{Name: "no-" + string(role), Type: "pkg"},
			{Name: "containerd", Type: "pkg"}}
	}
	for range 20 {
		var got []string
		for _, f := range r.judgeBundle(r.Bundle("amd64"), bundle.AllRoles()) {
			got = append(got, f.Fault.Args["role"])
		}
		if !slices.IsSorted(got) || len(got) != 4 {
			t.Fatal(got)
		}
	}
}

func FuzzFirewalls(f *testing.F) {
	f.Add(publicZone)
	f.Add(ufwHead + "ufw=1:70000/tcp ALLOW IN Anywhere")
	f.Fuzz(func(t *testing.T, s string) {
		for _, g := range newTestRun().judgeFirewall(worker, facts.Parse(s)) {
			if g.Severity != event.Error && g.Severity != event.Warning {
				t.Error(g)
			}
		}
	})
}

// mute is a machine whose SSH server does not forward.
type mute struct{ node.Host }

func (mute) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, event.NewFault(event.ClassFailed, "ssh.forward-prohibited", errors.New("administratively prohibited"))
}

func TestJudgeOfReachAsksASingleMachineToo(t *testing.T) {
	r := newTestRun()
	r.Cluster.Nodes = []config.Node{master}
	if got := r.judgeReach(t.Context()); got != nil {
		t.Error("a machine that could not be looked at, which is told elsewhere:", got)
	}
	r.SetNode("m1", node.New(mute{}, nil))
	if got := r.judgeReach(t.Context()); !slices.Equal(codes(got), []string{"error preflight.unreachable"}) ||
		got[0].Host != "m1" {
		t.Errorf("%+v", got)
	}
}
