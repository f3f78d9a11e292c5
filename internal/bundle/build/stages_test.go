package build_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

func mustBuild(t *testing.T, o build.Options) *build.Result {
	t.Helper()
	res, err := build.Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// respec changes the text of a job's spec and reads it again.
func respec(t *testing.T, o *build.Options, change func(string) string) {
	t.Helper()
	file := filepath.Join(filepath.Dir(o.Out), "spec.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, change(string(text)))
	if o.Spec, err = spec.Load(file); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func manifest(t *testing.T, path string) *bundle.Manifest {
	t.Helper()
	r, err := bundle.Verify(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.Manifest
}

func paths(m *bundle.Manifest) []string {
	var out []string
	for _, e := range m.Members {
		out = append(out, e.Path)
	}
	return out
}

// counted is a job whose requests are counted.
func counted(o *build.Options, fetched *int) {
	o.Report = func(e build.Event) {
		if e.Kind == build.Fetched && !e.Cached {
			*fetched++
		}
	}
}

// TestAPinnedBuildAsksNoIndex: with the lock and an empty cache only what goes into the bundle is fetched; with the
// bundle there, nothing.
func TestAPinnedBuildAsksNoIndex(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	first := mustBuild(t, o)
	for _, gone := range []string{"/debian/dists/bookworm/InRelease", "/dl/v1.34.2/amd64/kubelet.sha256",
		"/dl/SHA256SUMS"} {
		u.Set(gone, nil)
	}
	again := o
	n := 0
	counted(&again, &n)
	again.Locked = true
	res := mustBuild(t, again)
	if !res.Bundles[0].Unchanged || n != 0 || res.Bundles[0].SHA256 != first.Bundles[0].SHA256 {
		t.Errorf("unchanged: %+v, %d fetched", res.Bundles[0], n)
	}
	if err := os.Remove(res.Bundles[0].Path); err != nil {
		t.Fatal(err)
	}
	var err error
	if again.Cache, err = fetch.OpenCache(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	res = mustBuild(t, again)
	if res.Bundles[0].Unchanged || res.Bundles[0].SHA256 != first.Bundles[0].SHA256 || n == 0 {
		t.Errorf("from an empty cache: %+v, %d fetched", res.Bundles[0], n)
	}
}

// TestLocked: what the lock does not pin is refused, each thing by its name, and nothing is written.
func TestLocked(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	o.Locked = true
	_, err := build.Build(context.Background(), o)
	var what []string
	for _, f := range fetch.Faults(err) {
		if f.Code != "build.locked" {
			t.Errorf("%v", f)
		}
		what = append(what, f.Args["what"])
	}
	slices.Sort(what)
	if !slices.Equal(what, []string{"etcd", "kubelet", "net.yml", "packages"}) {
		t.Errorf("without a lock: %v", what)
	}
	o.Locked = false
	mustBuild(t, o)
	o.Locked = true
	respec(t, &o, func(s string) string { return strings.Replace(s, "registry.test/app:1", "registry.test/only:1", 1) })
	if _, err := build.Build(context.Background(), o); code(err) != "build.locked" ||
		event.AsFault(err).Args["what"] != "registry.test/only:1" {
		t.Errorf("another image: %v", err)
	}
	pins, err := lock.Read(filepath.Join(o.Out, lock.Name))
	if err != nil || pins.Arches["amd64"].Images[0].Name != "registry.test/app:1" {
		t.Errorf("the lock moved: %v", err)
	}
}

// TestUpdate: the pins are forgotten, and what moved is told.
func TestUpdate(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	if res := mustBuild(t, o); len(res.Moved) != 1 {
		t.Errorf("everything is new: %v", res.Moved)
	}
	if res, err := build.Update(context.Background(), o); err != nil || len(res.Moved) != 0 {
		t.Fatalf("nothing moved upstream: %v, %v", res, err)
	}
	u.Set("/dl/net.yml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"))
	u.Publish(t, map[string]string{"socat": "2.37-1"})
	res, err := build.Update(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var moved []string
	for _, c := range res.Moved["amd64"].Changes {
		moved = append(moved, fmt.Sprintf("%s %s %s", c.Word, c.Kind, c.Name))
	}
	if !slices.Equal(moved, []string{"upgraded deb socat", "changed addon net.yml"}) {
		t.Errorf("%v", moved)
	}
	if m := manifest(t, mustBuild(t, o).Bundles[0].Path); !slices.Contains(paths(m), "socat_2.37-1_amd64.deb") {
		t.Errorf("%v", paths(m))
	}
}

// TestAllAtOnce: everything that is wrong is told by one build.
func TestAllAtOnce(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/none:1", "amd64")
	u.Set("/dl/net.yml", nil)
	respec(t, &o, func(s string) string { // an addon that cannot be had hides the images, which may come from it
		return strings.Replace(s, "kubelet.sha256", "kubelet.sha1", 1)
	})
	_, err := build.Build(context.Background(), o)
	var codes []string
	for _, f := range fetch.Faults(err) {
		codes = append(codes, f.Code)
	}
	if len(codes) < 2 || !slices.Contains(codes, "fetch.not-found") {
		t.Errorf("%v: %v", codes, err)
	}
}

// TestSplit: parts of a size, written directly, are read without being joined, and joined they are the bundle.
func TestSplit(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	whole, err := os.ReadFile(mustBuild(t, o).Bundles[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	o.Out, o.PartSize = filepath.Join(filepath.Dir(o.Out), "parts"), 2000
	b := mustBuild(t, o).Bundles[0]
	var joined []byte
	for _, p := range b.Parts {
		data, err := os.ReadFile(p)
		if err != nil || len(data) > 2000 {
			t.Fatal(err, len(data))
		}
		joined = append(joined, data...)
	}
	// Without the files beside the bundle, and from another directory, it is the same bundle.
	beside := []string{b.Path + ".sha256", strings.TrimSuffix(b.Path, ".tar.gz") + ".spdx.json"}
	for _, f := range beside {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Dir(o.Out))
	elsewhere := o
	elsewhere.Out = "parts"
	if again := mustBuild(t, elsewhere).Bundles[0]; !again.Unchanged || len(again.Parts) != len(b.Parts) ||
		again.Parts[1] != filepath.Join("parts", filepath.Base(b.Parts[1])) {
		t.Errorf("%+v", again)
	}
	for _, f := range beside {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	if len(b.Parts) < 3 || !bytes.Equal(joined, whole) {
		t.Errorf("%d parts, %d of %d bytes", len(b.Parts), len(joined), len(whole))
	}
	manifest(t, b.Path)
}

// TestDifference: a difference and its base stage to the very files of the full bundle.
func TestDifference(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/only:1", "amd64")
	old := mustBuild(t, o).Bundles[0]
	base := filepath.Join(t.TempDir(), "base-amd64.tar.gz")
	if err := os.Rename(old.Path, base); err != nil {
		t.Fatal(err)
	}
	respec(t, &o, func(s string) string { return strings.Replace(s, "registry.test/only:1", "registry.test/app:1", 1) })
	full := mustBuild(t, o).Bundles[0]
	o.Base = filepath.Join(filepath.Dir(base), "base-{arch}.tar.gz")
	none := o
	none.Base = base + ".none"
	if _, err := build.Build(context.Background(), none); code(err) != "build.base" {
		t.Errorf("a base that is not there: %v", err)
	}
	d := mustBuild(t, o).Bundles[0]
	if m := manifest(t, d.Path); m.Base == nil || d.Path == full.Path || d.Size >= full.Size {
		t.Fatalf("%s has %d bytes, %s %d", d.Path, d.Size, full.Path, full.Size)
	}
	want := stageOf(t, full.Path)
	got := stageOf(t, d.Path, base)
	if len(want) == 0 || len(got) != len(want) {
		t.Fatalf("%d files, %d", len(got), len(want))
	}
	for name, data := range want {
		if !bytes.Equal(got[name], data) {
			t.Errorf("%s differs", name)
		}
	}
}

// stageOf unpacks a bundle and gives its members.
func stageOf(t *testing.T, path string, bases ...string) map[string][]byte {
	t.Helper()
	s, err := bundle.Stage(context.Background(), path, t.TempDir(), nil, bundle.WithBases(bases...))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, e := range s.Manifest().Members {
		r, err := s.Open(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		out[e.Path] = b.Bytes()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestTyped: the same things in the layout with a directory for each kind.
func TestTyped(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	write(t, filepath.Join(filepath.Dir(o.Out), "motd"), "hello\n")
	write(t, filepath.Join(filepath.Dir(o.Out), "tools", "a", "b"), "hello\n")
	respec(t, &o, func(s string) string {
		return s + "layout: typed\nfiles:\n  - {name: motd, path: motd, dst: /etc/kubernetes, roles: [worker]}\n" +
			"dirs: [{name: tools, path: tools, dst: /root/.eggo, roles: [worker]}]\n"
	})
	got := paths(manifest(t, mustBuild(t, o).Bundles[0].Path))
	for _, want := range []string{"pkg/socat_2.36-1+deb12u1_amd64.deb", "pkg/Packages", "image/images.tar",
		"bin/kubelet", "file/net.yml", "file/motd", "dir/tools/a/b"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
}

// addons of every kind, and the images that they name, found by themselves.
func TestAddons(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/only:1", "amd64")
	dir := filepath.Dir(o.Out)
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: " +
		"\"registry.test/app:1\"}]}\n"
	write(t, filepath.Join(dir, "pod.yaml"), pod)
	write(t, filepath.Join(dir, "many", "10-a.yaml"), pod)
	write(t, filepath.Join(dir, "many", "sub", "b.yaml"), pod)
	write(t, filepath.Join(dir, "chart", "Chart.yaml"), "apiVersion: v2\nname: c\nversion: 0.1.0\n")
	write(t, filepath.Join(dir, "chart", "templates", "pod.yaml"),
		strings.Replace(pod, "registry.test/app:1", "{{ .Values.image }}", 1))
	respec(t, &o, func(s string) string {
		return strings.Replace(s, "addons:\n", `addons:
  - {name: pod.yaml, path: pod.yaml}
  - {name: many, dir: many}
  - name: c.yaml
    chart: {path: chart, release: c, values: {image: "registry.test/app:1"}}
`, 1)
	})
	res := mustBuild(t, o)
	m := manifest(t, res.Bundles[0].Path)
	for _, want := range []string{"addons/pod.yaml", "addons/many__10-a.yaml", "addons/many__sub__b.yaml",
		"addons/c.yaml"} {
		if !slices.Contains(paths(m), want) {
			t.Errorf("%s is not among %v", want, paths(m))
		}
	}
	if !slices.ContainsFunc(m.Images, func(im bundle.Image) bool {
		return im.Name == "registry.test/app:1" && len(im.Roles) == 2
	}) {
		t.Errorf("%+v", m.Images)
	}
	// What lies beside the spec is part of the question.
	write(t, filepath.Join(dir, "pod.yaml"), strings.Replace(pod, "{name: p}", "{name: q}", 1))
	o.Locked = true
	if _, err := build.Build(context.Background(), o); code(err) != "build.locked" ||
		event.AsFault(err).Args["what"] != "pod.yaml" {
		t.Error(err)
	}
	o.Locked = false
	respec(t, &o, func(s string) string { return s + "discover: []\n" })
	if _, err := build.Build(context.Background(), o); code(err) != "build.image-missing" {
		t.Errorf("an image that an addon names and the bundle lacks: %v", err)
	}
}

// TestAnotherRuntime: a bundle that is there is held against another runtime's rules as well.
func TestAnotherRuntime(t *testing.T) {
	u := buildtest.New(t)
	ref, err := name.ParseReference(u.Host + "/registry.test/only:1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err == nil {
		// which iSulad does not take
		img, err = mutate.CreatedAt(img, v1.Time{Time: time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC)})
	}
	if err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := job(t, u, "registry.test/only:1", "amd64")
	mustBuild(t, o)
	o.Spec.Runtime = "isulad"
	if _, err := build.Build(context.Background(), o); code(err) != "image.created" {
		t.Error(err)
	}
	o.Spec.Runtime = "containerd"
	if res := mustBuild(t, o); !res.Bundles[0].Unchanged {
		t.Errorf("%+v", res.Bundles)
	}
}

// TestArchive: an image that another tool saved.
func TestArchive(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/saved:1", "amd64")
	ref, err := name.ParseReference(u.Host + "/registry.test/only:1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("registry.test/saved:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(filepath.Join(filepath.Dir(o.Out), "saved.tar"), tag, img); err != nil {
		t.Fatal(err)
	}
	respec(t, &o, func(s string) string {
		return strings.Replace(s, `name: "registry.test/saved:1"`, `archive: saved.tar, name: "registry.test/saved:1"`,
			1)
	})
	res := mustBuild(t, o)
	if m := manifest(t, res.Bundles[0].Path); m.Images[0].Name != "registry.test/saved:1" {
		t.Errorf("%+v", m.Images)
	}
	if err := os.Remove(res.Bundles[0].Path); err != nil {
		t.Fatal(err)
	}
	o.Locked = true
	if again := mustBuild(t, o); again.Bundles[0].SHA256 != res.Bundles[0].SHA256 {
		t.Error("the second build differs")
	}
}

// TestLockOfAnother: two bundles do not share a lock, and an update says when it cannot keep what a lock pinned.
func TestLockOfAnother(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	mustBuild(t, o)
	respec(t, &o, func(s string) string { return strings.Replace(s, "name: test", "name: other", 1) })
	if _, err := build.Build(context.Background(), o); code(err) != "lock.other" {
		t.Error(err)
	}
	write(t, filepath.Join(o.Out, lock.Name), "{")
	if _, err := build.Build(context.Background(), o); code(err) != "lock.read" {
		t.Error(err)
	}
	res, err := build.Update(context.Background(), o)
	if err != nil || !slices.ContainsFunc(res.Warnings,
		func(m event.Msg) bool { return m.Key == "build.warn.lock-replaced" }) {
		t.Errorf("%v, %v", res, err)
	}
}
