package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// build makes an archive of images that share a layer.
func build(t testing.TB, names ...[]string) ([]Image, []byte) {
	t.Helper()
	blobs := map[string][]byte{}
	put := func(s, mediaType string) Descriptor {
		blobs[sumOf([]byte(s))] = []byte(s)
		return Descriptor{MediaType: mediaType, Digest: sumOf([]byte(s)), Size: int64(len(s))}
	}
	var images []Image
	for i, n := range names {
		config := put(fmt.Sprintf(`{"architecture":"arm64","os":"linux","n":%d}`, i),
			"application/vnd.oci.image.config.v1+json")
		layers := []Descriptor{put("shared", "application/vnd.oci.image.layer.v1.tar+gzip"),
			put(fmt.Sprint("own ", i), "application/vnd.oci.image.layer.v1.tar+gzip")}
		doc, err := json.Marshal(Document{SchemaVersion: 2, MediaType: mediaOCIManifest, Config: config,
			Layers: layers})
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, Image{Names: n, Platform: Platform{OS: "linux", Architecture: "arm64", Variant: "v8"},
			Config: config, Layers: layers, Manifest: put(string(doc), mediaOCIManifest)})
	}
	l, err := Plan(images)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := l.Write(context.Background(), &out, func(d string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(blobs[d])), nil
	}); err != nil {
		t.Fatal(err)
	}
	if int64(out.Len()) != l.Size() {
		t.Fatalf("planned %d, wrote %d", l.Size(), out.Len())
	}
	return images, out.Bytes()
}

// TestRoundTrip: what was written is read again, names by tag and by digest alike, and a subset of all is the archive
// itself.
func TestRoundTrip(t *testing.T) {
	pinned := "r.test/c@" + sumOf([]byte("index"))
	images, data := build(t, []string{"r.test/a:1"}, []string{"r.test/b:1", "r.test/b:2"},
		[]string{"r.test/c:1", pinned}, []string{"r.test/d@" + sumOf([]byte("x"))})
	got, err := Check(context.Background(), bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(images) {
		t.Fatalf("%v\nwant %v", got, images)
	}
	a, err := NewArchive(context.Background(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Subset([]string{"r.test/b:1"})
	if err != nil {
		t.Fatal(err)
	}
	var sub bytes.Buffer
	if err := l.Write(context.Background(), &sub, a.Open); err != nil {
		t.Fatal(err)
	}
	if got, err := Check(context.Background(), &sub); err != nil || len(got) != 1 || len(got[0].Names) != 2 {
		t.Fatalf("%v: %v", got, err)
	}
}

// TestWriteVerifies: a blob that is not what its digest says does not get into an archive.
func TestWriteVerifies(t *testing.T) {
	images, _ := build(t, []string{"r.test/a:1"})
	l, err := Plan(images)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Write(context.Background(), io.Discard, func(d string) (io.ReadCloser, error) {
		for _, b := range l.Blobs() {
			if b.Digest == d {
				return io.NopCloser(bytes.NewReader(make([]byte, b.Size))), nil
			}
		}
		return nil, fmt.Errorf("no %s", d)
	})
	if event.AsFault(err).Code != "bundle.blob-mismatch" {
		t.Fatal(err)
	}
}

func TestManifestRules(t *testing.T) {
	const d = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	text := func(schema int, layer, digest string) string {
		return fmt.Sprintf(
			`{"schemaVersion":%d,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q},"layers":[{"mediaType":%q,"digest":%q}]}`, schema, d, layer, digest)
	}
	const gz = "application/vnd.docker.image.rootfs.diff.tar.gzip"
	for in, want := range map[string]string{
		text(2, gz, d): "", text(1, gz, d): "bundle.image-manifest",
		text(2, gz, "sha256:../../x"): "bundle.image-manifest", "{": "bundle.image-manifest",
		text(2, "application/vnd.oci.image.layer.v1.tar+zstd", d):               "image.layer-runtime",
		text(2, "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", d): "image.foreign-layer",
	} {
		_, err := ReadManifest("x", []byte(in), Docker)
		if err == nil != (want == "") || err != nil && event.AsFault(err).Code != want {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	_, data := build(f, []string{"r.test/a:1"}, []string{"r.test/b:1"})
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Check(context.Background(), bytes.NewReader(data))
		if err != nil {
			return
		}
		if _, err := Plan(got); err != nil {
			t.Fatalf("accepted and not written: %v", err)
		}
		if _, err := NewArchive(context.Background(), bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatalf("accepted whole and refused by its head: %v", err)
		}
	})
}
