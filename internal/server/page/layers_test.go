package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/route"
)

// form sends a form of the page as chief, from an address of its own.
func (g *guarded) form(path string, q url.Values, headers ...string) *httptest.ResponseRecorder {
	g.t.Helper()
	r := httptest.NewRequestWithContext(g.t.Context(), http.MethodPost, path, strings.NewReader(q.Encode()))
	r.RemoteAddr = "192.0.2.77:4711"
	r.AddCookie(g.accounts.CookieOf(g.login()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

// inAudit reports whether the newest entry of the audit log is of an action from that address, with a result.
func (g *guarded) inAudit(action, result string) {
	g.t.Helper()
	list, err := g.accounts.Audit(g.t.Context(), account.Filter{Action: action}, 1)
	if err != nil || len(list) != 1 || list[0].Entry.Address != "192.0.2.77" || list[0].Result != result ||
		list[0].Entry.Caller.Name != "chief" {
		g.t.Errorf("%s: %+v %v", action, list, err)
	}
}

func holds(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("%d, want %d", w.Code, status)
	}
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("no %q in %s", text, w.Body)
		}
	}
}

// What the page does for its reader is bound to the cluster that the reader was shown, written down with the address
// and the result, and refused in the language of the page.
func TestCalls_AreBoundAndWrittenDown(t *testing.T) {
	g := beginGuarded(t)
	if _, err := g.m.Create(t.Context(), "one", manager.Request{By: "chief"}); err != nil {
		t.Fatal(err)
	}
	q := url.Values{"etag": {`"fifty"`}, "paths": {"/srv/b.tar.gz"}}
	holds(t, g.form("/clusters/one/upgrade", q), http.StatusPreconditionFailed, "manager.revision", "changed")
	g.inAudit("upgrade-cluster", "412")
	holds(t, g.form("/clusters/one/upgrade", q, "Accept-Language", "zh"), http.StatusPreconditionFailed,
		"manager.revision", "集群")
	q.Del("etag")
	holds(t, g.form("/clusters/two/upgrade", q), http.StatusNotFound, "manager.unknown")
	g.inAudit("upgrade-cluster", "404")
}

// The limits of the API are those of the page: also what has not the shape of a request is refused at its field, and
// written down.
func TestCalls_HaveTheShapeOfTheAPI(t *testing.T) {
	g := beginGuarded(t)
	if _, err := g.m.Create(t.Context(), "one", manager.Request{By: "chief"}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 20)
	holds(t, g.form("/clusters/one/upgrade", url.Values{"window": {long}, "paths": {"/srv/b.tar.gz"}}),
		http.StatusUnprocessableEntity, "api.request", "body.window", "16")
	g.inAudit("upgrade-cluster", "422")
	holds(t, g.form("/clusters/"+strings.Repeat("n", 65)+"/upgrade", nil), http.StatusUnprocessableEntity,
		"api.request", "path.cluster")
}

// A form that is sent again with its Idempotency-Key gets the first answer, another one with that key is refused.
func TestCalls_AreDoneOnce(t *testing.T) {
	g := beginGuarded(t)
	if _, err := g.m.Create(t.Context(), "one", manager.Request{By: "chief"}); err != nil {
		t.Fatal(err)
	}
	const path, key = "/clusters/one/upgrade/draft", "k1"
	session := g.login()
	send := func(q url.Values) *httptest.ResponseRecorder {
		return g.form(path, q, "Idempotency-Key", key, "Cookie", account.Cookie+"="+session.Secret)
	}
	first := send(url.Values{"paths": {"/srv/b.tar.gz"}})
	holds(t, first, http.StatusOK, `"ok":true`)
	holds(t, send(url.Values{"paths": {"/srv/b.tar.gz"}}), http.StatusOK, first.Body.String())
	holds(t, send(url.Values{"paths": {"/srv/c.tar.gz"}}), http.StatusUnprocessableEntity, "api.idempotency-key")
}

// held has a route wait before it answers with nothing.
func held[I, O any](r *route.Route[I, O], in chan<- struct{}, until <-chan struct{}) *route.Route[I, O] {
	out := *r
	out.Method = func(context.Context, access.Grant, *I) (*O, error) {
		in <- struct{}{}
		<-until
		return new(O), nil
	}
	return &out
}

// Inspections that log in to nodes are counted with those of the API.
func TestCalls_LogInToFewNodesAtOnce(t *testing.T) {
	g := beginGuarded(t)
	api, in, until := *g.page.api, make(chan struct{}), make(chan struct{})
	api.InspectStatus = held(api.InspectStatus, in, until)
	g.page.api = &api
	if _, err := g.m.Create(t.Context(), "one", manager.Request{By: "chief"}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { holds(t, g.form("/clusters/one/status", nil), http.StatusOK, "html") })
		<-in
	}
	holds(t, g.form("/clusters/one/status", nil), http.StatusTooManyRequests, "api.busy")
	q := httptest.NewRequestWithContext(t.Context(), http.MethodGet, server.Prefix+"/clusters/one/status", nil)
	q.AddCookie(g.accounts.CookieOf(g.login()))
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, q)
	holds(t, w, http.StatusTooManyRequests, "api.busy")
	close(until)
	all.Wait()
}

// A form is as large as the largest request of the API at the most.
func TestCalls_HaveNoLargerBodies(t *testing.T) {
	g := beginGuarded(t)
	if w := g.form("/new/draft", url.Values{"nodes": {strings.Repeat("x", 2<<20)}}); w.Code < http.StatusBadRequest {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
}
