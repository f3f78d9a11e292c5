package server

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eggo-k8s/eggo/internal/access"
)

// What holds a secret is not kept: who sends the request again hears that it was done. The oldest answer goes first.
func TestWhatIsKeptOfAnswers(t *testing.T) {
	var s replies
	calls := 0
	h := s.once(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
		h := s.once(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
