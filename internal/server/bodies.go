package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// The most bytes of a body, by what the request is.
const (
	// maxBody is more than the largest request: a thousand nodes.
	maxBody = 2 << 20
	// usualBody is for operations whose body has options, secrets of the nodes, and a key at most.
	usualBody = 256 << 10
	// openBody is for a request without credentials, and for one that has no body to begin with.
	openBody = 4 << 10
)

// readIn is how long a body may take, openIn how long one without credentials, which is a few bytes.
const (
	readIn = 20 * time.Second
	openIn = 5 * time.Second
)

// largeBodies are the operations that have a body of maxBody: lists of nodes, and kubeconfigs.
func largeBodies() map[string]bool {
	return map[string]bool{"create-cluster": true, "update-cluster": true, "import-cluster": true, "check": true,
		"plan": true, "restore-backup": true}
}

// bodyLimit returns the most bytes that the body of an operation may have.
func bodyLimit(op *huma.Operation) int64 {
	switch {
	case op.RequestBody == nil, len(op.Security) == 0 && op.Security != nil:
		return openBody
	case largeBodies()[op.OperationID]:
		return maxBody
	}
	return usualBody
}

// bodies reads the bodies of requests, before anything is done with them.
type bodies struct {
	by     access.Control
	mux    *http.ServeMux
	routes map[string]bodyRoute // by pattern
	known  *budget              // of requests whose sender is known
	open   *budget              // of the others
	turns  chan struct{}        // has an element for each large body that is decoded
}

// bodyRoute says what is accepted of the body of a route.
type bodyRoute struct {
	most int64
	open bool // also without credentials
}

// newBodies reads the limits from the operations that are registered with mux, and has huma keep the same.
func newBodies(by access.Control, mux *http.ServeMux, doc *huma.OpenAPI) *bodies {
	b := &bodies{by: by, mux: mux, routes: map[string]bodyRoute{}, turns: make(chan struct{}, decodedAtOnce),
		known: newBudget(budgetOfAll, budgetOfUser), open: newBudget(openBudget, openBudgetOfNetwork)}
	for _, item := range doc.Paths {
		for method, op := range problem.Operations(item) {
			most := bodyLimit(op)
			op.MaxBodyBytes, op.BodyReadTimeout = most+1, readIn // huma refuses what it has reached
			b.routes[method+" "+op.Path] = bodyRoute{most, op.Security != nil && len(op.Security) == 0}
		}
	}
	return b
}

// read wraps the API and the page. A body is read only if its sender is known or the route is for all, only up to the
// limit of the route, and only while the bodies of all requests together leave room for it. A body that is too large,
// incomplete or too slow is refused here: huma calls that an error of the server. So is one whose sender's credential
// has ended meanwhile.
func (b *bodies) read(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		who, known := access.From(r.Context())
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			b.form(w, r, who, known, next)
			return
		}
		_, pattern := b.mux.Handler(r)
		route, is := b.routes[pattern]
		switch {
		case !known && !route.open: // what is sent is not read
			if r.ContentLength < 0 || r.ContentLength > openBody {
				w.Header().Set("Connection", "close")
			}
			if is {
				problem.Write(w, r, event.NewFault(event.ClassAuth, "access.unauthenticated", nil))
				return
			}
			r.Body, r.ContentLength = http.NoBody, 0
			next.ServeHTTP(w, r)
			return
		case !is:
			route.most = openBody
		}
		text, free, err := b.whole(w, r, route.most, who, known)
		if err != nil {
			w.Header().Set("Connection", "close") // what is left of the body is not waited for
		} else {
			defer free()
			err = b.by.Recheck(r.Context()) // that took its time
		}
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		body := io.NopCloser(bytes.NewReader(text))
		r.Body, r.ContentLength = &whole{body, http.NewResponseController(w)}, int64(len(text))
		next.ServeHTTP(w, r.WithContext(problem.Reading(r.Context(), text)))
	})
}

// form gives the page a body that it reads itself, within the same limits.
func (b *bodies) form(w http.ResponseWriter, r *http.Request, who access.Caller, known bool, next http.Handler) {
	most := int64(maxBody)
	if !known {
		most = openBody
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(openIn))
	}
	size := most
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	free, err := b.take(r, who, known, size)
	if err != nil {
		w.Header().Set("Connection", "close")
		problem.Write(w, r, err)
		return
	}
	defer free()
	r.Body = http.MaxBytesReader(w, r.Body, most)
	next.ServeHTTP(w, r)
}

// whole reads a body within its limits. Its bytes are accounted for until free is called.
func (b *bodies) whole(
	w http.ResponseWriter, r *http.Request, most int64, who access.Caller, known bool,
) (text []byte, free func(), err error) {
	tooLarge := event.NewFault(event.ClassUsage, "listen.too-large", nil, "most", bytesSaid(most))
	if r.ContentLength > most {
		return nil, nil, tooLarge
	}
	size := r.ContentLength
	if size < 0 {
		size = most
	}
	if free, err = b.take(r, who, known, size); err != nil {
		return nil, nil, err
	}
	control, within := http.NewResponseController(w), readIn
	if !known {
		within = openIn
	}
	_ = control.SetReadDeadline(time.Now().Add(within)) // a recorder of tests has none
	text, err = io.ReadAll(io.LimitReader(r.Body, most+1))
	over := new(http.MaxBytesError)
	switch {
	case int64(len(text)) > most || errors.As(err, &over):
		err = tooLarge
	case err != nil:
		err = event.NewFault(event.ClassUsage, "api.body", err)
	default:
		err = bounded(text)
	}
	if err != nil {
		free()
		return nil, nil, err
	}
	_ = control.SetReadDeadline(time.Time{})
	return text, free, nil
}

// take accounts for the body of a request.
func (b *bodies) take(r *http.Request, who access.Caller, known bool, size int64) (free func(), err error) {
	of := b.open
	if known {
		of = b.known
	}
	return of.take(senderOf(r, who, known), size)
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

// bytesSaid is a limit in words.
func bytesSaid(n int64) string {
	if n < 1<<20 {
		return strconv.FormatInt(n>>10, 10) + " KiB"
	}
	return strconv.FormatInt(n>>20, 10) + " MiB"
}
