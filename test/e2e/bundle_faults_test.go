package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// trick is what a server does to one request; n counts the requests of that path from 1. It says false to leave the
// answer to the upstream.
type trick func(w http.ResponseWriter, r *http.Request, n int) bool

// crooked stands before an upstream and plays tricks on the requests whose path contains a word.
type crooked struct {
	upstream *buildtest.Upstream
	mu       sync.Mutex
	asked    map[string][]string // path → Range headers
}

func (c *crooked) handler(word string, do trick) http.Handler {
	to, err := url.Parse(c.upstream.URL)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorLog: log.New(io.Discard, "", 0)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		c.mu.Lock()
		c.asked[r.URL.Path] = append(c.asked[r.URL.Path], r.Header.Get("Range"))
		n := len(c.asked[r.URL.Path])
		c.mu.Unlock()
		meant := strings.HasSuffix(r.URL.Path, word) || word == anyBlob && strings.Contains(r.URL.Path, anyBlob)
		if do == nil || r.Method != http.MethodGet || !meant || !do(w, r, n) {
			proxy.ServeHTTP(w, r)
		}
	})
}

// ranges are the Range headers with which a path was asked for.
func (c *crooked) ranges(path string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[path]
}

// crookedCase is one server, and what the program does about it.
type crookedCase struct {
	name   string
	arch   string // amd64 unless given
	image  string // registry.test/app:1 unless given
	path   string // end of the path that the trick is played on
	trick  trick
	change func(u *buildtest.Upstream)
	cert   *time.Time // the server speaks TLS, and its certificate ends then
	noCA   bool       // the program is not told of its authority
	slow   bool       // waits for a minute: only with make e2e-full
	code   int
	words  []string
	check  func(t *testing.T, c *crooked)
}

const (
	anyBlob     = "/blobs/" // stands for every blob of a registry
	kubeletPath = "/dl/v1.34.2/amd64/kubelet"
	half        = 160_000 // bytes of it, about
)

// cutAt hands out a part of a file, under the length of the whole, and breaks the connection.
func cutAt(u *buildtest.Upstream, path string, n int) trick {
	return func(w http.ResponseWriter, r *http.Request, count int) bool {
		if count > 1 {
			return false
		}
		data := u.Get(path)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func crookedCases(u *buildtest.Upstream) []crookedCase {
	return append(crookedTransfers(u), crookedContents(u)...)
}

// crookedTransfers are servers that do not hand out what they have as they should.
func crookedTransfers(u *buildtest.Upstream) []crookedCase {
	resumed := func(t *testing.T, c *crooked) {
		if r := c.ranges(kubeletPath); len(r) != 2 || r[0] != "" ||
			!strings.HasPrefix(r[1], fmt.Sprintf("bytes=%d-", half)) {
			t.Errorf("it was asked for in the ranges %q", r)
		}
	}
	return []crookedCase{
		{name: "honest", code: 0},
		{name: "fails twice", path: "/kubelet", code: 0,
			trick: func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n < 3 {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				return n < 3
			}, words: []string{"503"}},
		{name: "fails for ever", path: "/kubelet", code: 1,
			trick: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.WriteHeader(http.StatusInternalServerError)
				return true
			}, words: []string{"fetch.refused", "/kubelet", "500"}},
		{name: "does not have two things", code: 1, change: func(u *buildtest.Upstream) {
			u.Set(kubeletPath, nil)
			u.Set("/dl/net.yml", nil)
		}, words: []string{"fetch.not-found", "/kubelet", "net.yml"}},
		{name: "stalls", slow: true, path: "/kubelet", code: 0,
			trick: func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n > 1 {
					return false
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(u.Get(kubeletPath))))
				_, _ = w.Write(u.Get(kubeletPath)[:half])
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return true
			}, check: resumed},
		{name: "cuts", path: "/kubelet", code: 0, trick: cutAt(u, kubeletPath, half), check: resumed},
		{name: "ignores Range", path: "/kubelet", code: 0,
			trick: func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n == 1 {
					return cutAt(u, kubeletPath, half)(w, r, n)
				}
				_, _ = w.Write(u.Get(kubeletPath))
				return true
			}},
		{name: "promises too much", path: "/kubelet", code: 0,
			trick: func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n > 1 {
					return false
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(u.Get(kubeletPath))+1000))
				_, _ = w.Write(u.Get(kubeletPath))
				panic(http.ErrAbortHandler)
			}},
		{name: "promises too little", path: "/kubelet", code: 1,
			trick: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.Header().Set("Content-Length", fmt.Sprint(half))
				_, _ = w.Write(u.Get(kubeletPath)[:half])
				return true
			}, words: []string{"fetch.sum-mismatch", "/kubelet"}},
	}
}

// crookedContents are servers that hand out something else, or are not who they should be.
func crookedContents(u *buildtest.Upstream) []crookedCase {
	yesterday, tomorrow := time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour)
	return []crookedCase{
		{name: "another package than promised", path: "/libc6_2.36-1+deb12u1_amd64.deb", code: 1,
			trick: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				_, _ = w.Write(make([]byte, 100_000))
				return true
			}, words: []string{"libc6", "[fetch."}},
		{name: "changes between two tries", path: "/kubelet", code: 1,
			trick: func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n == 1 {
					return cutAt(u, kubeletPath, half)(w, r, n)
				}
				http.ServeContent(w, r, "", time.Time{},
					strings.NewReader(strings.ReplaceAll(string(u.Get(kubeletPath)), "kubelet", "malware")))
				return true
			}, words: []string{"fetch.sum-mismatch", "/kubelet"}},
		{name: "a changed file", code: 1, change: func(u *buildtest.Upstream) {
			u.Set(kubeletPath, buildtest.ELF("amd64", "another"))
		}, words: []string{"fetch.sum-mismatch", "/kubelet"}},
		{name: "a program of another architecture", code: 1, change: func(u *buildtest.Upstream) {
			other := u.Get("/dl/v1.34.2/arm64/kubelet")
			u.Set(kubeletPath, other)
			u.Set(kubeletPath+".sha256", fmt.Appendf(nil, "%x", sha256.Sum256(other)))
		}, words: []string{"build.elf-arch", "kubelet", "amd64"}},
		{name: "an image of another architecture", arch: "arm64", image: "registry.test/lies:1", code: 1,
			words: []string{"bundle.image-arch", "registry.test/lies:1", "arm64"}},
		{name: "a changed blob of an image", path: anyBlob, code: 1,
			trick: func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.Header.Get("Range") == "" {
					_, _ = io.WriteString(w, "{}")
				}
				return r.Header.Get("Range") == ""
			}, words: []string{"registry.test/app:1", "sha256:"}},
		{name: "no such image", image: "registry.test/none:1", code: 1,
			words: []string{"registry.not-found", "registry.test/none:1"}},
		{name: "an expired certificate", cert: &yesterday, code: 1,
			words: []string{"fetch.certificate", "certificate has expired", "127.0.0.1"}},
		{name: "an unknown authority", cert: &tomorrow, noCA: true, code: 1,
			words: []string{"fetch.certificate", "unknown authority", "--ca", "127.0.0.1"}},
		{name: "a private authority", cert: &tomorrow, code: 0},
	}
}

// TestFaultyUpstream: servers that fail, stall, cut, lie and change things are overcome or named by eggo-bundle, with
// its exit code, and no bundle appears where one could not be made.
func TestFaultyUpstream(t *testing.T) {
	s := newStand(t)
	must(t, "build", s.Build(t.Context()))
	w := &workshop{Stand: s}
	for i := range crookedCases(buildtest.New(t)) {
		u := buildtest.New(t)
		c := crookedCases(u)[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.slow {
				full(t)
			}
			c.run(t, w, u)
		})
	}
}

func (c crookedCase) run(t *testing.T, w *workshop, u *buildtest.Upstream) {
	arch, image := "amd64", "registry.test/app:1"
	if c.arch != "" {
		arch = c.arch
	}
	if c.image != "" {
		image = c.image
	}
	if c.change != nil {
		c.change(u)
	}
	front := &crooked{upstream: u, asked: map[string][]string{}}
	srv := httptest.NewUnstartedServer(front.handler(c.path, c.trick))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	dir := t.TempDir()
	var args []string
	if c.cert == nil {
		srv.Start()
	} else {
		authority := filepath.Join(dir, "ca.pem")
		srv.TLS = serverUntil(t, *c.cert, authority)
		srv.StartTLS()
		if !c.noCA {
			args = append(args, "--ca", authority)
		}
	}
	t.Cleanup(srv.Close)
	spec := filepath.Join(dir, "spec.yaml")
	must(t, "spec", os.WriteFile(spec, []byte(strings.ReplaceAll(u.Spec(image), u.URL, srv.URL)), 0o600))
	must(t, "keys", os.WriteFile(filepath.Join(dir, "keys.gpg"), u.Keyring, 0o600))
	out := filepath.Join(dir, "out")
	host := srv.Listener.Addr().String()
	args = append([]string{"build", "-f", spec, "--arch", arch, "-o", out, "--cache", filepath.Join(dir, "cache"),
		"--mirror", "https://dl.test=" + srv.URL + "/dl",
		"--mirror", "registry.test=" + host + "/registry.test"}, args...)
	got, err := w.Packs(t.Context(), nil, args...)
	must(t, "eggo-bundle", err)
	t.Logf("exit code %d after %s: %s", got.Code, got.Took, tail(got.Out, 3))
	if got.Code != c.code {
		t.Fatalf("exit code %d, want %d\n%s", got.Code, c.code, got.Out)
	}
	if err := got.Has(c.words...); err != nil {
		t.Errorf("%v\n%s", err, got.Out)
	}
	if c.check != nil {
		c.check(t, front)
	}
	bundles, err := filepath.Glob(filepath.Join(out, "*"+arch+"*"))
	must(t, "bundles", err)
	if c.code == 0 && len(bundles) == 0 || c.code != 0 && len(bundles) > 0 {
		t.Errorf("exit code %d, and there are %v", got.Code, bundles)
	}
	if c.code == 0 {
		w.runs(t, 0, "verify", filepath.Join(out, "test-"+arch+".tar.gz"))
	}
}

// serverUntil is a certificate for 127.0.0.1, valid until a time, of an authority of its own, which is written to a
// file.
func serverUntil(t *testing.T, until time.Time, file string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, "key", err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter:  time.Now().Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	must(t, "authority", err)
	must(t, "authority", os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"},
		NotBefore: ca.NotBefore, NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err = x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, key)
	must(t, "certificate", err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
