package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func isFault(err error) bool { f := (*event.Fault)(nil); return errors.As(err, &f) }

func canceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Faults takes apart what All returns: one fault for each thing that went wrong, in the order of the jobs.
func Faults(err error) []*event.Fault {
	if err == nil {
		return nil
	}
	if m, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // the outermost is meant
		var all []*event.Fault
		for _, e := range m.Unwrap() {
			all = append(all, Faults(e)...)
		}
		return all
	}
	return []*event.Fault{event.AsFault(err)}
}

func (d *download) fault(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassFailed, code, err,
		append([]string{"url", redact(d.url), "what", d.s.What}, kv...)...)
}

func (d *download) transient(code string, err error, kv ...string) *event.Fault {
	f := d.fault(code, err, kv...)
	f.Retry = true
	return f
}

// redact drops a password from a URL.
func redact(s string) string {
	u, err := url.Parse(s)
	if err == nil {
		return u.Redacted()
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if i := strings.LastIndex(rest, "@"); ok && i >= 0 {
		return scheme + "://xxxxx" + rest[i:]
	}
	return s
}

var errURL = errors.New("not an http or https URL")

// The errors of NewHTTPClient's rule for redirects.
var (
	errPlainRedirect = errors.New("redirected from https to plain http")
	errManyRedirects = errors.New("more than 10 redirects")
)

// proxyError is what a proxy answered to CONNECT.
type proxyError struct {
	code   int
	status string
}

func (e *proxyError) Error() string { return e.status }

// network sorts an error of asking or of reading: what another try cannot fix is final.
func (d *download) network(err error) *event.Fault {
	host := hostOf(d.url)
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		if h := hostOf(ue.URL); h != "" {
			host = h // that of the redirect that failed
		}
		err = ue.Err // the fault names the URL itself
	}
	var (
		proxy     *proxyError
		op        *net.OpError
		dns       *net.DNSError
		temporary interface{ Temporary() bool }
		netErr    net.Error
	)
	switch {
	case errors.Is(err, errURL):
		return d.fault("fetch.url", nil)
	case errors.Is(err, errPlainRedirect):
		return d.fault("fetch.redirect-plain", nil, "host", host)
	case errors.Is(err, errManyRedirects):
		return d.fault("fetch.redirect", err)
	case badCertificate(err):
		return d.fault("fetch.certificate", err, "host", host)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, new(tls.RecordHeaderError)),
		errors.As(err, new(tls.AlertError)):
		return d.fault("fetch.tls", err, "host", host)
	case errors.As(err, &proxy):
		f := d.fault("fetch.proxy", err)
		f.Retry = proxy.code >= 500
		return f
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return d.transient("fetch.proxy", op.Err)
	case errors.As(err, &dns):
		f := d.fault("fetch.dns", errors.New(dns.Err), "host", dns.Name)
		f.Retry = !dns.IsNotFound
		return f
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return d.transient("fetch.no-route", err, "host", host)
	case !errors.As(err, &netErr) && errors.As(err, &temporary) && !temporary.Temporary():
		return d.fault("fetch.network", err) // a registry's client says so of its token
	}
	return d.transient("fetch.network", err)
}

func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Host
}

func badCertificate(err error) bool {
	var (
		v *tls.CertificateVerificationError
		u x509.UnknownAuthorityError
		h x509.HostnameError
		i x509.CertificateInvalidError
	)
	return errors.As(err, &v) || errors.As(err, &u) || errors.As(err, &h) || errors.As(err, &i)
}
