package server

import (
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
			if status, code := g.tried(c.method, "/api/v1"+c.path, body, headers...); status != c.status || code != c.code {
				t.Errorf("%s %s by %s: %d %s, want %d %s", c.method, c.path, c.who, status, code, c.status, c.code)
			}
		}
	}
}
