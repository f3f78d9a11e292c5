package bundles

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/registry"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// web is an HTTPS server with a bundle and its signature, and a Fetcher that trusts it and may connect to loopback.
func web(t *testing.T, handle http.HandlerFunc) (*httptest.Server, *Fetcher, pod.Source) {
	t.Helper()
	s := httptest.NewTLSServer(handle)
	t.Cleanup(s.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for name, text := range map[string]string{keyCA: string(ca), keyUser: "eggo\n", keyPassword: "hunter2"} {
		if err := os.MkdirAll(filepath.Join(dir, "pull"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "pull", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte(content))
	src := pod.Source{URL: s.URL + "/b.tar.gz", SHA256: hex.EncodeToString(sum[:]), PullSecret: "pull",
		Path: filepath.Join(dir, "bundles", "url", "x", "bundle.tar.gz")}
	return s, &Fetcher{PullDir: dir, tries: 1, permitted: func(netip.Addr) bool { return true }}, src
}

const content = "a bundle"

func code(err error) string {
	if f := event.AsFault(err); f != nil {
		return f.Code
	}
	return ""
}

func TestFetchFromURL(t *testing.T) {
	var asked []string
	_, f, src := web(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked = append(asked, r.URL.Path+" "+user+" "+password)
		switch r.URL.Path {
		case "/b.tar.gz":
			http.Redirect(w, r, "/real", http.StatusFound)
		case "/real":
			_, _ = w.Write([]byte(content))
		case "/b.tar.gz.sig":
			_, _ = w.Write([]byte("signature"))
		}
	})
	if err := f.Fetch(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{src.Path: content, src.Path + ".sig": "signature"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", file, got, err)
		}
	}
	if strings.Join(asked, ", ") != "/b.tar.gz eggo hunter2, /real eggo hunter2, /b.tar.gz.sig eggo hunter2" {
		t.Error(asked)
	}
	if err := f.Fetch(t.Context(), src); err != nil { // again, as by a pod that was restarted
		t.Error(err)
	}
}

// What is not fetched, and that no login goes to another host.
func TestFetchRefuses(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked for %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		change func(*Fetcher, *pod.Source)
		want   string
	}{
		"another host": {handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusFound)
		}, want: "bundles.redirect"},
		"plain http": {handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+r.Host+"/x", http.StatusFound)
		}, want: "bundles.redirect"},
		"in a circle": {handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, want: "bundles.redirect"},
		"another file": {handle: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("other")) },
			want: "fetch.sum-mismatch"},
		"too large": {change: func(f *Fetcher, _ *pod.Source) { f.Limit = 3 }, want: "fetch.too-large"},
		"loopback":  {change: func(f *Fetcher, _ *pod.Source) { f.permitted = nil }, want: "bundles.address"},
		"unknown CA": {change: func(f *Fetcher, _ *pod.Source) {
			_ = os.Remove(filepath.Join(f.PullDir, "pull", keyCA))
		}, want: "fetch.certificate"},
		"not https": {change: func(_ *Fetcher, s *pod.Source) { s.URL = "http://192.0.2.1/b" }, want: "bundles.url"},
		"a user": {change: func(_ *Fetcher, s *pod.Source) { s.URL = "https://u:p@192.0.2.1/b" },
			want: "bundles.url"},
		"no key": {change: func(f *Fetcher, _ *pod.Source) {
			_ = os.WriteFile(filepath.Join(f.PullDir, "pull", keyCert), []byte("x"), 0o600)
		}, want: "bundles.certificate"},
	} {
		if c.handle == nil {
			c.handle = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) }
		}
		_, f, src := web(t, c.handle)
		if c.change != nil {
			c.change(f, &src)
		}
		err := f.Fetch(t.Context(), src)
		if code(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password is in %v", name, err)
		}
		if _, err := os.Stat(src.Path); err == nil {
			t.Errorf("%s: there is a bundle", name)
		}
	}
}

// stored is a registry with a bundle, for those who log in.
func stored(t *testing.T, signed bool) (*Fetcher, pod.Source) {
	t.Helper()
	blobs := map[string]string{}
	put := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		digest := "sha256:" + hex.EncodeToString(sum[:])
		blobs[digest] = text
		return digest
	}
	layer := func(kind, text string) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, kind, put(text), len(text))
	}
	layers := layer(registry.BundleType, content)
	if signed {
		layers += "," + layer(registry.BundleSignatureType, "signature")
	}
	kind := "application/vnd.oci.image.manifest.v1+json"
	digest := put(fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":%s,"layers":[%s]}`, kind,
		layer("application/vnd.oci.empty.v1+json", "{}"), layers))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "eggo" || password != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		text, is := blobs[path.Base(r.URL.Path)]
		switch {
		case r.URL.Path == "/v2/":
		case !is:
			w.WriteHeader(http.StatusNotFound)
		default:
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", kind)
			}
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	host, dir := strings.TrimPrefix(server.URL, "http://"), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pull"), 0o700); err != nil {
		t.Fatal(err)
	}
	login := fmt.Sprintf(`{"auths":{%q:{"username":"eggo","password":"hunter2"}}}`, host)
	if err := os.WriteFile(filepath.Join(dir, "pull", keyDocker), []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Fetcher{PullDir: dir, tries: 1, permitted: func(netip.Addr) bool { return true }},
		pod.Source{Image: host + "/bundles/b@" + digest, PullSecret: "pull",
			Path: filepath.Join(dir, "bundles", "oci", "x", "bundle.tar.gz")}
}

func TestFetchFromRegistry(t *testing.T) {
	for _, signed := range []bool{true, false} {
		f, src := stored(t, signed)
		if err := f.Fetch(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(src.Path); err != nil || string(got) != content {
			t.Errorf("%q %v", got, err)
		}
		if got, _ := os.ReadFile(src.Path + ".sig"); (string(got) == "signature") != signed {
			t.Errorf("signed %t: %q", signed, got)
		}
	}
	f, src := stored(t, true)
	f.Limit = 3
	if err := f.Fetch(t.Context(), src); code(err) != "fetch.too-large" {
		t.Error(err)
	}
	f, src = stored(t, true)
	src.PullSecret = ""
	if err := f.Fetch(t.Context(), src); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	f, src = stored(t, true)
	f.permitted = nil
	if err := f.Fetch(t.Context(), src); code(err) != "bundles.address" {
		t.Error(err)
	}
	if err := f.Fetch(t.Context(), pod.Source{Claim: "packages", Path: "/nowhere"}); err != nil {
		t.Error(err)
	}
}
