package stand

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// deadServer is a program that only says why it is there.
const deadServer = `package main

import "os"

func main() {
	os.Stderr.WriteString("this API server does not start\n")
	os.Exit(1)
}
`

// BadPods packs a bundle as PackKubeadm does, in which the API server of the image does not start.
func (s *Stand) BadPods(ctx context.Context, kubernetes string) (string, error) {
	dir, err := os.MkdirTemp(s.Dir, "dead")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "kube-apiserver")
	if err := os.WriteFile(source, []byte(deadServer), 0o600); err != nil {
		return "", err
	}
	build := s.Command(ctx, "go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return "", err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	image, err := imageOf("usr/local/bin/kube-apiserver", data)
	if err != nil {
		return "", err
	}
	return s.packVersion(ctx, kubernetes, packed{suffix: "-bad-pods",
		edit:  func(text string) (string, error) { return withKubeadm(text, kubernetes) },
		image: image.instead("/v2/registry.k8s.io/kube-apiserver/")})
}

// served is an image as a registry has it.
type served struct {
	blobs    map[string][]byte // by their digests
	manifest string
}

// imageOf is an image of this machine's architecture whose only file is a program.
func imageOf(file string, program []byte) (*served, error) {
	im := &served{blobs: map[string][]byte{}}
	var plain, packed bytes.Buffer
	t := tar.NewWriter(&plain)
	for dir := range strings.SplitSeq("usr,usr/local,usr/local/bin", ",") {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o755, Size: int64(len(program))})
	if err != nil {
		return nil, err
	}
	if _, err := t.Write(program); err != nil {
		return nil, err
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain.Bytes()); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	config, err := im.document(v1.ConfigFile{Architecture: runtime.GOARCH, OS: "linux",
		Config: v1.Config{Entrypoint: []string{"/" + file}, Env: []string{"PATH=/usr/local/bin"}},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{hashOf(plain.Bytes())}}}, types.DockerConfigJSON)
	if err != nil {
		return nil, err
	}
	one, err := im.document(v1.Manifest{SchemaVersion: 2, MediaType: types.DockerManifestSchema2, Config: config,
		Layers: []v1.Descriptor{im.blob(packed.Bytes(), types.DockerLayer)}}, types.DockerManifestSchema2)
	if err != nil {
		return nil, err
	}
	one.Platform = &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	all, err := im.document(v1.IndexManifest{SchemaVersion: 2, MediaType: types.DockerManifestList,
		Manifests: []v1.Descriptor{one}}, types.DockerManifestList)
	im.manifest = all.Digest.String()
	return im, err
}

func hashOf(data []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(data))}
}

func (im *served) blob(data []byte, t types.MediaType) v1.Descriptor {
	d := v1.Descriptor{MediaType: t, Size: int64(len(data)), Digest: hashOf(data)}
	im.blobs[d.Digest.String()] = data
	return d
}

func (im *served) document(v any, t types.MediaType) (v1.Descriptor, error) {
	data, err := json.Marshal(v)
	return im.blob(data, t), err
}

// instead answers with the image where others ask an upstream for the repository at a path.
func (im *served) instead(path string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rest, ok := strings.CutPrefix(r.URL.Path, path)
			if !ok {
				next.ServeHTTP(w, r)
				return
			}
			kind, ref, _ := strings.Cut(rest, "/")
			if kind == "manifests" && !strings.HasPrefix(ref, "sha256:") {
				ref = im.manifest
			}
			data, ok := im.blobs[ref]
			if !ok {
				http.NotFound(w, r)
				return
			}
			var is struct{ MediaType string }
			if kind == "manifests" && json.Unmarshal(data, &is) == nil {
				w.Header().Set("Content-Type", is.MediaType)
			}
			w.Header().Set("Docker-Content-Digest", ref)
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			if r.Method != http.MethodHead {
				_, _ = w.Write(data)
			}
		})
	}
}

// before is an upstream with something before it; the function ends it.
func before(upstream string, with func(http.Handler) http.Handler) (addr string, end func(), err error) {
	to, err := url.Parse("http://" + upstream)
	if err != nil {
		return "", nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	srv := httptest.NewServer(with(proxy))
	return srv.Listener.Addr().String(), srv.Close, nil
}
