package stand

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// The image of a program takes the place of one repository, by its tag and by digests; all else is the upstream's.
func TestAnImageInsteadOfAnother(t *testing.T) {
	t.Parallel()
	im, err := imageOf("usr/local/bin/kube-apiserver", []byte("a program"))
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "upstream "+r.URL.Path)
	}))
	defer up.Close()
	addr, end, err := before(strings.TrimPrefix(up.URL, "http://"), im.instead("/v2/a.example/kube-apiserver/"))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ref, err := name.ParseReference(addr+"/a.example/kube-apiserver:v1.35.4", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	m, err := got.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	one, err := got.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := one.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%v %v", layers, err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(text), "a program") {
		t.Errorf("%q %v", text, err)
	}
	other, err := http.Get("http://" + addr + "/v2/a.example/etcd/x") //nolint:noctx // of a server of this test
	if err != nil {
		t.Fatal(err)
	}
	defer other.Body.Close()
	if text, err := io.ReadAll(other.Body); err != nil || string(text) != "upstream /v2/a.example/etcd/x" {
		t.Errorf("%q %v", text, err)
	}
}
