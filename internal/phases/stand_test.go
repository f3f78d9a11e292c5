package phases

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// stub is a machine that answers every script by says, and behind whose ports are listeners of the test.
type stub struct {
	name  string
	says  func(script string) string
	fails func(script string) string // nil, or what a script that fails says on stderr
	ports map[string]net.Listener
}

func (s stub) Name() string { return s.name }

func (s stub) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	if s.fails != nil {
		if words := s.fails(c.Script); words != "" {
			return shell.Result{Status: 1, Stderr: []byte(words)}, nil
		}
	}
	return shell.Result{Stdout: []byte(s.says(c.Script))}, nil
}

func (s stub) Upload(context.Context, shell.Upload) (bool, error) { return true, nil }

func (s stub) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	_, port, _ := net.SplitHostPort(addr)
	if l := s.ports[port]; l != nil {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
	refused := errors.New("connection refused")
	return nil, event.NewFault(event.ClassFailed, "ssh.forward-failed", refused, "addr", addr).On(s.name)
}

// silent says nothing to anything.
func silent(string) string { return "" }

// to answers a script that has a word in it, and says nothing to others.
func to(word, answer string) func(string) string {
	return func(script string) string {
		if strings.Contains(script, word) {
			return answer
		}
		return ""
	}
}

// stand is a run of one control plane and one worker, with real certificates, whose machines are stubs.
func stand(t *testing.T, says func(string) string) *run {
	t.Helper()
	return standOf(t, "", says)
}

// standOf is stand for a deploy.yaml with more keys.
func standOf(t *testing.T, more string, says func(string) string) *run {
	t.Helper()
	r := componentRun(t, more)
	r.Certs.Use(nil)
	r.Emit = func(event.Event) error { return nil }
	if err := r.EnsurePKI(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range r.Cluster.Nodes {
		r.SetNode(n.Name, node.New(stub{name: n.Name, says: says}, r.Emit))
	}
	return r
}

// listen puts a listener with a server certificate behind a port of m1.
func listen(t *testing.T, r *run, port string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := r.Node("m1").Host.(stub)
	s.ports = map[string]net.Listener{port: l}
	r.SetNode("m1", node.New(s, r.Emit))
	return l
}

// serving has an API server on m1 that answers a path with a document, 404 where there is none, and everything with one
// status if that is given.
func serving(t *testing.T, r *run, status int, docs fields) {
	t.Helper()
	cert, err := tls.X509KeyPair(r.PKI().Nodes["m1"].APIServer.Cert, r.PKI().Nodes["m1"].APIServer.Key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		doc, ok := docs[q.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case status != 0:
			w.WriteHeader(status)
			doc = fields{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status,
				"message": "etcdserver: request timed out"}
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(doc)
	}))
	s.Config.SetKeepAlivesEnabled(false) // each request by a connection of its own, so that one can be refused
	s.Listener.Close()
	s.Listener = listen(t, r, "6443")
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	if err := r.ConnectAPI(); err != nil {
		t.Fatal(err)
	}
}

// fields of a document in JSON.
type fields = map[string]any

// list is a list of the API with these objects.
func list(kind, gv string, items ...any) fields {
	return fields{"kind": kind, "apiVersion": gv, "items": items}
}

// thing is an object of the API.
func thing(namespace, name string, parts ...fields) fields {
	o := fields{"metadata": fields{"name": name, "namespace": namespace, "generation": 2}}
	for _, p := range parts {
		for k, v := range p {
			o[k] = v
		}
	}
	return o
}

// machineObject is a Node that is Ready.
func machineObject(name, kubelet string) fields {
	return thing("", name, fields{"status": fields{
		"nodeInfo":   fields{"kubeletVersion": kubelet},
		"conditions": []any{fields{"type": "Ready", "status": "True"}}}})
}

// wantFault wants a fault with a code, on a node, whose cause has a word.
func wantFault(t *testing.T, err error, code, host, cause string) *event.Fault {
	t.Helper()
	f := eventtest.Fault(t, err, code, cause)
	if f.Node != host {
		t.Errorf("%s on %q, not on %q", code, f.Node, host)
	}
	return f
}

// shelved is a bundle whose addons are these texts.
func shelved(texts map[string]string) Bundle {
	m := manifest()
	for name, text := range texts {
		x := bundle.Member{Path: name, Kind: bundle.Addon, Name: filepath.Base(name), Size: int64(len(text))}
		m.Members = append(m.Members, x)
	}
	return written{nodestest.Box{Is: m}, texts}
}

// written is a bundle of manifests that the test wrote.
type written struct {
	nodestest.Box
	texts map[string]string
}

func (w written) Open(member string) (io.ReadSeekCloser, error) {
	return closer{bytes.NewReader([]byte(w.texts[member]))}, nil
}

type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }
