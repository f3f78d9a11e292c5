package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/assets"
)

func TestEmbeddedSpecs(t *testing.T) {
	if len(assets.Systems()) < 7 {
		t.Error(assets.Systems())
	}
	for _, system := range assets.Systems() {
		t.Run(system, func(t *testing.T) { embedded(t, system) })
	}
}

func embedded(t *testing.T, system string) {
	text, err := assets.BundleSpec(system)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ToLower(s.OS.ID) + "-" + s.OS.Release; got != system {
		t.Errorf("the spec of %s is for %s", system, got)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		x := s.For(arch)
		if len(x.Repositories) == 0 {
			t.Errorf("no repository for %s", arch)
		}
		for _, r := range x.Repositories {
			if strings.ContainsAny(r.URL+r.Keyring, "{}") {
				t.Errorf("%s %s", r.URL, r.Keyring)
			}
		}
		for _, b := range x.Binaries {
			if strings.ContainsAny(b.URL+b.Checksum+b.Version, "{}") || !strings.Contains(b.URL, arch) {
				t.Errorf("%s: %s %s", b.Name, b.URL, b.Checksum)
			}
		}
	}
	for _, r := range s.Repositories {
		if name, ok := strings.CutPrefix(r.Keyring, "embedded:"); ok {
			if _, err := assets.Keyring(name); err != nil {
				t.Error(err)
			}
		}
	}
}

const small = `version: 1
name: a
kubernetes: v1.34.2
os: {family: debian, id: debian, release: 12}
`

// debs is a spec with a deb repository that the spec vouches for.
func debs(keys string) string {
	return small + "packages: {repositories: [{type: deb, trusted: true, " + keys + "}]}\n"
}

// rpms is a spec with a repository of rpms.
func rpms(url string) string {
	return strings.Replace(small, "debian, id", "rpm, id", 1) +
		"packages: {repositories: [{type: rpm, trusted: true, url: '" + url + "'}]}\n"
}

// TestProblems: every problem has a code and the line that it is in; several are told at once.
func TestProblems(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "1 spec.yaml"},
		{"not a map", "- a\n", "1 spec.type"},
		{"unknown and duplicate keys", small + "image: []\nname: b\n", "5 spec.unknown-key, 6 spec.duplicate"},
		{"no way to an addon", small + "addons:\n - {name: x}\n", "6 spec.one-of"},
		{"two ways to an addon", small + "addons:\n - {name: x, url: https://a.test/x, dir: y}\n", "6 spec.one-of"},
		{"a chart of a repository without its name",
			small + "addons:\n - {name: x, chart: {repository: https://a.test, release: r}}\n", "6 spec.chart"},
		{"rpms for debian", small + "packages: {repositories: [{type: rpm, url: https://a.test, keyring: k}]}\n",
			"1 spec.value"},
		{"nobody signs it", small +
			"packages: {repositories: [{type: deb, url: https://a.test, suites: [x], components: [y]}]}\n",
			"5 spec.missing"},
		{"a baseline that is nowhere", small + "packages: {closure: minus-baseline}\n", "1 spec.missing"},
		{"a flat repository with components", debs("url: https://a.test, suites: ['./'], components: [main]"),
			"5 spec.value"},
		{"a flat repository without its slash", debs("url: https://a.test, suites: [.]"), "5 spec.value"},
		{"a suite without components", debs("url: https://a.test, suites: [bookworm]"), "5 spec.value"},
		{"a suite that leads out", debs("url: https://a.test, suites: ['./../x/']"), "5 spec.value"},
		{"a flat repository that nothing signs, without TLS", debs("url: 'http://a.test', suites: [/]"),
			"5 spec.value"},
		{"a URL that has the suite", debs("url: https://a.test/dists/x/, suites: [x], components: [main]"),
			"5 spec.value"},
		{"a variable of apt", debs("url: 'https://a.test/$(ARCH)', suites: [/]"), "5 spec.value"},
		{"a variable of dnf", rpms("https://a.test/$releasever/{uname}"), "5 spec.value"},
		{"a mirror list", rpms("https://a.test/mirrorlist?arch=x86_64"), "5 spec.value"},
		{"the metadata of dnf", rpms("https://a.test/repodata/"), "5 spec.value"},
		{"nothing signs it and no TLS either", debs("url: 'HTTP://a.test', suites: [x], components: [y]"),
			"5 spec.value"},
		{"a hole in what is one for all architectures", strings.Replace(small, "name: a", "name: 'a-{arch}'", 1),
			"1 spec.hole"},
		{"a version of itself", strings.Replace(small, "v1.34.2", "'{kubernetes}'", 1), "1 spec.hole"},
		{"includes from nowhere", small + "include: [x.yaml]\n", "5 spec.include"},
		{"nothing at all", "version: 1\n", "1 spec.missing, 1 spec.missing, 1 spec.missing"},
		{"hole", small + "images:\n - {name: 'r.test/x:{version}', roles: [etcd]}\n", "6 spec.hole, 6 spec.value"},
		{"alias", small + "addons: &a []\nimages: *a\n", "6 spec.alias"},
		{"escape", small + "addons:\n - {name: ../../x, url: https://a.test/x}\n", "6 spec.value"},
		{"same member twice",
			small + "addons:\n - {name: x, url: https://a.test/x}\n - {name: X, url: https://a.test/x}\n",
			"1 spec.duplicate"},
		{"reserved directory", small + "dirs:\n - {name: Addons, path: x, dst: /tmp, roles: [etcd]}\n",
			"1 spec.duplicate"},
		{"reserved member", small + "binaries:\n - {name: Packages, url: https://a.test/x, sha256: " +
			strings.Repeat("0", 64) + ", dst: /tmp, roles: [etcd]}\n", "1 spec.duplicate"},
		{"another file than a spec", "# " + strings.Repeat("x", maxSpec), "1 spec.too-large"},
		{"packages from nowhere", small + "packages: {install: [{name: socat, roles: [worker]}]}\n", "1 spec.missing"},
		{"credentials", small + "addons:\n - {name: x, url: 'https://u:p@a.test/x'}\n", "6 spec.value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			ps := (Problems)(nil)
			if !errors.As(err, &ps) {
				t.Fatalf("%v", err)
			}
			var got []string
			for _, p := range ps {
				got = append(got, p.Args["line"]+" "+p.Code)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

func TestImageNames(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for name, ok := range map[string]bool{
		"registry.k8s.io/pause:3.10.1": true, "localhost:5000/a/b:1": true, "ghcr.io/a/b" + digest: true,
		"ghcr.io/a/b:1" + digest: true,
		"nginx":                  false, "nginx:1": false, "library/nginx:1": false, "ghcr.io/a/b": false,
		"ghcr.io/a/b@sha512:00": false, "ghcr.io/A/b:1": false,
	} {
		if err := imageName(name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSpec(f *testing.F) {
	for _, system := range assets.Systems() {
		text, err := assets.BundleSpec(system)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if s != nil {
			s.For("amd64")
		}
	})
}

// TestHoles: they are filled in wherever they stand in a value.
func TestHoles(t *testing.T) {
	s, err := Parse([]byte(strings.Replace(small, "name: a", "name: 'a-{kubernetes}'", 1) + `packages:
  repositories: [{type: deb, url: 'http://127.0.0.1:1/{arch}', suites: ['{uname}/x'], components: ['c-{arch}'], trusted: true}]
  install: [{name: 'linux-image-{arch}', roles: [worker]}]
addons:
  - {name: 'a-{arch}.yaml', url: 'https://a.test/{arch}', images: ['r.test/kube-proxy:{kubernetes}']}
  - {name: c.yaml, chart: {url: 'https://a.test/c.tgz', release: 'r-{arch}', values: {image: {tag: '{kubernetes}'}, flow: {arch: x}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	x := s.For("arm64")
	r, a, c := x.Repositories[0], x.Addons[0], x.Addons[1].Chart
	got := []string{x.Name, r.URL, r.Suites[0], r.Components[0], x.Install[0].Name, a.Name, a.Images[0], c.Release,
		c.Values}
	want := []string{"a-v1.34.2", "http://127.0.0.1:1/arm64", "aarch64/x", "c-arm64", "linux-image-arm64",
		"a-arm64.yaml", "r.test/kube-proxy:v1.34.2", "r-arm64",
		"{image: {tag: 'v1.34.2'}, flow: {arch: x}}\n"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	if s.Install[0].Name != "linux-image-{arch}" || s.Addons[1].Chart.Release != "r-{arch}" {
		t.Error("the spec itself changed")
	}
}

// TestIncludes: what is included comes first, single values of the including file count, paths are beside the file that
// names them.
func TestIncludes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("common/base.yaml", small+"addons:\n - {name: first.yaml, path: first.yaml}\n")
	write("site.yaml",
		"version: 1\ninclude: [common/base.yaml]\nname: site\naddons:\n - {name: second.yaml, path: second.yaml}\n")
	s, err := Load(filepath.Join(dir, "site.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "site" || s.Kubernetes != "v1.34.2" || len(s.Addons) != 2 ||
		s.Addons[0].Path.File != filepath.Join(dir, "common/first.yaml") ||
		s.Addons[0].Path.Name != "common/first.yaml" || s.Addons[1].Path.File != filepath.Join(dir, "second.yaml") {
		t.Errorf("%+v", s)
	}

	write("loop.yaml", "version: 1\ninclude: [loop.yaml]\n")
	ps := (Problems)(nil)
	if _, err := Load(filepath.Join(dir, "loop.yaml")); !errors.As(err, &ps) || ps[0].Code != "spec.include" {
		t.Errorf("a spec that includes itself: %v", err)
	}
	write("bad.yaml", "version: 1\ninclude: [worse.yaml]\nname: a\n")
	write("worse.yaml", "version: 1\nnme: b\n")
	if _, err := Load(filepath.Join(dir, "bad.yaml")); !errors.As(err, &ps) ||
		filepath.Base(ps[0].Args["file"]) != "worse.yaml" || ps[0].Args["line"] != "2" {
		t.Errorf("a problem in an included file: %v", err)
	}
}
