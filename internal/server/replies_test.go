package server

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eggo-k8s/eggo/internal/server/access"
)

// What holds a secret is not kept: who sends the request again hears that it was done. The oldest answer goes first.
func TestWhatIsKeptOfAnswers(t *testing.T) {
	var s replies
	calls := 0
	h := s.once(&rights{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte("secret"))
	}))
	send := func(path, key string) *httptest.ResponseRecorder {
		q := httptest.NewRequest("POST", path, strings.NewReader("{}"))
		q = q.WithContext(access.With(t.Context(), access.Caller{ID: "ann", Name: "ann"}))
		q.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return w
	}
	send("/api/v1/tokens", "k")
	if again := send("/api/v1/tokens", "k"); !strings.Contains(again.Body.String(), `"api.once"`) || calls != 1 {
		t.Errorf("%s; carried out %d times", again.Body, calls)
	}
	if send("/api/v1/users", "k"); send("/api/v1/users", "k").Body.String() != "secret" || calls != 2 {
		t.Errorf("carried out %d times", calls)
	}
	for i := range mostReplies - 2 {
		send("/api/v1/users", strconv.Itoa(i))
	}
	if calls = 0; send("/api/v1/users", "k").Body.String() != "secret" || calls != 0 {
		t.Error("it went though there was room")
	}
	send("/api/v1/users", "one more")
	if send("/api/v1/tokens", "k"); calls != 2 {
		t.Errorf("the oldest is still there: carried out %d times", calls)
	}
}

// Who sends a request again while it is carried out waits for its answer. When it began nothing, both are told.
func TestARequestIsSentAgainWhileItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := make(chan struct{})
		calls := 0
		var s replies
		h := s.once(&rights{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			<-fail
			w.WriteHeader(http.StatusConflict)
		}))
		send := func() *httptest.ResponseRecorder {
			q := httptest.NewRequest("POST", "/api/v1/clusters", strings.NewReader("{}"))
			q = q.WithContext(access.With(t.Context(), access.Caller{ID: "ann", Name: "ann"}))
			q.Header.Set("Idempotency-Key", "k1")
			w := httptest.NewRecorder()
			go h.ServeHTTP(w, q)
			synctest.Wait()
			return w
		}
		first, again := send(), send()
		close(fail)
		synctest.Wait()
		if first.Code != http.StatusConflict || !strings.Contains(again.Body.String(), `"api.again"`) || calls != 1 {
			t.Errorf("%d, %d %s; carried out %d times", first.Code, again.Code, again.Body, calls)
		}
		send()
		if calls != 2 {
			t.Errorf("a request that began nothing was carried out %d times when it came once more", calls)
		}
	})
}

// echo is a server that keeps answers: it answers each request with what it is told, and counts them.
type echo struct {
	h     http.Handler
	calls int
	says  string
}

func newEcho() *echo {
	e := &echo{}
	var s replies
	e.h = s.once(&rights{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		e.calls++
		_, _ = w.Write([]byte(e.says))
	}))
	return e
}

// sent says what is answered to a request with a key, and whether it was carried out.
func (e *echo) sent(t *testing.T, who access.Caller, path, key string) (text string, done bool) {
	t.Helper()
	q := httptest.NewRequest("POST", Prefix+path, strings.NewReader("{}"))
	q = q.WithContext(access.With(t.Context(), who))
	q.Header.Set("Idempotency-Key", key)
	w, before := httptest.NewRecorder(), e.calls
	e.h.ServeHTTP(w, q)
	return w.Body.String(), e.calls > before
}

// Large answers do not fill the memory: the oldest go first. Of one that alone is too large it is known that it was
// given.
func TestWhatIsKeptOfAnswersIsBoundInBytes(t *testing.T) {
	e, ann := newEcho(), access.Caller{ID: "ann"}
	e.says = strings.Repeat("x", mostReplyBytes/4)
	for _, key := range []string{"1", "2", "3", "4", "5"} { // with a header each, four are too many
		e.sent(t, ann, "/users", key)
	}
	e.says = "small"
	for _, c := range []struct {
		key  string
		kept bool
	}{{"5", true}, {"4", true}, {"3", true}, {"2", false}, {"1", false}} {
		if text, done := e.sent(t, ann, "/users", c.key); done == c.kept || (text == "small") == c.kept {
			t.Errorf("%s: carried out: %v", c.key, done)
		}
	}
	e.says = strings.Repeat("x", mostReplyBytes+1)
	e.sent(t, ann, "/users", "huge")
	if text, done := e.sent(t, ann, "/users", "huge"); done || !strings.Contains(text, `"api.once"`) {
		t.Errorf("%.100s %v", text, done)
	}
	if _, done := e.sent(t, ann, "/users", "5"); done {
		t.Error("an answer that is not kept has taken the place of others")
	}
}

// What was told to one API token is not told to another of the same user, which may have fewer rights; nor is it to the
// user's session.
func TestAnAnswerIsThatOfAToken(t *testing.T) {
	e := newEcho()
	wide, narrow := access.Caller{ID: "ann", Token: "wide"}, access.Caller{ID: "ann", Token: "narrow"}
	e.says = "for the wide one"
	e.sent(t, wide, "/users", "k")
	e.says = "refused"
	for _, who := range []access.Caller{narrow, {ID: "ann"}} {
		if text, _ := e.sent(t, who, "/users", "k"); text != "refused" {
			t.Errorf("%q: %s", who.Token, text)
		}
	}
	if text, done := e.sent(t, wide, "/users", "k"); done || text != "for the wide one" {
		t.Error(text)
	}
}

// A request that only reads reads again, also with a key. What a cluster is called says nothing about a request.
func TestWhatOnlyReadsIsNotKept(t *testing.T) {
	e, ann := newEcho(), access.Caller{ID: "ann"}
	for path, kept := range map[string]bool{"/check": false, "/clusters/one/status": false,
		"/clusters/one/certificates": false, "/clusters/one/plan": false, "/clusters/one/backups/b/verify": false,
		"/clusters/plan/renew": true, "/clusters/one/backups": true, "/clusters": true} {
		e.sent(t, ann, path, "k")
		if _, done := e.sent(t, ann, path, "k"); done == kept {
			t.Errorf("%s: carried out again: %v", path, done)
		}
	}
}
