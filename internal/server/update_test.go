package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of an update only the nodes are taken: a cluster that was read can be sent with another node, and what else it says
// means nothing. A field that no cluster has is refused, as it may be a typo.
func TestAnUpdateTakesNodesAlone(t *testing.T) {
	s := begin(t)
	s.running()
	const one = "/api/v1/clusters/one"
	got := s.want(s.call("vera", "GET", one, ""), 200, "")
	was := got.body["nodes"].([]any)
	got.body["nodes"] = append(was, map[string]any{"name": "w2", "address": "192.0.2.3", "roles": []string{"worker"}})
	for field, value := range map[string]any{"name": "other", "state": "Destroy", "revision": 99, "ready": false,
		"continues": "delete", "since": "2020-01-02T03:04:05Z"} {
		if _, is := got.body[field]; !is && field != "continues" {
			t.Errorf("a cluster has no %s", field)
		}
		got.body[field] = value
	}
	text, err := json.Marshal(got.body)
	if err != nil {
		t.Fatal(err)
	}
	s.want(s.call("ann", "PUT", one, strings.Replace(string(text), "{", `{"nodees":[],`, 1)), 422, "api.request")
	a := s.want(s.call("ann", "PUT", one, string(text), "If-Match", got.header.Get("ETag")), 202, "")
	if a.body["name"] != "one" || a.body["state"] != "Updating" || len(a.body["nodes"].([]any)) != len(was)+1 ||
		a.body["continues"] != nil {
		t.Error(a.text)
	}
	s.want(s.call("ann", "GET", "/api/v1/clusters/other", ""), 404, "manager.unknown")
}

// Images and data of a node that is removed go only if that is asked for.
func TestAnUpdatePurgesOnlyWhereItIsAsked(t *testing.T) {
	for query, want := range map[string]bool{"": false, "?purge=true": true} {
		s := begin(t)
		s.running()
		const one = "/api/v1/clusters/one"
		got := s.want(s.call("vera", "GET", one, ""), 200, "")
		s.want(s.call("ann", "PUT", one+query, got.text), 202, "")
		v, err := s.m.Cluster("one")
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(v.Operation.Request), `"purge":true`); has != want {
			t.Errorf("PUT%s: %s", query, v.Operation.Request)
		}
	}
}

// A cluster that was read can be sent as it was read, with ports, architectures, labels and taints. What an update does
// not change of a node is refused, and not left as it is in silence; so is a worker that keeps its name and moves to
// another address, whose run would only find out that two nodes have that name.
func TestAnUpdateChangesNothingOfANodeThatStays(t *testing.T) {
	s := begin(t)
	s.running()
	s.installed()
	own := filepath.Join(s.root, "one", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	deploy := strings.Replace(string(text), "ip: 192.0.2.2", "ip: 192.0.2.2, port: 2222, arch: arm64", 1) +
		"eggo: {nodes: {w1: {labels: {disk: ssd, node-role.kubernetes.io/edge: ''}, taints: ['only=batch:NoSchedule']}}}\n"
	deploy = strings.Replace(deploy, "{x86src:", "{armsrc: /srv/arm.tar.gz, x86src:", 1)
	if err := os.WriteFile(own, []byte(deploy), 0o600); err != nil {
		t.Fatal(err)
	}
	const one = "/api/v1/clusters/one"
	got := s.want(s.call("vera", "GET", one, ""), 200, "")
	for what, c := range map[string]struct{ old, now string }{
		"body.nodes[1].port":     {`"port":2222`, `"port":22`},
		"body.nodes[1].arch":     {`"arch":"arm64"`, `"arch":"amd64"`},
		"body.nodes[1].address":  {`"192.0.2.2"`, `"192.0.2.9"`},
		"body.nodes[1].labels":   {`"disk":"ssd"`, `"disk":"hdd"`},
		"profile.labels-changed": {`only=batch:NoSchedule`, `only=batch:NoExecute`},
		"body.nodes[1].roles":    {`"worker","edge"`, `"worker"`},
	} {
		text := strings.Replace(got.text, c.old, c.now, 1)
		if a := s.want(s.call("ann", "PUT", one, text), 422, "api.invalid"); !strings.Contains(a.text, what) {
			t.Errorf("%s:\n%s\n%s", what, text, a.text)
		}
	}
	moved := strings.Replace(got.text, `"192.0.2.2"`, `"192.0.2.9"`, 1)
	a := s.want(s.call("ann", "PUT", one, moved), 422, "api.invalid")
	if !strings.Contains(a.text, "profile.moved") || !strings.Contains(a.text, "Remove the node first") {
		t.Error(a.text)
	}
	if v, err := s.m.Cluster("one"); err != nil || v.State != "Running" {
		t.Errorf("%v %v", v.State, err)
	}
	s.want(s.call("ann", "PUT", one, got.text), 202, "")
}

// F2: of a cluster that there is not, everything is refused as that, also for an administrator.
func TestNothingIsDoneWithAClusterThatThereIsNot(t *testing.T) {
	s := begin(t)
	const nodes = `{"nodes":[{"name":"m1","address":"192.0.2.1","roles":["controlplane","etcd"]},` +
		`{"name":"w1","address":"192.0.2.2","roles":["worker"]}]}`
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "", nodes}, {"DELETE", "", ""}, {"DELETE", "?machines=keep", ""}, {"POST", "/cancel", ""},
		{"POST", "/continue", ""}, {"GET", "/kubeconfig", ""}, {"POST", "/kubeconfig", "{}"}, {"POST", "/renew", ""},
		{"POST", "/upgrade", "{}"}, {"POST", "/snapshots", ""}, {"POST", "/plan", nodes}, {"GET", "/status", ""},
		{"GET", "/health/history", ""}, {"GET", "/runs/r/events", ""},
	} {
		s.want(s.call("ann", c.method, "/api/v1/clusters/none"+c.path, c.body), 404, "manager.unknown")
	}
}

// 9 of the original's defects: a body without what it has to have, such as a null, ended the server.
func TestDefect9Nulls(t *testing.T) {
	s := begin(t)
	for _, c := range []struct{ method, path, body string }{
		{"POST", ":import", `null`}, {"POST", ":import", `{}`}, {"POST", ":import", `[]`},
		{"POST", ":import", `{"name":null}`}, {"POST", ":import", `{"name":"far","kubeconfig":null}`},
		{"POST", ":import", `{"name":"far","kubeconfig":"null"}`},
		{"POST", ":import", `{"name":"far","kubeconfig":"{clusters: null, contexts: [null], users: null}"}`},
		{"POST", "", `null`}, {"POST", "", `{"ssh":null,"nodes":null}`},
		{"POST", "", strings.Replace(oneCluster, `"nodes":[`, `"nodes":[null,`, 1)},
		{"POST", "", strings.Replace(oneCluster, `["worker"]`, `null`, 1)},
		{"POST", "", strings.Replace(oneCluster, `["worker"]`, `[null]`, 1)},
		{"PUT", "/one", `null`}, {"PUT", "/one", `{"nodes":null}`}, {"PUT", "/one", `{"nodes":[null]}`},
	} {
		if a := s.call("ann", c.method, "/api/v1/clusters"+c.path, c.body); a.status < 400 || a.status >= 500 ||
			a.body["code"] == nil {
			t.Errorf("%s %s: %d %s", c.path, c.body, a.status, a.text)
		}
	}
	if all := s.m.Clusters(); len(all) > 0 {
		t.Error(all)
	}
}

// What does not even have the shape of a request is said in the language of the caller, too.
func TestShapesAreSaidInTheLanguageOfTheCaller(t *testing.T) {
	g := beginGuarded(t)
	for id, op := range g.documented() {
		if op.method == "GET" {
			continue
		}
		headers := append(g.as("global"), "Accept-Language", "zh", "Content-Type", "application/json")
		for _, body := range []string{`{"unknown":1}`, `[]`, `{`, ``, `{"nodes":{},"name":[],"drain":1,"keep":"x",` +
			`"hours":0,"decision":"sing","secrets":[],"role":3,"ends":"soon","force":"yes","ready":1}`} {
			a := g.call("", op.method, pathOf(op.path), body, headers...)
			list, _ := a.body["errors"].([]any)
			for _, e := range append(list, a.body) {
				text, _ := e.(map[string]any)["detail"].(string)
				if a.status >= 400 && !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x4e00 }) {
					t.Errorf("%s %s: %d %q", id, body, a.status, text)
				}
			}
		}
	}
}
