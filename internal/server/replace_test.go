package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// refusedInPreflight creates a cluster whose run ends before it has touched a node.
func (s *site) refusedInPreflight(body string) {
	s.t.Helper()
	s.want(s.call("ann", "POST", "/api/v1/clusters", body), 202, "")
	s.reach("Creating", func() bool { return s.world.Newest("one") != nil })
	s.world.Newest("one").Refuse(&event.Fault{Class: event.ClassPreflight, Code: "preflight.failed"})
	s.reach("Unavailable", nil)
}

// A creation that was refused in preflight, for a wrong address say, is repeated with other nodes: also with another
// control plane, since none was touched. What else was said stays, but for what belonged to nodes that are no more.
func TestOtherNodesAfterPreflight(t *testing.T) {
	s := begin(t)
	labeled := strings.NewReplacer(`"roles":["worker"]`, `"roles":["worker"],"labels":{"disk":"ssd"}`, `"name":"one",`,
		`"name":"one","settings":{"network.podcidr":"10.9.0.0/16"},`).Replace(oneCluster)
	s.refusedInPreflight(labeled)
	const nodes = `{"nodes":[{"name":"m2","address":"192.0.2.7","roles":["controlplane","etcd"]},
		{"name":"w1","address":"192.0.2.8","roles":["worker"]}]}`
	for what, wrong := range map[string]string{
		"profile.same-address": strings.Replace(nodes, "192.0.2.8", "192.0.2.7", 1),
		"profile.too-few":      strings.Replace(nodes, `,"etcd"`, "", 1),
		"profile.server":       strings.Replace(nodes, "192.0.2.8", "192.0.2.250", 1),
		"config.name":          strings.Replace(nodes, `"w1"`, `"W_1"`, 1)} {
		a := s.want(s.call("ann", "PUT", "/api/v1/clusters/one", wrong), 422, "api.invalid")
		if !strings.Contains(a.text, what) {
			t.Errorf("no %s in %s", what, a.text)
		}
	}
	before := s.world.Newest("one")
	a := s.want(s.call("ann", "PUT", "/api/v1/clusters/one", nodes), 202, "")
	if !strings.Contains(a.text, "192.0.2.7") || strings.Contains(a.text, "192.0.2.1\"") ||
		a.body["state"] != "Updating" {
		t.Error(a.text)
	}
	s.reach("Updating", func() bool { return s.world.Newest("one") != before })
	v, err := s.m.Cluster("one")
	if err != nil {
		t.Fatal(err)
	}
	deploy := wanted(v.Record).Deploy
	for text, there := range map[string]bool{"192.0.2.7": true, "192.0.2.8": true, "192.0.2.1,": false, "m1": false,
		"10.9.0.0/16": true, "disk: ssd": true, "ssh-password": true, "cluster-id: one": true} {
		if strings.Contains(deploy, text) != there {
			t.Errorf("%s: want %v in\n%s", text, there, deploy)
		}
	}
	// It fails after the first node was touched: what is continued is with the new nodes.
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
	if v, err = s.m.Cluster("one"); err != nil || v.Continued() != manager.Update || wanted(v.Record).Deploy != deploy {
		t.Errorf("%v %q", err, v.Continued())
	}
}

// A wrong key of a creation that preflight refused is replaced: what is not said of ssh stays.
func TestAnotherKeyAfterPreflight(t *testing.T) {
	s := begin(t)
	s.refusedInPreflight(oneCluster)
	dir := filepath.Join(s.data, "clusters", "one")
	nodes := oneCluster[strings.Index(oneCluster, `"nodes"`):]
	with := func(ssh string) answer {
		return s.call("ann", "PUT", "/api/v1/clusters/one", `{"ssh":`+ssh+`,`+nodes)
	}
	for ssh, at := range map[string]string{
		`{"user":"eve","key":"nonsense"}`:                          "body.ssh.key",
		`{"user":"eve","key":"` + jsonKey + `","known_hosts":"x"}`: "body.ssh.known_hosts",
		`{"user":""}`: "body.ssh.user"} {
		if a := s.want(with(ssh), 422, "api.invalid"); !strings.Contains(a.text, `"`+at+`"`) {
			t.Errorf("%s: %s", ssh, a.text)
		}
	}
	other := strings.Replace(jsonKey, "AAAA\\n", "AAAB\\n", 1)
	before := s.world.Newest("one")
	a := s.want(with(`{"user":"eve","key":"`+other+`","known_hosts":"192.0.2.1 `+someHostKey+`"}`), 202, "")
	if strings.Contains(a.text, "PRIVATE KEY") {
		t.Error(a.text)
	}
	s.reach("Updating", func() bool { return s.world.Newest("one") != before })
	v, _ := s.m.Cluster("one")
	deploy := wanted(v.Record).Deploy
	for text, there := range map[string]bool{"username: eve": true, filepath.Join(dir, "ssh-key"): true,
		"ssh-password": false, filepath.Join(dir, "known_hosts"): true} {
		if strings.Contains(deploy, text) != there {
			t.Errorf("%s: want %v in\n%s", text, there, deploy)
		}
	}
	if key, err := os.ReadFile(filepath.Join(dir, "ssh-key")); err != nil || !strings.Contains(string(key), "AAAB\n") {
		t.Errorf("%v %s", err, key)
	}
}

// Of a cluster that has nodes, an update does not change how they are logged in to.
func TestNoOtherKeyOfAClusterWithNodes(t *testing.T) {
	s := begin(t)
	s.running()
	s.installed()
	body := `{"ssh":{"user":"eve"},` + oneCluster[strings.Index(oneCluster, `"nodes"`):]
	a := s.want(s.call("ann", "PUT", "/api/v1/clusters/one", body), 422, "api.invalid")
	if !strings.Contains(a.text, "profile.ssh-changed") {
		t.Error(a.text)
	}
}

// The dry run of such a creation inspects the nodes that it would have.
func TestThePlanOfACreation(t *testing.T) {
	s := nearby(t)
	s.refusedInPreflight(nobody(oneCluster))
	other := nobody(oneCluster[strings.Index(oneCluster, `"nodes"`):])
	for _, body := range []string{`{}`, "{" + strings.Replace(other, `"w1"`, `"w2"`, 1)} {
		a := s.want(s.call("ann", "POST", "/api/v1/clusters/one/plan", body), 200, "")
		if !strings.Contains(a.text, `"ok":false`) || !strings.Contains(a.text, `"node":"m1"`) {
			t.Error(a.text)
		}
	}
}
