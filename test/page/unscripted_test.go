package page_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/test/page/site"
)

const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

// begins has runs begin, and gives what they were asked for.
func begins(t *testing.T, s *site.Site) chan manager.Record {
	t.Helper()
	began := make(chan manager.Record, 4)
	s.Runner.Begin = func(r manager.Record) (*site.Run, error) {
		began <- r
		return s.Play(t.Context(), r.Name, "deploy", site.Moment{At: 40 * time.Second})
	}
	return began
}

// whole is a form of a new cluster with all that it has parts for.
func whole() url.Values {
	return url.Values{"name": {"edge-7"}, "server_address": {"192.0.2.250"}, "user": {"root"}, "key": {secretKey},
		"domain": {"cluster.local"}, "bundle:amd64": {"/srv/bundle.tar.gz"}, "on_failure": {"ask"},
		"nodes":   {"m1 192.0.2.11 control-plane\nw1 192.0.2.21 worker"},
		"lb:name": {"lb"}, "lb:address": {"192.0.2.5"}, "lb:bind_port": {"9443"},
		"known_hosts":    {"w1 " + hostKey + "\n192.0.2.11 " + hostKey},
		"s:eggo.bastion": {"ops@b.example"},
		"login:0:who":    {"w1"}, "login:0:password": {"hunter2-w1"}, "login:0:sudo": {"hunter2-sudo"},
		"login:1:who": {"ops@b.example"}, "login:1:password": {"hunter2-b"},
		"registry:0:host": {"registry.example.com:5000"}, "registry:0:username": {"eggo"},
		"registry:0:password": {"hunter2-r"}, "s:eggo.dns-upstreams": {"192.0.2.53"}}
}

// A new cluster has a load balancer, registries, host keys, and passwords of single nodes and bastions. What is wrong
// with them is said all at once, each at its field.
func TestAllPartsOfANewCluster(t *testing.T) {
	s := begin(t)
	v := visit(t, s, "ann", "en")
	form := whole()
	for field, value := range map[string]string{"lb:bind_port": "70000", "lb:port": "ssh", "lb:address": "192.0.2.21",
		"login:0:who": "w9", "login:1:who": "ops@c.example", "registry:0:host": "", "registry:2:host": "a.example",
		"registry:2:ca": "nonsense", "known_hosts": "w1 ssh-ed25519 AAAA", "s:eggo.dns-upstreams": "dns.example"} {
		form.Set(field, value)
	}
	d := v.typed("/new/draft", form)
	for _, field := range []string{"lb:bind_port", "lb:port", "lb:address", "login:0:who", "login:1:who",
		"registry:0:host", "registry:2:ca", "known_hosts"} {
		if d.at(field) == "" {
			t.Errorf("nothing is wrong with %s: %v", field, d.Wrong)
		}
	}
	for _, code := range []string{"page.port", "page.login", `"field":"login:0:who"`} {
		v.has(v.send("POST", "/new", form), 422, code)
	}
	form = whole()
	form.Set("s:eggo.dns-upstreams", "dns.example")
	if d := v.typed("/new/draft", form); d.at("s:eggo.dns-upstreams") == "" {
		t.Errorf("%v", d.Wrong)
	}
	d = v.typed("/new/draft", whole())
	for _, want := range []string{"192.0.2.5", "9443", "registry.example.com:5000", "registry-1-password", "prompt",
		"192.0.2.53", "b.example"} {
		if !strings.Contains(d.YAML, want) {
			t.Errorf("no %s in\n%s", want, d.YAML)
		}
	}
	if !d.OK || strings.Contains(d.YAML+d.Nodes, "hunter2") || !strings.Contains(d.Nodes, "load balancer") {
		t.Errorf("%v\n%s", d.Wrong, d.YAML)
	}
	began := begins(t, s)
	if d = v.typed("/new", whole()); d.Go != "/clusters/edge-7" {
		t.Fatal(d)
	}
	rec := string((<-began).Wanted)
	if strings.Contains(rec, "hunter2") || !strings.Contains(rec, hostKey) || !strings.Contains(rec, `"192.0.2.5"`) {
		t.Error(rec)
	}
	for name, want := range map[string]string{"registry-1-password": "hunter2-r",
		"known_hosts": "192.0.2.11 " + hostKey} {
		text, err := os.ReadFile(filepath.Join(s.Runner.Dir("edge-7"), name))
		if err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%v %q", err, text)
		}
	}
}

// A line with the role of a load balancer is one, as in the wizard.
func TestALoadBalancerAmongTheLines(t *testing.T) {
	v := visit(t, begin(t), "ann", "en")
	form := whole()
	form.Del("lb:name")
	form.Del("lb:address")
	form.Set("nodes", form.Get("nodes")+"\nlb 192.0.2.5 load-balancer")
	if d := v.typed("/new/draft", form); !d.OK || !strings.Contains(d.YAML, "192.0.2.5") {
		t.Errorf("%v\n%s", d.Wrong, d.YAML)
	}
	form.Set("lb:name", "other")
	form.Set("lb:address", "192.0.2.6")
	if d := v.typed("/new/draft", form); d.at("nodes") == "" {
		t.Errorf("there are two: %v", d.Wrong)
	}
}

// Without the script of the page, a button sends the form: it comes back with what was typed, but for secrets, and with
// all that is wrong beside its field.
func TestANewClusterWithoutTheScript(t *testing.T) {
	s := begin(t)
	v := visit(t, s, "ann", "en")
	v.has(v.get("/new"), 200, `<form method="post" action="/new"`, `name="do" value="send"`, `name="registry:0:host"`,
		"Ports between the machines", "10250/tcp", "cri-dockerd") // advice
	form := whole()
	form.Set("do", "send")
	form.Set("lb:bind_port", "70000")
	form.Set("s:service.cidr", "10.32.0.0/33")
	form.Set("allow_unsigned", "on")
	a := v.send("POST", "/new", form)
	v.has(a, 422, `value="70000"`, `id="wrong-lb:bind_port"`, `aria-describedby="wrong-s:service.cidr"`,
		`value="edge-7"`,
		"m1 192.0.2.11 control-plane", `value="on" checked`, "Enter keys and passwords again", `value="eggo"`)
	if strings.Contains(a.text, "hunter2") || strings.Contains(a.text, "MC4CAQ") {
		t.Error("a secret comes back")
	}
	form.Set("do", "more:registry")
	v.has(v.send("POST", "/new", form), 200, `name="registry:1:host"`)
	form = whole()
	form.Set("do", "draft")
	form.Set("accept", "m1 "+hostKey) // a finding of the check had it
	v.has(v.send("POST", "/new", form), 200, "192.0.2.11 "+hostKey+"\nm1 "+hostKey, "All settings are valid.",
		"m1; kube-apiserver :6443", "Service CIDR: ") // what it creates
	form.Del("accept")
	begins(t, s)
	form.Set("do", "send")
	a = v.send("POST", "/new", form)
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/clusters/edge-7" {
		t.Error(a.status, a.text)
	}
	a = v.send("POST", "/new", form) // the API refuses it
	v.has(a, 409, `id="wrong-name"`, "manager.taken", "<h1>")
	v.has(visit(t, s, "vera", "en").send("POST", "/new", form), 403, "access.denied", "<h1>")
}

// Without the script, too, the name of the cluster is typed before nodes are removed, and the change is bound to what
// was shown.
func TestOtherNodesWithoutTheScript(t *testing.T) {
	s := begin(t)
	running(t, s)
	v := visit(t, s, "ann", "en")
	path := "/clusters/rack/nodes"
	a := v.get(path)
	_, etag, _ := strings.Cut(a.text, `name="etag" value="`)
	etag, _, _ = strings.Cut(etag, `">`)
	form := url.Values{"do": {"send"}, "etag": {strings.ReplaceAll(etag, "&#34;", `"`)},
		"nodes": {"master-1 192.168.0.11 controlplane,etcd\nmaster-2 192.168.0.12 controlplane,etcd\n" +
			"master-3 192.168.0.13 controlplane,etcd\nworker-1 192.168.0.14 worker\nw9 192.168.0.19 worker"},
		"known_hosts": {"192.168.0.19 " + hostKey + "\nb.example " + hostKey}, "purge": {"on"}}
	v.has(v.send("POST", path, form), 422, `id="wrong-known_hosts"`, "b.example")
	form.Del("do")
	v.has(v.send("POST", path, form), 422, "page.host-key", `"field":"known_hosts"`)
	form.Set("do", "send")
	form.Set("known_hosts", "192.168.0.19 "+hostKey)
	v.has(v.send("POST", path, form), 422, `id="wrong-confirm"`, "Remove worker-2 from rack?",
		"Their images and data are deleted, too.", "w9 192.168.0.19 worker", `name="purge" value="on" checked`)
	began := begins(t, s)
	form.Set("confirm", "rack")
	shown := form.Get("etag")
	form.Set("etag", `"1"`)
	v.has(v.send("POST", path, form), 412, "manager.revision", "<h1>", "w9 192.168.0.19 worker")
	form.Set("etag", shown)
	if a := v.send("POST", path, form); a.status != http.StatusSeeOther {
		t.Fatal(a.status, a.text)
	}
	if rec := <-began; !strings.Contains(string(rec.Wanted), hostKey) ||
		!strings.Contains(string(rec.Operation.Request), `"purge":true`) {
		t.Error(string(rec.Wanted), string(rec.Operation.Request))
	}
}

// refused has a cluster whose creation failed before any node was changed: the runner refuses it.
func refused(t *testing.T, s *site.Site, name string) {
	t.Helper()
	form := url.Values{"name": {name}, "server_address": {"192.0.2.250"}, "user": {"root"}, "key": {secretKey},
		"domain": {"cluster.local"}, "bundle:amd64": {"/srv/bundle.tar.gz"}, "on_failure": {"ask"},
		"nodes": {"m1 192.0.2.11 control-plane\nw1 192.0.2.21 worker"}}
	if d := visit(t, s, "ann", "en").typed("/new", form); d.Go != "/clusters/"+name {
		t.Fatalf("%+v", d)
	}
	if err := s.Reach(t.Context(), name, "Unavailable"); err != nil {
		t.Fatal(err)
	}
}

// A creation that failed before any node was changed gets another login, and other nodes; of a cluster that runs the
// form has no login, and images stay unless that is asked for.
func TestAnotherLoginOfACreation(t *testing.T) {
	s := begin(t)
	running(t, s)
	refused(t, s, "edge-7")
	v := visit(t, s, "ann", "en")
	const path = "/clusters/edge-7/nodes"
	v.has(v.get("/clusters/edge-7"), 200, `href="`+path+`"`)
	a := v.get(path)
	v.has(a, 200, "m1 192.0.2.11 controlplane,etcd", "Replace the SSH login", `<label>Private key`,
		`name="sudo_password"`, `name="purge"`)
	if a = v.get("/clusters/rack/nodes"); strings.Contains(a.text, `name="key"`) ||
		!strings.Contains(a.text, `name="purge" value="on">`) {
		t.Error(a.text)
	}
	v.has(visit(t, s, "ann", "zh").get(path), 200, "更换 SSH 登录方式",
		"同时删除被移除节点上的镜像和数据")
	const lines = "m1 192.0.2.11 controlplane,etcd\nw1 192.0.2.21 worker"
	form := url.Values{"nodes": {strings.Replace(lines, "2.11", "2.12", 1)}}
	if d := v.typed(path+"/draft", form); !d.OK { // another control plane: none was changed
		t.Errorf("%+v", d)
	}
	form = url.Values{"nodes": {lines}}
	if d := v.typed(path+"/draft", form); d.OK || len(d.Wrong) > 0 { // nothing to do
		t.Errorf("%+v", d)
	}
	form.Set("key", "nonsense")
	if d := v.typed(path+"/draft", form); d.OK || d.at("key") == "" || d.at("user") == "" {
		t.Errorf("%+v", d)
	}
	form.Set("key", secretKey)
	form.Set("user", "eve")
	d := v.typed(path+"/draft", form)
	if !d.OK || !slices.Contains(d.Secret, "key") {
		t.Errorf("%+v", d)
	}
	began := begins(t, s)
	form.Set("etag", d.ETag)
	if d := v.typed(path, form); d.Go != "/clusters/edge-7" {
		t.Fatalf("%+v", d)
	}
	rec := <-began
	if w := string(rec.Wanted); !strings.Contains(w, "username: eve") || strings.Contains(w, "PRIVATE KEY") ||
		strings.Contains(string(rec.Operation.Request), "purge") {
		t.Error(w, string(rec.Operation.Request))
	}
}

// An upgrade has all its options; what is wrong with them is said at once.
func TestAnUpgrade(t *testing.T) {
	s := begin(t)
	running(t, s)
	v := visit(t, s, "otto", "en")
	path := "/clusters/rack/upgrade"
	v.has(v.get("/clusters/rack"), 200, `href="`+path+`"`)
	a := v.get(path)
	v.has(a, 200, `name="soak"`, `name="window"`, `name="batch"`, `name="drain"`, `name="force"`, `name="packages"`)
	if strings.Contains(a.text, "allow_unsigned") {
		t.Error("an operator may not allow that")
	}
	form := url.Values{"batch": {"many"}, "soak": {"1y"}, "window": {"night"}, "drain": {"-1s"}, "on_failure": {"ask"}}
	d := v.typed(path+"/draft", form)
	for _, field := range []string{"paths", "batch", "soak", "window", "drain"} {
		if d.at(field) == "" || d.OK {
			t.Errorf("nothing is wrong with %s: %v", field, d.Wrong)
		}
	}
	v.has(v.send("POST", path, form), 422, "api.invalid", `"field":"soak"`, `"field":"window"`)
	form.Set("do", "send")
	v.has(v.send("POST", path, form), 422, `id="wrong-batch"`, `value="night"`, "Select or enter at least one bundle.")
	form = url.Values{"do": {"send"}, "paths": {filepath.Join(t.TempDir(), "b.tar.gz") + "\n"}, "batch": {"10%"},
		"soak": {"30m"}, "window": {"22:00-06:00"}, "drain": {"90s"}, "force": {"on"}, "packages": {"on"}}
	v.has(v.send("POST", path, form), 403, "<h1>") // a bundle from elsewhere
	v = visit(t, s, "ann", "zh")
	began := begins(t, s)
	if a = v.send("POST", path, form); a.status != http.StatusSeeOther || a.header.Get("Location") != "/clusters/rack" {
		t.Fatal(a.status, a.text)
	}
	var got struct {
		Batch, Window   string
		Soak            time.Duration `json:"soak_ns"`
		Drain           time.Duration `json:"drain_ns"`
		Force, Packages bool
	}
	rec := <-began
	if err := json.Unmarshal(rec.Operation.Request, &got); err != nil || got.Batch != "10%" ||
		got.Soak != 30*time.Minute || got.Window != "22:00-06:00" || got.Drain != 90*time.Second ||
		!got.Force || !got.Packages {
		t.Errorf("%v %s", err, rec.Operation.Request)
	}
	v.has(visit(t, s, "vera", "en").get(path), 403, "access.denied")
}

// One logs in without the script, and is led on.
func TestALoginWithoutTheScript(t *testing.T) {
	s := begin(t)
	v := visit(t, s, "", "en")
	form := url.Values{"name": {"ann"}, "password": {"wrong"}, "next": {"/new"}}
	a := v.send("POST", "/login", form)
	v.has(a, 401, "account.login", `value="/new"`)
	if strings.Contains(a.text, `value="wrong"`) || a.header.Get("Set-Cookie") != "" {
		t.Error(a.header, a.text)
	}
	form.Set("password", site.Password)
	for next, to := range map[string]string{"/new": "/new", "//evil.example/": "/"} {
		form.Set("next", next)
		a = v.send("POST", "/login", form)
		if a.status != http.StatusSeeOther || a.header.Get("Location") != to || a.header.Get("Set-Cookie") == "" {
			t.Error(a.status, a.header)
		}
	}
}
