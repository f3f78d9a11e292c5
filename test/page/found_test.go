package page_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/page/site"
)

// failed has a deploy of the command line fail in a directory, before a server starts there.
func failed(t *testing.T, dir string) {
	t.Helper()
	s, err := site.New(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{At: 79 * time.Second})
	if err == nil {
		err = r.Write([]event.Record{{Seq: r.Last().Seq + 1, Time: r.Last().Time, Event: event.RunEnded{
			Outcome: event.Failed, Fault: event.NewFault(event.ClassFailed, "run.failed", nil)}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.End()
	s.Close()
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil { // no server was there
		t.Fatal(err)
	}
}

// api sends what a button of the page does.
func (v *visitor) api(path, body string) {
	v.t.Helper()
	q, err := http.NewRequestWithContext(v.t.Context(), "POST", v.s.URL+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.AddCookie(v.cookie)
	res, err := v.s.Client().Do(q)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusAccepted {
		v.t.Fatal(path, res.StatusCode, string(text), err)
	}
}

// hasNot wants texts to be absent from an answer.
func (v *visitor) hasNot(a answer, texts ...string) {
	v.t.Helper()
	for _, x := range texts {
		if strings.Contains(a.text, x) {
			v.t.Errorf("%q in\n%s", x, a.text)
		}
	}
}

// A deploy that failed before the server was started is continued on the page, by who may.
func TestWhatTheServerFoundFailedIsContinued(t *testing.T) {
	dir := t.TempDir()
	failed(t, dir)
	s, err := site.New(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Reach(t.Context(), "rack", "Unavailable"); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Manager.Cluster("rack"); err != nil || v.Last != nil || v.Failed == nil {
		t.Fatalf("%+v %v", v, err)
	}
	v := visit(t, s, "vera", "en")
	v.hasNot(v.get("/clusters/rack"), "rack/continue", "rack/cancel")
	v = visit(t, s, "otto", "en")
	a := v.get("/clusters/rack")
	v.has(a, 200, "POST /api/v1/clusters/rack/continue", "To be continued")
	v.hasNot(a, "rack/cancel")
	v.api("/clusters/rack/continue", `{"on_failure":"ask"}`)
}

// Waiting for an API server is canceled and continued, also of a cluster of which there is a kubeconfig only. Such a
// one has no CA here that could issue another kubeconfig.
func TestConnectingIsCanceledAndContinued(t *testing.T) {
	s := begin(t)
	web := httptest.NewTLSServer(nil)
	web.Close() // its certificate is needed only
	kubeconfig := fmt.Sprintf("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: %s}}]\n"+
		"users: [{name: u, user: {token: t}}]\n", base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
	visit(t, s, "ann", "en").api("/clusters:import", `{"name":"far","kubeconfig":`+strconv.Quote(kubeconfig)+`}`)
	v := visit(t, s, "otto", "en")
	const cancel, more = "POST /api/v1/clusters/far/cancel", "POST /api/v1/clusters/far/continue"
	for range 2 {
		if err := s.Reach(t.Context(), "far", "Connecting"); err != nil {
			t.Fatal(err)
		}
		a := v.get("/clusters/far")
		v.has(a, 200, cancel, "Stop waiting for the API server of far?")
		v.hasNot(a, more, "far/kubeconfig")
		v.api("/clusters/far/cancel", "")
		if err := s.Reach(t.Context(), "far", "Unavailable"); err != nil {
			t.Fatal(err)
		}
		a = v.get("/clusters/far")
		v.has(a, 200, more)
		v.hasNot(a, cancel)
		v.api("/clusters/far/continue", `{"on_failure":"ask"}`)
	}
}
