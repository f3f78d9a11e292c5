package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// hostKeyOf is the host key of a node that an answer says is unknown.
func (a answer) hostKeyOf(t *testing.T, node string) string {
	t.Helper()
	var out struct{ Findings []Finding }
	if err := json.Unmarshal([]byte(a.text), &out); err != nil {
		t.Fatal(err)
	}
	for _, f := range out.Findings {
		if f.Node == node && f.Code == "ssh.hostkey-unknown" {
			return f.HostKey
		}
	}
	return ""
}

// A check says which host key a node has shown; with that key in the request the node is logged in to. The
// same goes for the plan of a node that is to join.
func TestAHostKeyIsAcceptedByTheCaller(t *testing.T) {
	node := remotetest.New(t)
	_, port, _ := strings.Cut(node.Addr, ":")
	s := nearby(t)
	const at = `"127.0.0.1","port":1`
	body := strings.Replace(nobody(oneCluster), at, `"127.0.0.1","port":`+port, 1)
	a := s.want(s.call("ann", "POST", "/api/v1/check", body), 200, "")
	key := a.hostKeyOf(t, "m1")
	if !strings.HasPrefix(key, "ssh-ed25519 ") || !strings.Contains(a.text, "SHA256:") {
		t.Fatal(a.text)
	}
	with := `,"host_keys":["` + key + ` root@m1"]`
	a = s.want(s.call("ann", "POST", "/api/v1/check", strings.Replace(body, port, port+with, 1)), 200, "")
	if a.hostKeyOf(t, "m1") != "" || strings.Contains(a.text, "hostkey") {
		t.Error(a.text)
	}
	bad := strings.Replace(body, port, port+`,"host_keys":["* `+key+`"]`, 1)
	a = s.want(s.call("ann", "POST", "/api/v1/check", bad), 422, "api.invalid")
	if !strings.Contains(a.text, "profile.host-key") || !strings.Contains(a.text, "body.nodes[0].host_keys[0]") {
		t.Error(a.text)
	}

	s.running()
	s.installed()
	own := filepath.Join(s.root, "one", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	deploy := strings.NewReplacer("192.0.2.1", "127.0.0.2, port: 1", "192.0.2.2", "127.0.0.3, port: 1",
		"private-key-path: /k", "eggo: {password-from: prompt}").Replace(string(text))
	if err := os.WriteFile(own, []byte(deploy), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := `{"secrets":{"password":"x"},"nodes":[
		{"name":"m1","address":"127.0.0.2","port":1,"roles":["controlplane","etcd"]},
		{"name":"w1","address":"127.0.0.3","port":1,"roles":["worker"]},
		{"name":"w2","address":"127.0.0.1","roles":["worker"],"port":` + port
	a = s.want(s.call("ann", "POST", "/api/v1/clusters/one/plan", plan+"}]}"), 200, "")
	if got := a.hostKeyOf(t, "w2"); got != key {
		t.Errorf("%q in %s", got, a.text)
	}
	a = s.want(s.call("ann", "POST", "/api/v1/clusters/one/plan", plan+with+"}]}"), 200, "")
	if a.hostKeyOf(t, "w2") != "" || !strings.Contains(a.text, `"node":"m1"`) {
		t.Error(a.text)
	}
}

const balancedCluster = `,"load_balancer":{"name":"lb","address":"192.0.2.5","bind_port":9443}`

// A cluster with a load balancer: it is in its deploy.yaml and shown; while no run has touched a node, it can be
// another one.
func TestALoadBalancer(t *testing.T) {
	s := begin(t)
	body := strings.TrimSuffix(oneCluster, "}") + balancedCluster + "}"
	for find, other := range map[string]string{
		`"body.load_balancer.address"`: strings.Replace(body, "192.0.2.5", "lb.example", 1),
		`"body.load_balancer.name"`:    strings.Replace(body, `"lb"`, `"w1"`, 1),
		`profile.server`:               strings.Replace(body, "192.0.2.5", "192.0.2.250", 1),
	} {
		a := s.want(s.call("ann", "POST", "/api/v1/clusters", other), 422, "api.invalid")
		if !strings.Contains(a.text, find) {
			t.Errorf("no %s in %s", find, a.text)
		}
	}
	s.refusedInPreflight(body)
	shown := func(address string) {
		t.Helper()
		a := s.want(s.call("vera", "GET", "/api/v1/clusters/one", ""), 200, "")
		lb, _ := a.body["load_balancer"].(map[string]any)
		v, err := s.m.Cluster("one")
		deploy, has := wanted(v.Record).Deploy, "loadbalance:\n  name: lb\n  ip: "+address
		if err != nil || lb["address"] != address || !strings.Contains(deploy, has) ||
			!strings.Contains(deploy, "bind-port: 9443") {
			t.Errorf("%v %v\n%s", err, lb, deploy)
		}
	}
	shown("192.0.2.5")
	nodes := oneCluster[strings.Index(oneCluster, `"nodes"`) : len(oneCluster)-1]
	put := func(more string) answer { return s.call("ann", "PUT", "/api/v1/clusters/one", "{"+nodes+more+"}") }
	again := func() {
		t.Helper()
		s.world.Newest("one").Refuse(&event.Fault{Class: event.ClassPreflight, Code: "preflight.failed"})
		s.reach("Unavailable", nil)
	}
	before := s.world.Newest("one")
	s.want(put(""), 202, "")
	s.reach("Updating", func() bool { return s.world.Newest("one") != before })
	shown("192.0.2.5")
	again()
	before = s.world.Newest("one")
	s.want(put(strings.Replace(balancedCluster, "192.0.2.5", "192.0.2.6", 1)), 202, "")
	s.reach("Updating", func() bool { return s.world.Newest("one") != before })
	shown("192.0.2.6")
}

// The load balancer of a cluster that runs is no matter of an update, and becomes no node by one.
func TestAnUpdateLeavesTheLoadBalancer(t *testing.T) {
	s := begin(t)
	s.running()
	s.installed()
	own := filepath.Join(s.root, "one", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "loadbalance: {name: lb, ip: 192.0.2.5, bind-port: 9443}\n"...)
	if err := os.WriteFile(own, text, 0o600); err != nil {
		t.Fatal(err)
	}
	a := s.want(s.call("vera", "GET", "/api/v1/clusters/one", ""), 200, "")
	if lb, _ := a.body["load_balancer"].(map[string]any); lb["name"] != "lb" || lb["bind_port"] != 9443.0 {
		t.Error(a.text)
	}
	nodes := oneCluster[strings.Index(oneCluster, `"nodes"`) : len(oneCluster)-2]
	const more = `,{"name":"w2","address":"192.0.2.5","roles":["worker"]}`
	for find, body := range map[string]string{
		"profile.balancer-node":    "{" + nodes + more + "]}",
		"profile.balancer-changed": "{" + nodes + `],"load_balancer":{"name":"lb","address":"192.0.2.6"}}`,
	} {
		a := s.want(s.call("ann", "PUT", "/api/v1/clusters/one", body), 422, "api.invalid")
		if !strings.Contains(a.text, find) {
			t.Errorf("no %s in %s", find, a.text)
		}
	}
	a = s.want(s.call("ann", "POST", "/api/v1/clusters/one/plan", "{"+nodes+more+"]}"), 422, "api.invalid")
	if !strings.Contains(a.text, "profile.balancer-node") {
		t.Error(a.text)
	}
	s.want(s.call("ann", "PUT", "/api/v1/clusters/one", "{"+nodes+"]"+balancedCluster+"}"), 202, "")
}
