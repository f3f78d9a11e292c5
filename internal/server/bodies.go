package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/problem"
)

const (
	// maxBody is more than the largest request: a thousand nodes.
	maxBody = 2 << 20
	// readIn is how long a body may take.
	readIn = 20 * time.Second
)

// bodies reads the body of every request to the API before anything is done with it. One that is too large, that breaks
// off or takes too long is refused here: huma calls that an error of the server.
func bodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody || !strings.HasPrefix(r.URL.Path, "/api/") {
			next.ServeHTTP(w, r)
			return
		}
		text, err := read(w, r)
		if err != nil {
			w.Header().Set("Connection", "close") // what is left of the body is not waited for
			problem.Write(w, r, err)
			return
		}
		body := io.NopCloser(bytes.NewReader(text))
		r.Body, r.ContentLength = &whole{body, http.NewResponseController(w)}, int64(len(text))
		next.ServeHTTP(w, r.WithContext(problem.Reading(r.Context(), text)))
	})
}

// read reads a body within its limits.
func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var text []byte
	var err error
	control := http.NewResponseController(w)
	if r.ContentLength < maxBody {
		_ = control.SetReadDeadline(time.Now().Add(readIn)) // a recorder of tests has none
		text, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
	}
	tooLarge := new(http.MaxBytesError)
	switch {
	case r.ContentLength >= maxBody || len(text) == maxBody || errors.As(err, &tooLarge):
		return nil, event.NewFault(event.ClassUsage, "listen.too-large", nil, "most",
			strconv.Itoa(maxBody>>20)+" MiB")
	case err != nil:
		return nil, event.NewFault(event.ClassUsage, "api.body", err)
	}
	_ = control.SetReadDeadline(time.Time{})
	return text, nil
}

// whole is a body that was read before. A time limit for reading it does not outlive it: the connection is read on, to
// see that the client is there.
type whole struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *whole) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
