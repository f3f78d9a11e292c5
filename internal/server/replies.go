package server

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

const (
	// keepReplies is how long a request with an Idempotency-Key is known, mostReplies how many are, and mostReplyBytes
	// how large the answers to them are together.
	keepReplies    = 24 * time.Hour
	mostReplies    = 4096
	mostReplyBytes = 64 << 20
)

// replies are the answers to requests with an Idempotency-Key: who sends one again, because the answer did not come,
// gets the same answer, and nothing is done twice. Only what succeeded is kept, and of an answer with a secret only
// that it was given. Of what only reads nothing is kept: it can be read again.
type replies struct {
	mu    sync.Mutex
	known map[replyKey]*reply
	bytes int // of the answers in known
}

// replyKey is who sent what. What one API token was told, another one of the same user is not: it may have fewer
// rights.
type replyKey struct{ caller, token, method, path, key string }

type reply struct {
	at     time.Time
	digest [sha256.Size]byte
	done   chan struct{}
	status int // when done is closed; 0: it began nothing
	header http.Header
	body   []byte
	size   int // in bytes, of what is kept
}

// once answers a request with a key once.
func (s *replies) once(by access.Control, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		who, known := access.From(r.Context())
		if key == "" || !known || r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		if len(key) > 128 {
			problem.Write(w, r, event.NewFault(event.ClassUsage, "api.idempotency-key", nil))
			return
		}
		if reads(r.Method, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil { // of a form of the page: others were read before
			err = event.NewFault(event.ClassUsage, "api.body", err)
		} else {
			err = by.Recheck(r.Context())
		}
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		r.Body = &whole{io.NopCloser(bytes.NewReader(body)), http.NewResponseController(w)}
		mine := &reply{at: time.Now(), digest: sha256.Sum256(body), done: make(chan struct{})}
		k := replyKey{who.ID, who.Token, r.Method, r.URL.RequestURI(), key}
		have := s.enter(k, mine)
		if have != nil {
			s.again(by, w, r, have, mine)
			return
		}
		out := &recorder{ResponseWriter: w}
		defer func() { // also when a route panics
			if success(out.status) {
				mine.status = out.status
				if !secret(r.URL.Path) {
					mine.header, mine.body = w.Header().Clone(), out.body.Bytes()
				}
			}
			s.answered(k, mine)
		}()
		next.ServeHTTP(out, r)
	})
}

// answered has an answer kept, and forgets the oldest ones that there is no room for. A request that failed is
// forgotten: it can be sent again.
func (s *replies) answered(k replyKey, mine *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(mine.done)
	if mine.status == 0 {
		delete(s.known, k)
		return
	}
	if mine.size = mine.weight(); mine.size > mostReplyBytes {
		mine.header, mine.body, mine.size = nil, nil, 0
	}
	for s.bytes+mine.size > mostReplyBytes {
		oldest, at := replyKey{}, time.Time{}
		for old, r := range s.known {
			if r.size > 0 && r != mine && (at.IsZero() || r.at.Before(at)) {
				oldest, at = old, r.at
			}
		}
		s.forget(oldest)
	}
	s.bytes += mine.size
}

// weight is about what an answer takes in memory.
func (r *reply) weight() int {
	n := len(r.body)
	for name, values := range r.header {
		n += len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

// forget forgets a request that was answered.
func (s *replies) forget(k replyKey) {
	if r := s.known[k]; r != nil {
		s.bytes -= r.size
		delete(s.known, k)
	}
}

// reads says whether a request changes nothing, though its method is POST: its body has a secret or is long.
func reads(method, path string) bool {
	path, is := strings.CutPrefix(path, Prefix+"/")
	if !is || method != http.MethodPost {
		return false
	}
	if path == "check" {
		return true
	}
	parts := strings.Split(path, "/")
	return parts[0] == "clusters" && (len(parts) == 3 && slices.Contains([]string{"status", "certificates", "plan"},
		parts[2]) || len(parts) == 5 && parts[4] == "verify")
}

// enter gives the reply that there is, or enters a new one.
func (s *replies) enter(k replyKey, mine *reply) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[replyKey]*reply{}
	}
	oldest, at := replyKey{}, time.Time{}
	for old, r := range s.known {
		if !r.over() {
			continue
		}
		if time.Since(r.at) > keepReplies {
			s.forget(old)
		} else if at.IsZero() || r.at.Before(at) {
			oldest, at = old, r.at
		}
	}
	if have := s.known[k]; have != nil {
		return have
	}
	if len(s.known) >= mostReplies {
		s.forget(oldest)
	}
	s.known[k] = mine
	return nil
}

// over says whether the request was answered.
func (r *reply) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func success(status int) bool { return status >= 200 && status < 300 }

// secret says whether the answer of a route holds one.
func secret(path string) bool {
	for _, end := range []string{"/tokens", "/kubeconfig", "/login"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// again gives the answer of before, to one who is still known when it is there.
func (s *replies) again(by access.Control, w http.ResponseWriter, r *http.Request, have, now *reply) {
	if have.digest != now.digest {
		problem.Write(w, r, event.NewFault(event.ClassUsage, "api.idempotency-key", nil))
		return
	}
	select {
	case <-have.done:
	case <-r.Context().Done():
		return
	}
	if err := by.Recheck(r.Context()); err != nil {
		problem.Write(w, r, err)
		return
	}
	if have.status == 0 {
		problem.Write(w, r, event.NewFault(event.ClassLocked, "api.again", nil))
		return
	}
	if have.header == nil {
		problem.Write(w, r, event.NewFault(event.ClassLocked, "api.once", nil))
		return
	}
	for name, values := range have.header {
		w.Header()[name] = values
	}
	w.WriteHeader(have.status)
	_, _ = w.Write(have.body)
}

// recorder keeps what goes through it.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if success(r.status) {
		r.body.Write(p)
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
