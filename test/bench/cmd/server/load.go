package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// clients is how many send requests side by side.
const clients = 8

// result of a load: how long each request took, and how many had another status than expected.
type result struct {
	took  []time.Duration // sorted
	wall  time.Duration
	bytes int
	odd   int
}

func (r *result) rate() float64 { return float64(len(r.took)) / r.wall.Seconds() }

// at is a percentile in milliseconds.
func (r *result) at(p float64) float64 { return percentile(r.took, p) }

func percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))].Seconds() * 1000
}

// load has clients send requests of a kind for so long.
func load(
	ctx context.Context, c *http.Client, clients int, long time.Duration, q kind, url, token string,
) (*result, error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	out := &result{}
	var failed error
	began := time.Now()
	for range clients {
		all.Go(func() {
			var took []time.Duration
			odd, size := 0, 0
			var err error
			for err == nil && time.Since(began) < long && ctx.Err() == nil {
				at, status := time.Now(), 0
				if status, size, err = send(ctx, c, q, url, token); err == nil {
					took = append(took, time.Since(at))
				}
				if status != q.status {
					odd++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			out.took, out.bytes, out.odd = append(out.took, took...), max(out.bytes, size), out.odd+odd
			if err != nil {
				failed = err
			}
		})
	}
	all.Wait()
	out.wall = time.Since(began)
	slices.Sort(out.took)
	return out, failed
}

// send sends a request and reads the answer to its end.
func send(ctx context.Context, c *http.Client, q kind, url, token string) (status, size int, err error) {
	req, err := http.NewRequestWithContext(ctx, q.method, url+q.path, strings.NewReader(q.body))
	if err != nil {
		return 0, 0, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if q.body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("If-Match", `"999999"`)
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	return res.StatusCode, int(n), err
}

// bare is the floor: a handler that answers so many bytes.
func bare(size int) *httptest.Server {
	text := bytes.Repeat([]byte("x"), size)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	return s
}
