package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// history reads all pages of the health of a cluster, as STATE or STATE: CODE.
func (s *site) history(limit string) []string {
	s.t.Helper()
	var out []string
	for after := ""; ; {
		a := s.want(s.call("vera", "GET", "/api/v1/clusters/one/health/history?limit="+limit+after, ""), 200, "")
		var page problem.List[Health]
		if err := json.Unmarshal([]byte(a.text), &page); err != nil {
			s.t.Fatal(err)
		}
		for _, h := range page.Items {
			text := h.State
			if h.Reason != nil {
				text += ": " + h.Reason.Code
			}
			if out = append(out, text); h.At.IsZero() {
				s.t.Error(a.text)
			}
		}
		if after = "&after=" + page.Next; page.Next == "" {
			return out
		}
	}
}

// What a cluster was is listed with the reasons, page by page, the newest first. A new cluster with its name
// has none of it.
func TestTheHistoryOfACluster(t *testing.T) {
	s := begin(t)
	s.running()
	s.fails(manager.Renew)
	const want = "Unavailable: run.failed, Updating, Running, Creating"
	for _, limit := range []string{"1", "3", "500"} {
		if got := strings.Join(s.history(limit), ", "); got != want {
			t.Errorf("%s at a time: %s, want %s", limit, got, want)
		}
	}
	s.want(s.call("vera", "GET", "/api/v1/clusters/one/health/history?after=x", ""), 422, "api.request")
	s.want(s.call("vera", "GET", "/api/v1/clusters/none/health/history", ""), 404, "manager.unknown")
	s.want(s.call("ann", "DELETE", "/api/v1/clusters/one?machines=keep", ""), 200, "")
	s.world.Begin("one", manager.Delete).Finish(nil) // somebody cleans its machines
	before := s.world.Newest("one")
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 202, "")
	s.reach("Creating", func() bool { return s.world.Newest("one") != before })
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
	if got := strings.Join(s.history("500"), ", "); got != "Unavailable: run.failed, Creating" {
		t.Error(got)
	}
}

// A server whose database fails answers, and says that it is not ready; so does one whose manager has ended.
func TestReady(t *testing.T) {
	g := beginGuarded(t)
	ready := func(status int, code string) {
		t.Helper()
		g.want(g.call("", "GET", "/healthz", ""), 200, "")
		g.want(g.call("", "GET", "/readyz", ""), status, code)
	}
	ready(200, "")
	if err := g.db.Close(); err != nil {
		t.Fatal(err)
	}
	ready(503, "api.not-ready")
	if a := g.call("", "GET", "/readyz", "", "Accept-Language", "zh"); !strings.Contains(a.text, "服务器尚未就绪") ||
		strings.Contains(a.text, "server.db") {
		t.Error(a.text)
	}
	s := begin(t)
	s.m.Close()
	s.want(s.call("", "GET", "/readyz", ""), 503, "api.not-ready")
}
