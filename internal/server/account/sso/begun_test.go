package sso

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// However many logins others begin, a user's is not lost while he types.
func TestNobodyEndsTheLoginOfAnother(t *testing.T) {
	s := newSite(t)
	b := s.browser(t, "")
	page, text := get(t, b, s.url+BeginPath)
	id := page.Request.URL.Query().Get("authRequestID")
	if id == "" {
		t.Fatal(page.Request.URL, text)
	}
	for range 2000 {
		w := httptest.NewRecorder()
		if s.sso.Begin(w, httptest.NewRequest(http.MethodGet, BeginPath, nil)); w.Code != http.StatusSeeOther {
			t.Fatal(w.Code, w.Body)
		}
	}
	r, text := read(t)(b.PostForm(s.provider.URL+"/login/username",
		url.Values{"username": {"ann"}, "password": {"ann"}, "id": {id}}))
	if _, text = followed(t, b, r, text); text != "ann viewer operator" {
		t.Error(text)
	}
	if n := len(s.sso.begun.ended); n != 1 { // what nobody logged in with takes no memory
		t.Error(n)
	}
}

// A cookie that somebody has copied logs in nobody a second time, neither with the same code nor with another one that
// the provider gives for the same state.
func TestACopiedLoginIsNone(t *testing.T) {
	s := newSite(t)
	b := s.browser(t, CallbackPath)
	stop := &http.Client{Transport: b.Transport, Jar: b.Jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	begun, _ := get(t, stop, s.url+BeginPath)
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	copied := b.Jar.Cookies(at)
	authorized := func(b *http.Client) string { // the user logs in at the provider, which leads to the callback
		page, _ := get(t, b, begun.Header.Get("Location"))
		r, text := read(t)(b.PostForm(s.provider.URL+"/login/username", url.Values{"username": {"ann"},
			"password": {"ann"}, "id": {page.Request.URL.Query().Get("authRequestID")}}))
		if !strings.HasPrefix(r.Header.Get("Location"), s.url+CallbackPath) {
			t.Fatal(r.Status, text)
		}
		return r.Header.Get("Location")
	}
	callback := authorized(b)
	first := s.browser(t, "")
	first.Jar.SetCookies(at, copied)
	if _, text := get(t, first, callback); text != "ann viewer operator" {
		t.Fatal(text)
	}
	another := authorized(s.browser(t, CallbackPath))
	for again, code := range map[string]string{callback: "sso.token", another: "sso.state"} {
		second := s.browser(t, "")
		second.Jar.SetCookies(at, copied)
		r, text := get(t, second, again)
		if !strings.Contains(text, `"`+code+`"`) {
			t.Errorf("want %s: %s", code, text)
		}
		for _, c := range r.Cookies() {
			if c.Value != "" {
				t.Error(c)
			}
		}
	}
}

// A login is good in time, with its state, with the key of this server, and unchanged. Nobody can read it.
func TestWhatABrowserKeeps(t *testing.T) {
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	b, err := newBegun(clock)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newBegun(clock)
	if err != nil {
		t.Fatal(err)
	}
	l := login{Begun: now, State: "the-state", Nonce: "the-nonce", Verifier: "the-verifier", Before: "the-session"}
	c, err := b.begin(l)
	if err != nil {
		t.Fatal(err)
	}
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 || c.Path != "/" ||
		c.Domain != "" || !strings.HasPrefix(c.Name, "__Host-") || c.Valid() != nil {
		t.Error(c)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || strings.Contains(string(sealed), "the-") {
		t.Errorf("%q %v", sealed, err)
	}
	with := func(value, state string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, CallbackPath+"?state="+state, nil)
		r.AddCookie(&http.Cookie{Name: cookie, Value: value})
		return r
	}
	is := func(what string, of *begun, value, state string, want bool) {
		t.Helper()
		if got, ok := of.back(with(value, state)); ok != want || ok && got != l {
			t.Errorf("%s: %+v %t", what, got, ok)
		}
	}
	is("as it was begun", b, c.Value, l.State, true)
	is("another state", b, c.Value, "x", false)
	is("no state", b, c.Value, "", false)
	is("another server, or another start", other, c.Value, l.State, false)
	is("no cookie", b, "", l.State, false)
	is("no base64", b, "!", l.State, false)
	is("too short", b, c.Value[:8], l.State, false)
	for i := range sealed {
		changed := []byte(string(sealed))
		changed[i] ^= 1
		is("changed", b, base64.RawURLEncoding.EncodeToString(changed), l.State, false)
	}
	now = now.Add(patience)
	is("at the end of its time", b, c.Value, l.State, true)
	if !b.end(l) || b.end(l) {
		t.Error("it does not end once")
	}
	now = now.Add(1)
	is("too late", b, c.Value, l.State, false)
	if b.end(l) {
		t.Error("it ends too late")
	}
	if len(b.ended) > 0 {
		t.Error(b.ended)
	}
	now = now.Add(-time.Hour)
	is("begun in the future", b, c.Value, l.State, false)
}
