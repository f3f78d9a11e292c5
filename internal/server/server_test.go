package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
	"github.com/eggo-k8s/eggo/internal/testkit/problemtest"
)

// rights has users by the token that they send; each is something on every cluster, or on one.
type rights struct {
	roles   map[string]access.Role
	only    map[string]string
	mu      sync.Mutex
	entries []access.Entry
	broken  error
}

func (r *rights) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if name, ok := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer "); ok {
			q = q.WithContext(access.With(q.Context(), access.Caller{ID: name, Name: name}))
		}
		next.ServeHTTP(w, q)
	})
}

func (r *rights) RoleOf(_ context.Context, c access.Caller, cluster string) (access.Role, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if only := r.only[c.Name]; only != "" && cluster != only {
		return access.None, nil
	}
	return r.roles[c.Name], nil
}

func (r *rights) Recheck(context.Context) error { return nil }

func (r *rights) Record(_ context.Context, e access.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return r.broken
}

// site is a server over a world without machines.
type site struct {
	t       *testing.T
	url     string
	handler http.Handler
	world   *managertest.World
	rights  *rights
	data    string
	root    string // the state directory
	bundles string
	m       *manager.Manager
	promise func() (*problemtest.Contract, error)
}

func begin(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	return beginOn(t, &managertest.Memory{}, change...)
}

// beginOn begins a site whose clusters are in a store.
func beginOn(t *testing.T, store manager.Store, change ...func(*Options)) *site {
	t.Helper()
	s := &site{t: t, world: &managertest.World{}, data: t.TempDir(), rights: &rights{
		roles: map[string]access.Role{"ann": access.Admin, "otto": access.Operator, "vera": access.Viewer,
			"one": access.Viewer}, only: map[string]string{"one": "other"}}}
	m, err := manager.New(t.Context(), manager.Options{Store: store, Runner: s.world,
		Clock: managertest.Clock{}})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s.m, s.root, s.bundles = m, root, t.TempDir()
	d := local.Deps(local.Options{Root: root})
	o := Options{Manager: m, Access: s.rights, Version: "v1", Bundles: s.bundles, Keep: 14,
		Runs: runs.New(runs.Options{Root: root, Data: s.data}), Deps: func() operation.Deps { return d }}
	for _, f := range change {
		f(&o)
	}
	s.handler = New(o)
	s.promise = promised(s.handler)
	srv := httptest.NewServer(s.handler)
	t.Cleanup(func() { m.Close(); srv.CloseClientConnections(); srv.Close() })
	s.url = srv.URL
	return s
}

// answer of the server.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (s *site) call(who, method, path, body string, headers ...string) answer {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if who != "" {
		q.Header.Set("Authorization", "Bearer "+who)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, text: string(text)}
	_ = json.Unmarshal(text, &a.body)
	s.keeps(method, q.URL.EscapedPath(), a.status, a.header, text)
	return a
}

// promised reads the document of a server, once somebody asks.
func promised(h http.Handler) func() (*problemtest.Contract, error) {
	return sync.OnceValues(func() (*problemtest.Contract, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", Prefix+"/openapi.json", nil))
		return problemtest.NewContract(w.Body.Bytes())
	})
}

// keeps holds an answer against the document. Every answer of these tests is one that the document has.
func (s *site) keeps(method, path string, status int, header http.Header, body []byte) {
	s.t.Helper()
	doc, err := s.promise()
	if err == nil {
		err = doc.Kept(method, path, problemtest.Answer{Status: status, Header: header, Body: body})
	}
	if err != nil {
		s.t.Error(err)
	}
}

func (s *site) want(a answer, status int, code string) answer {
	s.t.Helper()
	if got, _ := a.body["code"].(string); a.status != status || got != code {
		s.t.Errorf("%d %q, want %d %q\n%s", a.status, got, status, code, a.text)
	}
	return a
}

// jsonKey is a private key that no machine takes, as it stands in JSON.
const jsonKey = `-----BEGIN PRIVATE KEY-----\n` +
	`MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----\n`

// someHostKey is the host key of no machine.
const someHostKey = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`

const oneCluster = `{"name":"one","server_address":"192.0.2.250","domain":"cluster.local",
	"ssh":{"user":"root","key":"` + jsonKey + `","password":"hunter2"},
	"bundles":{"amd64":"/srv/bundle.tar.gz"},
	"nodes":[{"name":"m1","address":"192.0.2.1","roles":["controlplane","etcd"]},
		{"name":"w1","address":"192.0.2.2","roles":["worker"]}]}`

// running creates a cluster, and waits for its state.
func (s *site) running() {
	s.t.Helper()
	former := s.world.Newest("one")
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 202, "")
	s.reach("Creating", func() bool { return s.world.Newest("one") != former })
	s.world.Newest("one").Finish(nil)
	s.reach("Running", nil)
}

// reach follows the changes until the cluster is in a state, and something else holds.
func (s *site) reach(state string, also func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		v, err := s.m.Cluster("one")
		if err == nil && string(v.State) == state && (also == nil || also()) {
			return
		}
		short, done := context.WithTimeout(ctx, 5*time.Millisecond)
		<-short.Done()
		done()
	}
	s.t.Fatal("never ", state)
}

// A cluster from nothing to nothing, by requests alone.
func TestALifeByRequests(t *testing.T) {
	s := begin(t)
	a := s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 202, "")
	if a.header.Get("Location") != "/api/v1/clusters/one" || a.header.Get("ETag") == "" ||
		a.body["state"] != "Creating" {
		t.Errorf("%v %s", a.header, a.text)
	}
	for _, name := range []string{"ssh-key", "ssh-password"} {
		info, err := os.Stat(filepath.Join(s.data, "clusters", "one", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Error(name, info, err)
		}
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 409, "manager.taken") // F1
	s.want(s.call("vera", "GET", "/api/v1/clusters/one/nodes", ""), 503, "manager.not-ready")
	s.reach("Creating", func() bool { return s.world.Newest("one") != nil })
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/cancel", ""), 202, "")
	s.reach("Unavailable", nil)
	a = s.want(s.call("vera", "GET", "/api/v1/clusters/one", "", "Accept-Language", "zh"), 200, "")
	if fault, _ := a.body["fault"].(map[string]any); fault["code"] != "run.interrupted" || fault["detail"] == "" {
		t.Error(a.text)
	}
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
	s.reach("Creating", func() bool { return s.m.Clusters()[0].Operation.Run() != "" })
	s.world.Newest("one").Finish(nil)
	s.reach("Running", nil)
	more := strings.Replace(oneCluster[strings.Index(oneCluster, `"nodes"`):], `]}]}`,
		`]},{"name":"w2","address":"192.0.2.3","roles":["worker"]}]}`, 1)
	s.want(s.call("ann", "PUT", "/api/v1/clusters/one", "{"+more, "If-Match", `"1"`), 412, "manager.revision")
	etag := s.call("ann", "GET", "/api/v1/clusters/one", "").header.Get("ETag")
	a = s.want(s.call("ann", "PUT", "/api/v1/clusters/one", "{"+more, "If-Match", etag), 202, "")
	s.want(s.call("ann", "PUT", "/api/v1/clusters/one", "{"+more), 409, "manager.busy")
	if nodes, _ := a.body["nodes"].([]any); len(nodes) != 3 {
		t.Error(a.text)
	}
	s.reach("Updating", func() bool { return s.m.Clusters()[0].Operation.Run() != "" })
	s.world.Newest("one").Finish(nil)
	s.reach("Running", nil)
	s.want(s.call("ann", "DELETE", "/api/v1/clusters/one", ""), 202, "")
	s.reach("Destroy", func() bool { return s.m.Clusters()[0].Operation.Run() != "" })
	s.world.Newest("one").Finish(nil)
	s.reachGone()
	for _, path := range []string{"", "/nodes", "/runs", "/kubeconfig", "/snapshots"} { // F2
		s.want(s.call("ann", "GET", "/api/v1/clusters/one"+path, ""), 404, "manager.unknown")
	}
	s.rights.mu.Lock()
	defer s.rights.mu.Unlock()
	for _, e := range s.rights.entries {
		if e.Caller.Name == "" || e.Action == "" || e.Address == "" || e.At.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if len(s.rights.entries) < 8 {
		t.Errorf("%d changes were written down", len(s.rights.entries))
	}
}

func (s *site) reachGone() {
	s.t.Helper()
	for range 2000 {
		if len(s.m.Clusters()) == 0 {
			return
		}
		ctx, done := context.WithTimeout(s.t.Context(), 5*time.Millisecond)
		<-ctx.Done()
		done()
	}
	s.t.Fatal("it never went")
}

// All problems come at once, in the language of the caller, each with its place; no answer has a secret.
func TestEverythingWrongAtOnce(t *testing.T) {
	s := begin(t)
	bad := strings.NewReplacer(`"worker"`, `"worker","controlplane"`, `"root"`, `""`, "192.0.2.1", "192.0.2.2").
		Replace(oneCluster)
	a := s.want(s.call("ann", "POST", "/api/v1/clusters", bad, "Accept-Language", "zh-CN"), 422, "api.invalid")
	list, _ := a.body["errors"].([]any)
	if len(list) != 3 || !strings.Contains(a.text, "不能") || strings.Contains(a.text, "hunter2") ||
		strings.Contains(a.text, "PRIVATE KEY") {
		t.Errorf("%d %s", len(list), a.text)
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters", strings.Replace(oneCluster, `"one"`, `"../../etc"`, 1)), 422,
		"api.invalid")
	s.want(s.call("ann", "POST", "/api/v1/clusters", `{"name":1}`), 422, "api.request")
	s.want(s.call("ann", "POST", "/api/v1/clusters", `{`), 400, "api.request")
	s.want(s.call("ann", "POST", "/api/v1/clusters:import", `{"name":"far","kubeconfig":"nonsense"}`), 422,
		"manager.kubeconfig")
	s.want(s.call("ann", "POST", "/api/v1/clusters:import", `{"name":"far"}`), 404, "manager.nothing-to-import")
	s.want(s.call("ann", "GET", "/api/v2/x", ""), 404, "api.no-route")
	if files, _ := filepath.Glob(filepath.Join(s.data, "clusters", "*")); len(files) > 0 {
		t.Error(files)
	}
	s.running()
	for path, want := range map[string]string{
		"/api/v1/clusters/one/restore": `{"snapshot":"../../x.db"}`,
	} {
		s.want(s.call("ann", "POST", path, want), 404, "api.no-snapshot")
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/renew", `{"drain":"soon"}`), 422, "api.duration")
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/upgrade", `{"bundles":["a.tar.gz"]}`), 422, "usage.bundle")
	s.want(s.call("ann", "GET", "/api/v1/clusters/one/runs/x", ""), 404, "usage.no-run")
	s.want(s.call("ann", "GET", "/api/v1/clusters/one/kubeconfig", ""), 404, "kubeconfig.none")
}

// Who may not is refused, and who may not look learns nothing.
func TestRights(t *testing.T) {
	s := begin(t)
	s.running()
	for _, c := range []struct {
		who, method, path, body string
		status                  int
		code                    string
	}{
		{"", "GET", "/clusters", "", 401, "access.unauthenticated"},
		{"", "GET", "/events", "", 401, "access.unauthenticated"},
		{"vera", "POST", "/clusters", oneCluster, 403, "access.denied"},
		{"vera", "POST", "/clusters/one/renew", "", 403, "access.denied"},
		{"vera", "GET", "/clusters/one/kubeconfig", "", 403, "access.denied"},
		{"otto", "DELETE", "/clusters/one", "", 403, "access.denied"},
		{"otto", "PUT", "/clusters/one", `{"nodes":[]}`, 403, "access.denied"},
		{"vera", "POST", "/clusters/one/backups", `{"passphrase":"x"}`, 403, "access.denied"},
		{"vera", "POST", "/clusters/one/backups/x/verify", `{"passphrase":"x"}`, 403, "access.denied"},
		{"otto", "POST", "/clusters/one/backups/x/restore", `{"passphrase":"x"}`, 403, "access.denied"},
		{"one", "GET", "/clusters/one/backups", "", 404, "manager.unknown"},
		{"one", "GET", "/clusters/one/certificates", "", 404, "manager.unknown"},
		{"one", "GET", "/clusters/one/status", "", 404, "manager.unknown"},
		{"", "GET", "/clusters/one/status", "", 401, "access.unauthenticated"},
		{"one", "GET", "/clusters/one", "", 404, "manager.unknown"},
		{"one", "GET", "/clusters/one/runs/x/events", "", 404, "manager.unknown"},
		{"nobody", "GET", "/clusters/one", "", 404, "manager.unknown"},
	} {
		s.want(s.call(c.who, c.method, "/api/v1"+c.path, c.body), c.status, c.code)
	}
	for _, who := range []string{"one", "nobody"} { // a list has what the caller may see
		if a := s.want(s.call(who, "GET", "/api/v1/clusters", ""), 200, ""); strings.Contains(a.text, `"one"`) {
			t.Error(a.text)
		}
		s.want(s.call(who, "GET", "/api/v1/bundles", ""), 403, "access.denied")
	}
	s.rights.only["one"] = "one"
	if a := s.want(s.call("one", "GET", "/api/v1/clusters", ""), 200, ""); !strings.Contains(a.text, `"one"`) {
		t.Error(a.text)
	}
	s.want(s.call("one", "GET", "/api/v1/bundles", ""), 200, "")
	if a := s.call("vera", "GET", "/api/v1/clusters", ""); !strings.Contains(a.text, `"one"`) {
		t.Error(a.text)
	}
	s.rights.mu.Lock()
	s.rights.broken = &event.Fault{Class: event.ClassFailed, Code: "database.full"}
	s.rights.mu.Unlock()
	a := s.call("ann", "POST", "/api/v1/clusters/one/renew", "")
	// Nothing is done that nobody can account for.
	if v, _ := s.m.Cluster("one"); a.status < 500 || v.State != "Running" {
		t.Errorf("%d %s", a.status, v.State)
	}
}

// A request that is sent again is done once.
func TestIdempotencyKeys(t *testing.T) {
	s := begin(t)
	key := []string{"Idempotency-Key", "k1"}
	first := s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster, key...), 202, "")
	again := s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster, key...), 202, "")
	if first.text != again.text || first.header.Get("Location") != again.header.Get("Location") {
		t.Errorf("%s\n%s", first.text, again.text)
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters", `{"name":"x"}`, key...), 422, "api.idempotency-key")
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 409, "manager.taken")
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster, "Idempotency-Key", "k2"), 409, "manager.taken")
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster, "Idempotency-Key", strings.Repeat("k", 200)), 422,
		"api.idempotency-key")
}

// The changes of clusters come as server-sent events and by a WebSocket, from any number on.
func TestStreams(t *testing.T) {
	s := begin(t)
	s.running()
	q, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer vera")
	q.Header.Set("Accept", "text/event-stream")
	q.Header.Set("Last-Event-ID", "1")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	var got []string
	for len(got) < 2 && lines.Scan() {
		got = append(got, lines.Text())
	}
	if res.Header.Get("Content-Type") != "text/event-stream" || got[0] != "id: 2" ||
		!strings.Contains(got[1], `"to":"Running"`) {
		t.Error(res.Header, got)
	}
	c, _, err := websocket.Dial(t.Context(), s.url+"/api/v1/events?from=1", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer vera"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if _, text, err := c.Read(t.Context()); err != nil || !strings.Contains(string(text), `"to":"Creating"`) {
		t.Errorf("%s %v", text, err)
	}
	if _, _, err := websocket.Dial(t.Context(), s.url+"/api/v1/events", &websocket.DialOptions{HTTPHeader: http.Header{
		"Authorization": {"Bearer vera"}, "Origin": {"https://elsewhere.example"}}}); err == nil {
		t.Error("a page of another origin")
	}
}

// The document describes all routes, and has no example of a secret.
func TestTheDocument(t *testing.T) {
	s := begin(t)
	a := s.call("", "GET", "/api/v1/openapi.json", "")
	paths, _ := a.body["paths"].(map[string]any)
	if a.status != 200 || a.body["openapi"] != "3.1.0" || len(paths) < 18 {
		t.Errorf("%d %d routes", a.status, len(paths))
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := s.call("", "GET", path, ""); a.status != 200 {
			t.Error(path, a.status)
		}
	}
}
