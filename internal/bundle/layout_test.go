package bundle_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// everything has a member of every kind.
func everything(layout bundle.Layout) *release {
	at := func(k bundle.Kind, rel, name, dst string) bundle.Member {
		return bundle.Member{Path: rel, Kind: k, Name: name, Dst: dst,
			Mode: map[bool]uint32{true: 0o755}[k == bundle.Binary]}
	}
	return newRelease(layout, "registry.test/a:1=layer a").
		with(at(bundle.RPM, "socat-1.x86_64.rpm", "socat", ""), "rpm").
		with(at(bundle.Metadata, "repodata/repomd.xml", "repodata", ""), "repomd").
		with(at(bundle.Metadata, "repodata/0-primary.xml.gz", "repodata", ""), "primary").
		with(at(bundle.Addon, "net.yml", "net.yml", ""), "addon").
		with(at(bundle.Binary, "kubelet", "kubelet", "/usr/local/bin"), "program").
		with(at(bundle.ExtraFile, "motd", "motd", "/etc/kubernetes"), "hello").
		with(at(bundle.ExtraDir, "charts/a/b.yaml", "charts", "/root/.eggo"), "b").
		with(at(bundle.ExtraDir, "charts/c", "charts", "/root/.eggo"), "c").
		with(at(bundle.SBOM, bundle.SBOMName, "sbom", ""), "{}")
}

// TestBothLayouts: every kind has its place in each, and comes back from it.
func TestBothLayouts(t *testing.T) {
	want := map[bundle.Layout][]string{
		bundle.Flat: {"manifest.json", "SHA256SUMS", "socat-1.x86_64.rpm", "repodata/repomd.xml",
			"repodata/0-primary.xml.gz", "addons/net.yml", "kubelet", "motd",
			"charts/a/b.yaml", "charts/c", "sbom.spdx.json", "images.tar", "images.tar.sha256"},
		bundle.Typed: {"manifest.json", "SHA256SUMS", "pkg/socat-1.x86_64.rpm", "pkg/repodata/repomd.xml",
			"pkg/repodata/0-primary.xml.gz", "file/net.yml", "bin/kubelet",
			"file/motd", "dir/charts/a/b.yaml", "dir/charts/c", "sbom.spdx.json", "image/images.tar",
			"images.tar.sha256"},
	}
	for layout, names := range want {
		t.Run(string(layout), func(t *testing.T) {
			members := everything(layout).full(t)
			var got []string
			for _, m := range members {
				got = append(got, m.name)
			}
			if d := cmp.Diff(names, got); d != "" {
				t.Fatal(d)
			}
			s := stage(t, store(t, archive(t, members)), t.TempDir())
			m := s.Manifest()
			var rel, targets, needs []string
			for _, e := range m.Members {
				rel = append(rel, m.Rel(e))
				if to := m.Target(e); to != "" {
					targets = append(targets, to)
				}
			}
			if d := cmp.Diff([]string{"socat-1.x86_64.rpm", "repodata/repomd.xml", "repodata/0-primary.xml.gz",
				"net.yml", "kubelet", "motd", "charts/a/b.yaml", "charts/c",
				"sbom.spdx.json", "images.tar"}, rel); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]string{"/usr/local/bin/kubelet", "/etc/kubernetes/motd", "/root/.eggo/charts/a/b.yaml",
				"/root/.eggo/charts/c"}, targets); d != "" {
				t.Error(d)
			}
			for _, e := range m.Needs(bundle.Worker) {
				needs = append(needs, m.Rel(e))
			}
			if d := cmp.Diff([]string{"net.yml", "kubelet", "motd", "charts/a/b.yaml", "charts/c", "images.tar"},
				needs); d != "" {
				t.Error(d)
			}
			f, err := s.Images(context.Background(), []string{"registry.test/a:1"})
			if err != nil || f.SHA256 != sum(members[len(members)-2].body) {
				t.Errorf("all images: %v, %v", f, err)
			}
		})
	}
}

// TestWhatAManifestMayNotSay: values that a reader would stumble over, or that mean one thing here and another there.
func TestWhatAManifestMayNotSay(t *testing.T) {
	at := func(m *bundle.Manifest, rel string) *bundle.Member {
		i := slices.IndexFunc(m.Members, func(e bundle.Member) bool { return m.Rel(e) == rel })
		return &m.Members[i]
	}
	set := func(rel string, f func(e *bundle.Member)) func(*bundle.Manifest) {
		return func(m *bundle.Manifest) { f(at(m, rel)) }
	}
	path := func(rel, to string) func(*bundle.Manifest) {
		return set(rel, func(e *bundle.Member) { e.Path = to })
	}
	tests := []struct {
		name   string
		layout bundle.Layout
		edit   func(m *bundle.Manifest)
		want   string
	}{
		{"as it is", bundle.Flat, func(*bundle.Manifest) {}, ""},
		{"as it is, typed", bundle.Typed, func(*bundle.Manifest) {}, ""},
		{"an unknown layout", bundle.Flat, func(m *bundle.Manifest) { m.Layout = "nested" }, "bundle.manifest"},
		{"format 1 for what needs 2", bundle.Flat, func(m *bundle.Manifest) { m.Format = 1 }, "bundle.manifest"},
		{"format 2 for what needs 1", bundle.Flat, func(m *bundle.Manifest) { m.Members, m.Images = nil, nil },
			"bundle.manifest"},
		{"an unknown kind", bundle.Flat, set("kubelet", func(e *bundle.Member) { e.Kind = "script" }),
			"bundle.manifest"},
		{"a program at the root of the typed layout", bundle.Typed, path("kubelet", "kubelet"), "bundle.manifest"},
		{"images.tar at the root of the typed layout", bundle.Typed, path("images.tar", "images.tar"),
			"bundle.manifest"},
		{"a second name of images.tar", bundle.Flat, path("kubelet", "IMAGES.tar"), "bundle.duplicate"},
		{"the bill of materials elsewhere", bundle.Flat, path("sbom.spdx.json", "sbom.json"), "bundle.manifest"},
		{"a program for the bill of materials", bundle.Flat,
			func(m *bundle.Manifest) { at(m, "sbom.spdx.json").Kind = bundle.Addon }, "bundle.manifest"},
		{"a directory's file outside it", bundle.Typed, path("charts/c", "dir/other/c"), "bundle.manifest"},
		{"a directory's name with a slash", bundle.Flat,
			set("charts/a/b.yaml", func(e *bundle.Member) { e.Name = "charts/a" }), "bundle.manifest"},
		{"no destination", bundle.Flat, set("motd", func(e *bundle.Member) { e.Dst = "" }), "bundle.manifest"},
		{"a relative destination", bundle.Flat, set("charts/c", func(e *bundle.Member) { e.Dst = "opt" }),
			"bundle.manifest"},
		{"a destination that climbs", bundle.Flat, set("motd", func(e *bundle.Member) { e.Dst = "/etc/../root" }),
			"bundle.manifest"},
		{"setuid", bundle.Flat, set("motd", func(e *bundle.Member) { e.Mode = 0o4755 }), "bundle.manifest"},
		{"two files for one place", bundle.Flat, set("motd", func(e *bundle.Member) {
			e.Path, e.Dst = "x/kubelet", "/usr/local/bin"
		}), "bundle.duplicate"},
		{"two files for one place, on different nodes", bundle.Flat, set("motd", func(e *bundle.Member) {
			e.Path, e.Dst, e.Roles = "x/kubelet", "/usr/local/bin", []bundle.Role{bundle.Etcd}
		}), ""},
		{"escape sequences", bundle.Flat, set("kubelet", func(e *bundle.Member) { e.Version = "1\x1b[2J" }),
			"bundle.manifest"},
		{"text that runs backwards", bundle.Flat, set("kubelet", func(e *bundle.Member) { e.Name = "kub\u202eelet" }),
			"bundle.manifest"},
		{"a version of Kubernetes with control characters", bundle.Flat,
			func(m *bundle.Manifest) { m.Kubernetes = "v1\n2" }, "bundle.manifest"},
		{"a layer that is no digest", bundle.Flat, func(m *bundle.Manifest) { m.Images[0].Layers[0] = "sha256:../x" },
			"bundle.manifest"},
		{"names that differ in case", bundle.Flat, path("motd", "KUBELET"), "bundle.duplicate"},
		{"names that differ in normal form", bundle.Flat, func(m *bundle.Manifest) {
			at(m, "motd").Path, at(m, "kubelet").Path = "caf\u00e9", "cafe\u0301"
		}, "bundle.duplicate"},
		{"names that fold to one", bundle.Flat, func(m *bundle.Manifest) {
			at(m, "motd").Path, at(m, "kubelet").Path = "stra\u00dfe", "STRASSE"
		}, "bundle.duplicate"},
		{"a file where a directory is", bundle.Flat, path("motd", "Addons"), "bundle.duplicate"},
		{"from a base that is not there", bundle.Flat, set("motd", func(e *bundle.Member) { e.From = bundle.FromBase }),
			"bundle.manifest"},
		{"carried without a base", bundle.Flat, set("images.tar", func(e *bundle.Member) { e.Carried = 5 }),
			"bundle.manifest"},
		{"sizes that overflow", bundle.Flat, func(m *bundle.Manifest) {
			for i := range m.Members {
				m.Members[i].Size = 1 << 36
			}
		}, "bundle.manifest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := everything(tt.layout).manifest(t)
			tt.edit(m)
			_, err := bundle.EncodeManifest(m)
			if got := ""; err != nil {
				if got = event.AsFault(err).Code; got != tt.want {
					t.Errorf("%v, want %s", err, tt.want)
				}
			} else if tt.want != "" {
				t.Errorf("accepted, want %s", tt.want)
			}
		})
	}
}

// TestFormatOneIsAsItWas: nothing of what came later shows in a bundle that does not use it.
func TestFormatOneIsAsItWas(t *testing.T) {
	m, members := sample(t)
	if m.NeededFormat() != bundle.FormatVersion || bundle.FormatVersion != 1 {
		t.Errorf("needs format %d", m.NeededFormat())
	}
	for _, key := range []string{"layout", "base", "from", "carried"} {
		if strings.Contains(members[0].body, strconv.Quote(key)) {
			t.Errorf("the key %s in\n%s", key, members[0].body)
		}
	}
}

// TestManyOfNothing: small texts that would become large structures.
func TestManyOfNothing(t *testing.T) {
	for name, text := range map[string]string{
		"members":      `{"format":1,"members":[` + strings.Repeat("null,", bundle.MaxMembers) + `null]}`,
		"roles":        `{"format":1,"members":[{"roles":[` + strings.Repeat(`"",`, bundle.MaxMembers) + `""]}]}`,
		"unknown keys": `{"format":1,"x":{"y":[` + strings.Repeat("0,", bundle.MaxMembers) + `0]}}`,
		"depth":        `{"format":1,"x":` + strings.Repeat("[", 1<<20),
	} {
		if _, err := bundle.ParseManifest([]byte(text)); event.AsFault(err).Code != "bundle.manifest" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
