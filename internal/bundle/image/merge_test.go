package image

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
)

// TestOneManifestOfManyNames: the same image under several names is one image of the archive, whatever stood between
// them, and images that share nothing but a neighbour's place stay apart.
func TestOneManifestOfManyNames(t *testing.T) {
	images, data := build(t, []string{"r.test/a:1"}, []string{"r.test/b:1"})
	open, err := NewArchive(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	as := func(im Image, names ...string) Image {
		im.Names = names
		return im
	}
	a, b := images[0], images[1]
	pin := func(s string) string { return s + "@" + a.Manifest.Digest }
	for name, x := range map[string]struct {
		in   []Image
		want [][]string
	}{
		"together": {[]Image{as(a, "r.test/a:1", pin("r.test/a")), as(a, "q.test/a:1", pin("q.test/a"))},
			[][]string{{"r.test/a:1", pin("r.test/a"), "q.test/a:1", pin("q.test/a")}}},
		"apart": {[]Image{as(a, "r.test/a:1"), b, as(a, "r.test/a:2")},
			[][]string{{"r.test/a:1", "r.test/a:2"}, {"r.test/b:1"}}},
		"shared alias": {[]Image{as(a, "r.test/a:1", pin("r.test/a")), as(a, "r.test/a:2", pin("r.test/a"))},
			[][]string{{"r.test/a:1", pin("r.test/a"), "r.test/a:2"}}},
		"digests only": {[]Image{as(a, pin("r.test/a")), b}, [][]string{{pin("r.test/a")}, {"r.test/b:1"}}},
	} {
		l, err := Plan(x.in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var out bytes.Buffer
		if err := l.Write(t.Context(), &out, open.Open); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Check(t.Context(), bytes.NewReader(out.Bytes()))
		if err != nil || !slices.EqualFunc(got, x.want,
			func(im Image, want []string) bool { return slices.Equal(im.Names, want) }) {
			t.Errorf("%s: %v, %v; want %q", name, got, err, x.want)
		}
		again, err := Plan(got)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(l) {
			t.Errorf("%s: not the same bytes again: %v", name, err)
		}
	}
	if _, err := Plan([]Image{a, as(b, "r.test/a:1")}); code(err) != "image.name-twice" {
		t.Error(err)
	}
}

// TestZstdIsRead: what containerd alone loads may be in an archive; whether it should was asked when it was made.
func TestZstdIsRead(t *testing.T) {
	layer := []byte("a layer")
	doc := []byte(
		fmt.Sprintf(
			`{"schemaVersion":2,"config":{"mediaType":%q,"digest":%q,"size":2},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+zstd","digest":%q,"size":%d}]}`,
			mediaOCIConfig, sumOf([]byte("{}")), sumOf(layer), len(layer)))
	blobs := map[string][]byte{sumOf(layer): layer, sumOf(doc): doc, sumOf([]byte("{}")): []byte("{}")}
	m, err := ReadManifest("x", doc, Containerd)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Plan([]Image{{Names: []string{"r.test/a:1"}, Platform: Platform{OS: "linux", Architecture: "arm64"},
		Config: m.Config, Layers: m.Layers,
		Manifest: Descriptor{MediaType: mediaOCIManifest, Digest: sumOf(doc), Size: int64(len(doc))}}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := l.Write(t.Context(), &out, func(d string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(blobs[d])), nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), &out); err != nil {
		t.Error(err)
	}
}
