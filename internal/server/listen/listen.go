// Package listen serves HTTP as a server of this program does: TLS unless told otherwise, bounded requests, time limits
// for slow clients, and the headers that browsers need to protect a page. It imports internal/run/event and
// internal/server/problem.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Limits of a request. Streams (server-sent events, WebSockets) have none for the time of the response: they set
// their own with http.ResponseController.
type Limits struct {
	Header time.Duration // until all headers are there
	Body   time.Duration // until the body is there
	Answer time.Duration // until the client has taken the response
	Idle   time.Duration // between two requests
	// Stalled is how long a connection of HTTP/2 may take nothing, and may say nothing before it is asked.
	Stalled time.Duration
	Bytes   int64 // of a body
	// Connections at the same time: in all, and from one address that is not of this host (0: no limit).
	Connections, OfAddress int
}

// Usual are the limits of a server.
func Usual() Limits {
	return Limits{Header: 10 * time.Second, Body: 30 * time.Second, Answer: 2 * time.Minute, Idle: 75 * time.Second,
		Stalled: 30 * time.Second, Bytes: 4 << 20, Connections: 2048, OfAddress: 256}
}

// Server serves a handler within the limits. Its requests end with ctx.
func Server(ctx context.Context, h http.Handler, l Limits, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           watched(headers(bounded(h, l)), log),
		ReadHeaderTimeout: l.Header,
		IdleTimeout:       l.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // clients that end or speak no TLS
		BaseContext:       func(net.Listener) context.Context { return ctx },
		// Deadlines of an answer end its stream. A connection of HTTP/2 from which nothing is read, or whose client is
		// no more there, ends with these: else its streams would wait for the connection for ever.
		// What a client sends before a handler reads it is held in memory, so that is little.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: l.Stalled, SendPingTimeout: l.Stalled, PingTimeout: l.Stalled,
			MaxConcurrentStreams: 100, MaxReadFrameSize: 32 << 10,
			MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 128 << 10},
	}
}

// Listen opens the address, for TLS if there are certificates, and for as many connections as the limits say.
func Listen(ctx context.Context, address string, certs *Certificates, by Limits) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "listen.address", err, "address", address)
	}
	l = limit(l, by)
	if certs == nil {
		return l, nil
	}
	return tls.NewListener(l, certs.Config()), nil
}

// Loopback says whether only this machine reaches an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// policy lets a page load what this server has, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// strictFor is for how long a browser refuses this host without TLS, in seconds: 30 days, since each
// response renews it.
const strictFor = "2592000"

// strict reports whether a browser is to keep to TLS for a host. It then does so for all ports: not for localhost,
// where each user has other servers, and addresses have no such rule.
func strict(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return net.ParseIP(strings.Trim(host, "[]")) == nil && host != "localhost" && !strings.HasSuffix(host, ".localhost")
}

func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		if r.TLS != nil && strict(r.Host) {
			h.Set("Strict-Transport-Security", "max-age="+strictFor)
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		if strings.HasPrefix(r.URL.Path, "/api/") {
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	})
}

// watched has the log told of what went wrong here: answers of 500 and more, and panics. A client is told nothing of
// those.
func watched(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w}
		defer func() {
			what := recover()
			switch {
			case what == http.ErrAbortHandler:
				panic(what)
			case what != nil:
				log.Error("panic", "method", r.Method, "path", r.URL.Path, "value", what, "stack",
					string(debug.Stack()))
				if a.status != 0 { // the rest does not come
					panic(http.ErrAbortHandler)
				}
				problem.Write(a, r, event.NewFault(event.ClassFailed, "internal", nil))
			case a.status >= http.StatusInternalServerError:
				log.Error("failed", "method", r.Method, "path", r.URL.Path, "status", a.status)
			}
		}()
		next.ServeHTTP(a, r)
	})
}

// bounded sets the limits of a request.
func bounded(next http.Handler, l Limits) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if !stream(r) {
			w = &answer{ResponseWriter: w, begins: func() { // a recorder in tests has no deadline
				_ = control.SetWriteDeadline(time.Now().Add(l.Answer))
			}}
		}
		if r.ContentLength > l.Bytes {
			w.Header().Set("Connection", "close")
			problem.Write(w, r, event.NewFault(event.ClassUsage, "listen.too-large", nil, "most", megabytes(l.Bytes)))
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(time.Now().Add(l.Body))
			r.Body = &body{ReadCloser: http.MaxBytesReader(w, r.Body, l.Bytes), control: control}
		}
		next.ServeHTTP(w, r)
	})
}

// answer has the time for taking a response begin with it: what it takes to find the answer is not the client's.
type answer struct {
	http.ResponseWriter
	begins func() // nil: it has begun
	status int    // when it has
}

func (a *answer) begin() {
	if a.begins != nil {
		a.begins()
		a.begins = nil
	}
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.begin()
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func megabytes(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }

// stream says whether a response lasts as long as the client wants.
func stream(r *http.Request) bool {
	return r.Method == http.MethodGet &&
		(strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.Header.Get("Upgrade") != "" ||
			strings.Contains(r.Header.Get("Accept"), "application/jsonl"))
}

// body ends the time limit when all of it is there: the connection is read on, to see that the client is there.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
