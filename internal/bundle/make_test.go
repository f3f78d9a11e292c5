package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// member of a test's archive; typeflag 0 is a regular file.
type member struct {
	name, body, link string
	typeflag         byte
}

func sum(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }

// picture is a tiny image for an architecture with one layer of that text.
func picture(name, arch, layer string, blobs map[string]string) image.Image {
	put := func(s, mediaType string) image.Descriptor {
		d := "sha256:" + sum(s)
		blobs[d] = s
		return image.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(s))}
	}
	config := put(fmt.Sprintf(`{"architecture":%q,"os":"linux","created":"1970-01-01T00:00:00Z"}`, arch),
		"application/vnd.oci.image.config.v1+json")
	l := put(layer, "application/vnd.oci.image.layer.v1.tar+gzip")
	doc, _ := json.Marshal(image.Document{SchemaVersion: 2, MediaType: "application/vnd.oci.image.manifest.v1+json",
		Config: config, Layers: []image.Descriptor{l}})
	return image.Image{Names: []string{name}, Platform: image.Platform{OS: "linux", Architecture: arch}, Config: config,
		Layers:   []image.Descriptor{l},
		Manifest: put(string(doc), "application/vnd.oci.image.manifest.v1+json")}
}

func imagesTar(t testing.TB, images []image.Image, blobs map[string]string) string {
	t.Helper()
	l, err := image.Plan(images)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := l.Write(context.Background(), &b, func(d string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader([]byte(blobs[d]))), nil
	}); err != nil {
		t.Fatal(err)
	}
	if int64(b.Len()) != l.Size() {
		t.Fatalf("planned %d bytes, wrote %d", l.Size(), b.Len())
	}
	return b.String()
}

// sample is a whole small bundle as its members.
func sample(t testing.TB) (*bundle.Manifest, []member) {
	t.Helper()
	blobs := map[string]string{}
	imgs := []image.Image{picture("registry.test/a:1", "amd64", "layer a", blobs),
		picture("registry.test/b:2", "amd64", "layer b, longer", blobs)}
	tarball := imagesTar(t, imgs, blobs)
	cp, worker := []bundle.Role{bundle.ControlPlane}, []bundle.Role{bundle.Worker}
	m := &bundle.Manifest{Format: 1, Name: "test", Arch: "amd64", Kubernetes: "v1.34.2",
		Install: []bundle.Package{{Name: "socat", Roles: worker}},
		Members: []bundle.Member{
			{Path: "socat_1_amd64.deb", Kind: bundle.Deb, Name: "socat", Size: 9, SHA256: sum("a package"),
				Roles: worker},
			{Path: "images.tar", Kind: bundle.Images, Name: "images", Size: int64(len(tarball))},
			{Path: "Packages", Kind: bundle.Metadata, Name: "apt", Size: 8, SHA256: sum("metadata")},
			{Path: "addons/net.yml", Kind: bundle.Addon, Name: "net.yml", Size: 5, SHA256: sum("addon"), Roles: cp},
			{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Size: 7, SHA256: sum("program"),
				Dst: "/usr/local/bin", Mode: 0o755, Roles: worker},
		}}
	for i, im := range imgs {
		m.Images = append(m.Images, bundle.Image{Name: im.Names[0], Digest: im.Manifest.Digest, Size: im.Size(),
			Platform: "linux/amd64",
			Roles:    [][]bundle.Role{cp, worker}[i], Layers: []string{im.Layers[0].Digest}})
	}
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	return m, []member{
		{name: "manifest.json", body: string(text)}, {name: "SHA256SUMS", body: string(bundle.SumsText(text, m))},
		{name: "socat_1_amd64.deb", body: "a package"}, {name: "images.tar", body: tarball},
		{name: "Packages", body: "metadata"},
		{name: "addons/net.yml", body: "addon"}, {name: "kubelet", body: "program"},
		{name: "images.tar.sha256", body: string(bundle.ImagesSumText(sum(tarball)))},
	}
}

// archive packs members as they are, honest or not.
func archive(t testing.TB, members []member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	tw := tar.NewWriter(z)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.typeflag, Linkname: m.link, Mode: 0o644, Size: int64(len(m.body))}
		if m.typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func store(t testing.TB, data []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "test-amd64.tar.gz")
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}
