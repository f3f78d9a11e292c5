package page_test

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/test/page/site"
)

const secretKey = "-----BEGIN PRIVATE KEY-----\n" +
	"MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----"

// drafted is the answer to what is typed.
type drafted struct {
	Wrong []struct{ Field, Text, Next string }
	Nodes string
	YAML  string
	Hide  []string
	OK    bool
	Count string
	Go    string
	Notes []string
	// Secret are fields that a browser does not keep.
	Secret          []string
	Ask, Name, ETag string
}

func (v *visitor) typed(path string, form url.Values) (out drafted) {
	v.t.Helper()
	a := v.send("POST", path, form)
	v.has(a, 200)
	if err := json.Unmarshal([]byte(a.text), &out); err != nil {
		v.t.Fatal(err, a.text)
	}
	return out
}

func (d drafted) at(field string) string {
	for _, w := range d.Wrong {
		if w.Field == field {
			return w.Text
		}
	}
	return ""
}

// What is typed is checked by the rules of the server and of deploy.yaml, all at once, in the reader's language; what
// is secret is in no answer.
func TestANewCluster(t *testing.T) {
	s := begin(t)
	v := visit(t, s, "ann", "zh")
	d := v.typed("/new/draft", url.Values{})
	for _, field := range []string{"name", "user", "key", "server_address", "domain", "nodes"} {
		if d.at(field) == "" {
			t.Errorf("nothing is wrong with %s: %v", field, d.Wrong)
		}
	}
	form := url.Values{"name": {"edge-7"}, "server_address": {"192.0.2.250"}, "user": {"root"}, "key": {secretKey},
		"password": {"hunter2hunter2"}, "domain": {"cluster.local"}, "on_failure": {"ask"},
		"nodes":        {"192.0.2.11 control-plane\n192.0.2.[21-22] worker\n192.0.2.300 worker"},
		"bundle:amd64": {"/srv/bundle.tar.gz"}, "s:service.cidr": {"10.32.0.0/33"}, "host_keys": {"accept-new"}}
	d = v.typed("/new/draft", form)
	if !strings.Contains(d.at("nodes"), "192.0.2.300") || d.at("s:service.cidr") == "" || d.OK {
		t.Errorf("%v", d.Wrong)
	}
	if strings.Count(d.Nodes, "<tr>") != 4 || !strings.Contains(d.Nodes, "控制平面") {
		t.Error(d.Nodes)
	}
	form.Set("nodes", "192.0.2.11 control-plane,worker")
	if d := v.typed("/new/draft", form); d.at("nodes") == "" {
		t.Error("a node may be both")
	}
	form.Set("s:service.cidr", "10.40.0.0/16")
	form.Set("nodes", "192.0.2.11 control-plane\n192.0.2.21 worker label:disk=ssd taint:only=batch:NoSchedule")
	d = v.typed("/new/draft", form)
	if !strings.Contains(d.YAML, "disk: ssd") || !strings.Contains(d.YAML, "only=batch:NoSchedule") {
		t.Errorf("%+v", d)
	}
	form.Set("nodes", "192.0.2.11 control-plane\n192.0.2.21 worker taint:only=batch:Sometimes")
	if d := v.typed("/new/draft", form); !strings.Contains(d.at("nodes"), "Sometimes") {
		t.Errorf("%+v", d)
	}
	form.Set("nodes", "192.0.2.11 control-plane\n192.0.2.[21-22] worker")
	d = v.typed("/new/draft", form)
	if len(d.Wrong) > 0 || !d.OK || !strings.Contains(d.YAML, "10.40.0.0/16") ||
		strings.Contains(d.YAML+d.Nodes, "hunter2") || strings.Contains(d.YAML, "PRIVATE KEY") {
		t.Errorf("%v\n%s", d.Wrong, d.YAML)
	}
	began := make(chan manager.Record, 1)
	s.Runner.Begin = func(r manager.Record) (*site.Run, error) {
		began <- r
		return s.Play(t.Context(), r.Name, "deploy", site.Moment{At: 40 * time.Second})
	}
	d = v.typed("/new", form)
	if d.Go != "/clusters/edge-7" {
		t.Error(d)
	}
	if err := s.Reach(t.Context(), "edge-7", "Creating"); err != nil {
		t.Fatal(err)
	}
	var want struct{ Deploy string }
	if err := json.Unmarshal((<-began).Wanted, &want); err != nil || !strings.Contains(want.Deploy, "10.40.0.0/16") ||
		strings.Contains(want.Deploy, "hunter2") {
		t.Error(err, want.Deploy)
	}
	text, err := os.ReadFile(filepath.Join(s.Runner.Dir("edge-7"), "ssh-key"))
	if err != nil || strings.TrimSpace(string(text)) != secretKey {
		t.Errorf("%v %q", err, text)
	}
	if a := v.send("POST", "/new", form); a.status != 409 || !strings.Contains(a.text, "manager.taken") {
		t.Error(a.status, a.text)
	}
	v.has(v.get("/audit?action=create-cluster"), 200, "create-cluster", "ann", "409")
}

// The nodes of a cluster are lines; what is added and what is removed is shown before it is done.
func TestOtherNodes(t *testing.T) {
	s := begin(t)
	if _, err := s.Play(t.Context(), "rack", "deploy", site.Moment{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Running"); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, "ann", "en")
	v.has(v.get("/clusters/rack/nodes"), 200, "master-1 192.168.0.11 controlplane,etcd", "worker-2 192.168.0.15 worker")
	v.has(v.get("/clusters/rack"), 200, "v1.34.2", "container runtime is down", "not ready")
	lines := "master-1 192.168.0.11 controlplane,etcd\nmaster-2 192.168.0.12 controlplane,etcd\n" +
		"master-3 192.168.0.13 controlplane,etcd\nworker-1 192.168.0.14 worker\n"
	d := v.typed("/clusters/rack/nodes/draft", url.Values{"nodes": {lines + "w9 192.168.0.99 worker"}})
	if !d.OK || d.Count != "1 to add, 1 to remove" || !strings.Contains(d.Nodes, "<s>worker-2</s>") {
		t.Errorf("%+v", d)
	}
	d = v.typed("/clusters/rack/nodes/draft", url.Values{"nodes": {strings.Replace(lines, "master-3", "#", 1)}})
	if d.OK || d.at("nodes") == "" {
		t.Errorf("an etcd member may go: %+v", d)
	}
	d = v.typed("/clusters/rack/nodes/draft", url.Values{"nodes": {lines + "worker-2 192.168.0.15 worker"}})
	if d.OK || len(d.Wrong) > 0 { // nothing to do
		t.Errorf("%+v", d)
	}
	a := v.send("POST", "/clusters/rack/nodes", url.Values{"nodes": {"x"}})
	v.has(a, 422, "api.invalid")
}

// A line that is mistyped is refused, and does not remove its node. What is removed is named, and the change is made
// only to the cluster that the reader was shown.
func TestAMistypedLineRemovesNothing(t *testing.T) {
	s := begin(t)
	if _, err := s.Play(t.Context(), "rack", "deploy", site.Moment{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Running"); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, "ann", "en")
	all := "master-1 192.168.0.11 controlplane,etcd\nmaster-2 192.168.0.12 controlplane,etcd\n" +
		"master-3 192.168.0.13 controlplane,etcd\nworker-1 192.168.0.14 worker\n"
	for _, line := range []string{"worker-2 192.168.0.999 worker", "worker-2 admin@192.168.0.15 worker"} {
		form := url.Values{"nodes": {all + line}}
		if d := v.typed("/clusters/rack/nodes/draft", form); d.OK || !strings.Contains(d.at("nodes"), "Line 5") {
			t.Errorf("%s: %+v", line, d)
		}
		for _, path := range []string{"/clusters/rack/nodes", "/clusters/rack/nodes/plan"} {
			v.has(v.send("POST", path, form), 422, "page.line", "Line 5, ")
		}
	}
	form := url.Values{"nodes": {all}}
	d := v.typed("/clusters/rack/nodes/draft", form)
	if !strings.Contains(d.Ask, "Remove worker-2 from rack?") || d.Name != "rack" || d.ETag == "" {
		t.Errorf("%+v", d)
	}
	form.Set("etag", `"1"`)
	v.has(v.send("POST", "/clusters/rack/nodes", form), 412, "manager.revision")
	form.Set("nodes", all+"worker-2 ::ffff:192.168.0.15 worker\nw9 192.168.0.19 worker")
	d = v.typed("/clusters/rack/nodes/draft", form) // another way to write the same address
	if d.Count != "1 to add, 0 to remove" || d.Name != "" || d.Ask != "Add w9 to rack?" {
		t.Errorf("%+v", d)
	}
}

// An inventory with passwords is read without them. That is a remark, and nothing is wrong; the browser does not keep
// it.
func TestAnInventory(t *testing.T) {
	s := begin(t)
	v := visit(t, s, "ann", "en")
	d := v.typed("/new/draft", url.Values{"name": {"edge-7"}, "server_address": {"192.0.2.250"}, "user": {"root"},
		"key": {secretKey}, "domain": {"cluster.local"}, "bundle:amd64": {"/srv/bundle.tar.gz"}, "nodes": {
			"[kube_control_plane]\nm1 ansible_host=192.0.2.11 ansible_ssh_pass=hunter2\n" +
				"[etcd]\nm1\n[kube_node]\nw1 ansible_host=192.0.2.21\n"}})
	if len(d.Wrong) > 0 || len(d.Notes) == 0 || !slices.Contains(d.Secret, "nodes") ||
		slices.Contains(d.Secret, "name") {
		t.Errorf("%+v", d)
	}
}

// Without the script of the page, a form that was sent does nothing, and says so.
func TestWithoutTheScript(t *testing.T) {
	s := begin(t)
	for _, name := range []string{"", "ann"} {
		a := visit(t, s, name, "en").send("POST", "/unscripted", url.Values{"password": {"hunter2"}})
		v := visit(t, s, "", "en")
		v.has(a, 422, "page.script", "<h1>")
		if strings.Contains(a.text, "hunter2") {
			t.Error(a.text)
		}
	}
}

const evil = `<img src=x onerror="window.hacked=1">`

// hostile is a run in which all that comes from elsewhere is a value of others; names of nodes are names of files.
func hostile(evil, host string) []event.Record {
	steps := []event.Step{{ID: `s"'<b>/` + host, Phase: "infrastructure", Host: host,
		Title: event.M("step.infrastructure.packages", "node", evil)},
		{ID: "t/n2", Phase: "infrastructure", Host: "n2", Title: event.M(evil)}}
	f := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", evil, "command",
		"</pre><script>window.hacked=2</script>").On(host)
	f.Cause = "</p>" + evil
	list := []event.Event{event.RunStarted{Cluster: evil, Verb: evil, Flags: []string{"--on-failure", "ask"}},
		event.PlanMade{Phases: []event.Phase{{ID: "infrastructure", Title: event.M(evil)}},
			Hosts: []event.Host{{Name: host, Addr: evil, Roles: []string{evil}}, {Name: "n2"}}, Steps: steps},
		event.Notice{Host: host, Text: event.M(evil)},
		event.StepStarted{Step: steps[0].ID, Try: 1}, event.StepStarted{Step: steps[1].ID, Try: 1},
		event.Output{Host: host, Step: steps[0].ID, Stream: "stderr",
			Line: "\x1b[31m</pre><script>window.hacked=3</script>"},
		event.Output{Host: "n2", Step: steps[1].ID, Stream: "stdout", Line: evil},
		event.Change{Host: "n2", Step: steps[1].ID, Desc: event.M(evil)},
		event.StepAsked{Step: steps[0].ID, Try: 1, Fault: *f}}
	var out []event.Record
	now := time.Now().Add(-time.Minute)
	for i, e := range list {
		out = append(out, event.Record{Seq: uint64(i + 1), Time: now.Add(time.Duration(i) * time.Second), Event: e})
	}
	return out
}

// hostileRun has a cluster with that run, of markup.
func hostileRun(t *testing.T, s *site.Site) *site.Run {
	t.Helper()
	_, plan, err := site.Moment{}.Records()
	if err == nil {
		err = s.Install(t.Context(), "rack", plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Begin("rack", "deploy", time.Now())
	if err == nil {
		err = r.Write(hostile(evil, evil))
	}
	if err == nil {
		err = s.Reach(t.Context(), "rack", "Updating")
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What nodes print, what they are called and what users type is text, never markup.
func TestNothingOfOthersIsMarkup(t *testing.T) {
	s := begin(t)
	r := hostileRun(t, s)
	v := visit(t, s, "ann", "en")
	board := "/clusters/rack/runs/" + r.ID()
	answered := map[string]int{"/clusters/" + url.PathEscape(evil): 404, "/" + url.PathEscape(evil): 404}
	safe := func(path, text string) {
		t.Helper()
		for _, bad := range []string{"<img", "<script>", "\x1b", `onerror="`} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
	for _, path := range []string{board, board + "?node=" + url.QueryEscape(evil), board + "?node=n2",
		"/clusters/rack", "/audit?user=" + url.QueryEscape(evil) + "&cluster=" + url.QueryEscape(`"><script>`),
		"/clusters/" + url.PathEscape(evil), "/" + url.PathEscape(evil), "/login?next=" + url.QueryEscape("/"+evil)} {
		a := v.get(path)
		if want := cmp.Or(answered[path], 200); a.status != want {
			t.Errorf("%s: %d", path, a.status)
		}
		safe(path, a.text)
	}
	v.has(v.get(board+"?node=n2"), 200, "&lt;img src=x onerror=")
	v.follow(board+"/live?node="+url.QueryEscape(evil), func(m message) bool {
		if len(m.Parts) < 4 {
			t.Error(m)
		}
		for _, p := range m.Parts {
			safe(p.ID, p.HTML)
		}
		return true
	})
	d := v.typed("/new/draft", url.Values{"name": {evil}, "nodes": {evil + " 192.0.2.1 control-plane\nname=" + evil +
		" 192.0.2.2"}, "s:service.cidr": {evil}})
	safe("the table of nodes", d.Nodes)
}
