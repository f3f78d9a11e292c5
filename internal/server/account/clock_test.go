package account_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// A session that began while the clock was ahead ends when the clock is set right: it would live until then. A small
// correction ends none.
func TestAClockThatIsSetBack(t *testing.T) {
	for back, lives := range map[time.Duration]bool{0: true, time.Minute: true, time.Hour: false,
		365 * 24 * time.Hour: false} {
		s := newServer(t)
		s.user(t, "ann", access.Admin, nil)
		session := s.login(t, "ann", good)
		s.clock.pass(-back)
		known := false
		r := httptest.NewRequest(http.MethodGet, "https://eggo.example/", nil)
		r.AddCookie(&http.Cookie{Name: account.Cookie, Value: session.Secret})
		s.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, known = access.From(r.Context())
		})).ServeHTTP(httptest.NewRecorder(), r)
		if known != lives {
			t.Errorf("%s back: it lives: %v", back, known)
		}
		if _, err := s.Login(t.Context(), "192.0.2.1", "ann", good, ""); err != nil {
			t.Error(err)
		}
	}
}
