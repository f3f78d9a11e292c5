package upstream

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var released = time.Date(2025, 11, 11, 19, 0, 37, 0, time.UTC)

func hi(arch string) platformImage {
	return platformImage{
		arch: arch, created: released,
		layers: []imageLayer{{"COPY hi /opt/bin/hi", []member{
			{name: "opt/bin/hi", mode: 0o755, data: []byte("hi " + arch),
				xattrs: map[string]string{"security.capability": netBindService}},
			{name: "bin/sh", link: "busybox"},
		}}},
		config: v1.Config{Entrypoint: []string{"/opt/bin/hi"}},
	}
}

func push(t *testing.T, dir, image string, types mediaTypes) made {
	t.Helper()
	s := newStore(dir)
	if err := s.index(image, []platformImage{hi("amd64"), hi("arm64")}, types); err != nil {
		t.Fatal(err)
	}
	return s.made()
}

func serveDir(t *testing.T, dir string) string {
	t.Helper()
	s := httptest.NewServer(handler(dir, http.NotFoundHandler()))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestAClientOfRegistriesFindsBothArchitectures(t *testing.T) {
	dir := t.TempDir()
	push(t, dir, "registry.k8s.io/pause:3.10.1", dockerTypes)
	push(t, dir, "ghcr.io/flannel-io/flannel:v0.28.4", ociTypes)
	addr := serveDir(t, dir)
	for image, types := range map[string]mediaTypes{"registry.k8s.io/pause:3.10.1": dockerTypes,
		"ghcr.io/flannel-io/flannel:v0.28.4": ociTypes} {
		ref, err := name.ParseReference(addr+"/"+image, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		idx, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(idx); err != nil {
			t.Errorf("%s: %v", image, err)
		}
		if mt, err := idx.MediaType(); err != nil || mt != types.index {
			t.Errorf("%s: %s %v", image, mt, err)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			img, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			if err != nil {
				t.Fatal(err)
			}
			checkHi(t, img, arch)
		}
	}
	repo, err := name.NewRepository(addr+"/registry.k8s.io/pause", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if tags, err := remote.List(repo); err != nil || !cmp.Equal(tags, []string{"3.10.1"}) {
		t.Error(tags, err)
	}
}

func checkHi(t *testing.T, img v1.Image, arch string) {
	t.Helper()
	cfg, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Architecture != arch || cfg.OS != "linux" || !cfg.Created.Equal(released) || len(cfg.History) != 2 ||
		!cfg.History[0].Created.Equal(released) {
		t.Errorf("config: %+v", cfg)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var names []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Name == "opt/bin/hi" {
			b, _ := io.ReadAll(tr)
			if string(b) != "hi "+arch || h.Mode != 0o755 ||
				h.PAXRecords["SCHILY.xattr.security.capability"] != netBindService {
				t.Errorf("%q %+v", b, h)
			}
		}
	}
	if d := cmp.Diff([]string{"bin/", "bin/sh", "opt/", "opt/bin/", "opt/bin/hi"}, names); d != "" {
		t.Error(d)
	}
}

func TestTheSameImageHasTheSameBytes(t *testing.T) {
	a, b := push(t, t.TempDir(), "ghcr.io/x/y:1", ociTypes), push(t, t.TempDir(), "ghcr.io/x/y:1", ociTypes)
	if d := cmp.Diff(a.files, b.files); d != "" || len(a.files) != 8 { // two layers, configs and manifests, index, tag
		t.Error(len(a.files), d)
	}
}

func TestAnImageThatLacksABlobIsNotThere(t *testing.T) {
	dir := t.TempDir()
	const image = "ghcr.io/x/y:1"
	m := push(t, dir, image, ociTypes)
	if imageSize(dir, image) <= 0 {
		t.Error("a whole image is said to be missing")
	}
	for _, f := range m.files {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
		if s := imageSize(dir, image); s != -1 {
			t.Errorf("without %s: %d", f, s)
		}
		if err := os.WriteFile(filepath.Join(dir, f), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBlobsOfAnImageThatWasBuiltAnewAreRemoved(t *testing.T) {
	dir := t.TempDir()
	if err := prune(dir); err != nil {
		t.Errorf("nothing to prune: %v", err)
	}
	const image = "ghcr.io/x/y:1"
	old := push(t, dir, image, dockerTypes) // the same layers, other manifests and index
	now := push(t, dir, image, ociTypes)
	kept := push(t, dir, "ghcr.io/x/y:2", ociTypes)
	if err := prune(dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(now.files, kept.files...) {
		if !exists(filepath.Join(dir, f)) {
			t.Errorf("%s is gone", f)
		}
	}
	gone := 0
	for _, f := range old.files {
		if !exists(filepath.Join(dir, f)) {
			gone++
		}
	}
	if gone != 3 {
		t.Errorf("%d blobs were removed, not the two manifests and the index", gone)
	}
}

func TestRoutes(t *testing.T) {
	dir := t.TempDir()
	push(t, dir, "registry.k8s.io/pause:3.10.1", dockerTypes)
	for p, body := range map[string]string{"files/dl.k8s.io/release/v1/kubelet": "0123456789", "stamps/secret": "no",
		"registry/blobs/x": "no"} {
		if err := writeFile(filepath.Join(dir, p), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	addr := serveDir(t, dir)
	for _, c := range []struct {
		method, path, ranges string
		status               int
		body                 string
	}{
		{"GET", "/dl.k8s.io/release/v1/kubelet", "", 200, "0123456789"},
		{"HEAD", "/dl.k8s.io/release/v1/kubelet", "", 200, ""},
		{"GET", "/dl.k8s.io/release/v1/kubelet", "bytes=7-", 206, "789"},
		{"GET", "/dl.k8s.io/release/v1/kubeadm", "", 404, ""},
		{"GET", "/dl.k8s.io/release/", "", 404, ""},
		{"GET", "/dl.k8s.io/%2e%2e/%2e%2e/stamps/secret", "", 404, ""},
		{"PUT", "/dl.k8s.io/release/v1/kubelet", "", 405, ""},
		{"GET", "/v2/", "", 200, "{}"},
		{"GET", "/v2/registry.k8s.io/pause/manifests/9", "", 404, `"MANIFEST_UNKNOWN"`},
		{"GET", "/v2/registry.k8s.io/pause/manifests/..", "", 404, ""},
		{"GET", "/v2/registry.k8s.io/pause/blobs/x", "", 404, `"BLOB_UNKNOWN"`},
		{"GET", "/v2/registry.k8s.io/pause/blobs/sha256:" + strings.Repeat("0", 64), "", 404, `"BLOB_UNKNOWN"`},
		{"GET", "/v2/registry.k8s.io/none/tags/list", "", 404, `"NAME_UNKNOWN"`},
		{"POST", "/v2/registry.k8s.io/pause/blobs/uploads/", "", 405, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+addr+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.ranges != "" {
			req.Header.Set("Range", c.ranges)
		}
		// Not following: a cleaned path is answered with a redirect, which must not lead anywhere either.
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.status || c.body != "" && !strings.Contains(string(b), c.body) {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, res.StatusCode, b, c.status, c.body)
		}
	}
}

func TestTheServerEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	if err := writeFile(filepath.Join(dir, "files/github.com/x"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Serve(ctx, dir, "127.0.0.1:0", &Spec{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mirrors")
	if err := WriteMirrors(file, s.Addr); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var to string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if from, at, _ := strings.Cut(l, "="); from == "https://github.com" {
			to = at
		}
	}
	res, err := http.Get(to + "/x")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
	cancel()
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}
