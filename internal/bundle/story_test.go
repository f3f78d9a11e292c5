package bundle_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// release is what a version of a cluster consists of, to be packed in full or as the difference to another.
type release struct {
	layout bundle.Layout
	files  []bundle.Member // Path is that within the kind; Size and SHA256 follow from bodies
	bodies map[string]string
	images []image.Image
	blobs  map[string]string
}

func newRelease(layout bundle.Layout, images ...string) *release {
	r := &release{layout: layout, bodies: map[string]string{}, blobs: map[string]string{}}
	for _, im := range images {
		name, layer, _ := strings.Cut(im, "=")
		r.images = append(r.images, picture(name, "amd64", layer, r.blobs))
	}
	return r
}

func (r *release) with(e bundle.Member, body string) *release {
	e.Path = r.layout.Place(e.Kind, e.Path)
	e.Size, e.SHA256 = int64(len(body)), sum(body)
	if e.Roles == nil && e.Kind != bundle.Metadata && e.Kind != bundle.SBOM {
		e.Roles = []bundle.Role{bundle.Worker}
	}
	r.files = append(r.files, e)
	r.bodies[e.Path] = body
	return r
}

func (r *release) manifest(t testing.TB) (m *bundle.Manifest, tarball string) {
	t.Helper()
	m = &bundle.Manifest{Name: "test", Arch: "amd64", Kubernetes: "v1.34.2", Layout: r.layout}
	m.Members = append(m.Members, r.files...)
	for _, im := range r.images {
		x := bundle.Image{Name: im.Names[0], Digest: im.Manifest.Digest, Size: im.Size(), Platform: "linux/amd64",
			Roles: []bundle.Role{bundle.Worker}}
		for _, l := range im.Layers {
			x.Layers = append(x.Layers, l.Digest)
		}
		m.Images = append(m.Images, x)
	}
	if len(r.images) > 0 {
		tarball = imagesTar(t, r.images, r.blobs)
		m.Members = append(m.Members, bundle.Member{Path: m.ImagesPath(), Kind: bundle.Images, Name: "images",
			Size: int64(len(tarball))})
	}
	m.Format = m.NeededFormat()
	return m, tarball
}

// pack gives the members of an archive with that manifest and images.tar.
func (r *release) pack(t testing.TB, m *bundle.Manifest, tarball string) []member {
	t.Helper()
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	out := []member{{name: "manifest.json", body: string(text)},
		{name: "SHA256SUMS", body: string(bundle.SumsText(text, m))}}
	for _, e := range m.Members {
		switch {
		case e.Kind == bundle.Images:
			out = append(out, member{name: e.Path, body: tarball})
		case e.From == "":
			out = append(out, member{name: e.Path, body: r.bodies[e.Path]})
		}
	}
	if tarball != "" {
		out = append(out, member{name: "images.tar.sha256", body: string(m.ImagesSumText(sum(tarball)))})
	}
	return out
}

func (r *release) full(t testing.TB) []member {
	t.Helper()
	m, tarball := r.manifest(t)
	return r.pack(t, m, tarball)
}

// id is that of the full bundle.
func (r *release) id(t testing.TB) string {
	t.Helper()
	return bundle.ID([]byte(r.full(t)[0].body))
}

// since packs the difference to an older release.
func (r *release) since(t testing.TB, old *release) []member {
	t.Helper()
	m, tarball := r.manifest(t)
	base, _ := old.manifest(t)
	if tarball != "" {
		tarball = onlyBlobs(t, tarball, bundle.Carry(r.images, base))
	}
	d, err := bundle.NewDifference(m, base, old.id(t), int64(len(tarball)))
	if err != nil {
		t.Fatal(err)
	}
	return r.pack(t, d, tarball)
}

// onlyBlobs is images.tar without the blobs that are not carried.
func onlyBlobs(t testing.TB, tarball string, carry map[string]bool) string {
	t.Helper()
	var b bytes.Buffer
	in, out := tar.NewReader(strings.NewReader(tarball)), tar.NewWriter(&b)
	for {
		hdr, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := strings.CutPrefix(hdr.Name, "blobs/sha256/"); ok && !carry["sha256:"+h] {
			continue
		}
		if err := out.WriteHeader(hdr); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// keep writes a bundle into dir.
func keep(t testing.TB, dir, name string, members []member) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, archive(t, members), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// tree is every file below dir with its content, but for those of the names.
func tree(t testing.TB, dir string, but ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, n := range but {
			if d.Name() == n {
				return nil
			}
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The releases of the stories: v2 changes a program, takes a package over, moves an addon, has one image more and one
// changed; v3 goes on from v2.
func releases(layout bundle.Layout) (v1, v2, v3 *release) {
	kubelet := bundle.Member{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Dst: "/usr/local/bin", Mode: 0o755}
	deb := bundle.Member{Path: "socat_1.deb", Kind: bundle.Deb, Name: "socat"}
	addon := func(p string) bundle.Member { return bundle.Member{Path: p, Kind: bundle.Addon, Name: p} }
	list := bundle.Member{Path: "Packages", Kind: bundle.Metadata, Name: "apt"}
	v1 = newRelease(layout, "registry.test/a:1=layer a", "registry.test/b:2=layer b, longer").
		with(deb, "a package").with(list, "metadata").with(addon("net.yml"), "addon").with(kubelet, "program 1")
	v2 = newRelease(layout, "registry.test/a:1=layer a", "registry.test/b:3=layer b, changed",
		"registry.test/c:1=layer a").
		with(deb, "a package").with(list, "metadata").with(addon("network.yml"), "addon").with(kubelet, "program 2")
	v3 = newRelease(layout, "registry.test/a:1=layer a", "registry.test/b:3=layer b, changed",
		"registry.test/d:1=layer d").
		with(deb, "a package").with(list, "metadata, more").with(addon("network.yml"), "addon").with(kubelet,
		"program 2")
	return v1, v2, v3
}
