package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLaterAsksAgainOnlyWhereItIsToldTo: with the same body, and never where the server does not say Retry-After.
func TestLaterAsksAgainOnlyWhereItIsToldTo(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		after      string
		want, asks int
	}{
		"an API server that stops":            {http.StatusServiceUnavailable, "0", http.StatusOK, 2},
		"one that is busy":                    {http.StatusTooManyRequests, "0", http.StatusOK, 2},
		"one that says nothing of later":      {http.StatusServiceUnavailable, "", http.StatusServiceUnavailable, 1},
		"an error, whatever it says of later": {http.StatusInternalServerError, "0", http.StatusInternalServerError, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asks := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != "write" {
					t.Errorf("the request is %q, %v", body, err)
				}
				if asks++; asks == 1 {
					if c.after != "" {
						w.Header().Set("Retry-After", c.after)
					}
					w.WriteHeader(c.status)
				}
			}))
			defer s.Close()
			client := &http.Client{Transport: &later{RoundTripper: http.DefaultTransport}}
			resp, err := client.Post(s.URL, "text/plain", strings.NewReader("write"))
			must(t, "request", err)
			resp.Body.Close()
			if resp.StatusCode != c.want || asks != c.asks {
				t.Errorf("status %d after %d requests, want %d after %d", resp.StatusCode, asks, c.want, c.asks)
			}
		})
	}
}
