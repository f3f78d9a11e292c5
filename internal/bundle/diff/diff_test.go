package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

func sum(s string) string { return fmt.Sprintf("%064x", s)[:64] }

// word says in one line what happened, as a test reads it.
func word(c Change) string {
	s := fmt.Sprintf("%s %s %s", c.Word, c.Kind, c.Name)
	if c.From != nil {
		s += " " + c.From.Version
	}
	if c.To != nil {
		s += ">" + c.To.Version
	}
	for _, m := range c.More {
		s += fmt.Sprintf(" %s:%s>%s", m.Name, m.From, m.To)
	}
	if l := c.Layers; l != nil {
		s += fmt.Sprintf(" kept %d new %d/%d", l.Kept, l.New, l.NewBytes)
	}
	return s
}

func deb(name, version, content string) Thing {
	return Thing{Kind: Deb, Name: name, Version: version, Sum: content, Size: 10}
}

func image(name, version, digest string, blobs ...Blob) Thing {
	size := int64(1)
	for _, b := range blobs {
		size += max(b.Size, 0)
	}
	return Thing{Kind: Image, Name: name, Version: version, Sum: digest, Size: size, Blobs: blobs}
}

// shorter is a rule for the tests: the longer version is the newer one.
func shorter(a, b string) int { return len(a) - len(b) }

func TestWhatHappenedToThings(t *testing.T) {
	l1, l2, l3 := Blob{"l1", 100}, Blob{"l2", 20}, Blob{"l3", 3}
	for _, c := range []struct {
		name  string
		a, b  []Thing
		want  []string
		same  int
		sizes Sizes
	}{
		{"nothing", nil, nil, nil, 0, Sizes{Exact: true}},
		{"the same", []Thing{deb("bash", "1", "x")}, []Thing{deb("bash", "1", "x")}, nil, 1,
			Sizes{Shared: 10, Exact: true}},
		{"added and removed", []Thing{deb("bash", "1", "x")}, []Thing{deb("zsh", "1", "y")},
			[]string{"removed deb bash 1", "added deb zsh>1"}, 0, Sizes{OnlyA: 10, OnlyB: 10, Exact: true}},
		{"up", []Thing{deb("bash", "1", "x")}, []Thing{deb("bash", "1.1", "y")}, []string{"upgraded deb bash 1>1.1"}, 0,
			Sizes{OnlyA: 10, OnlyB: 10, Exact: true}},
		{"down", []Thing{deb("bash", "1.1", "x")}, []Thing{deb("bash", "1", "y")},
			[]string{"downgraded deb bash 1.1>1"}, 0, Sizes{OnlyA: 10, OnlyB: 10, Exact: true}},
		{"another of equal rank", []Thing{deb("bash", "1", "x")}, []Thing{deb("bash", "2", "y")},
			[]string{"changed deb bash 1>2"}, 0, Sizes{OnlyA: 10, OnlyB: 10, Exact: true}},
		{"built again", []Thing{deb("bash", "1", "x")}, []Thing{deb("bash", "1", "y")},
			[]string{"changed deb bash 1>1"}, 0, Sizes{OnlyA: 10, OnlyB: 10, Exact: true}},
		{"a kind without an order", []Thing{{Kind: Addon, Name: "cni", Version: "v1", Sum: "x"}},
			[]Thing{{Kind: Addon, Name: "cni", Version: "v1.1", Sum: "y"}},
			[]string{"changed addon cni v1>v1.1"}, 0, Sizes{Exact: true}},
		{"listed by kind, then by name",
			[]Thing{deb("b", "1", "1"), {Kind: "other", Name: "a"}},
			[]Thing{image("a", "1", "2"), {Kind: Addon, Name: "z", Sum: "3"}, deb("a", "1", "4")},
			[]string{"added deb a>1", "removed deb b 1", "added addon z>", "added image a>1", "removed other a "}, 0,
			Sizes{OnlyA: 10, OnlyB: 11, Exact: true}},
		{"two versions of a name", []Thing{deb("linux", "1", "x"), deb("linux", "22", "y")},
			[]Thing{deb("linux", "333", "z"), deb("linux", "22", "y")},
			[]string{"upgraded deb linux 1>333"}, 1, Sizes{OnlyA: 10, OnlyB: 10, Shared: 10, Exact: true}},
		{"one of two is gone", []Thing{deb("linux", "22", "y"), deb("linux", "1", "x")},
			[]Thing{deb("linux", "333", "z")},
			[]string{"upgraded deb linux 1>333", "removed deb linux 22"}, 0, Sizes{OnlyA: 20, OnlyB: 10, Exact: true}},
		{"an image's layers", []Thing{image("pause", "1", "d1", l1, l2)}, []Thing{image("pause", "1", "d2", l1, l3)},
			[]string{"changed image pause 1>1 kept 1 new 1/3"}, 0,
			Sizes{OnlyA: 21, OnlyB: 4, Shared: 100, Exact: true}},
		{"layers of unknown size", []Thing{image("pause", "1", "d1", l1)},
			[]Thing{image("pause", "2", "d2", l1, Blob{"l2", -1}, l3)},
			[]string{"changed image pause 1>2 kept 1 new 2/-1"}, 0, Sizes{OnlyA: 101, OnlyB: 104}},
		{"a layer that images share counts once", []Thing{image("a", "1", "d1", l1), image("b", "1", "d2", l1, l1)},
			[]Thing{image("a", "1", "d1", l1)},
			[]string{"removed image b 1"}, 1, Sizes{OnlyA: 101, Shared: 101, Exact: true}},
		{"two names of an image move together", []Thing{image("a", "1", "d1"), image("a", "1@d1", "d1")},
			[]Thing{image("a", "2", "d2"), image("a", "2@d2", "d2")},
			[]string{"changed image a 1>2", "changed image a 1@d1>2@d2"}, 0, Sizes{OnlyA: 1, OnlyB: 1, Exact: true}},
		{"a new tag of the same image", []Thing{image("a", "1", "d1")}, []Thing{image("a", "2", "d1")},
			[]string{"changed image a 1>2"}, 0, Sizes{Shared: 1, Exact: true}},
		{"roles", []Thing{{Kind: Install, Name: "runc", More: []Property{{"roles", "worker"}}}},
			[]Thing{{Kind: Install, Name: "runc"}},
			[]string{"changed install runc > roles:worker>"}, 0, Sizes{Exact: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := Versions{Deb: shorter}
			d := Sides(Side{Things: c.a}, Side{Things: c.b}, rules)
			var got []string
			for _, x := range d.Changes {
				got = append(got, word(x))
			}
			if x := cmp.Diff(c.want, got); x != "" || d.Same != c.same || d.Bytes != c.sizes ||
				d.Empty() != (len(c.want) == 0) {
				t.Errorf("%s\nsame %d, %+v, empty %v", x, d.Same, d.Bytes, d.Empty())
			}
			slices.Reverse(c.a)
			slices.Reverse(c.b)
			if again := Sides(Side{Things: c.a}, Side{Things: c.b}, rules); !cmp.Equal(d, again) {
				t.Errorf("another order, another answer:\n%s", cmp.Diff(d, again))
			}
		})
	}
}

func manifest(arch string) *bundle.Manifest {
	all := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	return &bundle.Manifest{
		Format: 1, Name: "eggo", Arch: arch, Kubernetes: "v1.34.2",
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Members: []bundle.Member{
			{Path: "runc.deb", Kind: bundle.Deb, Name: "runc", Version: "1.1", Size: 100, SHA256: sum("runc" + arch),
				Roles: all},
			{Path: "tzdata.deb", Kind: bundle.Deb, Name: "tzdata", Version: "2026a", Size: 50, SHA256: sum("tzdata"),
				Source: "http://" + arch},
			{Path: bundle.ImagesName, Kind: bundle.Images, Name: "images", Size: 4096},
			{Path: "Packages", Kind: bundle.Metadata, Name: "Packages", Size: 5, SHA256: sum("packages" + arch)},
			{Path: "addons/cni.yaml", Kind: bundle.Addon, Name: "cni", Version: "v3", Size: 7, SHA256: sum("cni"),
				Roles: all[:1]},
			{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Version: "v1.34.2", Size: 900,
				SHA256: sum("kubelet" + arch), Dst: "/usr/local/bin", Mode: 0o755, Roles: all},
		},
		Images: []bundle.Image{{Name: "registry.k8s.io/pause:3.10", Digest: "sha256:" + sum("pause"+arch),
			Index: "sha256:" + sum("index"), Size: 300,
			Platform: "linux/" + arch, Roles: all, Layers: []string{"sha256:" + sum("layer"+arch)}}},
		Install: []bundle.Package{{Name: "runc", Roles: all}},
	}
}

func TestBundles(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *bundle.Manifest)
		want   []string // rows
	}{
		{"nothing", func(*bundle.Manifest) {}, nil},
		{"another mirror", func(m *bundle.Manifest) { m.Members[1].Source = "http://elsewhere" }, nil},
		{"what it is", func(m *bundle.Manifest) { m.Name, m.Kubernetes, m.OS.Release = "other", "v1.35.0", "13" },
			[]string{"changed   name eggo>other 0 -1", "changed   kubernetes v1.34.2>v1.35.0 0 -1",
				"changed   os.release 12>13 0 -1"}},
		{"a package", func(m *bundle.Manifest) {
			m.Members[0].Version, m.Members[0].SHA256, m.Members[0].Size = "1.1.5", sum("x"), 130
		},
			[]string{"upgraded deb runc version 1.1>1.1.5 30 -1"}},
		{"an addon's content", func(m *bundle.Manifest) { m.Members[4].SHA256 = strings.Repeat("ab", 32) },
			[]string{"changed addon cni content " + sum("cni")[:12] + ">abababababab 0 -1"}},
		{"a program's place and content", func(m *bundle.Manifest) {
			m.Members[5].Dst, m.Members[5].Mode, m.Members[5].Version = "/opt/bin", 0o700, "v1.34.3"
		}, []string{"changed binary kubelet version v1.34.2>v1.34.3 0 -1",
			"changed binary kubelet target /usr/local/bin/kubelet>/opt/bin/kubelet 0 -1",
			"changed binary kubelet mode 0755>0700 0 -1"}},
		{"an image's tag", func(m *bundle.Manifest) {
			m.Images[0].Name, m.Images[0].Digest, m.Images[0].Layers = "registry.k8s.io/pause:3.11",
				"sha256:"+sum("new"), append(m.Images[0].Layers, "sha256:"+sum("more"))
		}, []string{"changed image registry.k8s.io/pause version 3.10>3.11 0 33"}},
		{"an image of another repository", func(m *bundle.Manifest) { m.Images[0].Name = "example.com:5000/pause" },
			[]string{"added image example.com:5000/pause  >" + sum("pauseamd64")[:12] + " 300 -1",
				"removed image registry.k8s.io/pause  3.10> -300 -1"}},
		{"roles", func(m *bundle.Manifest) { m.Install[0].Roles = m.Install[0].Roles[:1] },
			[]string{"changed install runc roles control-plane,worker>control-plane 0 -1"}},
		{"the other layout", func(m *bundle.Manifest) {
			m.Layout = bundle.Typed
			for i, p := range []string{"pkg/runc.deb", "pkg/tzdata.deb", "image/images.tar", "pkg/Packages",
				"file/cni.yaml", "bin/kubelet"} {
				m.Members[i].Path = p
			}
		}, []string{"changed   layout >typed 0 -1"}},
		{"metadata named by its sum", func(m *bundle.Manifest) {
			m.Members[3].Path = "repodata/" + sum("p") + "-primary.xml.gz"
		}, []string{"removed metadata Packages  " + sum("packagesamd64")[:12] + "> -5 -1",
			"added metadata repodata/primary.xml.gz  >" + sum("packagesamd64")[:12] + " 5 -1"}},
		{"a bill of materials, a file and a directory", func(m *bundle.Manifest) {
			m.Members = append(m.Members, bundle.Member{Path: bundle.SBOMName, Kind: bundle.SBOM, Name: "sbom",
				SHA256: strings.Repeat("ab", 32)},
				bundle.Member{Path: "crictl.yaml", Kind: bundle.ExtraFile, Name: "crictl",
					SHA256: strings.Repeat("cd", 32), Dst: "/etc", Mode: 0o644},
				bundle.Member{Path: "charts/a/b", Kind: bundle.ExtraDir, Name: "charts",
					SHA256: strings.Repeat("ef", 32), Dst: "/opt", Mode: 0o644})
		}, []string{"added file crictl  >cdcdcdcdcdcd 0 -1", "added dir charts/a/b  >efefefefefef 0 -1",
			"added metadata sbom.spdx.json  >abababababab 0 -1"}},
		{"a difference bundle", func(m *bundle.Manifest) {
			m.Base = &bundle.Base{ID: "1234"}
			m.Members[0].From = bundle.FromBase
		},
			[]string{"changed   base >1234 0 -1"}},
		{"another architecture", func(m *bundle.Manifest) { *m = *manifest("arm64") },
			[]string{"changed   arch amd64>arm64 0 -1"}},
		{"another architecture and a newer package",
			func(m *bundle.Manifest) { *m = *manifest("arm64"); m.Members[0].Version = "1.1.5" },
			[]string{"changed   arch amd64>arm64 0 -1", "upgraded deb runc version 1.1>1.1.5 0 -1"}},
		{"another architecture and another addon", func(m *bundle.Manifest) {
			*m = *manifest("arm64")
			m.Members[4].SHA256 = strings.Repeat("ab", 32)
		},
			[]string{"changed   arch amd64>arm64 0 -1",
				"changed addon cni content " + sum("cni")[:12] + ">abababababab 0 -1"}},
		{"another architecture of another index", func(m *bundle.Manifest) {
			*m = *manifest("arm64")
			m.Images[0].Index = "sha256:" + sum("moved")
		},
			[]string{"changed   arch amd64>arm64 0 -1",
				"changed image registry.k8s.io/pause content " + sum("pauseamd64")[:12] + ">" + sum("pausearm64")[:12] +
					" 0 33"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := manifest("amd64"), manifest("amd64")
			c.change(b)
			d := Compare(a, b, Versions{Deb: shorter}, func(string) (int64, bool) { return 33, true })
			var got []string
			for _, r := range d.Rows() {
				got = append(got, fmt.Sprintf("%s %s %s %s %s>%s %d %d", r.Word, r.Kind, r.Name, r.Field, r.From, r.To,
					r.Bytes, r.New))
			}
			if x := cmp.Diff(c.want, got); x != "" || d.Empty() != (c.want == nil) {
				t.Error(x)
			}
		})
	}
}

func TestAnotherArchitectureIsNotAnotherRelease(t *testing.T) {
	d := Compare(manifest("amd64"), manifest("arm64"), nil, nil)
	if d.Empty() || len(d.Changes) != 0 || d.OtherBuilds != 4 || d.Same != 3 {
		t.Errorf("%+v", d)
	}
	if want := (Sizes{OnlyA: 1305, OnlyB: 1305, Shared: 57}); d.Bytes != want {
		t.Errorf("%+v", d.Bytes)
	}
}

func TestImageNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"registry.k8s.io/pause:3.10":              {"registry.k8s.io/pause", "3.10"},
		"localhost:5000/a/b":                      {"localhost:5000/a/b", ""},
		"localhost:5000/a/b:1":                    {"localhost:5000/a/b", "1"},
		"docker.io/library/busybox@sha256:00":     {"docker.io/library/busybox", "@sha256:00"},
		"docker.io/library/busybox:1.3@sha256:00": {"docker.io/library/busybox", "1.3@sha256:00"},
		"": {"", ""},
	} {
		if r, v := SplitImage(name); r != want[0] || v != want[1] {
			t.Errorf("%s: %s, %s", name, r, v)
		}
	}
}

func TestTheJSONIsStable(t *testing.T) {
	a, b := manifest("amd64"), manifest("amd64")
	b.Kubernetes = "v1.35.0"
	b.Members = slices.Delete(b.Members, 1, 2)
	b.Images[0].Digest = "sha256:" + strings.Repeat("00", 32)
	got, err := json.Marshal(Compare(a, b, nil, nil))
	want := `{"properties":[{"name":"kubernetes","from":"v1.34.2","to":"v1.35.0"}],"changes":[` +
		`{"change":"removed","kind":"deb","name":"tzdata","from":{"version":"2026a","sum":"` + sum("tzdata") +
		`","size":50}},` +
		`{"change":"changed","kind":"image","name":"registry.k8s.io/pause","from":{"version":"3.10","sum":"sha256:` +
		sum("pauseamd64") + `","size":300},` +
		`"to":{"version":"3.10","sum":"sha256:` + strings.Repeat("00", 32) +
		`","size":300},"layers":{"kept":1,"new":0,"new_bytes":0}}],` +
		`"same":5,"other_builds":0,"bytes":{"only_a":350,"only_b":300,"shared":1012,"exact":false}}`
	if err != nil || string(got) != want {
		t.Errorf("%s\n%v", cmp.Diff(want, string(got)), err)
	}
	if empty, _ := json.Marshal(Compare(a, a, nil, nil)); !strings.HasPrefix(string(empty),
		`{"properties":[],"changes":[],`) {
		t.Errorf("%s", empty)
	}
}

func TestEveryWordIsInBothLanguages(t *testing.T) {
	var keys []string
	for _, w := range []Word{Added, Removed, Upgraded, Downgraded, Changed} {
		keys = append(keys, "diff.word."+string(w))
	}
	for _, k := range Kinds() {
		keys = append(keys, "diff.kind."+string(k))
	}
	for _, f := range []string{FieldVersion, FieldContent, "arch", "roles", "file", "target", "mode", "base"} {
		keys = append(keys, "diff.field."+f)
	}
	for _, p := range Manifest(manifest("amd64"), nil).Properties {
		keys = append(keys, "diff.field."+p.Name)
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		for _, k := range keys {
			if !i18n.NewPrinter(lang).Has(k) {
				t.Errorf("%s: no word for %s", lang, k)
			}
		}
	}
}
