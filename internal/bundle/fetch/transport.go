package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// NewHTTPClient makes a client that follows up to ten redirects and never goes from https to plain http, but to the
// hosts of insecure (host or host:port).
func NewHTTPClient(rt http.RoundTripper, insecure ...string) *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errManyRedirects
		}
		if req.URL.Scheme == "https" || listed(insecure, req.URL) {
			return nil
		}
		if req.URL.Scheme != "http" || slices.ContainsFunc(via,
			func(r *http.Request) bool { return r.URL.Scheme == "https" }) {
			return errPlainRedirect
		}
		return nil
	}}
}

func listed(hosts []string, u *url.URL) bool {
	return slices.Contains(hosts, u.Host) || slices.Contains(hosts, u.Hostname())
}

// TransportOptions of NewTransport.
type TransportOptions struct {
	CAFiles  []string // PEM files of authorities that are trusted besides the system's
	Insecure []string // hosts (host or host:port) whose certificate is not checked
	// Getenv finds the proxies: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or the same in lower case. nil: os.Getenv.
	Getenv func(string) string
	// Connections that are kept open for each host; 0: Connections.
	Connections int
}

// NewTransport makes a transport for many large files at once. It does not decompress behind our back.
//
// It speaks HTTP/1.1 only: HTTP/2 puts all blobs of a host into one TCP connection with one congestion window, where 16
// connections have 16. Measured for 16 blobs of 16 MiB over TLS on loopback, server included, it took 1.1 times the CPU
// and 1.5 times the time. A larger ReadBufferSize saved no CPU: a read into a whole buffer passes it by.
//
// Faults: "fetch.ca" for a file of CAFiles, "fetch.proxy-setting" for a variable that is no URL; both of class usage.
func NewTransport(o TransportOptions) (http.RoundTripper, error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	proxy, err := proxies(getenv)
	if err != nil {
		return nil, err
	}
	roots, err := authorities(o.CAFiles)
	if err != nil {
		return nil, err
	}
	if o.Connections <= 0 {
		o.Connections = Connections
	}
	strict := newTransport(proxy, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, o.Connections)
	if len(o.Insecure) == 0 {
		return strict, nil
	}
	//nolint:gosec // for hosts that the user named
	lax := newTransport(proxy, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, o.Connections)
	return &byHost{strict: strict, lax: lax, insecure: slices.Clone(o.Insecure)}, nil
}

func newTransport(proxy func(*http.Request) (*url.URL, error), config *tls.Config, connections int) *http.Transport {
	t := &http.Transport{
		Proxy:                  proxy,
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           4 * connections,
		MaxIdleConnsPerHost:    connections, // 2 by default: each further blob would make a connection of its own
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode != http.StatusOK {
				return &proxyError{resp.StatusCode, resp.Status}
			}
			return nil
		},
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// byHost has two transports: one that leaves the choice to a callback of TLS could forget to check.
type byHost struct {
	strict, lax *http.Transport
	insecure    []string
}

func (b *byHost) RoundTrip(req *http.Request) (*http.Response, error) {
	if listed(b.insecure, req.URL) {
		return b.lax.RoundTrip(req)
	}
	return b.strict.RoundTrip(req)
}

func (b *byHost) CloseIdleConnections() {
	b.strict.CloseIdleConnections()
	b.lax.CloseIdleConnections()
}

func proxies(getenv func(string) string) (func(*http.Request) (*url.URL, error), error) {
	first := func(names ...string) (string, error) {
		for _, n := range names {
			v := getenv(n)
			if v == "" {
				continue
			}
			full := v
			if !strings.Contains(v, "://") { // host:port alone is allowed too
				full = "http://" + v
			}
			u, err := url.Parse(full)
			if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"},
				u.Scheme) {
				// without the value: it may have a password
				return "", event.NewFault(event.ClassUsage, "fetch.proxy-setting", nil, "variable", n)
			}
			return v, nil
		}
		return "", nil
	}
	plain, err := first("http_proxy", "HTTP_PROXY")
	if err != nil {
		return nil, err
	}
	secure, err := first("https_proxy", "HTTPS_PROXY")
	if err != nil {
		return nil, err
	}
	no := getenv("no_proxy")
	if no == "" {
		no = getenv("NO_PROXY")
	}
	choose := (&httpproxy.Config{HTTPProxy: plain, HTTPSProxy: secure, NoProxy: no}).ProxyFunc()
	return func(req *http.Request) (*url.URL, error) { return choose(req.URL) }, nil
}

// authorities is nil, the system's own, when no file is named.
func authorities(files []string) (*x509.CertPool, error) {
	if len(files) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any: the named ones count
	}
	for _, name := range files {
		data, err := readSmall(name)
		if err == nil && !pool.AppendCertsFromPEM(data) {
			err = errors.New("no certificate in it")
		}
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "fetch.ca", err, "file", name)
		}
	}
	return pool, nil
}
