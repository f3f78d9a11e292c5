package build_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// edge is a spec at the edge of what people write: it changes the test's own, for which there are files in dir.
type edge struct {
	name   string
	change func(t *testing.T, u *buildtest.Upstream, dir, s string) string
	want   func(t *testing.T, m *bundle.Manifest)
}

func has(path string) func(*testing.T, *bundle.Manifest) {
	return func(t *testing.T, m *bundle.Manifest) {
		t.Helper()
		if !slices.Contains(paths(m), path) {
			t.Errorf("%s is not among %v", path, paths(m))
		}
	}
}

func hasImage(name string, roles ...bundle.Role) func(*testing.T, *bundle.Manifest) {
	return func(t *testing.T, m *bundle.Manifest) {
		t.Helper()
		if !slices.ContainsFunc(m.Images, func(im bundle.Image) bool {
			return im.Name == name && slices.Equal(im.Roles, roles)
		}) {
			t.Errorf("%s for %v is not among %+v", name, roles, m.Images)
		}
	}
}

func podOf(image string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: \"" + image + "\"}]}\n"
}

// retag moves app:1 of the test's registry to another image and gives the digest of the one that had it.
func retag(t *testing.T, u *buildtest.Upstream) string {
	t.Helper()
	was := digest(t, u, "registry.test/app:1")
	ref := func(s string) name.Reference {
		r, err := name.ParseReference(u.Host + "/registry.test/" + s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	only, err := remote.Image(ref("zstd:1"))
	if err == nil {
		err = remote.Write(ref("app:1"), only)
	}
	if err != nil {
		t.Fatal(err)
	}
	return was
}

// localDebs adds a directory with the package mine to the repositories.
func localDebs(dir string) func(*testing.T, *buildtest.Upstream, string, string) string {
	return func(t *testing.T, _ *buildtest.Upstream, at, s string) string {
		t.Helper()
		write(t, filepath.Join(at, "pkgs", "mine_1.0_amd64.deb"), string(buildtest.Deb("mine", "1.0", "amd64")))
		if dir == "link" {
			if err := os.Symlink("pkgs", filepath.Join(at, dir)); err != nil {
				t.Fatal(err)
			}
		}
		return strings.Replace(s, "  install:\n", "    - {type: deb, dir: "+dir+
			"}\n  install:\n    - {name: mine, roles: [worker]}\n", 1)
	}
}

// flatDebs adds a flat repository with the package tool. Its metadata is in dir below /core:/stable:/v1.34/deb/.
func flatDebs(suite, dir string, byHash bool) func(*testing.T, *buildtest.Upstream, string, string) string {
	return func(t *testing.T, u *buildtest.Upstream, _, s string) string {
		t.Helper()
		u.Flat(t, "/core:/stable:/v1.34/deb/", dir, byHash)
		return strings.Replace(s, "  install:\n", "    - {type: deb, url: \""+u.URL+
			"/core:/stable:/v1.34/deb/\", suites: [\""+suite+
			"\"], keyring: keys.gpg}\n  install:\n    - {name: tool, roles: [worker]}\n", 1)
	}
}

func edges() []edge {
	return []edge{
		{"a flat repository, as Kubernetes documents it", flatDebs("/", "", false), has("tool_1.0_amd64.deb")},
		{"a flat repository by a dot", flatDebs("./", "", true), has("tool_1.0_amd64.deb")},
		{"a flat repository in a directory", flatDebs("stable/", "stable/", true), has("tool_1.0_amd64.deb")},
		{"a flat repository for each architecture", flatDebs("./{arch}/", "amd64/", false), has("tool_1.0_amd64.deb")},
		{"packages of a directory", localDebs("pkgs"), has("mine_1.0_amd64.deb")},
		{"a directory as people write it", localDebs("./pkgs/"), has("mine_1.0_amd64.deb")},
		{"a link to a directory", localDebs("link"), has("mine_1.0_amd64.deb")},
		{"two included specs with a directory of one name",
			func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
				t.Helper()
				for _, x := range []string{"one", "two"} {
					write(t, filepath.Join(dir, x, "pkgs", x+"_1.0_amd64.deb"),
						string(buildtest.Deb(x, "1.0", "amd64")))
					write(t, filepath.Join(dir, x, "spec.yaml"),
						"version: 1\npackages:\n  repositories: [{type: deb, dir: pkgs}]\n  install: [{name: "+x+
							", roles: [etcd]}]\n")
				}
				return s + "include: [one/spec.yaml, two/spec.yaml]\n"
			}, has("two_1.0_amd64.deb")},
		{"a path that is no URL", func(t *testing.T, u *buildtest.Upstream, dir, s string) string {
			t.Helper()
			write(t, filepath.Join(dir, "50%zz", "a"), string(u.Get("/dl/etcd-amd64.tar.gz")))
			return s + "files:\n  - {name: a, path: \"" + dir +
				"/50%zz/a\", dst: /opt/cni/bin, roles: [worker], pick: {etcd-amd64/README: readme}}\n"
		}, has("readme")},
		{"an addon that pins what the spec names by tag",
			func(t *testing.T, u *buildtest.Upstream, dir, s string) string {
				t.Helper()
				write(t, filepath.Join(dir, "pod.yaml"), podOf("registry.test/app:1@"+digest(t, u,
					"registry.test/app:1")))
				return strings.Replace(s, "addons:\n", "addons:\n  - {name: pod.yaml, path: pod.yaml}\n", 1)
			}, hasImage("registry.test/app:1", bundle.Worker, bundle.ControlPlane)},
		{"an addon that pins another image of the tag",
			func(t *testing.T, u *buildtest.Upstream, dir, s string) string {
				t.Helper()
				write(t, filepath.Join(dir, "pod.yaml"), podOf("registry.test/app:1@"+retag(t, u)))
				return strings.Replace(s, "addons:\n", "addons:\n  - {name: pod.yaml, path: pod.yaml}\n", 1)
			}, hasImage("registry.test/app:1", bundle.Worker)},
		{"an image twice", func(t *testing.T, u *buildtest.Upstream, _, s string) string {
			t.Helper()
			return s + "  - {name: \"registry.test/app:1@" + digest(t, u, "registry.test/app:1") +
				"\", roles: [etcd], why: a test}\n"
		}, hasImage("registry.test/app:1", bundle.Worker, bundle.Etcd)},
		{"a baseline that has every package", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "base"), "socat\nlibc6\nlibssl3\n")
			return strings.Replace(s, "packages:\n", "packages:\n  closure: minus-baseline\n  baseline: base\n", 1)
		}, has("Packages")},
		{"a package that is a file as well", func(t *testing.T, u *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "x.deb"), string(u.Get("/debian/pool/socat_2.36-1+deb12u1_amd64.deb")))
			return s + "files:\n  - {name: copy.bin, path: x.deb, dst: /opt/cni/bin, roles: [worker]}\n"
		}, has("copy.bin")},
		{"an empty file", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "empty"), "")
			return s + "files:\n  - {name: empty, path: empty, dst: /opt/cni/bin, roles: [worker]}\n"
		}, has("empty")},
		{"one file under two names", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "a"), "x")
			return s + "files:\n  - {name: a, path: a, dst: /opt/cni/bin, roles: [worker]}\n  - {name: b, path: a, " +
				"dst: /opt/cni/bin, roles: [worker]}\n"
		}, has("b")},
		{"a directory", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "mine-amd64", "bin", "run"), "#!/bin/sh\n")
			write(t, filepath.Join(dir, "mine-amd64", ".conf"), "")
			return s + "dirs:\n  - {name: tools, path: \"mine-{arch}\", dst: /opt/cni/bin, roles: [worker]}\n"
		}, func(t *testing.T, m *bundle.Manifest) {
			t.Helper()
			has("tools/.conf")(t, m)
			x, _ := m.Member("tools/bin/run")
			if x.Kind != bundle.ExtraDir || x.Name != "tools" || m.Target(x) != "/opt/cni/bin/tools/bin/run" ||
				x.Mode != 0o644 {
				t.Errorf("%+v", x)
			}
		}},
		{"no images", func(_ *testing.T, _ *buildtest.Upstream, _, s string) string {
			return s[:strings.Index(s, "images:")]
		}, has("kubelet")},
		{"nothing but a file", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "a"), "x")
			return s[:strings.Index(s, "packages:")] +
				"files:\n  - {name: a, path: a, dst: /opt/cni/bin, roles: [worker]}\n"
		}, has("a")},
		{"nothing", func(_ *testing.T, _ *buildtest.Upstream, _, s string) string {
			return s[:strings.Index(s, "packages:")]
		}, has("sbom.spdx.json")},
	}
}

// TestEdges: each is built, is whole, and is built again from its lock to the same bytes.
func TestEdges(t *testing.T) {
	for _, e := range edges() {
		t.Run(e.name, func(t *testing.T) {
			u := buildtest.New(t)
			o := job(t, u, "registry.test/app:1", "amd64")
			respec(t, &o, func(s string) string { return e.change(t, u, filepath.Dir(o.Out), s) })
			first := mustBuild(t, o).Bundles[0]
			e.want(t, manifest(t, first.Path))
			if err := os.Remove(first.Path); err != nil {
				t.Fatal(err)
			}
			o.Locked = true
			if again := mustBuild(t, o).Bundles[0]; again.Unchanged || again.SHA256 != first.SHA256 {
				t.Errorf("from the lock: %+v, first %+v", again, first)
			}
		})
	}
}

// digest of an image of the test's registry.
func digest(t *testing.T, u *buildtest.Upstream, image string) string {
	t.Helper()
	r, err := name.ParseReference(u.Host + "/" + image)
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Head(r)
	if err != nil {
		t.Fatal(err)
	}
	return d.Digest.String()
}
