package stand

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLaterRepeatsOnceWhatAStoppingServerHasNotTaken: with the same body, and never where the server says no time.
func TestLaterRepeatsOnceWhatAStoppingServerHasNotTaken(t *testing.T) {
	const stopping, broken = http.StatusServiceUnavailable, http.StatusInternalServerError
	const busy = http.StatusTooManyRequests
	for name, c := range map[string]struct {
		says  []int // the answers, the last again and again
		after string
		want  int
		asks  int
	}{
		"an API server that stops": {[]int{stopping, http.StatusOK}, "0", http.StatusOK, 2},
		"one that stays stopped":   {[]int{stopping}, "0", stopping, 2},
		"one that says no time":    {[]int{stopping, http.StatusOK}, "", stopping, 1},
		"one that is busy":         {[]int{busy, http.StatusOK}, "0", busy, 1},
		"one with an error":        {[]int{broken, http.StatusOK}, "0", broken, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asks := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != "write" {
					t.Errorf("the request is %q, %v", body, err)
				}
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.says[min(asks, len(c.says)-1)])
				asks++
			}))
			defer s.Close()
			again := &Later{RoundTripper: http.DefaultTransport}
			resp, err := (&http.Client{Transport: again}).Post(s.URL, "text/plain", strings.NewReader("write"))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want || asks != c.asks {
				t.Errorf("status %d after %d requests, want %d after %d", resp.StatusCode, asks, c.want, c.asks)
			}
			if n := again.Repeated.Load(); n != int64(c.asks-1) || again.TooOften() {
				t.Errorf("%d repeated, too often: %v", n, again.TooOften())
			}
		})
	}
	seldom, many := &Later{}, &Later{}
	seldom.Asked.Store(53_516)
	seldom.Repeated.Store(2)
	many.Asked.Store(53_516)
	many.Repeated.Store(22)
	if seldom.TooOften() || !many.TooOften() {
		t.Error("2 of 53,516 are seldom, 22 are not")
	}
}
