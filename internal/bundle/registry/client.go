// Package registry talks to container registries: it resolves the names that pods use to the manifest and configuration
// of one platform, tells package fetch where the layers are, and pushes images of bundles to a private registry. Names,
// tokens and credentials are those of go-containerregistry; layers are fetched by package fetch.
//
// The protocol: https://github.com/opencontainers/distribution-spec and docker's token authentication.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options of a Client.
type Options struct {
	// Transport has the proxies and the authorities that are trusted; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Mirrors map a registry's host; the mirror is asked instead of upstream, never after it. Public ones are asked
	// for digests only.
	Mirrors *fetch.Mirrors
	// Insecure are the hosts that may be asked without TLS, at one port (host:port) or at any (host). Loopback always
	// may.
	Insecure []string
	// Keychain has the credentials; nil is Keychain().
	Keychain authn.Keychain
	// Retry is told of a fault that another try follows; may be nil, is called from several goroutines.
	Retry func(*event.Fault)

	Jobs    int           // images at once; 0 means 8
	Tries   int           // of one request; 0 means 5
	Delay   time.Duration // before the second try, doubled each time up to 15 s; 0 means 500 ms
	Timeout time.Duration // of one request for a manifest; 0 means a minute
}

// Client asks registries. It keeps the manifests that it got, so that all architectures of a build see the same index,
// and one session for each repository. It is safe for several goroutines.
type Client struct {
	o  Options
	rt http.RoundTripper

	mu       sync.Mutex
	sessions map[string]*session
	docs     map[string]*call
	down     map[string]error // by registry: why it cannot be reached, found out once
}

// New makes a client.
func New(o Options) *Client {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Keychain == nil {
		o.Keychain = Keychain()
	}
	if o.Retry == nil {
		o.Retry = func(*event.Fault) {}
	}
	o.Jobs, o.Tries = cmp.Or(o.Jobs, 8), cmp.Or(o.Tries, 5)
	o.Delay, o.Timeout = cmp.Or(o.Delay, 500*time.Millisecond), cmp.Or(o.Timeout, time.Minute)
	c := &Client{o: o, sessions: map[string]*session{}, docs: map[string]*call{}, down: map[string]error{}}
	c.rt = &guard{next: o.Transport, plain: c.plain}
	return c
}

// plain says whether a host may be asked without TLS.
func (c *Client) plain(host string) bool {
	h := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		h = n
	}
	return fetch.Loopback(strings.Trim(h, "[]")) || slices.Contains(c.o.Insecure, host) ||
		slices.Contains(c.o.Insecure, h)
}

// repository is where to ask for a path of a registry.
func (c *Client) repository(host, path string) (name.Repository, error) {
	var opts []name.Option
	if c.plain(host) {
		opts = append(opts, name.Insecure)
	}
	reg, err := name.NewRegistry(host, opts...)
	if err != nil {
		return name.Repository{}, err
	}
	return reg.Repo(path), nil
}

// locate maps an image's name to the repository to ask for what has a digest (vouched), or for what a tag means.
func (c *Client) locate(ref image.Ref, vouched bool) (name.Repository, error) {
	host, prefix := c.o.Mirrors.Registry(ref.Host, vouched)
	return c.repository(host, prefix+ref.Path)
}

// url of something in a repository. The scheme is what was asked for; the session falls back to http where that is
// allowed.
func (c *Client) url(repo name.Repository, kind, id string) string {
	scheme := "https"
	if c.plain(repo.RegistryStr()) {
		scheme = "http"
	}
	u := url.URL{Scheme: scheme, Host: repo.RegistryStr(),
		Path: fmt.Sprintf("/v2/%s/%s/%s", repo.RepositoryStr(), kind, id)}
	return u.String()
}

// session is the authenticated way to a repository: the handshake is done once, when it is first used, and tokens are
// renewed when the registry no longer takes them.
type session struct {
	c      *Client
	repo   name.Repository
	scopes []string
	client *http.Client

	sem chan struct{} // guards rt
	rt  http.RoundTripper
}

func (c *Client) session(repo name.Repository, scopes ...string) *session {
	key := repo.String() + " " + strings.Join(scopes, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[key]
	if s == nil {
		s = &session{c: c, repo: repo, scopes: scopes, sem: make(chan struct{}, 1)}
		s.client = fetch.NewHTTPClient(s)
		c.sessions[key] = s
	}
	return s
}

// RoundTrip sends a request, to the registry with its token and to where that redirects without one.
func (s *session) RoundTrip(req *http.Request) (*http.Response, error) {
	rt, err := s.transport(req.Context())
	if err != nil {
		return nil, err
	}
	// A copy, for the token is written into it: it must not be in the request that a redirect is made from.
	return rt.RoundTrip(req.Clone(req.Context()))
}

func (s *session) transport(ctx context.Context) (http.RoundTripper, error) {
	select {
	case s.sem <- struct{}{}:
		defer func() { <-s.sem }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.rt != nil {
		return s.rt, nil
	}
	auth, err := s.c.credentials(ctx, s.repo)
	if err != nil {
		return nil, err
	}
	rt, err := transport.NewWithContext(ctx, s.repo.Registry, auth, s.c.rt, s.scopes)
	if err != nil {
		return nil, err
	}
	s.rt = rt
	return rt, nil
}

// credentials asks the keychain, which may run a helper program: waiting for it ends with the context.
func (c *Client) credentials(ctx context.Context, repo name.Repository) (authn.Authenticator, error) {
	type answer struct {
		auth authn.Authenticator
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		auth, err := authn.Resolve(ctx, c.o.Keychain, repo)
		got <- answer{auth, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return nil, &credentialsError{helperWords(a.err)}
		}
		return a.auth, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// credentialsError is one of the keychain: no retry fixes it.
type credentialsError struct{ words string }

func (e *credentialsError) Error() string { return e.words }

// helperWords drops what a helper printed if that looks like credentials.
func helperWords(err error) string {
	s := err.Error()
	if head, out, ok := strings.Cut(s, "out: "); ok && strings.ContainsAny(out, "{}") {
		return strings.TrimRight(head, ", ")
	}
	return s
}

// guard keeps requests off plain http where that was not asked for, and notes how long a registry wants us to wait.
// go-containerregistry itself would go without TLS to all private addresses.
type guard struct {
	next  http.RoundTripper
	plain func(host string) bool
}

var errPlain = errors.New("plain http is not allowed to this host")

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	// What a registry that may be asked in plain http redirects to has a digest.
	redirected := req.Response != nil && req.Response.Request != nil && req.Response.Request.URL.Scheme == "http"
	if req.URL.Scheme != "https" && !g.plain(req.URL.Host) && (!redirected || req.Header.Get("Authorization") != "") {
		return nil, fmt.Errorf("%s: %w", req.URL.Host, errPlain)
	}
	resp, err := g.next.RoundTrip(req)
	if err == nil {
		if h, ok := req.Context().Value(hintKey{}).(*atomic.Int64); ok && resp.StatusCode >= 400 {
			h.Store(int64(retryAfter(resp.Header.Get("Retry-After"))))
		}
	}
	return resp, err
}

type hintKey struct{}

func retryAfter(h string) time.Duration {
	if d, err := time.ParseDuration(h + "s"); err == nil && d > 0 {
		return d
	}
	if t, err := http.ParseTime(h); err == nil {
		return time.Until(t)
	}
	return 0
}
