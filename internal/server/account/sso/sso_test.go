package sso

import (
	"context"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/database"
)

// people are the users of the provider; a name is the password, too.
type people map[string]*storage.User

func (p people) GetUserByID(id string) *storage.User         { return p[id] }
func (p people) GetUserByUsername(name string) *storage.User { return p[name] }
func (p people) ExampleClientID() string                     { return "other" }

// directory adds groups to what the provider says of a user.
type directory struct {
	*storage.Storage
	groups *atomic.Pointer[map[string][]any]
}

func (d directory) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, id, subject, origin string) error {
	err := d.Storage.SetUserinfoFromToken(ctx, info, id, subject, origin)
	if list := (*d.groups.Load())[subject]; list != nil {
		info.AppendClaims("groups", list)
	}
	return err
}

// site is a server with a provider, both on loopback with TLS.
type site struct {
	url      string
	sso      *Provider
	accounts *account.Accounts
	db       *database.DB
	provider *httptest.Server
	groups   atomic.Pointer[map[string][]any]
	client   *http.Client // trusts both
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	s.groups.Store(&map[string][]any{"ann": {"ops", "everybody"}, "bob": {"everybody"}})
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "eggo.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s.db = db
	s.accounts, err = account.Open(t.Context(), db, account.Options{
		Cost: account.Cost{Passes: 1, Memory: 8, Threads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var op http.Handler
	s.provider = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op.ServeHTTP(w, r)
	}))
	t.Cleanup(s.provider.Close)
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(s.accounts.Identify(mux))
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()

	users := people{}
	for _, name := range []string{"ann", "bob", "eve", "chief"} {
		users[name] = &storage.User{ID: name, Username: name, Password: name, Email: name + "@example.com"}
	}
	op = exampleop.SetupServer(s.provider.URL, directory{storage.NewStorageWithClients(users,
		map[string]*storage.Client{"eggo": storage.WebClient("eggo", "a client's secret", s.url+CallbackPath)}),
		&s.groups}, slog.New(slog.DiscardHandler), true)

	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: s.provider.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("issuer: %s\nclient-id: eggo\nclient-secret: a client's secret\nurl: %s/\nca: %s\ngroups:\n"+
		"- {group: everybody, role: viewer}\n- {group: ops, role: operator, cluster: rack}\n"+
		"- {group: boss, role: admin}\n", s.provider.URL, s.url, ca)
	c, err := Load(written(t, text, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c, s.accounts, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s.sso = p
	mux.HandleFunc("GET "+BeginPath, p.Begin)
	mux.HandleFunc("GET "+CallbackPath, p.Callback)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		c, _ := access.From(r.Context())
		all, err := s.accounts.RoleOf(r.Context(), c, "")
		rack, err2 := s.accounts.RoleOf(r.Context(), c, "rack")
		fmt.Fprintf(w, "%s %s %s", c.Name, all, rack)
		if err := errors.Join(err, err2); err != nil {
			fmt.Fprint(w, " ", err)
		}
	})
	return s
}

func written(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sso.yaml")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// browser is one with cookies of its own, which stops before a path of the server if stop is not "".
func (s *site) browser(t *testing.T, stop string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: s.client.Transport, Jar: jar,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if stop != "" && strings.HasPrefix(r.URL.String(), s.url+stop) {
				return http.ErrUseLastResponse
			}
			return nil
		}}
}

func get(t *testing.T, b *http.Client, url string) (*http.Response, string) {
	t.Helper()
	r, text := read(t)(b.Get(url))
	return followed(t, b, r, text)
}

// followed goes where the page after a login leads.
func followed(t *testing.T, b *http.Client, r *http.Response, text string) (*http.Response, string) {
	t.Helper()
	if text != ahead || r.StatusCode != http.StatusOK {
		return r, text
	}
	return get(t, b, r.Request.URL.ResolveReference(&url.URL{Path: "/"}).String())
}

func read(t *testing.T) func(*http.Response, error) (*http.Response, string) {
	return func(r *http.Response, err error) (*http.Response, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r, string(text)
	}
}

// login logs a browser in at the provider, and gives where it ends.
func (s *site) login(t *testing.T, b *http.Client, name string) (*http.Response, string) {
	t.Helper()
	page, text := get(t, b, s.url+BeginPath)
	id := page.Request.URL.Query().Get("authRequestID")
	if id == "" {
		t.Fatalf("no login page, but %s: %s", page.Request.URL, text)
	}
	r, text := read(t)(b.PostForm(s.provider.URL+"/login/username",
		url.Values{"username": {name}, "password": {name}, "id": {id}}))
	return followed(t, b, r, text)
}

func TestAUserOfTheProviderLogsIn(t *testing.T) {
	s := newSite(t)
	b := s.browser(t, "")
	if _, text := s.login(t, b, "ann"); text != "ann viewer operator" {
		t.Fatal(text)
	}
	s.groups.Store(&map[string][]any{"ann": {"boss"}, "eve": {}})
	if _, text := s.login(t, b, "ann"); text != "ann admin admin" {
		t.Error("other groups: ", text)
	}
	u, err := s.accounts.Find(t.Context(), "ann")
	if err != nil || !u.Provider {
		t.Fatal(u, err)
	}
	_, err = s.accounts.Login(t.Context(), "", "ann", "", "")
	wantCode(t, err, "account.login")
	wantCode(t, s.accounts.Reset(t.Context(), "ann", "a password that is good"), "account.provider")
	role := access.Viewer
	_, err = s.accounts.Change(t.Context(), "ann", account.Change{Role: &role})
	wantCode(t, err, "account.provider")
	if _, text := s.login(t, s.browser(t, ""), "eve"); !strings.Contains(text, `"account.no-role"`) {
		t.Error(text)
	}
	// a user of this server and one of the provider are two, whatever they are called
	if _, err := s.accounts.Create(t.Context(), account.New{Name: "chief", Password: "a password that is good",
		Role: access.Admin}); err != nil {
		t.Fatal(err)
	}
	s.groups.Store(&map[string][]any{"chief": {"everybody"}})
	if _, text := s.login(t, s.browser(t, ""), "chief"); !strings.Contains(text, `"account.taken"`) {
		t.Error(text)
	}
	off := true
	if _, err := s.accounts.Change(t.Context(), "ann", account.Change{Disabled: &off}); err != nil {
		t.Fatal(err)
	}
	s.groups.Store(&map[string][]any{"ann": {"boss"}})
	if _, text := s.login(t, s.browser(t, ""), "ann"); !strings.Contains(text, `"account.disabled"`) {
		t.Error(text)
	}
}

// strict sends the cookie of a session as browsers do: not where another site leads to.
type strict struct{ http.RoundTripper }

func (s strict) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == CallbackPath {
		r = r.Clone(r.Context())
		all := r.Cookies()
		r.Header.Del("Cookie")
		for _, c := range all {
			if c.Name != account.Cookie {
				r.AddCookie(c)
			}
		}
	}
	return s.RoundTripper.RoundTrip(r)
}

// Whoever logs in again has one session: the one before ends, also in a browser that does not send it with what the
// provider leads to.
func TestALoginEndsTheSessionBefore(t *testing.T) {
	s := newSite(t)
	b := s.browser(t, "")
	b.Transport = strict{b.Transport}
	if _, text := s.login(t, b, "ann"); text != "ann viewer operator" {
		t.Fatal(text)
	}
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	before := s.browser(t, "")
	before.Jar.SetCookies(at, b.Jar.Cookies(at))
	if _, text := get(t, before, s.url+"/"); text != "ann viewer operator" {
		t.Fatal(text)
	}
	if _, text := s.login(t, b, "ann"); text != "ann viewer operator" {
		t.Fatal(text)
	}
	if _, text := get(t, before, s.url+"/"); strings.HasPrefix(text, "ann") {
		t.Errorf("the session before goes on: %s", text)
	}
}

// An entry for a cluster is about the one that there was when it was written: another one with its name needs a later
// since, which is not in the future.
func TestAnEntryForACluster(t *testing.T) {
	s := newSite(t)
	if _, text := s.login(t, s.browser(t, ""), "ann"); text != "ann viewer operator" {
		t.Fatal(text)
	}
	if err := s.db.Update(t.Context(), func(tx *sql.Tx) error {
		return s.accounts.ForgetCluster(t.Context(), tx, "rack")
	}); err != nil {
		t.Fatal(err)
	}
	if _, text := s.login(t, s.browser(t, ""), "ann"); text != "ann viewer viewer" {
		t.Error(text)
	}
	text := "issuer: https://id.example\nclient-id: eggo\nurl: https://eggo.example\ngroups:\n" +
		"- {group: ops, role: operator, cluster: rack, since: 2020-01-02}\n- {group: ops, role: viewer}\n" +
		"- {group: new, role: operator, cluster: rack, since: '9999-01-02T03:04:05Z'}\n"
	c, err := Load(written(t, text, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	gone, err := c.Lapsed(t.Context(), s.accounts)
	if err != nil || len(gone) != 1 || gone[0].Key != "server.sso-lapsed" || gone[0].Args["group"] != "ops" ||
		gone[0].Args["cluster"] != "rack" {
		t.Error(gone, err)
	}
	_, err = New(c, s.accounts, time.Now)
	wantCode(t, err, "sso.config")
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if f := (*event.Fault)(nil); !errors.As(err, &f) || f.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// A login that was begun elsewhere, that was ended already, or whose code is another one's, is none.
func TestLoginsAreNotMixed(t *testing.T) {
	s := newSite(t)
	b := s.browser(t, CallbackPath)
	r, _ := s.login(t, b, "ann")
	callback := r.Header.Get("Location")
	if !strings.HasPrefix(callback, s.url+CallbackPath) {
		t.Fatal(callback)
	}
	refused := func(what string, b *http.Client, url, code string) {
		t.Helper()
		if _, text := get(t, b, url); !strings.Contains(text, `"`+code+`"`) {
			t.Errorf("%s: %s", what, text)
		}
	}
	refused("another browser, whose user would be ann", s.browser(t, ""), callback, "sso.state")
	again := s.browser(t, "")
	again.Jar = b.Jar
	if _, text := get(t, again, callback); text != "ann viewer operator" {
		t.Error(text)
	}
	refused("twice", again, callback, "sso.state")

	begin := func() (*http.Client, string) { // a browser that has begun, and its state
		b := s.browser(t, "")
		page, _ := get(t, &http.Client{Transport: b.Transport, Jar: b.Jar,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
			s.url+BeginPath)
		to, err := url.Parse(page.Header.Get("Location"))
		if err != nil || to.Query().Get("code_challenge_method") != "S256" || to.Query().Get("nonce") == "" {
			t.Fatal(to, err)
		}
		return b, s.url + CallbackPath + "?state=" + to.Query().Get("state")
	}
	b, at := begin()
	refused("another state", b, at+"x", "sso.state")
	b, at = begin()
	refused("no code", b, at+"&code=guessed", "sso.token")
	b, at = begin()
	refused("the provider refuses", b, at+"&error=access_denied&error_description=no%1b[31m", "sso.refused")
	stolen, _ := s.login(t, s.browser(t, CallbackPath), "ann")
	u, err := url.Parse(stolen.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	b, at = begin()
	refused("a code of another login", b, at+"&code="+url.QueryEscape(u.Query().Get("code")), "sso.token")
}

// A provider that is away when the login ends is said to be away: nothing is wrong with the configuration.
func TestTheProviderGoesAway(t *testing.T) {
	s := newSite(t)
	b := s.browser(t, CallbackPath)
	page, _ := get(t, b, s.url+BeginPath)
	r, text := read(t)(b.PostForm(s.provider.URL+"/login/username", url.Values{"username": {"ann"},
		"password": {"ann"}, "id": {page.Request.URL.Query().Get("authRequestID")}}))
	if !strings.HasPrefix(r.Header.Get("Location"), s.url+CallbackPath) {
		t.Fatal(r.Status, text)
	}
	s.provider.CloseClientConnections()
	s.provider.Close()
	b.CheckRedirect = nil
	r, text = get(t, b, r.Header.Get("Location"))
	if r.StatusCode != http.StatusBadGateway || !strings.Contains(text, `"sso.unreachable"`) {
		t.Error(r.Status, text)
	}
}

// Where the provider gives no name, the claim that is missing is named.
func TestAUserWithoutAName(t *testing.T) {
	s := newSite(t)
	for claim, want := range map[string]string{"nickname": "nickname", "email_verified": "email_verified"} {
		s.sso.c.NameClaim = claim
		_, text := s.login(t, s.browser(t, ""), "ann")
		if !strings.Contains(text, `"sso.no-name"`) || !strings.Contains(text, want) {
			t.Errorf("%s: %s", claim, text)
		}
	}
}

func TestTheProviderIsAway(t *testing.T) {
	c := Config{Issuer: "https://127.0.0.1:1", URL: "https://eggo.example"}
	p, err := New(c, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p.Begin(w, httptest.NewRequest(http.MethodGet, BeginPath, nil))
	if w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), `"sso.unreachable"`) {
		t.Error(w.Code, w.Body)
	}
	_, err = New(Config{CA: filepath.Join(t.TempDir(), "none")}, nil, time.Now)
	wantCode(t, err, "sso.config")
	_, err = New(Config{CA: written(t, "no certificate", 0o600)}, nil, time.Now)
	wantCode(t, err, "sso.config")
}

func TestConfigurations(t *testing.T) {
	whole := "issuer: https://id.example\nclient-id: eggo\nurl: https://eggo.example\n"
	groups := "groups:\n- {group: a, role: viewer}\n"
	for text, want := range map[string]string{
		whole + groups: "", whole: "groups is empty", groups: "not an https:// URL",
		whole + "groups:\n- {group: a, role: king}\n": "one of the roles", whole + "grups: []\n": "field grups",
		strings.Replace(whole, "https://id", "http://id", 1) + groups: "issuer", "": "EOF",
		strings.Replace(whole, "client-id: eggo", "client-id: ''", 1) + groups: "client-id",
	} {
		_, err := Load(written(t, text, 0o600))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, err := Load(written(t, whole+groups, 0o640))
	wantCode(t, err, "sso.mode")
	_, err = Load(filepath.Join(t.TempDir(), "none"))
	wantCode(t, err, "sso.config")
}
