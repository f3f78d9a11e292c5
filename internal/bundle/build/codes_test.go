package build_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// wantFault builds, sees the fault with that code, and that what it says has the words; nothing is left in the
// directory of the bundles.
func wantFault(t *testing.T, o build.Options, want string, words ...string) *event.Fault {
	t.Helper()
	_, err := build.Build(context.Background(), o)
	faults := fetch.Faults(err)
	i := slices.IndexFunc(faults, func(f *event.Fault) bool { return f.Code == want })
	if i < 0 {
		t.Fatalf("%v, want %s", err, want)
	}
	text, next := i18n.NewPrinter(i18n.English).Fault(faults[i])
	for _, w := range words {
		if !strings.Contains(text+" "+next, w) {
			t.Errorf("%q is not in: %s | %s", w, text, next)
		}
	}
	if next == "" {
		t.Errorf("nobody says what to do next: %s", text)
	}
	if found, _ := filepath.Glob(filepath.Join(o.Out, "*.tar.gz*")); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
	return faults[i]
}

// replaced is a change of a spec.
func replaced(old, with string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, with, 1) }
}

// withFile adds a file beside the spec, or of an address, to a spec.
func withFile(keys string) func(string) string {
	return func(s string) string {
		return s + "files:\n  - {name: f, dst: /opt/cni/bin, roles: [worker], " + keys + "}\n"
	}
}

func zipped(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if _, err := z.Create("etcd"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zippedAs is a zip whose only member says that it is compressed by a method, and has these bytes.
func zippedAs(t *testing.T, method uint16, data string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "etcd", Method: method, CompressedSize64: uint64(len(data)),
		UncompressedSize64: 100})
	if err == nil {
		_, err = w.Write([]byte(data))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("etcd")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tarWith is a tar of one member.
func tarWith(t *testing.T, h tar.Header, body string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h.Size, h.Mode = int64(len(body)), 0o755
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What upstream, a mirror or a person gives in place of a program is told apart, with what to do about it.
func TestFilesThatAreNone(t *testing.T) {
	link := func(t *testing.T) string {
		t.Helper()
		return tarWith(t, tar.Header{Name: "etcd", Typeflag: tar.TypeSymlink, Linkname: "/bin/sh"}, "")
	}
	text := func(s string) func(*testing.T) string { return func(*testing.T) string { return s } }
	pick := "path: f, pick: {etcd: e}"
	for _, tt := range []struct {
		name, keys, want string
		body             func(*testing.T) string
		words            []string
	}{
		{"a page in place of an archive", pick, "build.archive", text("<html>gone</html>\n"),
			[]string{"the archive file:f", "remove pick from the spec"}},
		{"a compressed file in place of an archive", pick, "build.archive", gzipped, []string{"it is no archive"}},
		{"half an archive", pick, "build.archive", func(t *testing.T) string {
			t.Helper()
			whole := zipped(t)
			return whole[:len(whole)-10]
		}, []string{"the archive file:f"}},
		{"a member that is compressed as it does not say", pick, "build.archive", func(t *testing.T) string {
			t.Helper()
			return zippedAs(t, 95, "no xz")
		}, []string{"the archive file:f"}},
		{"a damaged member", pick, "build.archive", func(t *testing.T) string {
			t.Helper()
			return zippedAs(t, zip.Deflate, "\xff\xffno deflate")
		}, []string{"the archive file:f"}},
		{"a link in place of a program", pick, "build.archive", link, []string{"no regular file"}},
		{"a release with other directories", pick, "build.no-member", func(t *testing.T) string {
			t.Helper()
			return tarWith(t, tar.Header{Name: "etcd-v9/etcd", Typeflag: tar.TypeReg}, "x")
		}, []string{"has no etcd", "List the archive"}},
		{"half a program", "path: f", "build.elf", text(elf.ELFMAG + "\x02\x01\x01"),
			[]string{"f cannot be read as an ELF binary"}},
		{"another architecture's", "path: f", "build.elf-arch", text(string(buildtest.ELF("arm64", "f"))),
			[]string{"f is a binary for arm64, not for amd64", "{arch}"}},
		{"another architecture's in an archive", "path: f, pick: {etcd: e}", "build.elf-arch",
			func(t *testing.T) string {
				t.Helper()
				return tarWith(t, tar.Header{Name: "./etcd", Typeflag: tar.TypeReg},
					string(buildtest.ELF("arm64", "f")))
			}, []string{"e is a binary for arm64"}},
		{"a directory", "path: .", "build.file", text(""), []string{"it is no regular file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := buildtest.New(t)
			o := job(t, u, "registry.test/app:1", "amd64")
			write(t, filepath.Join(filepath.Dir(o.Out), "f"), tt.body(t))
			respec(t, &o, withFile(tt.keys))
			wantFault(t, o, tt.want, tt.words...)
		})
	}
}

// once does something at the first event of a kind.
func once(kind build.Kind, do func()) func(build.Event) {
	var first sync.Once
	return func(e build.Event) {
		if e.Kind == kind {
			first.Do(do)
		}
	}
}

// A file beside the spec, and an image's archive, that somebody changes while the bundle is made.
func TestChangedMeanwhile(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	file := filepath.Join(filepath.Dir(o.Out), "f")
	write(t, file, "before")
	respec(t, &o, withFile("path: f"))
	o.Report = once(build.Packing, func() {
		write(t, file, "after")
		prune(t, o)
	})
	wantFault(t, o, "build.changed", file+" changed", "nothing writes to the file")

	o = job(t, u, "registry.test/saved:1", "amd64")
	ref, err := name.ParseReference(u.Host + "/registry.test/only:1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err == nil {
		tag, _ := name.NewTag("registry.test/saved:1")
		err = tarball.WriteToFile(filepath.Join(filepath.Dir(o.Out), "saved.tar"), tag, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	respec(t, &o, replaced(`name: "registry.test/saved:1"`, `archive: saved.tar, name: "registry.test/saved:1"`))
	o.Report = once(build.Packing, func() { prune(t, o) })
	wantFault(t, o, "build.gone", "registry.test/saved:1", "again")
}

// prune empties the cache, as eggo-bundle cache prune does beside a build.
func prune(t *testing.T, o build.Options) {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Out), "cache", "sha256", "*"))
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Error(err)
		}
	}
}

// An addon's image that the bundle does not have under the digest that the addon pins.
func TestPinnedElsewhere(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	pinned := "registry.test/app:1@sha256:" + strings.Repeat("0", 64)
	write(t, filepath.Join(filepath.Dir(o.Out), "pod.yaml"), podOf(pinned))
	respec(t, &o, func(s string) string {
		return strings.Replace(s, "addons:\n", "addons:\n  - {name: pod.yaml, path: pod.yaml}\n", 1) + "discover: []\n"
	})
	wantFault(t, o, "build.image-alias", "pod.yaml", pinned, "amd64", "discover")
}

// A chart that its repository offers without a sum, over a connection that anyone can change.
func TestAChartOverPlainHTTP(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	u.Set("/charts/index.yaml",
		[]byte("apiVersion: v1\nentries:\n  c:\n    - {name: c, version: 1.0.0, urls: "+
			"['http://charts.test/c-1.0.0.tgz']}\n"))
	chart := "  - {name: c.yaml, chart: {repository: \"" + u.URL + "/charts\", name: c, version: 1.0.0, release: c}}\n"
	respec(t, &o, replaced("addons:\n", "addons:\n"+chart))
	wantFault(t, o, "build.chart-http", "http://charts.test/c-1.0.0.tgz", "c.yaml", "https")
}

// Keys that cannot be used, however they are named.
func TestKeyrings(t *testing.T) {
	u := buildtest.New(t)
	for _, tt := range []struct{ name, keyring, words string }{
		{"a file that is not there", "none.gpg", "no such file"},
		{"a file without keys", "empty.gpg", "no keys in it"},
		{"a file of something else", "spec.yaml", "The keyring spec.yaml of " + u.URL + "/debian"},
		{"keys that nobody embedded", "embedded:none", "embedded:none"},
	} {
		o := job(t, u, "registry.test/app:1", "amd64")
		write(t, filepath.Join(filepath.Dir(o.Out), "empty.gpg"), "")
		respec(t, &o, replaced("keyring: keys.gpg", "keyring: "+tt.keyring))
		t.Run(tt.name, func(t *testing.T) { wantFault(t, o, "build.keyring", tt.words) })
	}
}

// The sources of the builder's own machine.
func TestTheMachinesSources(t *testing.T) {
	u := buildtest.New(t)
	line := func(text string) fstest.MapFS {
		return fstest.MapFS{"etc/apt/sources.list": {Data: []byte(text + "\n")}, "keys/k.gpg": {Data: u.Keyring},
			"keys/bad.gpg": {Data: []byte("x")}}
	}
	at := strings.TrimPrefix(u.URL, "http://")
	for _, tt := range []struct{ name, line, want, words string }{
		{"a password", "deb http://me:secret@" + at + "/debian bookworm main", "build.source-password",
			"etc/apt/sources.list"},
		{"keys that are not there", "deb [signed-by=/keys/none.gpg] " + u.URL + "/debian bookworm main",
			"build.keyring", "/keys/none.gpg"},
		{"keys that are none", "deb [signed-by=/keys/bad.gpg] " + u.URL + "/debian bookworm main", "build.keyring",
			"/keys/bad.gpg"},
		{"good", "deb [signed-by=/keys/k.gpg] " + u.URL + "/debian bookworm main", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := job(t, u, "registry.test/app:1", "amd64")
			o.Machine = line(tt.line)
			repository := "{type: deb, url: " + u.URL +
				"/debian, suites: [bookworm], components: [main], keyring: keys.gpg}"
			respec(t, &o, replaced(repository, "{type: deb, machine: true}"))
			if tt.want == "" {
				mustBuild(t, o)
				return
			}
			f := wantFault(t, o, tt.want, tt.words)
			for _, p := range []i18n.Lang{i18n.English, i18n.Chinese} {
				if text, next := i18n.NewPrinter(p).Fault(f); strings.Contains(text+next, "secret") {
					t.Errorf("the password is shown: %s", text)
				}
			}
		})
	}
}

// A clock that is wrong is the reason that is told, not a mirror that is not to be trusted; one that is a little behind
// does no harm.
func TestAClockThatIsBehind(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	behind := func(d time.Duration) { o.Now = func() time.Time { return time.Now().Add(-d) } }
	behind(48 * time.Hour)
	wantFault(t, o, "deb.release-future", "bookworm", "clock")
	good := u.Get("/debian/dists/bookworm/InRelease")
	u.Set("/debian/dists/bookworm/InRelease", bytes.Replace(good, []byte("Codename: bookworm"),
		[]byte("Codename: bookw0rm"), 1))
	wantFault(t, o, "deb.signature")
	u.Set("/debian/dists/bookworm/InRelease", good)
	behind(2 * time.Hour)
	mustBuild(t, o)
}

// A directory that cannot be made because the file system has no room for it.
func TestNoRoomForTheBundles(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "nr_inodes=1,mode=0700"); err != nil {
		t.Skip("mounting a small file system is not allowed here (that takes root):", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	o := job(t, buildtest.New(t), "registry.test/app:1", "amd64")
	o.Out = filepath.Join(dir, "out")
	wantFault(t, o, "build.no-space", o.Out, "-o")
}
