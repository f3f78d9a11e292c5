package server

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// places are where the errors of an answer are.
func (a answer) places() (out []string) {
	list, _ := a.body["errors"].([]any)
	for _, e := range list {
		at, _ := e.(map[string]any)["location"].(string)
		out = append(out, at)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// What comes after a key with a dot is where it is.
func TestPlacesBehindKeysWithDots(t *testing.T) {
	s := begin(t)
	for body, want := range map[string][]string{
		`{"name":"demo","nodez":[],"settings":{"foo.bar":1}}`: {"body", "body.nodez", "body.settings.foo.bar"},
		`{"name":1,"a[0].b":2,"nodes":[{"labels":{"a.b/c":1},"roles":1}]}`: {"body", "body.a[0].b", "body.name",
			"body.nodes[0]", "body.nodes[0].labels.a.b/c", "body.nodes[0].roles"},
	} {
		a := s.want(s.call("ann", "POST", "/api/v1/clusters", body), 422, "api.request")
		if got := a.places(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// Where a body is no JSON, and what to do about it.
func TestWhereABodyIsNoJSON(t *testing.T) {
	s := begin(t)
	for body, want := range map[string][2]string{
		"{": {"line 1, column 1", "Fix the JSON"}, "{\n  \"名\": x}": {"line 2, column 8", "Fix the JSON"},
		"{}x": {"line 1, column 3", "Fix the JSON"},
		"{\"ssh\":\n{\"key\": \"-----BEGIN\nx\"}}": {"line 2, column 20", "jq"},
	} {
		a := s.want(s.call("ann", "POST", "/api/v1/clusters", body), 400, "api.request")
		if next, _ := a.body["next"].(string); !strings.Contains(a.text, want[0]) || !strings.Contains(next, want[1]) {
			t.Errorf("%q: no %q in %s", body, want, a.text)
		}
	}
}

// Who may not send a request does not learn which shape it is to have.
func TestRightsBeforeShapes(t *testing.T) {
	g := beginGuarded(t)
	g.want(g.call("", "POST", Prefix+"/clusters", oneCluster, g.as("global")...), 202, "")
	for _, c := range []struct {
		who, method, path string
		status            int
		code              string
	}{
		{"viewer", "POST", "/clusters", 403, "access.denied"},
		{"viewer", "PUT", "/clusters/one", 403, "access.denied"},
		{"elsewhere", "PUT", "/clusters/one", 404, "manager.unknown"},
		{"nobody", "POST", "/clusters", 401, "access.unauthenticated"},
		{"viewer", "POST", "/users", 403, "access.denied"},
		{"token", "POST", "/users", 403, "account.session-only"},
		{"global", "POST", "/clusters", 422, "api.request"},
		{"global", "POST", "/users", 422, "api.request"},
	} {
		headers := append(g.as(c.who), "Content-Type", "application/json")
		for _, body := range []string{`{}`, `{"x":1}`} {
			status, code := g.tried(c.method, "/api/v1"+c.path, body, headers...)
			if status != c.status || code != c.code {
				t.Errorf("%s %s by %s: %d %s, want %d %s", c.method, c.path, c.who, status, code, c.status, c.code)
			}
		}
	}
}

// A setting that there is not is said to be unknown, with the one that is meant, beside all else that is wrong.
func TestAnUnknownSettingBesideAWrongAddress(t *testing.T) {
	s := begin(t)
	body := strings.NewReplacer(`"192.0.2.2"`, `"192.0.2.999"`, `"name":"one",`,
		`"name":"one","settings":{"network.podsidr":"10.0.0.0/16","eggo.password-from":"prompt"},`).Replace(oneCluster)
	a := s.want(s.call("ann", "POST", "/api/v1/clusters", body), 422, "api.invalid")
	if got := a.places(); !slices.Equal(got, []string{"body.nodes[1].address", "body.settings.eggo.password-from",
		"body.settings.network.podsidr"}) || !strings.Contains(a.text, "network.podcidr") ||
		!strings.Contains(a.text, "profile.setting-unknown") || !strings.Contains(a.text, `"profile.setting"`) {
		t.Errorf("%q %s", got, a.text)
	}
}

// A path that there is, with a method that it does not have, is answered with those that it has.
func TestMethodsThatAPathDoesNotHave(t *testing.T) {
	s := begin(t)
	for path, want := range map[string]string{"/bundles": "GET", "/clusters": "GET, POST",
		"/clusters/one": "GET, PUT, DELETE"} {
		q := httptest.NewRequest("PATCH", Prefix+path, nil)
		q.Header.Set("Authorization", "Bearer ann")
		w := httptest.NewRecorder()
		if s.handler.ServeHTTP(w, q); w.Code != 405 || w.Header().Get("Allow") != want ||
			!strings.Contains(w.Body.String(), `"api.method"`) {
			t.Errorf("%s: %d %q %s", path, w.Code, w.Header().Get("Allow"), w.Body)
		}
	}
	s.want(s.call("ann", "PUT", "/api/v1/nothing", ""), 404, "api.no-route")
}

// Roles and API tokens on a cluster that does not exist would be rights on whatever gets its name.
func TestNoRightsOnAClusterThatThereIsNot(t *testing.T) {
	g := beginGuarded(t)
	g.want(g.call("", "POST", Prefix+"/clusters", oneCluster, g.as("global")...), 202, "")
	const ends = `,"role":"viewer","ends":"2020-01-01T00:00:00Z"}`
	for _, c := range []struct{ who, method, path, body, at string }{
		{"global", "POST", "/users", `{"name":"new","password":"x","clusters":{"typo":"viewer"}}`, "body.clusters.typo"},
		{"global", "PATCH", "/users/viewer", `{"clusters":{"one":"viewer","typo":"viewer"}}`, "body.clusters.typo"},
		{"global", "POST", "/tokens", `{"name":"t","cluster":"typo"` + ends, "body.cluster"},
		{"plain", "POST", "/tokens", `{"name":"t","cluster":"one"` + ends, "body.cluster"}, // he may not see it
	} {
		a := g.want(g.call("", c.method, Prefix+c.path, c.body, g.as(c.who)...), 422, "api.invalid")
		if !slices.Equal(a.places(), []string{c.at}) || !strings.Contains(a.text, "account.no-cluster") {
			t.Errorf("%s %s: %s", c.method, c.path, a.text)
		}
	}
	g.want(g.call("", "PATCH", Prefix+"/users/viewer", `{"clusters":{"one":"operator"}}`, g.as("global")...), 200, "")
}
