package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

var amd64 = Want{Arch: "amd64", Runtime: Containerd}

func open(t testing.TB, path string) *Source {
	t.Helper()
	s, err := OpenSource(t.Context(), path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// repack writes an images.tar with what was resolved, as a bundle gets it, and reads it again.
func repack(t testing.TB, s *Source, got ...*Resolved) []Image {
	t.Helper()
	var images []Image
	documents := map[string][]byte{}
	for _, r := range got {
		images = append(images, r.Image())
		documents[r.Manifest.Digest], documents[r.Config.Digest] = r.ManifestRaw, r.ConfigRaw
	}
	l, err := Plan(images)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = l.Write(t.Context(), &out, func(d string) (io.ReadCloser, error) {
		if raw, ok := documents[d]; ok {
			return io.NopCloser(bytes.NewReader(raw)), nil
		}
		return s.Local(d)(0)
	})
	if err != nil {
		t.Fatal(err)
	}
	back, err := Check(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestPeers: what other tools write is an image source, in all its forms.
func TestPeers(t *testing.T) {
	base := layerOf(t, "base")
	a, b := newPeer(t, "amd64", base, layerOf(t, "a")), newPeer(t, "amd64", base, base, layerOf(t, "b"))
	blobs, manifest := a.oci(t)
	armBlobs, arm := newPeer(t, "arm64", layerOf(t, "arm")).oci(t)
	amdChild, armChild := manifest, arm
	amdChild.Platform, armChild.Platform = &Platform{OS: "linux", Architecture: "amd64"},
		&Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}
	idx, err := json.Marshal(index{SchemaVersion: 2, MediaType: mediaOCIIndex,
		Manifests: []Descriptor{armChild, amdChild}})
	if err != nil {
		t.Fatal(err)
	}
	multi := map[string][]byte{sumOf(idx): idx}
	half := map[string][]byte{sumOf(idx): idx}
	for d, raw := range blobs {
		multi[d], half[d] = raw, raw
	}
	for d, raw := range armBlobs {
		multi[d] = raw
	}
	top := Descriptor{MediaType: mediaOCIIndex, Digest: sumOf(idx), Size: int64(len(idx))}
	dir := t.TempDir()
	put := func(name string, files []file) string { return write(t, dir, name, tarOf(t, files...)) }
	saved := dockerSave(t, []string{"a:1", "quay.io/x/b:2"}, a, b)
	otherBlobs, other := b.oci(t)
	maps.Copy(otherBlobs, blobs)
	twice := put("twice.tar", layoutOf(t, otherBlobs, named(manifest, AnnotationName, "r.test/a:1"),
		named(other, AnnotationName, "r.test/a:1")))
	partial := maps.Clone(blobs) // as skopeo copy with a directory of shared blobs leaves it
	delete(partial, sumOf([]byte(gzipped(t, a.layers[1]))))
	_, ours := build(t, []string{"r.test/a:1"})
	tree := func(name string, files []file) string {
		for _, f := range files {
			write(t, filepath.Join(dir, name), f.name, []byte(f.body))
		}
		return filepath.Join(dir, name)
	}
	skopeoDir := []file{{name: "version", body: "Directory Transport Version: 1.1\n"},
		{name: dockerName, body: string(blobs[manifest.Digest])}}
	for d, raw := range blobs {
		skopeoDir = append(skopeoDir, file{name: d[7:], body: string(raw)})
	}
	for name, x := range map[string]struct {
		path, ask string
		want      Want
		digest    string // of the manifest, "" if it is ours to make
		index     string
		fault     string
	}{
		"docker save":            {put("save.tar", saved), "a:1", amd64, "", "", ""},
		"docker save, full name": {put("save.tar", saved), "docker.io/library/a:1", amd64, "", "", ""},
		"docker save, repeated":  {put("save.tar", saved), "quay.io/x/b:2", amd64, "", "", ""},
		"docker save, gzipped": {write(t, dir, "save.tar.gz", []byte(gzipped(t, tarOf(t, saved...)))),
			"quay.io/x/b:2", amd64, "", "", ""},
		"docker save, zstd": {write(t, dir, "save.tar.zst", packed(t, "zstd", tarOf(t, saved...))), "a:1", amd64, "",
			"", ""},
		"docker save, xz": {write(t, dir, "save.tar.xz", packed(t, "xz", tarOf(t, saved...))), "a:1", amd64, "",
			"", ""},
		"docker save, another": {put("save.tar", saved), "c:1", amd64, "", "", "image.source-none"},
		"docker save, digest": {put("save.tar", saved), "a:1@" + manifest.Digest, amd64, "", "",
			"image.source-digest"},
		"docker save, arm64": {put("save.tar", saved), "a:1", Want{"arm64", Docker}, "", "", "image.platform"},
		"docker save, untagged": {put("untagged.tar", dockerSave(t, nil, a)), "quay.io/any/thing:1", amd64, "", "",
			""},
		"oci archive, full name": {put("oci.tar",
			layoutOf(t, blobs, named(manifest, AnnotationRef, "localhost/a:1"))), "localhost/a:1", amd64,
			manifest.Digest, "", ""},
		"oci archive, bare tag": {put("tag.tar", layoutOf(t, blobs, named(manifest, AnnotationRef, "1"))),
			"r.test/a:1", amd64, manifest.Digest, "", ""},
		"oci archive, other name": {put("oci.tar",
			layoutOf(t, blobs, named(manifest, AnnotationRef, "localhost/a:1"))), "localhost/b:1", amd64, "", "",
			"image.source-none"},
		"oci archive, by digest": {put("oci.tar",
			layoutOf(t, blobs, named(manifest, AnnotationRef, "localhost/a:1"))), "r.test/a@" + manifest.Digest, amd64,
			manifest.Digest, "", ""},
		"oci layout, nameless": {tree("layout", layoutOf(t, blobs, manifest)), "r.test/a:1", amd64,
			manifest.Digest, "", ""},
		"oci layout, index": {tree("multi", layoutOf(t, multi, named(top, AnnotationName, "r.test/a:1"))),
			"r.test/a:1", Want{"arm64", ISulad}, arm.Digest, top.Digest, ""},
		"oci layout, pinned index": {tree("multi", layoutOf(t, multi, named(top, AnnotationName, "r.test/a:1"))),
			"r.test/a:1@" + top.Digest, amd64, manifest.Digest, top.Digest, ""},
		"oci layout, wrong pin": {tree("multi", layoutOf(t, multi, named(top, AnnotationName, "r.test/a:1"))),
			"r.test/a:1@" + sumOf(nil), amd64, "", "", "image.blob-wrong"},
		"docker 25 save, half": {put("half.tar", layoutOf(t, half, named(top, AnnotationName, "r.test/a:1"))),
			"r.test/a:1", amd64, manifest.Digest, top.Digest, ""},
		"docker 25 save, the other": {put("half.tar", layoutOf(t, half, named(top, AnnotationName, "r.test/a:1"))),
			"r.test/a:1", Want{"arm64", Docker}, "", "", "image.platform"},
		"two platforms, one name": {put("two.tar", layoutOf(t, multi, named(manifest, AnnotationName, "r.test/a:1"),
			named(arm, AnnotationName, "r.test/a:1"))), "r.test/a:1",
			Want{"arm64", Docker}, arm.Digest, "", ""},
		"oci archive, one name twice":   {twice, "r.test/a:1", amd64, "", "", "image.source-twice"},
		"oci archive, one of two":       {twice, "r.test/a:1@" + other.Digest, amd64, other.Digest, "", ""},
		"oci archive, another's digest": {twice, "r.test/a:1@" + sumOf(nil), amd64, "", "", "image.blob-wrong"},
		"oci archive, a layer elsewhere": {put("partial.tar",
			layoutOf(t, partial, named(manifest, AnnotationName, "r.test/a:1"))), "r.test/a:1", amd64, "", "",
			"image.source-layer"},
		"skopeo dir": {tree("dir", skopeoDir), "r.test/a:1", amd64, manifest.Digest, "", ""},
		// the fixture's config has no diff_ids
		"ours": {write(t, dir, "images.tar", ours), "r.test/a:1", Want{"arm64", Docker}, "", "",
			"bundle.image-manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, x.path)
			got, err := s.Resolve(t.Context(), x.ask, x.want)
			if code(err) != x.fault {
				t.Fatalf("%v, want %q", err, x.fault)
			}
			if err != nil {
				return
			}
			if got.Own != (x.digest == "") || x.digest != "" && got.Manifest.Digest != x.digest ||
				got.Index != x.index {
				t.Errorf("%+v", got)
			}
			if got.Own && (len(got.Names) != 1 || len(got.Warnings) != 1) {
				t.Errorf("%q, %v", got.Names, got.Warnings)
			}
			back := repack(t, s, got)
			if len(back) != 1 || !slices.Equal(back[0].Names, got.Names) ||
				back[0].Manifest.Digest != got.Manifest.Digest {
				t.Errorf("%+v", back)
			}
			again, err := open(t, x.path).Resolve(t.Context(), x.ask, x.want)
			if err != nil || again.Manifest.Digest != got.Manifest.Digest {
				t.Errorf("not the same again: %v, %v", again, err)
			}
		})
	}
	list, err := open(t, filepath.Join(dir, "save.tar")).Images(t.Context())
	if err != nil || fmt.Sprint(list) != "[{[docker.io/library/a:1]  [linux/amd64]} {[quay.io/x/b:2]  [linux/amd64]}]" {
		t.Errorf("%v, %v", list, err)
	}
	list, err = open(t, filepath.Join(dir, "multi")).Images(t.Context())
	if err != nil || fmt.Sprint(list) != "[{[r.test/a:1] "+top.Digest+" [linux/arm64/v8 linux/amd64]}]" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestLocal: the fetcher gets a layer from any byte on.
func TestLocal(t *testing.T) {
	p := newPeer(t, "amd64", layerOf(t, "a"))
	s := open(t, write(t, t.TempDir(), "x.tar", tarOf(t, dockerSave(t, nil, p)...)))
	got, err := s.Resolve(t.Context(), "r.test/a:1", amd64)
	if err != nil {
		t.Fatal(err)
	}
	local := s.Local(got.Layers[0].Digest)
	for _, at := range []int64{0, 700, got.Layers[0].Size} {
		r, err := local(at)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(data, p.layers[0][at:]) {
			t.Errorf("from %d: %d bytes, %v", at, len(data), err)
		}
		r.Close()
	}
	if _, err := local(got.Layers[0].Size + 1); err == nil {
		t.Error("there is something behind the end")
	}
	if s.Local(sumOf(nil)) != nil {
		t.Error("there is what is not there")
	}
}

// TestHostileSources: what leads out of the archive, has no end, or is not what it says is refused with a reason.
func TestHostileSources(t *testing.T) {
	p := newPeer(t, "amd64", layerOf(t, "a"))
	good := dockerSave(t, []string{"a:1"}, p)
	blobs, manifest := p.oci(t)
	layout := layoutOf(t, blobs, named(manifest, AnnotationName, "docker.io/library/a:1"))
	swap := func(files []file, match string, f file) []file {
		out := slices.Clone(files)
		for i := range out {
			if strings.Contains(out[i].name, match) {
				if f.name == "" {
					f.name = out[i].name
				}
				out[i] = f
				return out
			}
		}
		t.Fatalf("no %s", match)
		return nil
	}
	with := func(f file) []byte { return tarOf(t, append(slices.Clone(good), f)...) }
	fill := func(from, to byte) string { return strings.ReplaceAll(string(p.layers[0]), string(from), string(to)) }
	evil := func(config, layer string) []byte {
		raw, err := json.Marshal([]dockerEntry{{Config: config, RepoTags: []string{"a:1"}, Layers: []string{layer}}})
		if err != nil {
			t.Fatal(err)
		}
		return tarOf(t, swap(good, dockerName, file{body: string(raw)})...)
	}
	config := hexOf(p.config) + ".json"
	for name, x := range map[string]struct {
		data []byte
		want string
	}{
		"good":            {tarOf(t, good...), ""},
		"good layout":     {tarOf(t, layout...), ""},
		"good, zstd":      {packed(t, "zstd", tarOf(t, good...)), ""},
		"zstd, cut":       {packed(t, "zstd", tarOf(t, good...))[:99], "image.source"},
		"xz, cut":         {packed(t, "xz", tarOf(t, good...))[:99], "image.source"},
		"bzip2, cut":      {[]byte("BZh9"), "image.source"},
		"traversal":       {with(file{name: "../x", body: "x"}), "image.source"},
		"absolute":        {with(file{name: "/etc/x", body: "x"}), "image.source"},
		"inner traversal": {with(file{name: "a/../../x", body: "x"}), "image.source"},
		"twice":           {with(file{name: "repositories", body: "x"}), "image.source"},
		"device":          {with(file{name: "dev", kind: tar.TypeChar}), "image.source"},
		"fifo":            {with(file{name: "fifo", kind: tar.TypeFifo}), "image.source"},
		"link out":        {with(file{name: "l", kind: tar.TypeSymlink, link: "../../etc/passwd"}), "image.source"},
		"link to root":    {with(file{name: "l", kind: tar.TypeSymlink, link: "/etc/passwd"}), "image.source"},
		"hard link out":   {with(file{name: "l", kind: tar.TypeLink, link: "../x"}), "image.source"},
		"layer is a cycle": {tarOf(t, swap(good, "layer.tar", file{kind: tar.TypeSymlink, link: "layer.tar"})...),
			"image.source"},
		"layer leads nowhere": {tarOf(t, swap(good, "layer.tar", file{kind: tar.TypeSymlink, link: "nowhere"})...),
			"image.source"},
		"layer changed": {tarOf(t, swap(good, "layer.tar", file{body: fill('a', 'b')})...), "image.blob-wrong"},
		"config changed": {tarOf(t, swap(good, config,
			file{body: strings.Replace(string(p.config), "2025", "2024", 1)})...), "image.blob-wrong"},
		"config outside": {evil("../../../etc/passwd", "x"), "image.source"},
		"layer outside":  {evil(config, "/etc/passwd"), "image.source"},
		"no such layer":  {evil(config, "nowhere"), "image.source"},
		"zstd": {tarOf(t, swap(good, "layer.tar", file{body: "\x28\xb5\x2f\xfdxxxx"})...),
			"image.source"},
		"cut":               {tarOf(t, good...)[:3000], "image.source"},
		"empty":             {nil, "image.source"},
		"not a tar":         {bytes.Repeat([]byte("x"), 2000), "image.source"},
		"broken gzip":       {[]byte("\x1f\x8bxxxxxxxxxxxxxxxx"), "image.source"},
		"nothing in it":     {tarOf(t), "image.source"},
		"before 1.10":       {tarOf(t, file{name: "repositories", body: "{}"}), "image.source"},
		"manifest.json cut": {tarOf(t, swap(good, dockerName, file{body: "[{"})...), "image.source"},
		"a huge manifest": {tarOf(t, swap(good, dockerName,
			file{body: "[" + strings.Repeat(" ", maxDocuments) + "]"})...), "image.source"},
		"a blob is changed": {tarOf(t, swap(layout, manifest.Digest[7:], file{body: `{"schemaVersion":2}`})...),
			"image.blob-wrong"},
		"an index of itself": {tarOf(t, layoutOf(t, map[string][]byte{},
			named(Descriptor{MediaType: mediaOCIIndex, Digest: sumOf(nil), Size: 0}, AnnotationName, "a:1"))...),
			"image.source"},
		"an entry elsewhere": {tarOf(t, layoutOf(t, nil,
			Descriptor{MediaType: mediaOCIIndex, Digest: "sha256:../../x"})...), "bundle.image-manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := OpenSource(t.Context(), write(t, t.TempDir(), "x.tar", x.data), t.TempDir())
			if err == nil {
				defer s.Close()
				_, err = s.Resolve(t.Context(), "a:1", amd64)
			}
			if code(err) != x.want {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}

// TestSourceBomb: an archive that unpacks to far more than it is leaves nothing behind, nor does one that is given up.
func TestSourceBomb(t *testing.T) {
	temp := t.TempDir()
	bomb := gzipped(t, make([]byte, 1<<20))
	if _, err := unpack(t.Context(), ungzip(t, bomb), temp, 1<<20-1); err == nil ||
		!strings.Contains(err.Error(), "unpacks to more than") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenSource(ctx, write(t, t.TempDir(), "x.tar.gz", []byte(bomb)), temp); err != context.Canceled {
		t.Error(err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	f, err := unpack(t.Context(), ungzip(t, bomb), temp, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestDirectoryLinks: a layout on disk may have links, but not out of it.
func TestDirectoryLinks(t *testing.T) {
	p := newPeer(t, "amd64", layerOf(t, "a"))
	blobs, manifest := p.oci(t)
	dir := t.TempDir()
	for _, f := range layoutOf(t, blobs, manifest) {
		write(t, dir, "l/"+f.name, []byte(f.body))
	}
	for _, d := range []string{sumOf(p.config)} {
		inside := filepath.Join(dir, "l", "blobs", "sha256", d[7:])
		if err := os.Rename(inside, filepath.Join(dir, "outside")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../../outside", inside); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open(t, filepath.Join(dir, "l")).Resolve(t.Context(), "r.test/a:1",
		amd64); code(err) != "image.source" {
		t.Error(err)
	}
}

func FuzzOpenSource(f *testing.F) {
	p := newPeer(f, "amd64", layerOf(f, "a"))
	blobs, manifest := p.oci(f)
	f.Add(tarOf(f, dockerSave(f, []string{"a:1"}, p)...))
	f.Add(tarOf(f, layoutOf(f, blobs, named(manifest, AnnotationName, "a:1"))...))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := OpenSource(t.Context(), write(t, t.TempDir(), "x", data), t.TempDir())
		if err != nil {
			return
		}
		defer s.Close()
		s.Images(t.Context())
		if got, err := s.Resolve(t.Context(), "a:1", amd64); err == nil {
			for _, l := range got.Layers {
				if s.Local(l.Digest) == nil {
					t.Fatalf("resolved without its layer %s", l.Digest)
				}
			}
		}
	})
}

func FuzzDockerManifest(f *testing.F) {
	p := newPeer(f, "amd64", layerOf(f, "a"))
	config := hexOf(p.config) + ".json"
	f.Add([]byte(`[{"Config":"` + config + `","RepoTags":["a:1"],"Layers":["l"]}]`))
	f.Add([]byte(`{"schemaVersion":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		write(t, dir, config, p.config)
		write(t, dir, "l", p.layers[0])
		s, err := OpenSource(t.Context(), filepath.Dir(write(t, dir, dockerName, raw)), dir)
		if err != nil {
			return
		}
		defer s.Close()
		s.Images(t.Context())
		if got, err := s.Resolve(t.Context(), "a:1", amd64); err == nil && got.Config.Digest != sumOf(p.config) {
			t.Fatalf("%+v", got)
		}
	})
}

func ungzip(t *testing.T, text string) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// packed is a text compressed as a tool of that name does.
func packed(t *testing.T, by string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	if by == "zstd" {
		w, err = zstd.NewWriter(&b)
	} else {
		w, err = xz.NewWriter(&b)
	}
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
