package routes_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/problem"
	"github.com/eggo-k8s/eggo/internal/testkit/problemtest"
)

const good = "correct horse battery"

// site is a server with the routes of users only.
type site struct {
	accounts *account.Accounts
	handler  http.Handler
	doc      *huma.OpenAPI
}

func newSite(t *testing.T) *site {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "eggo.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	a, err := account.Open(t.Context(), db, account.Options{Cost: account.Cost{Passes: 1, Memory: 8, Threads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	c := huma.DefaultConfig("eggo", "1")
	c.Transformers = append(c.Transformers, problem.Transform)
	api := humago.New(mux, c)
	routes.Register(api, a, false, nil)
	problem.Describe(api.OpenAPI())
	h := a.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(problem.Speaking(r.Context(), r.Header.Get("Accept-Language"))))
	}))
	return &site{a, h, api.OpenAPI()}
}

// promise is what the document says of the answers.
func (s *site) promise(t *testing.T) *problemtest.Contract {
	t.Helper()
	text, err := json.Marshal(s.doc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := problemtest.NewContract(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *site) user(t *testing.T, name string, role access.Role) account.User {
	t.Helper()
	u, err := s.accounts.Create(t.Context(), account.New{Name: name, Password: good, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// client is a browser, or curl with an API token.
type client struct {
	t     *testing.T
	http  *http.Client
	url   string
	token string

	promise *problemtest.Contract
}

func (s *site) browser(t *testing.T) *client {
	t.Helper()
	server := httptest.NewTLSServer(s.handler)
	t.Cleanup(server.Close)
	c := server.Client()
	var err error
	if c.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, http: c, url: server.URL, promise: s.promise(t)}
}

// does sends a request, wants a status, and gives the body.
func (c *client) does(want int, method, path, body string) map[string]any {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+routes.Base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if answer.StatusCode != want {
		c.t.Errorf("%s %s: %d, want %d: %s", method, path, answer.StatusCode, want, text)
	}
	if strings.Contains(string(text), good) || strings.Contains(string(text), "argon2") {
		c.t.Errorf("%s %s: the answer has a password: %s", method, path, text)
	}
	if err := c.promise.Kept(method, r.URL.EscapedPath(), problemtest.Answer{Status: answer.StatusCode,
		Header: answer.Header, Body: text}); err != nil {
		c.t.Error(err)
	}
	out := map[string]any{}
	_ = json.Unmarshal(text, &out) // none: nothing to compare
	return out
}

// From the first start to a server with users: as a person does it in a browser, and a program with a token.
func TestAServerIsSetUp(t *testing.T) {
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "setup-token")
	if needed, err := s.accounts.BeginSetup(t.Context(), file); err != nil || !needed {
		t.Fatal(needed, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(text))
	b := s.browser(t)
	if m := b.does(200, "GET", "/login", ""); m["setup"] != true {
		t.Error(m)
	}
	b.does(403, "POST", "/setup", `{"token":"guessed","name":"chief","password":"`+good+`"}`)
	b.does(422, "POST", "/setup", `{"token":"`+token+`","name":"root","password":"`+good+`"}`)
	b.does(200, "POST", "/setup", `{"token":"`+token+`","name":"chief","password":"`+good+`"}`)
	if me := b.does(200, "GET", "/me", ""); me["name"] != "chief" || me["role"] != "admin" {
		t.Error(me)
	}
	b.does(201, "POST", "/users", `{"name":"ann","password":"`+good+`","reset":true,"clusters":{"rack":"operator"}}`)
	b.does(409, "POST", "/users", `{"name":"Ann","password":"`+good+`"}`)
	b.does(422, "POST", "/users", `{"name":"bob","password":"short"}`)
	if p := b.does(422, "POST", "/users", `{"name":"Root","password":"`+good+`"}`); p["code"] != "account.reserved" {
		t.Error(p)
	}
	if p := b.does(422, "POST", "/users", `{"password":1}`); p["code"] != "api.request" || p["errors"] == nil {
		t.Error(p)
	}
	b.does(404, "GET", "/users/nobody", "")
	b.does(204, "POST", "/logout", "")
	b.does(401, "GET", "/me", "")

	b.does(401, "POST", "/login", `{"name":"ann","password":"wrong"}`)
	b.does(200, "POST", "/login", `{"name":"ann","password":"`+good+`"}`)
	if p := b.does(403, "POST", "/tokens", `{"name":"t","role":"viewer","ends":"2999-01-01T00:00:00Z"}`); p["code"] !=
		"account.reset" {
		t.Error(p)
	}
	b.does(403, "DELETE", "/tokens/t1", "")
	b.does(204, "PUT", "/me/password", `{"old":"`+good+`","new":"another good password"}`)
	b.does(422, "POST", "/tokens", `{"name":"t","role":"viewer","ends":"2999-01-01T00:00:00Z"}`)
	ends := time.Now().Add(time.Hour).Format(time.RFC3339)
	made := b.does(201, "POST", "/tokens", `{"name":"t","role":"viewer","ends":"`+ends+`"}`)
	program := s.browser(t)
	program.token, _ = made["token"].(string)
	if me := program.does(200, "GET", "/me", ""); me["name"] != "ann" || me["token"] != made["id"] {
		t.Error(me)
	}
	if p := program.does(403, "POST", "/tokens", `{"name":"u","role":"viewer","ends":"`+ends+`"}`); p["code"] !=
		"account.session-only" {
		t.Error(p)
	}
	program.does(403, "PUT", "/me/password", `{"old":"`+good+`","new":"a password of a thief"}`)
	program.does(403, "POST", "/logout", "")
	second := b.does(201, "POST", "/tokens", `{"name":"u","role":"viewer","ends":"`+ends+`"}`)
	if p := program.does(403, "DELETE", "/tokens/"+second["id"].(string), ""); p["code"] != "account.token-self" {
		t.Error(p)
	}
	other := s.browser(t)
	other.token, _ = second["token"].(string)
	other.does(200, "GET", "/me", "")
	other.does(204, "DELETE", "/tokens/"+second["id"].(string), "")
	other.does(401, "GET", "/me", "")
	b.does(204, "DELETE", "/tokens/"+made["id"].(string), "")
	program.does(401, "GET", "/me", "")
	b.does(403, "GET", "/audit", "")

	b.does(200, "POST", "/login", `{"name":"chief","password":"`+good+`"}`)
	b.does(200, "PATCH", "/users/ann", `{"role":"viewer"}`)
	b.does(204, "POST", "/users/ann/reset-password", `{"password":"a third good password"}`)
	b.does(204, "DELETE", "/users/ann", "")
	b.does(409, "DELETE", "/users/chief", "")
	list := b.does(200, "GET", "/audit?limit=2", "")
	var seen []string
	for pages := 0; pages < 30; pages++ {
		for _, item := range list["items"].([]any) {
			e := item.(map[string]any)
			line := e["user"].(string) + " " + e["action"].(string) + " " + e["result"].(string)
			if e["token"] != nil {
				line = "token: " + line
			}
			seen = append(seen, line)
		}
		next, _ := list["next"].(string)
		if next == "" {
			break
		}
		list = b.does(200, "GET", "/audit?limit=2&after="+next, "")
	}
	for _, want := range []string{"chief setup ok", "chief create-user 201", "chief create-user 409",
		"ann login failed", "ann login ok", "ann change-password 204", "ann create-token 201", "ann delete-token 204",
		"chief update-user 200", "chief reset-password 204", "chief delete-user 204",
		"chief delete-user 409", "chief logout ok", "ann create-token 403", "ann delete-token 403",
		"token: ann create-token 403", "token: ann change-password 403", "token: ann logout 403",
		"token: ann delete-token 403", "token: ann delete-token 204"} {
		if !slices.Contains(seen, want) {
			t.Errorf("the audit log lacks %q: %q", want, seen)
		}
	}
}

// Who may use which route: every route is here, and every kind of caller.
func TestRightsOfEveryRoute(t *testing.T) {
	s := newSite(t)
	own := s.user(t, "chief", access.Admin)
	s.user(t, "other", access.Admin)
	callers := []string{"nobody", "none", "viewer", "operator", "admin", "viewer token", "admin token"}
	send := map[string]func(*http.Request){"nobody": func(*http.Request) {}}
	for _, role := range []access.Role{access.None, access.Viewer, access.Operator, access.Admin} {
		name := string(role)
		if role == access.None {
			name = "none"
		}
		s.user(t, name, role)
		session, err := s.accounts.Login(t.Context(), "", name, good, "")
		if err != nil {
			t.Fatal(err)
		}
		send[name] = func(r *http.Request) { r.AddCookie(s.accounts.CookieOf(session)) }
	}
	for _, role := range []access.Role{access.Viewer, access.Admin} {
		_, token, err := s.accounts.NewToken(t.Context(), own.ID, account.Token{Name: "t", Role: role,
			Ends: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		send[string(role)+" token"] = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	// y: allowed; n: 401 for nobody, else 403; as the callers are listed
	may := map[string]string{
		"login-methods": "yyyyyyy", "login": "yyyyyyy", "setup": "yyyyyyy", "logout": "nyyyynn", "get-me": "nyyyyyy",
		"change-password": "nyyyynn", "list-users": "nnnnyny", "create-user": "nnnnynn", "get-user": "nnnnyny",
		"update-user": "nnnnynn", "delete-user": "nnnnynn", "reset-password": "nnnnynn", "list-tokens": "nyyyyyy",
		"create-token": "nyyyynn", "delete-token": "nyyyynn", "list-audit": "nnnnyny",
	}
	n, promise := 0, s.promise(t)
	for path, item := range s.doc.Paths {
		for method, op := range problem.Operations(item) {
			n++
			want, ok := may[op.OperationID]
			if !ok {
				t.Errorf("%s is not in the table", op.OperationID)
				continue
			}
			for i, name := range callers {
				if op.OperationID == "logout" { // it would end the session of the others
					if want[i] == 'y' {
						continue
					}
				}
				body := map[string]string{"login": `{"name":"x","password":"x"}`,
					"setup": `{"token":"x","name":"x","password":"x"}`, "change-password": `{"old":"x","new":"x"}`,
					"create-user": `{"name":"x","password":"x"}`, "update-user": `{}`,
					"reset-password": `{"password":"x"}`,
					"create-token":   `{"name":"x","role":"viewer","ends":"2000-01-01T00:00:00Z"}`}[op.OperationID]
				path := strings.NewReplacer("{user}", "x", "{token}", "x").Replace(path)
				r := httptest.NewRequest(method, "https://eggo.example"+path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.RemoteAddr = "192.0.2." + string('1'+rune(i)) + ":1"
				send[name](r)
				w := httptest.NewRecorder()
				s.handler.ServeHTTP(w, r)
				if err := promise.Kept(method, path, problemtest.Answer{Status: w.Code, Header: w.Header(),
					Body: w.Body.Bytes()}); err != nil {
					t.Error(err)
				}
				p := problem.Problem{}
				_ = json.Unmarshal(w.Body.Bytes(), &p)
				refused := p.Code == "access.unauthenticated" || p.Code == "access.denied" ||
					p.Code == "account.session-only" || p.Code == "account.token-self"
				if refused != (want[i] == 'n') || refused && (w.Code == 401) != (name == "nobody") || w.Code >= 500 {
					t.Errorf("%s as %s: %d %s", op.OperationID, name, w.Code, w.Body)
				}
			}
		}
	}
	if n != len(may) {
		t.Errorf("%d routes, and %d in the table: %q", n, len(may), slices.Sorted(maps.Keys(may)))
	}
}

func TestHostileRequestsAreAnswered(t *testing.T) {
	s := newSite(t)
	s.user(t, "chief", access.Admin)
	session, err := s.accounts.Login(t.Context(), "", "chief", good, "")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{"user": {"ann", "ANN"}, "token": {""}, "name": {"ann", "bob", "eve"},
		"password": {good, "another good password"}, "role": {"viewer", "operator", "admin"}}
	ready := func() { // the requests before may have removed them
		if _, err := s.accounts.Find(t.Context(), "ann"); err != nil {
			s.user(t, "ann", access.Operator)
		}
		own, err := s.accounts.Tokens(t.Context(), session.User.ID, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(own) == 0 {
			one, _, err := s.accounts.NewToken(t.Context(), session.User.ID, account.Token{Name: "t",
				Role: access.Viewer, Ends: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, one)
		}
		known["token"] = []string{own[0].ID}
	}
	for seed, sign := range []func(*http.Request){
		func(r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/logout") { // it would be the end of this
				r.AddCookie(s.accounts.CookieOf(session))
			}
		},
		func(*http.Request) {},
	} {
		problemtest.World{Handler: s.handler, Doc: s.doc, Known: known, Ready: ready, Sign: sign}.Hostile(t,
			uint64(seed), 60)
	}
	if _, err := s.accounts.Users(t.Context(), "", 1000); err != nil {
		t.Error(err)
	}
}

// A server whose database fails says so with the code, and lets nobody in.
func TestTheDatabaseFails(t *testing.T) {
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "eggo.db"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := account.Open(t.Context(), db, account.Options{})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	h := a.Identify(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("let in") }))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer eggo_x")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError {
		t.Error(w.Code, w.Body)
	}
}
