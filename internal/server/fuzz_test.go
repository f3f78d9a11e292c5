package server

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	deploy "github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/problemtest"
)

// nowhere is a network in which no node answers. It implements operation.Dialer and operation.Connections.
type nowhere struct{}

func (nowhere) Connections(operation.Access) (operation.Connections, error) { return nowhere{}, nil }

func (nowhere) Dial(_ context.Context, n deploy.Node) (operation.Host, error) {
	return nil, event.NewFault(event.ClassFailed, "ssh.unreachable", nil, "addr", n.IP.String()).On(n.Name)
}

func (nowhere) Close() error { return nil }

// ground is what requests of all kinds are sent to: a directory with the cluster one, whose API server answers.
type ground struct{ root, data, bundles, admin string }

func newGround(t testing.TB) ground {
	t.Helper()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"items":[{"metadata":{"name":"m1"}}]}`))
	}))
	t.Cleanup(api.Close)
	g := ground{t.TempDir(), t.TempDir(), t.TempDir(), adminOf(api)}
	g.installed(t)
	return g
}

// installed has the files of the cluster in the state directory.
func (g ground) installed(t testing.TB) {
	t.Helper()
	install(t, g.root)
	snapshots := filepath.Join(g.root, "one", "snapshots")
	if err := errors.Join(os.WriteFile(filepath.Join(g.root, "one", "admin.conf"), []byte(g.admin), 0o600),
		os.MkdirAll(snapshots, 0o700), os.WriteFile(filepath.Join(snapshots, "s.db"), []byte("no snapshot"), 0o600),
		os.WriteFile(filepath.Join(g.bundles, "broken.tar.gz"), []byte("no bundle"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// adminOfNobody is a kubeconfig of a cluster that is not there.
const adminOfNobody = `{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
	clusters: [{name: k, cluster: {server: "https://192.0.2.9:6443"}}], users: [{name: u, user: {token: t}}]}`

// adminOf is an administrator's kubeconfig for an API server.
func adminOf(api *httptest.Server) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	return fmt.Sprintf(`{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
		clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %s}}],
		users: [{name: u, user: {token: t}}]}`, api.URL, base64.StdEncoding.EncodeToString(ca))
}

// standing is a server on the ground.
type standing struct {
	http.Handler
	doc *huma.OpenAPI
	m   *manager.Manager
}

// server gives a server on the ground, on which the cluster one is Running. Its runs end well at once.
func (g ground) server(t *testing.T) standing {
	t.Helper()
	store, world := &managertest.Memory{}, &managertest.World{Takes: time.Millisecond}
	world.Install("one")
	if err := store.Save(t.Context(), manager.Record{Name: "one", Revision: 1, EverRan: true,
		LastKnownRun: world.Newest("one").ID()}, 0); err != nil {
		t.Fatal(err)
	}
	m, err := manager.New(t.Context(), manager.Options{Store: store, Runner: world, Clock: managertest.Clock{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	s := &site{t: t, m: m, world: world}
	s.reach("Running", nil)
	d := local.Deps(local.Options{Root: g.root})
	d.Dialer, d.Clock = nowhere{}, operationtest.Swift{}
	var doc *huma.OpenAPI
	h := New(Options{Manager: m, Version: "v1", Bundles: g.bundles, Keep: 14,
		Access: &rights{roles: map[string]access.Role{"ann": access.Admin, "otto": access.Operator,
			"vera": access.Viewer}},
		Runs: runs.New(runs.Options{Root: g.root, Data: g.data}), Deps: func() operation.Deps { return d },
		Asker: func(secrets map[string]string) ask.Asker { return ask.WithAnswers(ask.Nobody{}, secrets) },
		More:  func(api huma.API) { doc = api.OpenAPI() }})
	return standing{h, doc, m}
}

// until ends a request when its answer turns out to be a stream, which would have no end.
type until struct {
	http.ResponseWriter
	stream func()
}

// Unwrap is for http.ResponseController.
func (u *until) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (u *until) WriteHeader(status int) {
	u.ResponseWriter.WriteHeader(status)
	if kind := u.Header().Get("Content-Type"); kind == "application/jsonl" || kind == "text/event-stream" {
		u.stream()
	}
}

// FuzzRequests sends whatever the HTTP server of Go lets through: no panic, no error of the server, and whatever is
// refused says why, with a code.
func FuzzRequests(f *testing.F) {
	g := newGround(f)
	for _, s := range requests() {
		f.Add(s.line, s.headers, s.body, true)
		f.Add(s.line, s.headers, s.body, false)
	}
	f.Fuzz(func(t *testing.T, line, headers, body string, known bool) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + " HTTP/1.1\r\nHost: x\r\n" + headers +
			"\r\n\r\n")))
		if err != nil {
			t.Skip("the HTTP server refuses it")
		}
		if r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body)); body == "" {
			r.Body = http.NoBody
		}
		r.Header.Del("Authorization")
		if known {
			r.Header.Set("Authorization", "Bearer ann")
		}
		r.RemoteAddr = "192.0.2.1:1"
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := g.server(t)
		w := httptest.NewRecorder()
		h.ServeHTTP(&until{w, cancel}, r.WithContext(ctx))
		judge(t, line, w)
	})
}

// judge refuses an answer that no request may have.
func judge(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	p := struct {
		Code   string
		Status int
	}{}
	switch {
	case w.Code >= http.StatusInternalServerError:
		t.Errorf("%q: %d %s", what, w.Code, w.Body)
	case w.Code < http.StatusBadRequest:
	case w.Header().Get("Content-Type") != "application/problem+json" || json.Unmarshal(w.Body.Bytes(), &p) != nil ||
		p.Code == "" || p.Status != w.Code:
		t.Errorf("%q: %d is no problem: %s %s", what, w.Code, w.Header().Get("Content-Type"), w.Body)
	}
}

// TestHostileRequests sends what nobody should send to every operation of the document, about the cluster one and what
// it has, and about what there is not.
func TestHostileRequests(t *testing.T) {
	g := newGround(t)
	known := map[string][]string{"cluster": {"one"}, "backup": {backupName}, "snapshot": {"s.db"},
		"name":       {"one", "two"},
		"run":        {(&site{t: t, root: g.root}).ran("deploy", event.RunEnded{Outcome: event.OK})},
		"on_failure": {"abort", "ask", "retry=2"}, "drain": {"5m"}, "soak": {"10m"}, "batch": {"1", "10%"},
		"window": {"22:00-06:00"}, "bundles": {filepath.Join(g.bundles, "broken.tar.gz"), "/srv/bundle.tar.gz"},
		"address": {"192.0.2.1", "192.0.2.2", "192.0.2.3"}, "roles": {"worker", "controlplane", "etcd"},
		"server_address": {"192.0.2.250"}, "domain": {"cluster.local"}, "user": {"root"}, "machines": {"keep", "clean"},
		"after": {"one", "0"}, "passphrase": {"a long passphrase"}, "kubeconfig": {adminOfNobody}}
	for seed, who := range []string{"ann", "otto", "vera", ""} {
		h := g.server(t)
		ready := func() { // a request may have deleted the cluster, or another one may be there
			v, err := h.m.Cluster("one")
			if err != nil || v.State != "Running" || v.Operation != nil || len(h.m.Clusters()) > 1 {
				h.m.Close()
				g.installed(t)
				h = g.server(t)
			}
		}
		bounded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			h.ServeHTTP(&until{w, cancel}, r.WithContext(ctx))
		})
		problemtest.World{Handler: bounded, Doc: h.doc, Known: known, Ready: ready, Sign: func(r *http.Request) {
			if who != "" {
				r.Header.Set("Authorization", "Bearer "+who)
			}
		}}.Hostile(t, uint64(seed), 12)
	}
}

type seed struct{ line, headers, body string }

// requests are seeds: valid ones, and such as have done harm somewhere.
func requests() []seed {
	const kind = "Content-Type: application/json\r\n"
	const socket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	out := []seed{
		{"GET /", "", ""}, {"GET /nothing", "", ""}, {"OPTIONS *", "", ""}, {"POST /metrics", "", "x"},
		{"GET /api/v1/../../etc/passwd", "", ""}, {"GET /api/v1/clusters/..%2f..%2fetc", "", ""},
		{"GET //api//v1", "", ""},
		{"PROPFIND /api/v1/clusters", "", ""}, {"HEAD /api/v1/clusters", "", ""}, {"CONNECT x:443", "", ""},
		{"GET /api/v1/clusters?limit=-1", "", ""},
		{"GET /api/v1/clusters?limit=9999999999999999999&after=%00", "", ""},
		{"GET /api/v1/clusters?%zz", "", ""}, {"GET /api/v1/openapi.yaml", "", ""},
		{"GET /api/v1/openapi.json", "", ""},
		{"GET /api/v1/events?from=18446744073709551615", "", ""}, {"GET /api/v1/events", "Last-Event-ID: -1", ""},
		{"GET /api/v1/events", socket, ""}, {"GET /api/v1/events", socket + "Sec-WebSocket-Key: x", ""},
		{"GET /api/v1/events", socket + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: https://e.example", ""},
		{"GET /api/v1/events", "Upgrade: websocket", ""}, {"GET /api/v1/events", "Accept: text/event-stream", ""},
		{"GET /api/v1/clusters/one/runs/%2e%2e%2fx/events", "", ""}, {"GET /api/v1/clusters/one/runs/x/events", "", ""},
		{"POST /api/v1/clusters", kind, strings.Repeat("[", 20000)}, {"POST /api/v1/clusters", kind, "\xff\xfe{}"},
		{"POST /api/v1/clusters", "Content-Type: application/cbor", "\xa1"},
		{"POST /api/v1/clusters", "Content-Type: ;", "{}"},
		{"POST /api/v1/clusters", kind, `{"name":null,"nodes":null,"ssh":null,"settings":{"":""}}`},
		{"POST /api/v1/clusters", kind + "Idempotency-Key: k", oneCluster},
		{"POST /api/v1/clusters/one/renew", kind + `If-Match: W/"1"`, "null"},
		{"PUT /api/v1/clusters/one", "If-Match: x", ""},
		{"PUT /api/v1/clusters/one", kind,
			`{"nodes":[{"name":"m1","address":"fe80::1%eth0","roles":["controlplane"]}]}`},
		{"POST /api/v1/clusters/one/upgrade", kind,
			`{"soak":"1e9h","batch":"-1%","window":"25:00-1","bundles":["/\u0000"]}`},
		{"POST /api/v1/clusters/one/restore", kind, `{"snapshot":"../x"}`},
		{"DELETE /api/v1/clusters/one?machines=x", "", ""},
		{"DELETE /api/v1/clusters/one?machines=keep", "", "body"}, {"POST /api/v1/clusters/one/cancel", "", ""},
		{"POST /api/v1/clusters/one/continue", kind, `{"on_failure":"retry=-1"}`},
		{"POST /api/v1/clusters/one/kubeconfig", kind, `{"hours":72}`}, {"GET /api/v1/clusters/one/kubeconfig", "", ""},
		{"POST /api/v1/clusters:import", kind, `{"name":"x","kubeconfig":"{clusters: [{}], users: [&a [*a]]}"}`},
		{"POST /api/v1/clusters:import", kind, `{"name":"../x","kubeconfig":"a: 1"}`},
		{"POST /api/v1/check", kind, oneCluster}, {"POST /api/v1/clusters/one/plan", kind, "{}"},
		{"GET /api/v1/clusters/one/status", "", ""}, {"GET /api/v1/clusters/one/certificates?nodes=true", "", ""},
		{"GET /api/v1/clusters/one/nodes", "", ""}, {"GET /api/v1/bundles", "Accept-Language: zh;q=x,,", ""},
		{"GET /api/v1/clusters", "Accept: application/cbor;q=2", ""}, {"GET /metrics", "Accept-Encoding: zstd;q=,", ""},
	}
	for _, id := range slices.Sorted(maps.Keys(validBodies())) {
		if path, is := strings.CutPrefix(id, "take-"); is {
			out = append(out, seed{"POST /api/v1/clusters/one/" + path + "s", kind, validBodies()[id]})
		}
	}
	return out
}
