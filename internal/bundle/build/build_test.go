package build_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// job is a build against a test's upstream.
func job(t *testing.T, u *buildtest.Upstream, image string, arches ...string) build.Options {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"keys.gpg": u.Keyring, "spec.yaml": []byte(u.Spec(image))} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := spec.Load(filepath.Join(dir, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := fetch.OpenCache(filepath.Join(dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	mirrors, err := fetch.ParseMirrors(u.Mirrors())
	if err != nil {
		t.Fatal(err)
	}
	return build.Options{Spec: s, Arches: arches, Out: filepath.Join(dir, "out"), Cache: cache, Mirrors: mirrors}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

func TestBuild(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64", "arm64")
	res, err := build.Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range res.Bundles {
		r, err := bundle.Verify(context.Background(), b.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, m := range r.Manifest.Members {
			paths = append(paths, m.Path)
		}
		suffix := "_2.36-1+deb12u1_" + b.Arch + ".deb"
		want := []string{"libc6" + suffix, "libssl3" + suffix, "socat" + suffix, "images.tar", "Packages",
			"addons/net.yml", "etcd", "etcdctl", "kubelet", "sbom.spdx.json"}
		if !slices.Equal(paths, want) {
			t.Errorf("%s has %v", b.Arch, paths)
		}
		im := r.Manifest.Images[0]
		if im.Name != "registry.test/app:1" || im.Platform != "linux/"+b.Arch || im.Index == "" {
			t.Errorf("image %+v", im)
		}
		if out, err := exec.Command("gzip", "-t", b.Path).CombinedOutput(); err != nil {
			t.Errorf("gzip -t: %s", out)
		}
	}
	if len(res.Warnings) != 2 || res.Warnings[0].Key != "build.warn.first-use" {
		t.Errorf("warnings %v", res.Warnings)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Out, "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSameBytes: another directory, another cache, another day, and the lock of the first: the same files.
func TestSameBytes(t *testing.T) {
	u := buildtest.New(t)
	var all [][]byte
	var pins []byte
	for i := range 3 {
		o := job(t, u, "registry.test/app:1", "amd64")
		o.Now = func() time.Time { return time.Now().Add(time.Duration(i) * 40 * 24 * time.Hour) }
		if pins != nil {
			if err := os.MkdirAll(o.Out, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(o.Out, lock.Name), pins, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		res, err := build.Build(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && len(res.Warnings) > 0 {
			t.Errorf("with a lock: %v", res.Warnings)
		}
		data, err := os.ReadFile(res.Bundles[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		if pins, err = os.ReadFile(res.Lock); err != nil {
			t.Fatal(err)
		}
		all = append(all, data, pins)
	}
	for i := 2; i < len(all); i++ {
		if !bytes.Equal(all[i], all[i-2]) {
			t.Errorf("build %d differs", i/2)
		}
	}
}

// TestRefused: what a builder must not take.
func TestRefused(t *testing.T) {
	const dir = "/debian/dists/bookworm/InRelease"
	tests := []struct {
		name, arch, image string
		change            func(u *buildtest.Upstream)
		want              string
	}{
		{"index lies about the architecture", "arm64", "registry.test/lies:1", nil, "bundle.image-arch"},
		{"plain image of another architecture", "arm64", "registry.test/only:1", nil, "bundle.image-arch"},
		{"no such image", "amd64", "registry.test/none:1", nil, "registry.not-found"},
		{"changed program", "amd64", "registry.test/app:1", func(u *buildtest.Upstream) {
			u.Set("/dl/v1.34.2/amd64/kubelet", buildtest.ELF("amd64", "another"))
		}, "fetch.sum-mismatch"},
		{"checksum file without the program", "amd64", "registry.test/app:1", func(u *buildtest.Upstream) {
			u.Set("/dl/SHA256SUMS", []byte("0000  other\n"))
		}, "build.checksum"},
		{"a login page as checksum file", "amd64", "registry.test/app:1", func(u *buildtest.Upstream) {
			u.Set("/dl/SHA256SUMS", []byte("<html>log in</html>\n"))
		}, "build.checksum-page"},
		{"no addon", "amd64", "registry.test/app:1", func(u *buildtest.Upstream) { u.Set("/dl/net.yml", nil) },
			"fetch.not-found"},
		{"changed package", "amd64", "registry.test/app:1", func(u *buildtest.Upstream) {
			p := "/debian/pool/libc6_2.36-1+deb12u1_amd64.deb"
			changed := bytes.Clone(u.Get(p))
			changed[len(changed)/2] ^= 1
			u.Set(p, changed)
		}, "fetch.sum-mismatch"},
		{"changed metadata", "amd64", "registry.test/app:1", func(u *buildtest.Upstream) {
			u.Set(dir, bytes.Replace(u.Get(dir), []byte("Codename: bookworm"), []byte("Codename: bookw0rm"), 1))
		}, "deb.signature"},
		{"unsigned metadata", "amd64", "registry.test/app:1",
			func(u *buildtest.Upstream) { u.Set(dir, []byte("Suite: stable\n")) }, "deb.signature"},
		{"signed by another key", "amd64", "registry.test/app:1", func(u *buildtest.Upstream) {
			u.Set(dir, buildtest.New(t).Get(dir))
		}, "deb.signature"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := buildtest.New(t)
			if tt.change != nil {
				tt.change(u)
			}
			o := job(t, u, tt.image, tt.arch)
			_, err := build.Build(context.Background(), o)
			if code(err) != tt.want {
				t.Fatalf("%v, want %s", err, tt.want)
			}
			if found, _ := filepath.Glob(filepath.Join(o.Out, "*.tar.gz*")); len(found) > 0 {
				t.Errorf("left behind: %v", found)
			}
		})
	}
}

func TestStaleMetadata(t *testing.T) {
	u := buildtest.New(t)
	for hours, want := range map[int]string{-48: "deb.release-future", 48: "deb.release-expired"} {
		o := job(t, u, "registry.test/app:1", "amd64")
		o.Now = func() time.Time { return time.Now().Add(time.Duration(hours) * time.Hour) }
		if _, err := build.Build(context.Background(), o); code(err) != want {
			t.Errorf("%d hours: %v, want %s", hours, err, want)
		}
	}
}

func TestFirstUseIsPinned(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	if _, err := build.Build(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	o.Cache, _ = fetch.OpenCache(t.TempDir())
	u.Set("/dl/net.yml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil}\n"))
	if _, err := build.Build(context.Background(), o); code(err) != "build.first-use" {
		t.Fatal(err)
	}
}

// TestResume: a connection that always breaks after 100 kB still ends in the right bytes, each time going on where it
// broke.
func TestResume(t *testing.T) {
	u := buildtest.New(t)
	const file = "/dl/v1.34.2/amd64/kubelet"
	u.Cut(file, 100_000)
	o := job(t, u, "registry.test/app:1", "amd64")
	retries := 0
	o.Report = func(e build.Event) {
		if e.Kind == build.Retrying {
			retries++
		}
	}
	if _, err := build.Build(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	asked := u.Asked(file)
	if retries == 0 || len(asked) != retries+1 || asked[0] != "" || !strings.HasPrefix(asked[1], "bytes=1000") {
		t.Fatalf("%d retries, asked %q", retries, asked)
	}
}

func TestInterrupted(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	ctx, cancel := context.WithCancel(context.Background())
	o.Report = func(e build.Event) {
		if e.Kind == build.Packing {
			cancel()
		}
	}
	_, err := build.Build(ctx, o)
	f := (*event.Fault)(nil)
	if !errors.As(err, &f) || f.Class != event.ClassInterrupted {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(o.Out, "*.tar.gz*")); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
}

// TestDamagedCache: files that rotted in the cache never enter a bundle; they are fetched again.
func TestDamagedCache(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64", "arm64")
	first := mustBuild(t, o)
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Out), "cache", "sha256", "*"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(f, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Dir(first.Bundles[0].Path)); err != nil {
		t.Fatal(err)
	}
	again := mustBuild(t, o)
	for i, b := range again.Bundles {
		if b.Unchanged || b.SHA256 != first.Bundles[i].SHA256 {
			t.Errorf("%+v, first %+v", b, first.Bundles[i])
		}
	}
}

// TestRuntime: what containerd can load and docker cannot is a question of the spec.
func TestRuntime(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/zstd:1", "amd64")
	res, err := build.Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Verify(context.Background(), res.Bundles[0].Path, nil); err != nil {
		t.Error(err)
	}
	// Also when the lock pins the image already.
	o.Spec.Runtime = "docker"
	if _, err := build.Build(context.Background(), o); code(err) != "image.layer-runtime" {
		t.Error(err)
	}
}
