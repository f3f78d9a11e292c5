package page_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/test/page/site"
)

// running has the cluster rack.
func running(t *testing.T, s *site.Site) {
	t.Helper()
	if _, err := s.Play(t.Context(), "rack", "deploy", site.Moment{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Running"); err != nil {
		t.Fatal(err)
	}
}

const newMachines = "m1 192.0.2.71 control-plane,etcd\nw1 192.0.2.72 worker"

// A backup is restored onto new machines: what is wrong is said at its field, and the run gets the new nodes.
func TestARestoreOntoNewMachines(t *testing.T) {
	s := begin(t)
	running(t, s)
	name, identity, err := s.Backup(t.Context(), "rack", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	path := "/clusters/rack/backups/" + name + "/restore"
	form := url.Values{"onto": {"new"}, "identity": {identity}, "nodes": {newMachines}}
	v := visit(t, s, "ann", "en")
	v.has(v.get("/clusters/rack"), 200, `href="`+path+`"`)
	v.has(v.get(path), 200, name, "master-1 192.168.0.11 controlplane,etcd", `name="secret:password"`)
	v.has(v.get(strings.Replace(path, name, "other", 1)), 404, "api.no-backup")
	d := v.typed(path+"/draft", url.Values{})
	if d.at("passphrase") == "" || !slices.Contains(d.Hide, "nodes") || d.OK || d.Name != "rack" {
		t.Errorf("%+v", d)
	}
	d = v.typed(path+"/draft", url.Values{"identity": {identity}, "nodes": {"nonsense"}}) // nodes do not matter
	if !d.OK || !strings.Contains(d.Ask, "All changes in rack since then are lost.") || d.Nodes != "" {
		t.Errorf("%+v", d)
	}
	form.Set("nodes", strings.Replace(newMachines, "w1", "worker-1", 1)) // whose name the load balancer has
	if d = v.typed(path+"/draft", form); d.at("lb:name") == "" || d.OK {
		t.Errorf("%+v", d)
	}
	form.Set("lb:name", "lb")
	v.has(v.send("POST", path, form), 422, "profile.node-empty", `"field":"lb:address"`)
	form.Set("lb:address", "192.0.2.79")
	form.Set("passphrase", "both")
	form.Set("nodes", evil+" 192.0.2.71 control-plane\nw1 192.0.2.999")
	d = v.typed(path+"/draft", form)
	if d.at("passphrase") == "" || d.at("nodes") == "" || d.OK || strings.Contains(d.Nodes, "<img") {
		t.Errorf("%+v", d)
	}
	v.has(v.send("POST", path, form), 422, "page.line", `"field":"nodes"`)
	form.Del("passphrase")
	form.Set("nodes", strings.Replace(newMachines, "192.0.2.72", "192.168.0.14", 1))
	d = v.typed(path+"/draft", form)
	if !d.OK || len(d.Notes) != 2 || !strings.Contains(d.Ask, "2 machines") || d.ETag == "" {
		t.Errorf("%+v", d)
	}
	form.Set("nodes", newMachines)
	form.Set("identity", "AGE-SECRET-KEY-1NONE")
	v.has(v.send("POST", path, form), 422, "backup.", `"field":"identity"`)
	form.Set("identity", identity)
	form.Set("etag", `"1"`)
	v.has(v.send("POST", path, form), 412, "manager.revision")
	form.Set("etag", v.typed(path+"/draft", form).ETag)
	form.Set("secret:password", "hunter2hunter2")
	v.has(v.send("POST", path, form), 422, "api.secret-none") // no node of the backup's deploy.yaml asks for it
	form.Del("secret:password")
	began := make(chan manager.Record, 1)
	s.Runner.Begin = func(r manager.Record) (*site.Run, error) {
		began <- r
		return s.Play(t.Context(), r.Name, "deploy", site.Moment{At: 40 * time.Second})
	}
	if d = v.typed(path, form); d.Go != "/clusters/rack" {
		t.Fatalf("%+v", d)
	}
	rec := <-began
	if text := string(rec.Wanted) + string(rec.Operation.Request); !strings.Contains(text, "192.0.2.71") ||
		!strings.Contains(text, "192.0.2.79") ||
		!strings.Contains(text, `"seeded":true`) || strings.Contains(text, "hunter2") ||
		strings.Contains(text, identity) {
		t.Error(text)
	}
	for _, who := range []string{"otto", "vera"} {
		v := visit(t, s, who, "en")
		v.has(v.get(path), 403, "access.denied")
		v.has(v.send("POST", path+"/draft", form), 403, "access.denied")
		v.has(v.send("POST", path, form), 403, "access.denied")
	}
}

// asksForPassword has the deploy.yaml of rack say that the password is asked for.
func asksForPassword(t *testing.T, s *site.Site) {
	t.Helper()
	deploy := strings.Replace(operationtest.Nobody, "cluster-id: away", "cluster-id: rack", 1)
	if err := os.WriteFile(filepath.Join(s.State, "rack", "deploy.yaml"), []byte(deploy), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Where deploy.yaml says that the password is asked for, the page says where to enter it, and asks the nodes with it.
func TestPasswordsOfNodes(t *testing.T) {
	s := begin(t)
	running(t, s)
	if _, _, err := s.Backup(t.Context(), "rack", time.Now()); err != nil { // with the certificates
		t.Fatal(err)
	}
	asksForPassword(t, s)
	v := visit(t, s, "vera", "en")
	v.has(v.get("/clusters/rack"), 200, `name="secret:password"`, `name="secret:sudo"`)
	for path, want := range map[string]string{"/status": "✘", "/certificates": "✘"} {
		a := v.send("POST", "/clusters/rack"+path, url.Values{})
		v.has(a, 422, "usage.secret", "Passwords of the nodes")
		a = v.send("POST", "/clusters/rack"+path, url.Values{"secret:password": {"hunter2hunter2"}})
		v.has(a, 200)
		var part struct{ HTML string }
		if err := json.Unmarshal([]byte(a.text), &part); err != nil || !strings.Contains(part.HTML, want) ||
			!strings.Contains(part.HTML, "n1") || strings.Contains(a.text, "hunter2") {
			t.Error(err, a.text)
		}
	}
}
