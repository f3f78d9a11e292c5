package build_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// carrier is a public mirror of an upstream: its files below /m, its images below m/. It can lie about what it carries.
type carrier struct {
	*httptest.Server
	lie func(path string) []byte // nil: what upstream has

	mu    sync.Mutex
	asked []string
}

func newCarrier(t *testing.T, u *buildtest.Upstream) *carrier {
	t.Helper()
	to, err := url.Parse(u.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &carrier{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = strings.Replace(strings.TrimPrefix(r.In.URL.Path, "/m/"), "/v2/m/", "/v2/", 1)
		r.Out.URL.Path = "/" + strings.TrimPrefix(r.Out.URL.Path, "/")
	}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked = append(c.asked, r.URL.Path)
		c.mu.Unlock()
		if c.lie != nil {
			if data := c.lie(r.URL.Path); data != nil {
				_, _ = w.Write(data)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

// through is a job whose upstream has that public mirror.
func through(t *testing.T, u *buildtest.Upstream, c *carrier) build.Options {
	t.Helper()
	o := job(t, u, u.Host+"/registry.test/app:1", "amd64")
	respec(t, &o, func(s string) string { return strings.ReplaceAll(s, "https://dl.test", u.URL+"/dl") })
	var err error
	_, host, _ := strings.Cut(c.URL, "://")
	pairs := []string{u.URL + "=" + c.URL + "/m", u.Host + "=" + host + "/m"}
	if o.Mirrors, err = (&fetch.Mirrors{}).WithPublic(pairs); err != nil {
		t.Fatal(err)
	}
	return o
}

// A public mirror carries the bytes; checksum files, tags and what nothing vouches for come from the source.
func TestAPublicMirrorOnlyCarries(t *testing.T) {
	u := buildtest.New(t)
	c := newCarrier(t, u)
	mustBuild(t, through(t, u, c))
	seen := strings.Join(c.asked, "\n")
	for _, want := range []string{"/dl/v1.34.2/amd64/kubelet", "/debian/dists/bookworm/InRelease", ".deb",
		"/blobs/sha256:", "/manifests/sha256:"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the mirror was not asked for %s:\n%s", want, seen)
		}
	}
	for _, never := range []string{".sha256", "SHA256SUMS", "net.yml", "/manifests/1"} {
		if strings.Contains(seen, never) {
			t.Errorf("the mirror was asked for %s:\n%s", never, seen)
		}
	}
}

// What a public mirror changes, with a checksum file that fits, does not get into a bundle: the bundle is the source's.
func TestAPublicMirrorThatLiesIsPassedOver(t *testing.T) {
	u := buildtest.New(t)
	honest := mustBuild(t, through(t, u, newCarrier(t, u)))
	c := newCarrier(t, u)
	evil := buildtest.ELF("amd64", "evil")
	sum := sha256.Sum256(evil)
	c.lie = func(path string) []byte {
		switch {
		case strings.HasSuffix(path, "/amd64/kubelet"), strings.HasSuffix(path, ".deb"):
			return evil
		case strings.HasSuffix(path, "kubelet.sha256"):
			return []byte(hex.EncodeToString(sum[:]))
		}
		return nil
	}
	got := mustBuild(t, through(t, u, c))
	if !slices.ContainsFunc(c.asked, func(p string) bool { return strings.HasSuffix(p, "/amd64/kubelet") }) {
		t.Error("the mirror was not asked")
	}
	want := manifest(t, honest.Bundles[0].Path).Members
	for i, m := range manifest(t, got.Bundles[0].Path).Members {
		if m.SHA256 != want[i].SHA256 && m.Path != "sbom.spdx.json" {
			t.Errorf("%s is not the source's", m.Path)
		}
	}
}

// asked is a transport that notes down whom it was to ask, and has one local server answer for all.
type asked struct {
	local *url.URL
	urls  []string
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.urls = append(a.urls, r.URL.String())
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = a.local.Scheme, a.local.Host
	return http.DefaultTransport.RoundTrip(r)
}

// Each address of the built-in specs, and what is fetched for it with the preset cn: with a sum, and without.
func TestWhereThePresetFetches(t *testing.T) {
	text, err := assets.MirrorPreset("cn")
	if err != nil {
		t.Fatal(err)
	}
	m, err := (&fetch.Mirrors{}).WithPublic(fetch.PairLines(text))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("x"))
	}))
	defer srv.Close()
	local, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	const tuna, dao = "https://mirrors.tuna.tsinghua.edu.cn/", "https://files.m.daocloud.io/"
	const kubelet, etcd = "dl.k8s.io/release/v1.34.2/kubelet", "github.com/etcd-io/etcd/releases/download/v3/e.tar.gz"
	for address, want := range map[string]string{
		"http://deb.debian.org/debian/pool/a.deb":                tuna + "debian/pool/a.deb",
		"http://deb.debian.org/debian-security/pool/a.deb":       tuna + "debian-security/pool/a.deb",
		"http://archive.ubuntu.com/ubuntu/pool/a.deb":            tuna + "ubuntu/pool/a.deb",
		"http://ports.ubuntu.com/ubuntu-ports/pool/a.deb":        tuna + "ubuntu-ports/pool/a.deb",
		"https://repo.openeuler.org/openEuler-24.03-LTS/a.rpm":   tuna + "openeuler/openEuler-24.03-LTS/a.rpm",
		"https://mirror.stream.centos.org/9-stream/BaseOS/a.rpm": tuna + "centos-stream/9-stream/BaseOS/a.rpm",
		"https://download.docker.com/linux/centos/9/a.rpm":       tuna + "docker-ce/linux/centos/9/a.rpm",
		"https://dl.rockylinux.org/pub/rocky/9/BaseOS/a.rpm":     "https://mirrors.ustc.edu.cn/rocky/9/BaseOS/a.rpm",
		"https://" + kubelet:                                     dao + kubelet,
		"https://" + etcd:                                        dao + etcd,
		"https://example.com/x":                                  "https://example.com/x",
	} {
		rt := &asked{local: local}
		cache, err := fetch.OpenCache(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c := &fetch.Client{HTTP: &http.Client{Transport: rt}, Cache: cache, Mirrors: m}
		sum := sha256.Sum256([]byte("x"))
		for _, s := range []fetch.Source{{URL: address, SHA256: hex.EncodeToString(sum[:]), Size: 1},
			{URL: address, Size: -1, Limit: 9}} {
			if _, err := c.Get(t.Context(), s); err != nil {
				t.Error(address, err)
			}
		}
		if !slices.Equal(rt.urls, []string{want, address}) {
			t.Errorf("%s: fetched from %q, want %s with a sum, and the source without", address, rt.urls, want)
		}
	}
	for _, host := range []string{"docker.io", "ghcr.io", "quay.io", "registry.k8s.io"} {
		if h, prefix := m.Registry(host, true); h+"/"+prefix != "m.daocloud.io/"+host+"/" {
			t.Error(host, h, prefix)
		}
		if h, prefix := m.Registry(host, false); h+prefix != host {
			t.Errorf("a public mirror says what a tag of %s means: %s %s", host, h, prefix)
		}
	}
}
