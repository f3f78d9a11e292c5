package bundles

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/registry"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	mostBundle    = 64 << 30 // bytes
	mostSignature = 64 << 10
	mostRedirects = 10
)

// Keys of a pull Secret, which are files of its directory.
const (
	keyUser     = "username"
	keyPassword = "password"
	keyCert     = "tls.crt"
	keyKey      = "tls.key"
	keyCA       = "ca.crt"
	keyDocker   = ".dockerconfigjson"
)

// Fetcher fetches bundles into the pod of a run or an inspection. It connects to no address that is loopback or
// link-local, whatever a name leads to.
type Fetcher struct {
	PullDir string // has a directory for each pull Secret: pod.PullDir
	Limit   int64  // bytes of a bundle; 0: 64 GiB
	// Progress may be nil. It is called as that of fetch.Client.
	Progress func(fetch.Progress)

	permitted func(netip.Addr) bool // nil: all but config.SpecialAddresses
	tries     int                   // 0: those of fetch.Client
}

// Fetch puts a bundle, and its signature if there is one, where the pod expects it. A bundle in a claim is there
// already. What is fetched has the checksum that its source names. The faults are those of fetch.Client, of
// registry.Client, "bundles.url" and "bundles.redirect".
func (f *Fetcher) Fetch(ctx context.Context, s pod.Source) error {
	if s.Claim != "" {
		return nil
	}
	rt, err := f.transport(s)
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return event.NewFault(event.ClassFailed, "bundles.scratch", err)
	}
	cache, err := fetch.OpenCache(filepath.Join(filepath.Dir(dir), "cache"))
	if err != nil {
		return err
	}
	c := &fetch.Client{Cache: cache, Progress: f.Progress, Tries: f.tries}
	if s.URL != "" {
		return own(f.fromURL(ctx, c, rt, s))
	}
	return own(f.fromRegistry(ctx, c, rt, s))
}

// own returns the fault of this package that caused an error of the network; the error itself if there is none.
func own(err error) error {
	for cause := err; cause != nil; {
		f := (*event.Fault)(nil)
		if !errors.As(cause, &f) {
			break
		}
		if strings.HasPrefix(f.Code, "bundles.") {
			return f
		}
		cause = f.Err
	}
	return err
}

func (f *Fetcher) limit() int64 { return cmp.Or(f.Limit, mostBundle) }

func (f *Fetcher) fromURL(ctx context.Context, c *fetch.Client, rt http.RoundTripper, s pod.Source) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return event.NewFault(event.ClassUsage, "bundles.url", nil, "url", s.URL)
	}
	c.HTTP = &http.Client{Transport: &withLogin{next: rt, dir: f.secret(s)}, CheckRedirect: sameHost}
	err = get(ctx, c, fetch.Source{URL: s.URL, SHA256: s.SHA256, Size: -1, Limit: f.limit(), What: s.URL}, s.Path)
	if err != nil {
		return err
	}
	u.Path += ".sig"
	err = get(ctx, c, fetch.Source{URL: u.String(), Size: -1, Limit: mostSignature, What: u.String(), Signed: true},
		bundle.SignatureOf(s.Path))
	if is(err, "fetch.not-found") {
		return nil // it has none: what that means depends on the signers
	}
	return err
}

func (f *Fetcher) fromRegistry(ctx context.Context, c *fetch.Client, rt http.RoundTripper, s pod.Source) error {
	client := registry.New(registry.Options{Transport: rt, Tries: f.tries,
		Keychain: registry.KeychainFile(filepath.Join(f.secret(s), keyDocker))})
	layer := func(kind, to string, limit int64) error {
		d, err := client.Artifact(ctx, s.Image, kind)
		if err != nil {
			return err
		}
		if d.Size > limit {
			return event.NewFault(event.ClassBundle, "fetch.too-large", nil, "what", s.Image, "url", s.Image, "limit",
				fmt.Sprint(limit))
		}
		src, err := client.BlobSource(s.Image, image.Descriptor{Digest: d.Digest, Size: d.Size}, s.Image)
		if err != nil {
			return err
		}
		return get(ctx, c, src, to)
	}
	if err := layer(registry.BundleType, s.Path, f.limit()); err != nil {
		return err
	}
	err := layer(registry.BundleSignatureType, bundle.SignatureOf(s.Path), mostSignature)
	if is(err, "registry.artifact") {
		return nil
	}
	return err
}

// get fetches a source into the cache, and makes it a file.
func get(ctx context.Context, c *fetch.Client, s fetch.Source, to string) error {
	b, err := c.Get(ctx, s)
	if err != nil {
		return err
	}
	file, err := c.Cache.File(b)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return event.NewFault(event.ClassFailed, "bundles.scratch", err)
	}
	if err := os.Link(file.Name(), to); err != nil {
		return event.NewFault(event.ClassFailed, "bundles.scratch", err)
	}
	return nil
}

func is(err error, code string) bool {
	f := (*event.Fault)(nil)
	return errors.As(err, &f) && f.Code == code
}

// secret returns the directory of the pull Secret of a bundle, which may be missing.
func (f *Fetcher) secret(s pod.Source) string {
	if s.PullSecret == "" {
		return filepath.Join(f.PullDir, "none") // a Secret cannot be mounted at it without a source that names it
	}
	return filepath.Join(f.PullDir, filepath.Base(s.PullSecret))
}

// transport returns connections with the certificates of a pull Secret. It uses no proxy: a proxy would look up names
// itself.
func (f *Fetcher) transport(s pod.Source) (http.RoundTripper, error) {
	dir := f.secret(s)
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	pem, err := os.ReadFile(filepath.Join(dir, keyCA))
	switch {
	case err == nil:
		if conf.RootCAs, err = x509.SystemCertPool(); err != nil {
			conf.RootCAs = x509.NewCertPool()
		}
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, event.NewFault(event.ClassUsage, "bundles.certificate", nil, "secret", s.PullSecret, "key",
				keyCA)
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, event.NewFault(event.ClassFailed, "bundles.scratch", err)
	}
	if _, err := os.Stat(filepath.Join(dir, keyCert)); err == nil {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, keyCert), filepath.Join(dir, keyKey))
		if err != nil { // its text may name the file, and not what is in it
			return nil, event.NewFault(event.ClassUsage, "bundles.certificate", nil, "secret", s.PullSecret, "key",
				keyCert)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	d := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second, Control: f.control}
	return &http.Transport{DialContext: d.DialContext, TLSClientConfig: conf, TLSHandshakeTimeout: 15 * time.Second,
		MaxResponseHeaderBytes: 256 << 10, DisableCompression: true}, nil
}

// control refuses a connection by the address that a name has led to.
func (f *Fetcher) control(_, addr string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	permitted := f.permitted
	if permitted == nil {
		permitted = func(a netip.Addr) bool { return !config.SpecialAddresses().Has(a) }
	}
	if !permitted(at.Addr().Unmap()) {
		return event.NewFault(event.ClassUsage, "bundles.address", nil, "addr", at.Addr().String())
	}
	return nil
}

// sameHost refuses redirects to another host, or to plain http.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) > mostRedirects || req.URL.Scheme != "https" || !strings.EqualFold(req.URL.Host, via[0].URL.Host) {
		return event.NewFault(event.ClassUsage, "bundles.redirect", nil, "url", via[0].URL.Redacted(), "host",
			req.URL.Host)
	}
	return nil
}

// withLogin adds the name and the password of a pull Secret to requests. They only go to one host.
type withLogin struct {
	next http.RoundTripper
	dir  string
}

// RoundTrip implements http.RoundTripper.
func (l *withLogin) RoundTrip(req *http.Request) (*http.Response, error) {
	user, err := os.ReadFile(filepath.Join(l.dir, keyUser))
	password, perr := os.ReadFile(filepath.Join(l.dir, keyPassword))
	if err == nil && perr == nil {
		req = req.Clone(req.Context())
		req.SetBasicAuth(strings.TrimRight(string(user), "\r\n"), strings.TrimRight(string(password), "\r\n"))
	}
	return l.next.RoundTrip(req)
}
