package bundle_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func stage(t testing.TB, file, dir string, opts ...bundle.Option) *bundle.Staged {
	t.Helper()
	s, err := bundle.Stage(context.Background(), file, dir, nil, opts...)
	if err != nil {
		t.Fatalf("%v %v", err, event.AsFault(err).Args)
	}
	return s
}

// TestADifferenceMakesTheFullBundle: whatever way a release arrives, its stage is the same to the byte.
func TestADifferenceMakesTheFullBundle(t *testing.T) {
	for name, layout := range map[string]bundle.Layout{"flat": bundle.Flat, "typed": bundle.Typed} {
		t.Run(name, func(t *testing.T) {
			v1, v2, v3 := releases(layout)
			media := t.TempDir()
			full1 := keep(t, media, "v1.tar.gz", v1.full(t))
			full2 := keep(t, media, "v2.tar.gz", v2.full(t))
			full3 := keep(t, media, "v3.tar.gz", v3.full(t))
			since1 := keep(t, media, "v2-since-v1.tar.gz", v2.since(t, v1))
			since2 := keep(t, media, "v3-since-v2.tar.gz", v3.since(t, v2))
			want2 := tree(t, stage(t, full2, t.TempDir()).Dir(), "complete.json")
			want3 := tree(t, stage(t, full3, t.TempDir()).Dir(), "complete.json")

			// On a jump host that has v1 staged.
			dir := t.TempDir()
			stage(t, full1, dir)
			var done, total int64
			s, err := bundle.Stage(context.Background(), since1, dir, func(d, n int64) {
				if d < done || total > 0 && n != total {
					t.Errorf("progress goes from %d of %d to %d of %d", done, total, d, n)
				}
				done, total = d, n
			})
			if err != nil || done != total || total == 0 {
				t.Fatalf("%v, %d of %d", err, done, total)
			}
			if d := cmp.Diff(want2, tree(t, s.Dir(), "complete.json")); d != "" {
				t.Fatalf("v2 by its difference (-full):\n%s", d)
			}
			if filepath.Base(s.Dir()) != v2.id(t) || s.Manifest().Base != nil {
				t.Errorf("staged in %s with the manifest %+v", s.Dir(), s.Manifest())
			}
			m, _ := s.Manifest().Member(s.Manifest().ImagesPath())
			if sha, n, err := s.Sum(m.Path); err != nil || sha != sum(want2[filepath.Join("members", m.Path)]) ||
				n != m.Size {
				t.Errorf("images.tar: %s, %d bytes, %v", sha, n, err)
			}
			if f, err := s.Images(context.Background(), []string{"registry.test/c:1"}); err != nil || f.Size >= m.Size {
				t.Errorf("a subset of the images: %v, %v", f, err)
			}
			// A difference on the difference, from the stage.
			if d := cmp.Diff(want3, tree(t, stage(t, since2, dir).Dir(), "complete.json")); d != "" {
				t.Fatalf("v3 by two differences (-full):\n%s", d)
			}
			// Where nothing is staged, from the files alone.
			dir = t.TempDir()
			s = stage(t, since2, dir, bundle.WithBases(since1, filepath.Join(media, "none"), full1))
			if d := cmp.Diff(want3, tree(t, s.Dir(), "complete.json")); d != "" {
				t.Fatalf("v3 from files (-full):\n%s", d)
			}
			// What was made of a difference is used again by it, without its base; the full bundle is verified again.
			for _, id := range []string{v1.id(t), v2.id(t)} {
				if err := os.RemoveAll(filepath.Join(dir, id)); err != nil {
					t.Fatal(err)
				}
			}
			stage(t, since2, dir)
			stage(t, full3, dir)
		})
	}
}

// TestADifferenceIsSmall: it carries what changed and the documents of images.tar, no more.
func TestADifferenceIsSmall(t *testing.T) {
	v1, v2, _ := releases(bundle.Flat)
	members := v2.since(t, v1)
	var names []string
	for _, m := range members {
		names = append(names, m.name)
	}
	if want := []string{"manifest.json", "SHA256SUMS", "kubelet", "images.tar", "images.tar.sha256"}; !cmp.Equal(names,
		want) {
		t.Errorf("carries %v", names)
	}
	if strings.Count(members[1].body, "\n") != 2 {
		t.Errorf("SHA256SUMS lists what is not carried:\n%s", members[1].body)
	}
	if body := members[3].body; strings.Contains(body, "layer a") || !strings.Contains(body, "layer b, changed") {
		t.Error("images.tar carries a layer that the base has, or lacks one")
	}
	file := store(t, archive(t, members))
	r, err := bundle.Verify(context.Background(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != v2.id(t) || r.Base == nil || r.Base.ID != v1.id(t) || r.Members != len(members) {
		t.Errorf("report %+v, base %+v", r, r.Base)
	}
	if a, err := bundle.Open(file); err != nil || a.ID() != r.ID || a.Manifest().Base.Name != "test" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestTheBaseIsMissing(t *testing.T) {
	v1, v2, v3 := releases(bundle.Flat)
	media := t.TempDir()
	since1, full3 := keep(t, media, "v2-since-v1.tar.gz", v2.since(t, v1)), keep(t, media, "v3.tar.gz", v3.full(t))
	dir := t.TempDir()
	_, err := bundle.Stage(context.Background(), since1, dir, nil, bundle.WithBases(full3, since1))
	f := event.AsFault(err)
	if code(t, since1, err) != "bundle.base-missing" || f.Args["base"] != v1.id(t) || f.Args["name"] != "test" ||
		f.Args["arch"] != "amd64" {
		t.Fatalf("%v %v", err, f.Args)
	}
	// Two differences that need one another are no base for either.
	back := keep(t, media, "v1-since-v2.tar.gz", v1.since(t, v2))
	_, err = bundle.Stage(context.Background(), since1, dir, nil, bundle.WithBases(since1, back))
	if f := event.AsFault(err); f.Code != "bundle.base-missing" {
		t.Fatalf("%v %v", err, f.Args)
	}
	// A base that is damaged is told as such, with its own name.
	full1 := filepath.Join(media, "v1.tar.gz")
	data := archive(t, v1.full(t))
	if err := os.WriteFile(full1, data[:len(data)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = bundle.Stage(context.Background(), since1, dir, nil, bundle.WithBases(bundle.Beside(since1)...))
	if code(t, full1, err) != "bundle.truncated" {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*", "complete.json")); len(found) > 0 {
		t.Error("a stage counts as complete")
	}
}

// TestTheBaseHasChanged: a stage that someone wrote into does not get into another one.
func TestTheBaseHasChanged(t *testing.T) {
	v1, v2, _ := releases(bundle.Flat)
	for _, victim := range []string{"socat_1.deb", "images.tar"} {
		t.Run(victim, func(t *testing.T) {
			dir := t.TempDir()
			s := stage(t, store(t, archive(t, v1.full(t))), dir)
			p := filepath.Join(s.Dir(), "members", victim)
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			// The same length: only the sums can tell.
			data = []byte(strings.NewReplacer("a package", "A PACKAGE", "layer a", "LAYER A").Replace(string(data)))
			if err := os.WriteFile(p, data, 0o600); err != nil {
				t.Fatal(err)
			}
			file := store(t, archive(t, v2.since(t, v1)))
			_, err = bundle.Stage(context.Background(), file, dir, nil)
			if code(t, file, err) != "bundle.base-damaged" || event.AsFault(err).Args["base"] != s.Dir() ||
				event.AsFault(err).Args["member"] != victim {
				t.Fatalf("%v %v", err, event.AsFault(err).Args)
			}
		})
	}
}

// TestHostileDifferences: what a difference says of its base and of what it carries is not believed.
func TestHostileDifferences(t *testing.T) {
	v1, v2, _ := releases(bundle.Flat)
	tests := []struct {
		name     string
		old, new string // in manifest.json
		want     string
	}{
		{"another result", v2.id(t), strings.Repeat("0", 64), "bundle.manifest"},
		{"another architecture", `"arch": "amd64",` + "\n  \"full\"", `"arch": "arm64",` + "\n  \"full\"",
			"bundle.manifest"},
		{"no sum of the base", v1.id(t), "../../etc", "bundle.manifest"},
		{"its own base", v1.id(t), v2.id(t), "bundle.manifest"},
		{"from elsewhere", `"from": "base"`, `"from": "/etc"`, "bundle.manifest"},
		{"more carried than there is", `"carried": `, `"carried": 9`, "bundle.manifest"},
		{"nothing carried", `"carried": `, `"carried": -`, "bundle.manifest"},
		{"less carried", `"carried": `, `"carried": 1, "x": `, "bundle.sum-mismatch"},
		{"told to an older reader", `"format": 2`, `"format": 1`, "bundle.manifest"},
		{"without a base", `"base": {`, `"bass": {`, "bundle.manifest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members := v2.since(t, v1)
			if !strings.Contains(members[0].body, tt.old) {
				t.Fatalf("no %q in\n%s", tt.old, members[0].body)
			}
			members[0].body = strings.Replace(members[0].body, tt.old, tt.new, 1)
			file := store(t, archive(t, members))
			if _, err := bundle.Verify(context.Background(), file, nil); code(t, file, err) != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
	if _, err := bundle.NewDifference(first(v2.manifest(t)), first(v2.manifest(t)), v2.id(t),
		9); event.AsFault(err).Code != "bundle.no-difference" {
		t.Errorf("a difference to itself: %v", err)
	}
	other, _ := v2.manifest(t)
	other.Arch, other.Members, other.Images = "arm64", nil, nil
	if _, err := bundle.NewDifference(first(v2.manifest(t)), other, v1.id(t),
		9); event.AsFault(err).Code != "bundle.wrong-arch" {
		t.Errorf("a difference to another architecture: %v", err)
	}
}

func first[A, B any](a A, _ B) A { return a }

// TestHostileCarriedImages: blobs that are not what they are called, that nobody asked for, or that are not there at
// all.
func TestHostileCarriedImages(t *testing.T) {
	v1, v2, _ := releases(bundle.Flat)
	m, full := v2.manifest(t)
	base, _ := v1.manifest(t)
	carry := bundle.Carry(v2.images, base)
	good := onlyBlobs(t, full, carry)
	without := func(digest string) string {
		less := map[string]bool{}
		for d := range carry {
			less[d] = d != digest
		}
		return onlyBlobs(t, full, less)
	}
	stray := newRelease(bundle.Flat, "registry.test/b:3=layer b, changed", "registry.test/c:1=layer a",
		"registry.test/a:1=layer a", "registry.test/z:1=stray")
	_, strayTar := stray.manifest(t)
	tests := []struct{ name, tarball, verify, stage string }{
		{"good", good, "", ""},
		{"all blobs", full, "", ""},
		{"a blob changed", strings.Replace(good, "layer b, changed", "layer B, changed", 1), "bundle.blob-mismatch",
			"bundle.blob-mismatch"},
		{"a layer missing", without(v2.images[1].Layers[0].Digest), "", "bundle.base-damaged"},
		{"a manifest missing", without(v2.images[1].Manifest.Digest), "", "bundle.base-damaged"},
		{"other images", strayTar, "bundle.images-damaged", "bundle.images-damaged"},
		{"not a tar", strings.Repeat("x", 2048), "bundle.images-damaged", "bundle.images-damaged"},
		{"documents only in part", onlyBlobs(t, full, nil)[:1024] + strings.Repeat("\x00", 1024),
			"bundle.images-damaged", "bundle.images-damaged"},
		{"something behind", good + "x", "bundle.images-damaged", "bundle.images-damaged"},
		{"docker's document changed", strings.Replace(good, `"registry.test/b:3"],"Layers"`,
			`"registry.test/x:3"],"Layers"`, 1), "", "bundle.images-damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := bundle.NewDifference(m, base, v1.id(t), int64(len(tt.tarball)))
			if len(tt.tarball) > len(full) {
				t.Skip("more than the full bundle has: the manifest does not allow it")
			}
			if err != nil {
				t.Fatal(err)
			}
			file := store(t, archive(t, v2.pack(t, d, tt.tarball)))
			if _, err := bundle.Verify(context.Background(), file, nil); code(t, file, err) != tt.verify {
				t.Errorf("Verify: %v, want %q", err, tt.verify)
			}
			dir := t.TempDir()
			stage(t, store(t, archive(t, v1.full(t))), dir)
			if _, err := bundle.Stage(context.Background(), file, dir, nil); code(t, file, err) != tt.stage {
				t.Errorf("Stage: %v %v, want %q", err, event.AsFault(err), tt.stage)
			}
		})
	}
}

// TestWhoVouches: the sums are shown to whoever vouches for them before anything is placed, and what is expected is
// held against what is there.
func TestWhoVouches(t *testing.T) {
	v1, v2, _ := releases(bundle.Flat)
	no := event.NewFault(event.ClassBundle, "sign.nobody", nil)
	for name, members := range map[string][]member{"full": v2.full(t), "difference": v2.since(t, v1)} {
		t.Run(name, func(t *testing.T) {
			file, dir := store(t, archive(t, members)), t.TempDir()
			stage(t, store(t, archive(t, v1.full(t))), dir)
			seen := ""
			look := func(result error) bundle.Option {
				return bundle.WithSums(func(sums []byte) error { seen = string(sums); return result })
			}
			if _, err := bundle.Verify(context.Background(), file, nil, look(no)); !errors.Is(err, no) ||
				seen != members[1].body {
				t.Errorf("%v, saw %q", err, seen)
			}
			if _, err := bundle.Stage(context.Background(), file, dir, nil, look(no)); !errors.Is(err, no) {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, v2.id(t))); err == nil {
				t.Error("something was placed")
			}
			stage(t, file, dir, look(nil), bundle.WithExpected("test", "amd64"))
			if _, err := bundle.Stage(context.Background(), file, dir, nil, look(no)); !errors.Is(err, no) {
				t.Errorf("a stage that is there is used without asking: %v", err)
			}
			if _, err := bundle.Verify(context.Background(), file, nil, bundle.WithExpected("other", "")); code(t, file,
				err) != "bundle.wrong-name" {
				t.Error(err)
			}
			if _, err := bundle.Verify(context.Background(), file, nil, bundle.WithExpected("", "arm64")); code(t, file,
				err) != "bundle.wrong-arch" {
				t.Error(err)
			}
		})
	}
}
