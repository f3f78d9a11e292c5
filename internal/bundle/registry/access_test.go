package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// tokens makes a rig ask for tokens: name and password get one that is good for some requests.
type tokens struct {
	mu       sync.Mutex
	good     map[string]int // token → requests left
	uses     int
	made     int
	password string
	scopes   []string
}

func (k *tokens) guard(w http.ResponseWriter, r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.URL.Path == "/token" {
		if _, p, _ := r.BasicAuth(); p != k.password {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		k.made++
		token := fmt.Sprint("token-", k.made)
		k.good[token] = k.uses
		k.scopes = append(k.scopes, r.URL.Query()["scope"]...)
		fmt.Fprintf(w, `{"token":%q}`, token)
		return true
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if k.good[token] > 0 {
		k.good[token]--
		return false
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="test"`, r.Host))
	w.WriteHeader(http.StatusUnauthorized)
	return true
}

type keychain struct{ name, password string }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig{Username: k.name, Password: k.password}), nil
}

// TestTokens: one handshake for a repository however many images of it are asked for at once, a new token when the old
// one has expired, and a wrong password is told without the password.
func TestTokens(t *testing.T) {
	r := plainRig(t)
	var names []string
	for i := range 12 {
		r.multi("a", fmt.Sprint("v", i))
		names = append(names, fmt.Sprint("r.test/a:v", i))
	}
	k := &tokens{good: map[string]int{}, uses: 1000, password: "s3cret"}
	r.wrap(k.guard)
	c := newClient(t, Options{Keychain: keychain{"u", "s3cret"}}, map[string]*rig{"r.test": r})
	if _, err := c.ResolveAll(t.Context(), names, arm64); err != nil {
		t.Fatal(err)
	}
	if k.made != 1 || k.scopes[0] != "repository:a:pull" {
		t.Errorf("%d tokens, for %q", k.made, k.scopes)
	}
	k.uses, k.good = 2, map[string]int{}
	if _, err := newClient(t, Options{Keychain: keychain{"u", "s3cret"}, Jobs: 1},
		map[string]*rig{"r.test": r}).ResolveAll(t.Context(), names, arm64); err != nil {
		t.Fatal(err)
	}
	if k.made < 5 {
		t.Errorf("%d tokens", k.made)
	}
	_, err := newClient(t, Options{Keychain: keychain{"u", "wr0ng"}}, map[string]*rig{"r.test": r}).Resolve(t.Context(),
		names[0], arm64)
	if f := event.AsFault(err); f.Code != "registry.denied" ||
		strings.Contains(fmt.Sprintf("%+v %v", f, f.Err), "wr0ng") {
		t.Errorf("%+v", f)
	}
}

// TestATokenServerThatTalksNonsense: what it sends may be a secret, so it is not repeated.
func TestATokenServerThatTalksNonsense(t *testing.T) {
	r := plainRig(t)
	r.wrap(func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/token" {
			fmt.Fprint(w, `{"refresh_token":"s3cret"}`)
			return true
		}
		return (&tokens{}).guard(w, req)
	})
	_, err := newClient(t, Options{Tries: 1}, map[string]*rig{"r.test": r}).Resolve(t.Context(), "r.test/a:v1", arm64)
	if f := event.AsFault(err); f.Class != event.ClassFailed ||
		strings.Contains(fmt.Sprintf("%+v %v", f, f.Err), "s3cret") || !strings.Contains(f.Cause, "no token") {
		t.Errorf("%+v", f)
	}
}

// TestLayers: a layer comes through the fetcher with the repository's token, goes on where it broke, and where the
// registry redirects to gets no token.
func TestLayers(t *testing.T) {
	r := plainRig(t)
	_, arm, _ := r.multi("a", "v1")
	k := &tokens{good: map[string]int{}, uses: 3, password: "s3cret"}
	var mu sync.Mutex
	var ranges []string
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if a := req.Header.Get("Authorization"); a != "" {
			t.Errorf("%s was sent %q", req.URL, a)
		}
		mu.Lock()
		ranges = append(ranges, req.Header.Get("Range"))
		first := len(ranges) == 1
		mu.Unlock()
		if !first {
			r.real.ServeHTTP(w, req)
			return
		}
		rec := httptest.NewRecorder()
		r.real.ServeHTTP(rec, req)
		w.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()))
		w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
	}))
	defer cdn.Close()
	r.wrap(func(w http.ResponseWriter, req *http.Request) bool {
		if k.guard(w, req) {
			return true
		}
		if strings.Contains(req.URL.Path, "/blobs/") {
			http.Redirect(w, req, cdn.URL+req.URL.Path, http.StatusTemporaryRedirect)
			return true
		}
		return false
	})
	c := newClient(t, Options{Keychain: keychain{"u", "s3cret"}}, map[string]*rig{"r.test": r})
	cache, err := fetch.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fetch.Client{HTTP: fetch.NewHTTPClient(http.DefaultTransport), Cache: cache, Delay: time.Millisecond,
		Tries: 3}
	// The lock has all that is needed: nothing is resolved before.
	s, err := c.ManifestSource("r.test/a:v1", arm, "manifest")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	mirrored, err := c.Resolve(t.Context(), "r.test/a:v1", arm64)
	if err != nil {
		t.Fatal(err)
	}
	ranges = nil
	l := mirrored.Layers[1]
	if s, err = c.BlobSource("r.test/a:v1", l, "layer"); err != nil {
		t.Fatal(err)
	}
	if b, err := f.Get(t.Context(), s); err != nil || "sha256:"+b.SHA256 != l.Digest {
		t.Fatal(b, err)
	}
	if len(ranges) != 2 || ranges[0] != "" || ranges[1] != fmt.Sprintf("bytes=%d-%d", l.Size/2, l.Size-1) {
		t.Errorf("asked for %q", ranges)
	}
	// A refusal of the handshake is one of the fetch, and is not tried again.
	denied := newClient(t, Options{Keychain: keychain{"u", "no"}}, map[string]*rig{"r.test": r})
	if s, err = denied.BlobSource("r.test/a:v1", image.Descriptor{Digest: sum([]byte("x")), Size: 1},
		"layer"); err != nil {
		t.Fatal(err)
	}
	before := r.count("GET", "/token")
	if _, err := f.Get(t.Context(), s); code(err) != "fetch.refused" && code(err) != "fetch.denied" ||
		r.count("GET", "/token") != before+1 {
		t.Errorf("%v after %d handshakes", err, r.count("GET", "/token")-before)
	}
}

// TestCertificates: an authority of one's own has to be given.
func TestCertificates(t *testing.T) {
	r := newRig(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = quiet()
		s.StartTLS()
		return s
	})
	r.multi("a", "v1")
	roots := x509.NewCertPool()
	hosts := map[string]*rig{"example.com": r, "other.test": r}
	for name, x := range map[string]struct {
		image string
		known bool
		want  string
	}{
		"unknown authority": {"example.com/a:v1", false, "registry.certificate"},
		"known authority":   {"example.com/a:v1", true, ""},
		"another name":      {"other.test/a:v1", true, "registry.certificate"},
	} {
		if x.known {
			roots.AddCert(r.srv.Certificate())
		}
		config := &tls.Config{RootCAs: roots}
		if !x.known {
			config = &tls.Config{RootCAs: x509.NewCertPool()}
		}
		roots.AddCert(r.srv.Certificate())
		rt := dialing(hosts, config)
		_, err := newClient(t, Options{Transport: rt}, nil).Resolve(t.Context(), x.image, arm64)
		if code(err) != x.want {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
		rt.CloseIdleConnections()
	}
}

// TestPlainHTTP is for those registries only that it was asked for, private addresses or not; credentials never go out
// without TLS.
func TestPlainHTTP(t *testing.T) {
	r := newRig(t, quietServer)
	r.multi("a", "v1")
	for _, host := range []string{"r.test", "10.1.2.3", "192.168.1.1:5000"} {
		name, _, _ := strings.Cut(host, ":")
		rt := dialing(map[string]*rig{name: r}, nil)
		before := r.count("GET")
		_, err := newClient(t, Options{Transport: rt}, nil).Resolve(t.Context(), host+"/a:v1", arm64)
		if code(err) != "registry.plain-http" || r.count("GET") != before {
			t.Errorf("%s: %v after %d requests", host, err, r.count("GET")-before)
		}
		if _, err := newClient(t, Options{Transport: rt, Insecure: []string{host}}, nil).Resolve(t.Context(),
			host+"/a:v1", arm64); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		rt.CloseIdleConnections()
	}
}

// TestDockersConfiguration: passwords in config.json, from helper programs, and podman's auth.json.
func TestDockersConfiguration(t *testing.T) {
	r := plainRig(t)
	r.multi("a", "v1")
	k := &tokens{good: map[string]int{}, uses: 1000, password: "s3cret"}
	r.wrap(k.guard)
	auth := base64.StdEncoding.EncodeToString([]byte("u:s3cret"))
	helper := func(script string) map[string]string {
		return map[string]string{"bin/docker-credential-fake": "#!/bin/sh\n" + script}
	}
	config := fmt.Sprintf(`{"credHelpers":{%q:"fake"}}`, r.host)
	for name, x := range map[string]struct {
		config, podman string
		files          map[string]string
		want           string
	}{
		"none":       {"", "", nil, "registry.denied"},
		"a password": {fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, r.host, auth), "", nil, ""},
		"podman's":   {"", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, r.host, auth), nil, ""},
		"podman's first": {fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, r.host,
			base64.StdEncoding.EncodeToString([]byte("u:old"))),
			fmt.Sprintf(`{"auths":{"%s/a":{"auth":%q}}}`, r.host, auth), nil, ""},
		"podman's of another": {fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, r.host, auth),
			`{"auths":{"quay.io":{"auth":"` + auth + `"}}}`, nil, ""},
		"podman's is damaged": {"", "{", nil, "registry.credentials"},
		"helper": {config, "", helper(`read host; [ "$1 $host" = "get ` + r.host + `" ] || exit 1
echo '{"ServerURL":"x","Username":"u","Secret":"s3cret"}'`), ""},
		"store": {`{"credsStore":"fake"}`, "",
			helper(`echo '{"ServerURL":"x","Username":"u","Secret":"s3cret"}'`), ""},
		"no such helper":    {config, "", nil, "registry.credentials"},
		"helper that says":  {config, "", helper(`echo the keyring is locked; exit 1`), "registry.credentials"},
		"helper that leaks": {config, "", helper(`echo '{"Secret":"s3cret"}'; exit 1`), "registry.credentials"},
		"damaged":           {"{", "", nil, "registry.credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			write := func(path, text string) {
				t.Helper()
				path = filepath.Join(home, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for path, text := range x.files {
				write(path, text)
			}
			for key, value := range map[string]string{"HOME": home, "DOCKER_CONFIG": filepath.Join(home, "docker"),
				"REGISTRY_AUTH_FILE": filepath.Join(home, "podman.json"),
				"XDG_RUNTIME_DIR":    home, "XDG_CONFIG_HOME": home,
				"PATH": filepath.Join(home, "bin") + ":/bin:/usr/bin"} {
				t.Setenv(key, value)
			}
			if x.config != "" {
				write("docker/config.json", x.config)
			}
			if x.podman != "" {
				write("podman.json", x.podman)
			}
			_, err := newClient(t, Options{Keychain: Keychain(), Tries: 1},
				map[string]*rig{"r.test": r}).Resolve(t.Context(), "r.test/a:v1", arm64)
			if code(err) != x.want {
				t.Fatalf("%v, want %q", err, x.want)
			}
			if err == nil {
				return
			}
			f := event.AsFault(err)
			if strings.Contains(fmt.Sprintf("%+v %v", f, f.Err), "s3cret") {
				t.Errorf("it tells the secret: %v", f)
			}
			if name == "helper that says" && !strings.Contains(f.Cause, "the keyring is locked") {
				t.Errorf("it does not say why: %v", f)
			}
		})
	}
}

// TestTheHubsNames: docker.io goes by several names in the files of podman and docker.
func TestTheHubsNames(t *testing.T) {
	repo, err := name.NewRepository("docker.io/library/nginx")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"docker.io/library/nginx", "docker.io/library", "docker.io",
		"https://index.docker.io/v1/"} {
		file := filepath.Join(t.TempDir(), "auth.json")
		if err := os.WriteFile(file, []byte(fmt.Sprintf(`{"auths":{%q:{"auth":"dTpw"}}}`, key)), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("REGISTRY_AUTH_FILE", file)
		auth, err := named("").Resolve(repo)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := authn.Authorization(t.Context(), auth); err != nil || c.Username != "u" || c.Password != "p" {
			t.Errorf("%s: %+v, %v", key, c, err)
		}
	}
}

// TestAHelperThatHangs does not outlive the build.
func TestAHelperThatHangs(t *testing.T) {
	r := plainRig(t)
	asked, release := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := newClient(t, Options{Keychain: hanging{asked, release}}, map[string]*rig{"r.test": r}).Resolve(ctx,
		"r.test/a:v1", arm64)
	if err != context.Canceled {
		t.Error(err)
	}
	close(release)
}

type hanging struct{ asked, release chan struct{} }

func (h hanging) Resolve(authn.Resource) (authn.Authenticator, error) {
	close(h.asked)
	<-h.release
	return authn.Anonymous, io.EOF
}
