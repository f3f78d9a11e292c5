package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eggo-k8s/eggo/internal/access"
)

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
