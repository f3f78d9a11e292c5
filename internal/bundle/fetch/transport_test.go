package fetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func noEnv(string) string { return "" }

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

// certificate signs itself, for names, until end. It is written to a PEM file too.
func certificate(t *testing.T, end time.Time, names ...string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: end,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func secure(t *testing.T, cert tls.Certificate, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestCertificates(t *testing.T) {
	year := time.Now().Add(365 * 24 * time.Hour)
	good, goodCA := certificate(t, year, "127.0.0.1")
	expired, expiredCA := certificate(t, time.Now().Add(-time.Hour), "127.0.0.1")
	foreign, foreignCA := certificate(t, year, "other.test")
	for _, tt := range []struct {
		name     string
		cert     tls.Certificate
		ca       string
		insecure bool
		want     string
	}{
		{"of an unknown authority", good, "", false, "fetch.certificate"},
		{"of one that was named", good, goodCA, false, ""},
		{"expired", expired, expiredCA, false, "fetch.certificate"},
		{"of another host", foreign, foreignCA, false, "fetch.certificate"},
		{"whatever it is", expired, "", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			srv := secure(t, tt.cert, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				whole(w, r)
			}))
			o := TransportOptions{Getenv: noEnv}
			if tt.ca != "" {
				o.CAFiles = []string{tt.ca}
			}
			if tt.insecure {
				o.Insecure = []string{strings.TrimPrefix(srv.URL, "https://")}
			}
			rt, err := NewTransport(o)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, whole)
			r.HTTP = NewHTTPClient(rt)
			defer r.HTTP.CloseIdleConnections()
			r.pause = func(context.Context, time.Duration) error { t.Error("it was tried again"); return nil }
			_, err = r.Get(context.Background(), known(srv.URL, body))
			if code(err) != tt.want {
				t.Fatal(err)
			}
			if f := event.AsFault(err); f != nil && "https://"+f.Args["host"] != srv.URL {
				t.Errorf("host %q", f.Args["host"])
			}
		})
	}
}

func TestFilesOfAuthorities(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(bad, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{bad, bad + "y", t.TempDir()} {
		if _, err := NewTransport(TransportOptions{CAFiles: []string{name}, Getenv: noEnv}); code(err) != "fetch.ca" {
			t.Error(name, err)
		}
	}
}

func TestNoWayFromTLSToPlain(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(whole))
	defer plain.Close()
	tls := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer tls.Close()
	r := newRig(t, whole)
	r.HTTP = NewHTTPClient(tls.Client().Transport)
	_, err := r.Get(context.Background(), known(tls.URL, body))
	if f := event.AsFault(err); code(err) != "fetch.redirect-plain" || "http://"+f.Args["host"] != plain.URL {
		t.Fatal(err)
	}
	r.HTTP = NewHTTPClient(tls.Client().Transport, strings.TrimPrefix(plain.URL, "http://"))
	if _, err := r.Get(context.Background(), known(tls.URL, body)); err != nil {
		t.Fatal(err)
	}
}

// What kind of "no" it is decides what a person can do about it, and whether another try can help.
func TestKindsOfNo(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(whole))
	defer plain.Close()
	proxy := httptest.NewServer(status(407))
	defer proxy.Close()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := dead.Addr().String()
	dead.Close()
	fails := func(err error) http.RoundTripper {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}}
	}
	through := func(addr string) http.RoundTripper {
		rt, err := NewTransport(TransportOptions{Getenv: env(map[string]string{"HTTPS_PROXY": "http://me:secret@" +
			addr})})
		if err != nil {
			t.Fatal(err)
		}
		return rt
	}
	direct, err := NewTransport(TransportOptions{Getenv: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, url string
		rt        http.RoundTripper
		want      string
		tries     int
	}{
		{"no such name", "https://a.test/x", fails(&net.DNSError{Err: "no such host", Name: "a.test",
			IsNotFound: true}), "fetch.dns", 1},
		{"no answer about the name", "https://a.test/x",
			fails(&net.DNSError{Err: "server misbehaving", Name: "a.test", IsTemporary: true}), "fetch.dns", 3},
		{"no route", "https://a.test/x", fails(os.NewSyscallError("connect", syscall.ENETUNREACH)), "fetch.no-route",
			3},
		{"nobody listens", "http://" + nobody + "/x", direct, "fetch.network", 3},
		{"no proxy there", "https://a.test/x", through(nobody), "fetch.proxy", 3},
		{"the proxy wants a password", "https://a.test/x", through(strings.TrimPrefix(proxy.URL, "http://")),
			"fetch.proxy", 1},
		{"plain http behind https", strings.Replace(plain.URL, "http:", "https:", 1), direct, "fetch.tls", 1},
		{"another protocol", "ftp://a.test/x", direct, "fetch.url", 1},
		{"no URL", "http://[::1", direct, "fetch.url", 1},
		{"no host", "http:///x", direct, "fetch.url", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, whole)
			r.HTTP = NewHTTPClient(tt.rt)
			tries := 1
			r.pause = func(context.Context, time.Duration) error { tries++; return nil }
			_, err := r.Get(context.Background(), known(tt.url, body))
			if code(err) != tt.want || tries != tt.tries || strings.Contains(fmt.Sprintf("%+v", err), "secret") {
				t.Fatal(err, tries)
			}
		})
	}
}

func TestProxies(t *testing.T) {
	choose := func(m map[string]string, u string) (string, error) {
		f, err := proxies(env(m))
		if err != nil {
			return "", err
		}
		to, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f(&http.Request{URL: to})
		if p == nil {
			return "", err
		}
		return p.String(), err
	}
	m := map[string]string{"HTTPS_PROXY": "http://p.test:3128", "http_proxy": "q.test:80",
		"NO_PROXY": "in.test,10.0.0.0/8"}
	for u, want := range map[string]string{
		"https://a.test/": "http://p.test:3128", "http://a.test/": "http://q.test:80", "https://x.in.test/": "",
		"https://10.1.2.3/": "", "https://127.0.0.1/": "",
	} {
		if got, err := choose(m, u); got != want || err != nil {
			t.Errorf("%s through %q, want %q: %v", u, got, want, err)
		}
	}
	for _, bad := range []string{"ftp://p.test", "http://", "::secret::", "http://u:secret%zz@p"} {
		_, err := choose(map[string]string{"https_proxy": bad}, "https://a.test")
		if code(err) != "fetch.proxy-setting" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Credentials reach the host that they are for, and no other: not by a redirect, not in the clear, not in a fault.
func TestNetrcStaysAtItsHost(t *testing.T) {
	n, err := parseNetrc("machine localhost login me password geheim\ndefault login any password geheim\nmachine " +
		"a.test login me password geheim")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	note := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			user, _, _ := r.BasicAuth()
			seen = append(seen, user)
			h(w, r)
		}
	}
	other := httptest.NewServer(note(status(403)))
	defer other.Close()
	first := httptest.NewServer(note(http.RedirectHandler(other.URL, http.StatusFound).ServeHTTP))
	defer first.Close()
	r := newRig(t, whole)
	r.HTTP = NewHTTPClient(n.Transport(http.DefaultTransport))
	_, err = r.Get(context.Background(), known(strings.Replace(first.URL, "127.0.0.1", "localhost", 1), body))
	if code(err) != "fetch.denied" || joined(seen) != "me " {
		t.Fatal(err, seen)
	}
	if s := fmt.Sprintf("%v %+v %#v", err, event.AsFault(err).Args, n); strings.Contains(s, "geheim") {
		t.Error(s)
	}
	// a.test is neither loopback nor asked over https.
	bare := false
	rt := n.Transport(roundTrip(func(req *http.Request) (*http.Response, error) {
		bare = req.Header.Get("Authorization") == ""
		return nil, errors.New("enough")
	}))
	for u, want := range map[string]bool{"http://a.test/": true, "https://a.test/": false, "https://b.test/": true,
		"https://x:y@a.test/": true} {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, u, nil)
		if _, err := rt.RoundTrip(req); err == nil || bare != want || req.Header.Get("Authorization") != "" {
			t.Errorf("%s: bare %v", u, bare)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNetrcFiles(t *testing.T) {
	for _, tt := range []struct{ text, want, err string }{
		{"", "", ""},
		{"machine a login b password c", "a=b:c", ""},
		{"machine A\n\tlogin b\r\n\tpassword c\nmachine a login later password later", "a=b:c", ""},
		{"# machine x\nmachine a account z login \"b \\\"\\n\" password c#d", "a=b \"\n:c#d", ""},
		{"macdef init\nmachine x login y\n\nmachine a login b password c", "a=b:c", ""},
		{"default login b password c", "", ""},
		{"machine a login", "", "line 1: nothing follows"},
		{"machine a\nlogin \"b\npassword c", "", "line 2: a quote is not closed"},
		{"machine a\npasswrd geheim", "", "line 2: an unknown word"},
	} {
		n, err := parseNetrc(tt.text)
		if tt.err != "" {
			if err == nil || (err.Error() != tt.err && !strings.HasPrefix(err.Error(), "line 2")) {
				t.Errorf("%q: %v", tt.text, err)
			}
			continue
		}
		got := ""
		for h, l := range n.by {
			got += h + "=" + l.user + ":" + l.password
		}
		if err != nil || got != tt.want {
			t.Errorf("%q: %q, %v", tt.text, got, err)
		}
	}
	dir := t.TempDir()
	if n, err := LoadNetrc(env(map[string]string{"HOME": dir})); err != nil || len(n.by) > 0 {
		t.Error(err)
	}
	if _, err := LoadNetrc(env(map[string]string{"NETRC": dir + "/none"})); code(err) != "fetch.netrc" {
		t.Error(err)
	}
	if err := os.WriteFile(dir+"/.netrc", []byte("machine a login b password c"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := LoadNetrc(env(map[string]string{"HOME": dir})); err != nil || n.by["a"].password != "c" {
		t.Error(err)
	}
}
