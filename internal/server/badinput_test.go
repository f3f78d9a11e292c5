package server

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// raw sends bytes, ends the sending, and gives the answer.
func (s *site) raw(text string) answer {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		s.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatalf("%v after %.200q", err, text)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	a := answer{status: res.StatusCode, header: res.Header, text: string(body)}
	_ = json.Unmarshal(body, &a.body)
	method, path, _ := strings.Cut(strings.SplitN(text, " HTTP/", 2)[0], " ")
	s.keeps(method, path, a.status, a.header, body)
	return a
}

// A body that is broken or too large is the client's fault, whichever way it comes.
func TestBrokenBodies(t *testing.T) {
	s := begin(t)
	const chunked, some = "Transfer-Encoding: chunked\r\n", "Idempotency-Key: k\r\n"
	for _, c := range []struct{ what, headers, body string }{
		{"no size of a chunk", chunked, "zz\r\n"},
		{"no size of a chunk, with a key", chunked + some, "zz\r\n"},
		{"half a chunk", chunked, "ff\r\n{\"name\":"},
		{"no last chunk", chunked, "2\r\n{}\r\n"},
		{"less than was announced", "Content-Length: 100\r\n", "{}"},
	} {
		for _, path := range []string{"POST /api/v1/clusters", "PUT /api/v1/clusters/one",
			"POST /api/v1/clusters/one/renew", "DELETE /api/v1/clusters/one", "POST /api/v1/nothing"} {
			a := s.raw(path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\n" +
				"Content-Type: application/json\r\n" + c.headers + "\r\n" + c.body)
			if a.status != 400 || a.body["code"] != "api.body" {
				t.Errorf("%s, %s: %d %s", c.what, path, a.status, a.text)
			}
		}
	}
}

// A list of nodes that is larger than any cluster is refused, and what it would cost to read it is not spent.
func TestBodiesThatAreTooLarge(t *testing.T) {
	s := begin(t)
	large := `{"nodes":[` + strings.Repeat(`{"name":"n","address":"192.0.2.1","roles":["worker"]},`, 9<<20/54) + `]}`
	for _, announced := range []int64{int64(len(large)), -1} {
		for _, key := range []string{"", "k"} {
			q := httptest.NewRequest("PUT", "/api/v1/clusters/one", strings.NewReader(large))
			q.ContentLength = announced
			q.Header.Set("Authorization", "Bearer ann")
			q.Header.Set("Content-Type", "application/json")
			q.Header.Set("Idempotency-Key", key)
			w := httptest.NewRecorder()
			if s.handler.ServeHTTP(w, q); w.Code != 413 || !strings.Contains(w.Body.String(), `"listen.too-large"`) {
				t.Errorf("%d announced, key %q: %d %s", announced, key, w.Code, w.Body)
			}
		}
	}
}

// ran has a run of the cluster in the state directory that is over.
func (s *site) ran(verb string, how event.RunEnded) string {
	s.t.Helper()
	j, err := journal.Open(s.root, "one")
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := j.NewRun(verb, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	bus := event.NewBus(time.Now, log)
	for _, e := range []event.Event{event.RunStarted{Cluster: "one", Verb: verb}, how} {
		if err := bus.Emit(e); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		s.t.Fatal(err)
	}
	return log.ID()
}

// What comes too late, or before there is something, is no error of the server.
func TestTooEarlyAndTooLate(t *testing.T) {
	s := begin(t)
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 202, "")
	run := s.ran("deploy", event.RunEnded{Outcome: event.OK})
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/runs/" + run + "/decisions", `{"step":"s1","decision":"retry"}`, 409, "control.not-asked"},
		{"GET", "/status", "", 409, "manager.no-config"},
		{"GET", "/certificates?nodes=true", "", 409, "manager.no-config"},
		{"GET", "/nodes", "", 503, "manager.not-ready"},
		{"POST", "/kubeconfig", `{}`, 503, "manager.not-ready"},
	} {
		s.want(s.call("ann", c.method, "/api/v1/clusters/one"+c.path, c.body), c.status, c.code)
	}
}

// nearby is a site whose operations run here, with pauses that are short.
func nearby(t *testing.T) *site {
	t.Helper()
	root := t.TempDir()
	d := local.Deps(local.Options{Root: root})
	d.Clock = operationtest.Swift{}
	s := begin(t, func(o *Options) {
		o.Deps = func() operation.Deps { return d }
		o.Asker = func(secrets map[string]string) ask.Asker {
			return ask.WithStored(ask.WithAnswers(ask.Nobody{}, secrets), os.Getenv)
		}
		o.Runs = runs.New(runs.Options{Root: root, Data: t.TempDir()})
	})
	s.root = root
	return s
}

// nobody has the nodes of a request at addresses where nothing listens.
func nobody(request string) string {
	return strings.NewReplacer(`"192.0.2.1"`, `"127.0.0.1","port":1`, `"192.0.2.2"`, `"127.0.0.2","port":1`,
		`"key":"`+jsonKey+`",`, "").Replace(request)
}

// A node that cannot be reached or logged in to is a result of a check, with its name.
func TestACheckNamesTheNodesThatAreNotReached(t *testing.T) {
	s := nearby(t)
	a := s.want(s.call("ann", "POST", "/api/v1/check", nobody(oneCluster)), 200, "")
	for _, want := range []string{`"ok":false`, "ssh.connect-refused", `"node":"m1"`, `"node":"w1"`} {
		if !strings.Contains(a.text, want) || strings.Contains(a.text, "preflight.failed") {
			t.Errorf("no %s in %s", want, a.text)
		}
	}
}

// A cluster whose deploy.yaml says that the password is asked for is inspected with that of the request.
func TestInspectionsWithSecretsOfTheCaller(t *testing.T) {
	s := nearby(t)
	s.running()
	s.installed()
	deploy := strings.Replace(operationtest.Nobody, "cluster-id: away", "cluster-id: one", 1)
	if err := os.WriteFile(filepath.Join(s.root, "one", "deploy.yaml"), []byte(deploy), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/status": `"ssh.connect-refused"`, "/certificates": `"unreachable"`} {
		for method, more := range map[string]string{"GET": "?nodes=true", "POST": ""} {
			body := map[string]string{"GET": "", "POST": "{}"}[method]
			a := s.call("vera", method, "/api/v1/clusters/one"+path+more, body)
			s.want(a, 422, "usage.secret")
		}
		a := s.want(s.call("vera", "POST", "/api/v1/clusters/one"+path, `{"secrets":{"password":"hunter2"}}`), 200, "")
		if !strings.Contains(a.text, want) || !strings.Contains(a.text, "n1") || strings.Contains(a.text, "hunter2") {
			t.Errorf("no %s in %s", want, a.text)
		}
	}
}
