package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// blob is n bytes that no two offsets have in common.
func blob(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)}).Read(p)
	return p
}

// file is a sink that keeps what it got.
type file struct {
	bytes.Buffer
	resets int
	err    error // what Write gives
}

func (f *file) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.Buffer.Write(p)
}

func (f *file) Reset() error { f.Buffer.Reset(); f.resets++; return nil }

// upstream serves one blob and counts the bytes.
type upstream struct {
	mu      sync.Mutex
	data    []byte
	etag    string
	cut     int  // a connection is cut after so many bytes, 0 never
	noRange bool // ranges are passed over
	bytes   int64
	busy    sync.WaitGroup // requests that are being answered
	asked   []*http.Request
	gate    func(at int64) // called before each 16 KiB
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.busy.Add(1)
	defer u.busy.Done()
	u.mu.Lock()
	data, etag, cut := u.data, u.etag, u.cut
	u.asked = append(u.asked, r.Clone(r.Context()))
	u.mu.Unlock()
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	if u.noRange {
		r.Header.Del("Range")
	}
	http.ServeContent(&cutter{ResponseWriter: w, u: u, left: cut}, r, "", time.Time{}, bytes.NewReader(data))
}

type cutter struct {
	http.ResponseWriter
	u    *upstream
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	done := 0
	for len(p) > 0 {
		m := min(len(p), 16<<10)
		if c.left > 0 {
			m = min(m, c.left)
		}
		if c.u.gate != nil {
			c.u.gate(c.u.served())
		}
		n, err := c.ResponseWriter.Write(p[:m])
		done += n
		c.u.mu.Lock()
		c.u.bytes += int64(n)
		c.u.mu.Unlock()
		if err != nil {
			return done, err
		}
		p = p[m:]
		if c.left > 0 {
			if c.left -= m; c.left == 0 {
				c.ResponseWriter.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		}
	}
	return done, nil
}

func (u *upstream) served() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bytes
}

// settled is what was served when all answers have come to their end: a client may have all of one before the server
// has counted it.
func (u *upstream) settled() int64 {
	u.busy.Wait()
	return u.served()
}

func (u *upstream) requests(header string) (list []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range u.asked {
		list = append(list, r.Header.Get(header))
	}
	return list
}

func (u *upstream) change(f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f()
}

// leftover puts a partial file into the cache, as a killed run leaves it.
func leftover(t *testing.T, c *Cache, s Source, data []byte, o *origin) {
	t.Helper()
	w, err := c.partial(context.Background(), s, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if o != nil {
		if err := c.writeOrigin(s.SHA256, *o); err != nil {
			t.Fatal(err)
		}
	}
	w.leave()
}

func known(url string, data []byte) Source {
	return Source{URL: url, SHA256: sum(data), Size: int64(len(data)), What: "it"}
}

func wantBytes(t *testing.T, c *Cache, data []byte, sinks ...*file) {
	t.Helper()
	r, err := c.Open(Blob{sum(data), int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("the cache has %d other bytes: %v", len(got), err)
	}
	for i, s := range sinks {
		if !bytes.Equal(s.Bytes(), data) {
			t.Fatalf("sink %d got %d bytes that are not the blob", i, s.Len())
		}
	}
}

var errTorn = errors.New("torn")

func rangeFrom(n, size int) string { return fmt.Sprintf("bytes=%d-%d", n, size-1) }

func joined(list []string) string { return strings.Join(list, " ") }
