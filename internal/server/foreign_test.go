package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// planAs sends a plan of the cluster one.
func (s *site) planAs(who, body string) answer {
	s.t.Helper()
	return s.call(who, "POST", "/api/v1/clusters/one/plan", body)
}

// An operator who owns an SSH server does not have the server of this program send it the password of the nodes: not by
// a node that is to join, by another address of a node, by another port, or by a host key of his own. An administrator
// may add machines, so he may plan that.
func TestAnOperatorPlansNoMachinesThatTheClusterDoesNotHave(t *testing.T) {
	thief := remotetest.New(t)
	_, port, _ := strings.Cut(thief.Addr, ":")
	s := nearby(t)
	s.running()
	s.installed()
	secret := filepath.Join(t.TempDir(), "password")
	own := filepath.Join(s.root, "one", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	deploy := strings.NewReplacer("192.0.2.1", "127.0.0.2, port: 1", "192.0.2.2", "127.0.0.3, port: 1",
		"private-key-path: /k", "eggo: {password-from: 'file:"+secret+"', host-keys: accept-new}").Replace(string(text))
	for file, text := range map[string]string{own: deploy, secret: "the password of the nodes"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const m1 = `{"name":"m1","address":"127.0.0.2","port":1,"roles":["controlplane","etcd"]}`
	const w1 = `{"name":"w1","address":"127.0.0.3","port":1,"roles":["worker"]}`
	key := someHostKey
	for what, nodes := range map[string]string{
		"another node":    m1 + "," + w1 + `,{"name":"w2","address":"127.0.0.1","port":` + port + `,"roles":["worker"]}`,
		"another address": m1 + "," + strings.Replace(w1, `127.0.0.3","port":1`, `127.0.0.1","port":`+port, 1),
		"another port":    m1 + "," + strings.Replace(w1, `"port":1`, `"port":`+port, 1),
		"another name":    m1 + "," + strings.Replace(w1, `"w1"`, `"w2"`, 1),
		"a host key":      m1 + "," + strings.Replace(w1, `"port":1`, `"port":1,"host_keys":["`+key+`"]`, 1),
		"no address":      m1 + `,{"name":"w1","address":"","roles":["worker"]}`,
	} {
		a := s.want(s.planAs("otto", `{"nodes":[`+nodes+`]}`), 403, "access.machine")
		if next, _ := a.body["next"].(string); next == "" || !strings.Contains(a.text, "administrator") {
			t.Errorf("%s: %s", what, a.text)
		}
	}
	if n := thief.Connections(); n > 0 {
		t.Errorf("the server has connected %d times to a machine that an operator named", n)
	}
	for _, who := range []string{"ann", "otto"} { // what the cluster has, and with fewer nodes
		s.want(s.planAs(who, `{}`), 200, "")
		s.want(s.planAs(who, `{"nodes":[`+m1+","+w1+`]}`), 200, "")
		s.want(s.planAs(who, `{"nodes":[`+m1+","+strings.Replace(w1, `,"port":1`, "", 1)+`]}`), 200, "")
	}
	s.want(s.planAs("ann", `{"nodes":[`+m1+","+w1+`,{"name":"w2","address":"127.0.0.1","port":`+port+
		`,"roles":["worker"]}]}`), 200, "")
	if thief.Connections() == 0 {
		t.Error("the plan of an administrator does not inspect the node that is to join")
	}
	s.want(s.planAs("vera", `{"nodes":[`+m1+","+w1+`]}`), 403, "access.denied")
}

// The same goes for a cluster whose creation was refused in preflight: its machines are those of the request that
// created it.
func TestAnOperatorPlansACreationWithItsOwnMachines(t *testing.T) {
	s := nearby(t)
	s.refusedInPreflight(nobody(oneCluster))
	nodes := "{" + nobody(oneCluster[strings.Index(oneCluster, `"nodes"`):])
	s.want(s.planAs("otto", `{}`), 200, "")
	s.want(s.planAs("otto", nodes), 200, "")
	for _, other := range []string{strings.Replace(nodes, "127.0.0.2", "127.0.0.9", 1),
		strings.Replace(nodes, `,"port":1`, "", 1), strings.Replace(nodes, `"w1"`, `"w2"`, 1)} {
		s.want(s.planAs("otto", other), 403, "access.machine")
		s.want(s.planAs("ann", other), 200, "")
	}
}
