package build_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/build/buildtest"
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
		return strings.Replace(s, "  install:\n", "    - {type: deb, dir: "+dir+"}\n  install:\n    - {name: mine, roles: [worker]}\n", 1)
	}
}

func edges() []edge {
	return []edge{
		{"packages of a directory", localDebs("pkgs"), has("mine_1.0_amd64.deb")},
		{"a directory as people write it", localDebs("./pkgs/"), has("mine_1.0_amd64.deb")},
		{"a baseline that has every package", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "base"), "socat\nlibc6\nlibssl3\n")
			return strings.Replace(s, "packages:\n", "packages:\n  closure: minus-baseline\n  baseline: base\n", 1)
		}, has("Packages")},
		{"a package that is a file as well", func(t *testing.T, u *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "x.deb"), string(u.Get("/debian/pool/socat_2.36-1+deb12u1_amd64.deb")))
			return s + "files:\n  - {name: copy.bin, path: x.deb, dst: /opt, roles: [worker]}\n"
		}, has("copy.bin")},
		{"an empty file", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "empty"), "")
			return s + "files:\n  - {name: empty, path: empty, dst: /opt, roles: [worker]}\n"
		}, has("empty")},
		{"one file under two names", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "a"), "x")
			return s + "files:\n  - {name: a, path: a, dst: /opt, roles: [worker]}\n  - {name: b, path: a, dst: /opt, roles: [worker]}\n"
		}, has("b")},
		{"no images", func(_ *testing.T, _ *buildtest.Upstream, _, s string) string { return s[:strings.Index(s, "images:")] }, has("kubelet")},
		{"nothing but a file", func(t *testing.T, _ *buildtest.Upstream, dir, s string) string {
			write(t, filepath.Join(dir, "a"), "x")
			return s[:strings.Index(s, "packages:")] + "files:\n  - {name: a, path: a, dst: /opt, roles: [worker]}\n"
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
