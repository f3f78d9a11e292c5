package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	ociManifest  = "application/vnd.oci.image.manifest.v1+json"
	ociConfig    = "application/vnd.oci.image.config.v1+json"
	ociLayer     = "application/vnd.oci.image.layer.v1.tar+gzip"
	dockerConfig = "application/vnd.docker.container.image.v1+json"
	dockerLayer  = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

var arm64 = image.Want{Arch: "arm64", Runtime: image.Containerd}

func code(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

// rig is a registry on loopback with a wrapper that a test may put before it.
type rig struct {
	t    testing.TB
	srv  *httptest.Server
	host string
	real http.Handler

	mu     sync.Mutex
	before func(w http.ResponseWriter, r *http.Request) bool // true: answered
	asked  []string                                          // METHOD path
}

func newRig(t testing.TB, start func(http.Handler) *httptest.Server) *rig {
	t.Helper()
	r := &rig{t: t, real: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	r.srv = start(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, req.Method+" "+req.URL.Path)
		before := r.before
		r.mu.Unlock()
		if before == nil || !before(w, req) {
			r.real.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(r.srv.Close)
	_, r.host, _ = strings.Cut(r.srv.URL, "://")
	return r
}

func plainRig(t testing.TB) *rig { return newRig(t, httptest.NewServer) }

func (r *rig) wrap(f func(w http.ResponseWriter, r *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = f
}

// count of the requests so far that contain all of the words.
func (r *rig) count(words ...string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
next:
	for _, a := range r.asked {
		for _, w := range words {
			if !strings.Contains(a, w) {
				continue next
			}
		}
		n++
	}
	return n
}

func (r *rig) do(method, path, contentType string, body []byte) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, bytes.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	r.real.ServeHTTP(w, req)
	if w.Code >= 300 {
		r.t.Helper()
		r.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w
}

func (r *rig) blob(repo, mediaType string, data []byte) image.Descriptor {
	r.t.Helper()
	d := image.Descriptor{MediaType: mediaType, Digest: sum(data), Size: int64(len(data))}
	r.do("POST", "/v2/"+repo+"/blobs/uploads/?digest="+d.Digest, "", data)
	return d
}

func (r *rig) manifest(repo, ref, mediaType string, raw []byte) image.Descriptor {
	r.t.Helper()
	d := image.Descriptor{MediaType: mediaType, Digest: sum(raw), Size: int64(len(raw))}
	if ref == "" {
		ref = d.Digest
	}
	r.do("PUT", "/v2/"+repo+"/manifests/"+ref, mediaType, raw)
	return d
}

// made is an image to make; the zero values are those of a good one for linux/arm64.
type made struct {
	arch, variant  string
	config         string // instead of the good one
	layer, declare string // media types of the layers and of the manifest
	seed           string
	docker         bool
	edit           func(map[string]any)
}

func (r *rig) image(repo, ref string, m made) image.Descriptor {
	r.t.Helper()
	if m.arch == "" {
		m.arch = "arm64"
	}
	manifest, config, layer := ociManifest, ociConfig, ociLayer
	if m.docker {
		manifest, config, layer = dockerManifest, dockerConfig, dockerLayer
	}
	if m.layer != "" {
		layer = m.layer
	}
	if m.config == "" {
		m.config = fmt.Sprintf(
			`{"architecture":%q,"os":"linux","variant":%q,"created":"2025-01-02T03:04:05Z","seed":%q,"rootfs":{"type":"layers","diff_ids":["sha256:a","sha256:b"]}}`, m.arch, m.variant, m.seed)
	}
	doc := map[string]any{"schemaVersion": 2, "mediaType": manifest, "config": r.blob(repo, config, []byte(m.config)),
		"layers": []image.Descriptor{r.blob(repo, layer, []byte("shared")),
			r.blob(repo, layer, bytes.Repeat([]byte(repo+m.arch+m.seed), 1000))}}
	if m.edit != nil {
		m.edit(doc)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		r.t.Fatal(err)
	}
	if m.declare != "" {
		manifest = m.declare
	}
	return r.manifest(repo, ref, manifest, raw)
}

func on(d image.Descriptor, os, arch, variant string) image.Descriptor {
	d.Platform = &image.Platform{OS: os, Architecture: arch, Variant: variant}
	return d
}

func (r *rig) index(repo, ref string, children ...image.Descriptor) image.Descriptor {
	r.t.Helper()
	raw, err := json.Marshal(manifestList{SchemaVersion: 2, MediaType: ociIndex, Manifests: children})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.manifest(repo, ref, ociIndex, raw)
}

// multi is an index as a build tool writes it today, with an attestation.
func (r *rig) multi(repo, tag string) (index, arm, amd image.Descriptor) {
	r.t.Helper()
	arm = on(r.image(repo, "", made{arch: "arm64", variant: "v8"}), "linux", "arm64", "v8")
	amd = on(r.image(repo, "", made{arch: "amd64"}), "linux", "amd64", "")
	att := on(r.image(repo, "", made{seed: "attestation"}), "unknown", "unknown", "")
	return r.index(repo, tag, att, amd, arm), arm, amd
}

// counting tells how many answers were not closed.
type counting struct {
	next http.RoundTripper
	open atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		c.open.Add(1)
		resp.Body = &closing{resp.Body, sync.OnceFunc(func() { c.open.Add(-1) })}
	}
	return resp, err
}

type closing struct {
	io.ReadCloser
	closed func()
}

func (c *closing) Close() error { c.closed(); return c.ReadCloser.Close() }

// newClient makes a client without credentials that does not wait long, and sees to it that it leaves no answer open.
// What is asked of registries in names is asked of the rigs.
func newClient(t testing.TB, o Options, names map[string]*rig) *Client {
	t.Helper()
	var pairs []string
	for from, r := range names {
		pairs = append(pairs, from+"="+r.host)
	}
	if o.Mirrors == nil {
		m, err := fetch.ParseMirrors(pairs)
		if err != nil {
			t.Fatal(err)
		}
		o.Mirrors = m
	}
	base := &http.Transport{}
	if o.Transport == nil {
		o.Transport = base
	}
	open := &counting{next: o.Transport}
	o.Transport = open
	if o.Keychain == nil {
		o.Keychain = authn.NewMultiKeychain()
	}
	if o.Delay == 0 {
		o.Delay = time.Millisecond
	}
	c := New(o)
	t.Cleanup(func() {
		if n := open.open.Load(); n != 0 {
			t.Errorf("%d answers were left open", n)
		}
		base.CloseIdleConnections()
	})
	return c
}

// dialing sends every connection to the rigs, by host name.
func dialing(hosts map[string]*rig, config *tls.Config) *http.Transport {
	return &http.Transport{TLSClientConfig: config,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			host, _, _ := net.SplitHostPort(addr)
			r := hosts[host]
			if r == nil {
				return nil, errors.New("no such host here: " + addr)
			}
			return (&net.Dialer{}).DialContext(ctx, network, r.host)
		}}
}

// quiet is for servers that complain of what a test does to them.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func quietServer(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quiet()
	s.Start()
	return s
}
