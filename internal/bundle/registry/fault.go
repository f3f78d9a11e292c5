package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// try does something that asks a registry until it works, the fault is one that another try does not fix, or there
// were enough of them. what is the image, or the file, that it is done for.
func (c *Client) try(ctx context.Context, what, registry string, do func(context.Context) error) error {
	c.mu.Lock()
	down := c.down[registry]
	c.mu.Unlock()
	if down != nil {
		return c.fault(what, registry, down)
	}
	for try := 1; ; try++ {
		var hint atomic.Int64
		err := do(context.WithValue(ctx, hintKey{}, &hint))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f := c.fault(what, registry, err)
		if !f.Retry || try >= c.o.Tries {
			if f.Code == "registry.unreachable" && f.Retry {
				c.mu.Lock()
				c.down[registry] = err
				c.mu.Unlock()
			}
			return f
		}
		c.o.Retry(f)
		pause := min(c.o.Delay<<(try-1), 15*time.Second)
		pause += time.Duration(rand.Int64N(int64(pause)/4 + 1))
		if err := fetch.Sleep(ctx, max(pause, min(time.Duration(hint.Load()), time.Minute))); err != nil {
			return err
		}
	}
}

// fault sorts what went wrong; Retry says whether another try may help.
func (c *Client) fault(what, registry string, err error) *event.Fault {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return f
	}
	code, retry := sort(err, c.plain(registry))
	f := event.NewFault(event.ClassFailed, code, errors.New(words(err)), "image", what, "registry", registry)
	f.Retry = retry
	return f
}

// sort gives the code; plain says that plain http was tried too, so that it does not matter if there was no TLS.
func sort(err error, plain bool) (code string, retry bool) {
	if te := (*transport.Error)(nil); errors.As(err, &te) {
		return status(te.StatusCode)
	}
	var (
		creds    *credentialsError
		unknown  x509.UnknownAuthorityError
		host     x509.HostnameError
		invalid  x509.CertificateInvalidError
		verify   *tls.CertificateVerificationError
		dns      *net.DNSError
		notTLS   tls.RecordHeaderError
		plainTLS = strings.Contains(err.Error(), noTLS)
	)
	switch {
	case errors.As(err, &creds):
		return "registry.credentials", false
	case errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verify):
		return "registry.certificate", false
	case errors.Is(err, errPlain) || !plain && (errors.As(err, &notTLS) || plainTLS):
		return "registry.plain-http", false
	case errors.As(err, &dns) && dns.IsNotFound:
		return "registry.unreachable", false
	}
	return "registry.unreachable", true
}

// noTLS are net/http's words.
const noTLS = "server gave HTTP response to HTTPS client"

func status(n int) (code string, retry bool) {
	switch n {
	case http.StatusNotFound:
		return "registry.not-found", false
	case http.StatusUnauthorized, http.StatusForbidden:
		return "registry.denied", false
	case http.StatusTooManyRequests:
		return "registry.rate-limited", true
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "registry.refused", true
	}
	return "registry.refused", false
}

// words are the error's own, without URLs (a signed one is a secret), without what a token server sent, and no page of
// HTML.
func words(err error) string {
	if te := (*transport.Error)(nil); errors.As(err, &te) {
		s := http.StatusText(te.StatusCode)
		for i, d := range te.Errors {
			if i == 3 {
				break
			}
			s += ": " + string(d.Code) + " " + d.Message
		}
		return short(s)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	// The handshake's two errors, of https and then of http, are one; only the second counts.
	if _, second, ok := strings.Cut(err.Error(), noTLS+"; "); ok && !errors.Is(err, errPlain) {
		return short(second)
	}
	for {
		ue := (*url.Error)(nil)
		if !errors.As(err, &ue) {
			break
		}
		err = ue.Err
	}
	s := err.Error()
	if head, _, ok := strings.Cut(s, "no token in bearer response"); ok {
		s = head + "no token in bearer response"
	}
	return short(s)
}

func short(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	for i := limit; ; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i] + "…"
		}
	}
}
