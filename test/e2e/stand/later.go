package stand

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Later repeats what an API server that stops has not taken, as client-go does: what comes on a kept connection after
// the last request that it takes, and before it has closed the connection.
type Later struct {
	http.RoundTripper
	Asked, Repeated atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (l *Later) RoundTrip(req *http.Request) (*http.Response, error) {
	l.Asked.Add(1)
	resp, err := l.RoundTripper.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		return resp, err
	}
	after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return resp, nil
	}
	l.Repeated.Add(1)
	resp.Body.Close()
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-time.After(time.Duration(after) * time.Second):
	}
	req = req.Clone(req.Context())
	if req.GetBody != nil {
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return l.RoundTripper.RoundTrip(req)
}

// TooOften says that more than one request of ten thousand was repeated.
func (l *Later) TooOften() bool { return l.Repeated.Load() > 1+l.Asked.Load()/10_000 }
