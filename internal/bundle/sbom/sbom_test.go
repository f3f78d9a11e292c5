package sbom

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

var update = flag.Bool("update", false, "write the golden files")

func hex(s string) string { return fmt.Sprintf("%064x", s)[:64] }

func manifest() *bundle.Manifest {
	all := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	layer := func(s string) string { return "sha256:" + hex(s) }
	return &bundle.Manifest{
		Format: 1, Name: "eggo", Arch: "arm64", Kubernetes: "v1.34.2",
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Members: []bundle.Member{
			{Path: "libstdc++6_12.2.0-14+deb12u1_arm64.deb", Kind: bundle.Deb, Name: "libstdc++6",
				Version: "12.2.0-14+deb12u1", Size: 100, SHA256: hex("stdc"),
				Source: "https://user:secret@deb.example.com/pool/libstdc++6.deb"},
			{Path: "tzdata_1%3a2026a_all.deb", Kind: bundle.Deb, Name: "tzdata", Version: "1:2026a", Size: 50,
				SHA256: hex("tz"), Source: "/srv/local.deb"},
			{Path: bundle.ImagesName, Kind: bundle.Images, Name: "images", Size: 4096},
			{Path: "Packages", Kind: bundle.Metadata, Name: "Packages", Size: 5, SHA256: hex("packages")},
			{Path: "addons/cni.yaml", Kind: bundle.Addon, Name: "cni", Version: "v3", Size: 7, SHA256: hex("cni"),
				Roles: all[:1], Source: "https://example.com/cni.yaml?a=b&c"},
			{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Version: "v1.34.2", Size: 9, SHA256: hex("kubelet"),
				Source: "https://dl.example.com/kubelet", Dst: "/usr/local/bin", Mode: 0o755, Roles: all},
		},
		Images: []bundle.Image{
			{Name: "registry.example.com:5000/k8s/pause:3.10", Digest: layer("pause"), Size: 300,
				Platform: "linux/arm64", Roles: all, Layers: []string{layer("base"), layer("base"), layer("top")}},
			{Name: "docker.io/library/busybox@sha256:" + hex("index"), Digest: layer("busybox"), Size: 300,
				Platform: "linux/arm64", Roles: all, Layers: []string{layer("base")}},
		},
	}
}

func origins() []Origin {
	return []Origin{{Member: "addons/cni.yaml", Name: "cni-chart", Version: "3.1.0",
		Source: "https://charts.example.com/cni-3.1.0.tgz", SHA256: hex("chart")}}
}

func epoch() time.Time { return time.Unix(1700000000, 0) }

func text(t *testing.T, m *bundle.Manifest, o []Origin, created time.Time) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, o, created); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheDocumentIsTheGoldenOne(t *testing.T) {
	got := text(t, manifest(), origins(), epoch())
	golden := filepath.Join("testdata", "bundle.spdx.json")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
	if strings.Contains(got, "secret") {
		t.Error("credentials in the document")
	}
}

// The rules of SPDX 2.3 and of its JSON schema that a document of ours could break.
func TestTheDocumentKeepsSPDXsRules(t *testing.T) {
	rpms := manifest()
	rpms.OS = bundle.OS{Family: "rpm", ID: "openEuler", Release: "22.03"}
	rpms.Members[0] = bundle.Member{Path: "bash-5.1-1.oe.aarch64.rpm", Kind: bundle.RPM, Name: "bash",
		Version: "5.1-1.oe", SHA256: hex("bash")}
	collide := manifest()
	collide.Members = append(collide.Members, bundle.Member{Path: "libstdc--6_12.2.0-14_deb12u1_arm64.deb",
		Kind: bundle.Deb, Name: "libstdc--6", SHA256: hex("x")},
		bundle.Member{Path: "中文", Kind: bundle.ExtraFile, Name: "中文", SHA256: hex("y")},
		bundle.Member{Path: "文中", Kind: bundle.ExtraFile, SHA256: hex("z")})
	for name, m := range map[string]*bundle.Manifest{
		"debs": manifest(), "rpms": rpms, "names that collide": collide,
		"nothing": {Name: "empty", Arch: "amd64"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := text(t, m, origins(), epoch())
			var d document
			dec := json.NewDecoder(strings.NewReader(raw))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&d); err != nil {
				t.Fatal(err)
			}
			check(t, d)
			if strings.Contains(raw, ": null") || strings.Contains(raw, `: ""`) {
				t.Error("an empty value")
			}
		})
	}
}

func check(t *testing.T, d document) {
	t.Helper()
	match := func(what, s, pattern string) {
		t.Helper()
		if !regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(s) {
			t.Errorf("%s %q does not match %s", what, s, pattern)
		}
	}
	if d.Version != "SPDX-2.3" || d.License != "CC0-1.0" || d.ID != "SPDXRef-DOCUMENT" || d.Name == "" {
		t.Errorf("%+v", d)
	}
	match("namespace", d.Namespace, `urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	match("created", d.Creation.Created,
		`[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z`)
	for _, c := range d.Creation.Creators {
		match("creator", c, `(Person|Organization|Tool): .+`)
	}
	ids, contained := map[string]bool{d.ID: true}, map[string]bool{}
	for _, p := range d.Packages {
		match("ID", p.ID, `SPDXRef-[a-zA-Z0-9.-]+`)
		if ids[p.ID] {
			t.Errorf("%s is there twice", p.ID)
		}
		ids[p.ID] = true
		match("location", p.Location, `NOASSERTION|NONE|https?://[^ ]+`)
		match("purpose", p.Purpose,
			`OTHER|INSTALL|ARCHIVE|FIRMWARE|APPLICATION|FRAMEWORK|LIBRARY|CONTAINER|SOURCE|DEVICE|OPERATING-SYSTEM|FILE`)
		if p.Name == "" || p.Analyzed || p.Concluded != noAssertion || p.Declared != noAssertion ||
			p.Copyright != noAssertion {
			t.Errorf("%+v", p)
		}
		for _, c := range p.Sums {
			match("sum", c.Algorithm+" "+c.Value, `SHA256 [0-9a-f]{64}`)
		}
		for _, r := range p.Refs {
			match("reference", r.Category+" "+r.Type, `PACKAGE-MANAGER purl`)
			match("purl", r.Locator,
				`pkg:[a-z]+(/[A-Za-z0-9.~_%:-]+){1,2}(@[A-Za-z0-9.~_%:-]+)?(\?[a-z_]+=[A-Za-z0-9.~_%:-]+(&[a-z_]+=[A-Za-z0-9.~_%:-]+)*)?`)
		}
	}
	describes := 0
	for _, r := range d.Relations {
		match("relation", r.Type, `DESCRIBES|CONTAINS|GENERATED_FROM`)
		if !ids[r.From] || !ids[r.To] {
			t.Errorf("%v leads nowhere", r)
		}
		if contained[r.To] = true; r.Type == "DESCRIBES" {
			describes++
		}
	}
	if describes != 1 {
		t.Errorf("describes %d things", describes)
	}
	for _, p := range d.Packages {
		if !contained[p.ID] {
			t.Errorf("nothing contains %s", p.ID)
		}
	}
}

func TestTheSameBundleHasTheSameDocument(t *testing.T) {
	one := text(t, manifest(), origins(), epoch())
	if two := text(t, manifest(), origins(), epoch().In(time.FixedZone("east", 8*3600))); two != one {
		t.Error("another time zone, another document")
	}
	with := manifest()
	with.Members = append(with.Members, bundle.Member{Path: bundle.SBOMName, Kind: bundle.SBOM, Name: "sbom", Size: 1,
		SHA256: hex("sbom")})
	if text(t, with, origins(), epoch()) != one {
		t.Error("the document has itself in it")
	}
	spaces := map[string]string{}
	moved := manifest()
	moved.Images[0].Digest = "sha256:" + hex("moved")
	for name, s := range map[string]string{
		"it": one, "later": text(t, manifest(), origins(), epoch().Add(time.Second)),
		"no origins": text(t, manifest(), nil, epoch()), "moved": text(t, moved, origins(), epoch()),
	} {
		var d document
		if err := json.Unmarshal([]byte(s), &d); err != nil {
			t.Fatal(err)
		}
		if other, ok := spaces[d.Namespace]; ok {
			t.Errorf("%s and %s share %s", name, other, d.Namespace)
		}
		spaces[d.Namespace] = name
	}
}

func TestAllThatTheBundleHasIsListed(t *testing.T) {
	var d document
	if err := json.Unmarshal([]byte(text(t, manifest(), origins(), epoch())), &d); err != nil {
		t.Fatal(err)
	}
	names, byID := map[string]pkg{}, map[string]string{}
	for _, p := range d.Packages {
		names[p.Name], byID[p.ID] = p, p.Name
	}
	m := manifest()
	for _, e := range m.Members {
		if p := names[e.Name]; e.Kind != bundle.Images &&
			(len(p.Sums) != 1 || p.Sums[0].Value != e.SHA256 || p.VersionInfo != e.Version) {
			t.Errorf("%s: %+v", e.Path, p)
		}
	}
	var got []string
	for _, r := range d.Relations {
		if r.From != d.Packages[0].ID {
			got = append(got, byID[r.From]+" "+r.Type+" "+byID[r.To])
		}
	}
	base, top := "sha256:"+hex("base"), "sha256:"+hex("top")
	want := []string{" DESCRIBES eggo", "cni GENERATED_FROM cni-chart", m.Images[0].Name + " CONTAINS " + base,
		m.Images[0].Name + " CONTAINS " + top, m.Images[1].Name + " CONTAINS " + base}
	slices.Sort(got)
	slices.Sort(want)
	if x := cmp.Diff(want, got); x != "" {
		t.Error(x)
	}
}

func TestPackageURLs(t *testing.T) {
	m := manifest()
	euler := &bundle.Manifest{Arch: "arm64", OS: bundle.OS{ID: "openEuler", Release: "22.03"}}
	oci := func(im bundle.Image) string { u, _ := imageURL("arm64", im); return u }
	for _, c := range []struct{ got, want string }{
		{debURL(m, m.Members[0]), "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=arm64&distro=debian-12"},
		{debURL(m, m.Members[1]), "pkg:deb/debian/tzdata@1:2026a?arch=all&distro=debian-12"},
		{debURL(m, bundle.Member{Path: "odd.deb", Name: "odd"}), "pkg:deb/debian/odd?arch=arm64&distro=debian-12"},
		{rpmURL(euler, bundle.Member{Path: "bash-5.1-1.oe.aarch64.rpm", Name: "bash", Version: "5.1-1.oe"}),
			"pkg:rpm/openeuler/bash@5.1-1.oe?arch=aarch64&distro=openeuler-22.03"},
		{rpmURL(euler, bundle.Member{Path: "tzdata-2026a-1.noarch.rpm", Name: "tzdata", Version: "1:2026a-1"}),
			"pkg:rpm/openeuler/tzdata@2026a-1?arch=noarch&distro=openeuler-22.03&epoch=1"},
		{rpmURL(euler, bundle.Member{Path: "odd", Name: "Odd", Version: "0:1-1"}),
			"pkg:rpm/openeuler/Odd@1-1?arch=aarch64&distro=openeuler-22.03"},
		{genericURL("kubelet", "v1", "https://dl.example.com/a?b", "00ff"),
			"pkg:generic/kubelet@v1?checksum=sha256:00ff&download_url=https:%2F%2Fdl.example.com%2Fa%3Fb"},
		{genericURL("x", "", noAssertion, ""), "pkg:generic/x"},
		{oci(bundle.Image{Name: "registry.k8s.io/pause:3.10", Digest: "sha256:00"}),
			"pkg:oci/pause@sha256:00?arch=arm64&repository_url=registry.k8s.io%2Fpause&tag=3.10"},
		{oci(bundle.Image{Name: "localhost:5000/A@sha256:11", Digest: "sha256:00"}),
			"pkg:oci/a@sha256:00?arch=arm64&repository_url=localhost:5000%2FA"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAWriteErrorIsReturned(t *testing.T) {
	if err := Write(full{}, manifest(), nil, epoch()); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
