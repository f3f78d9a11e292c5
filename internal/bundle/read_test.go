package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// code is the fault's code; a fault of a bundle names its file and has the class that ends a program with 6.
func code(t testing.TB, file string, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	f := (*event.Fault)(nil)
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v", err)
	}
	if f.Class != event.ClassBundle || f.Args["file"] != file {
		t.Fatalf("fault %s of class %q names the file %q", f.Code, f.Class, f.Args["file"])
	}
	return f.Code
}

func TestWholeBundle(t *testing.T) {
	m, members := sample(t)
	file := store(t, archive(t, members))
	a, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if a.Manifest().Name != "test" || len(a.Manifest().Members) != len(m.Members) {
		t.Fatalf("manifest %+v", a.Manifest())
	}
	var last, total int64
	r, err := bundle.Verify(context.Background(), file, func(d, n int64) { last, total = d, n })
	if err != nil {
		t.Fatal(err)
	}
	if r.Members != len(members) || r.ID != a.ID() || last != total || total != a.Size() {
		t.Fatalf("report %+v, progress %d of %d", r, last, total)
	}
}

// TestHostileBundles: each is refused with its own code, by Verify and by Stage alike, and nothing is written outside
// the stage.
func TestHostileBundles(t *testing.T) {
	at := func(ms []member, name string) int {
		return slices.IndexFunc(ms, func(m member) bool { return m.name == name })
	}
	insert := func(before string, x member) func([]member) []member {
		return func(ms []member) []member { return slices.Insert(ms, at(ms, before), x) }
	}
	body := func(name, b string) func([]member) []member {
		return func(ms []member) []member { ms[at(ms, name)].body = b; return ms }
	}
	tests := []struct {
		name string
		edit func([]member) []member
		want string
	}{
		{"parent path", insert("kubelet", member{name: "../evil", body: "x"}), "bundle.unsafe-path"},
		{"parent within", insert("kubelet", member{name: "addons/../../evil", body: "x"}), "bundle.unsafe-path"},
		{"absolute", insert("kubelet", member{name: "/etc/evil", body: "x"}), "bundle.unsafe-path"},
		{"option", insert("kubelet", member{name: "--checkpoint-action=exec", body: "x"}), "bundle.unsafe-path"},
		{"symbolic link", insert("kubelet", member{name: "link", typeflag: tar.TypeSymlink, link: "/etc/passwd"}),
			"bundle.member-type"},
		{"link for a member", func(ms []member) []member {
			ms[at(ms, "kubelet")] = member{name: "kubelet", typeflag: tar.TypeSymlink, link: "/etc/passwd"}
			return ms
		}, "bundle.member-type"},
		{"hard link", insert("kubelet", member{name: "link", typeflag: tar.TypeLink, link: "Packages"}),
			"bundle.member-type"},
		{"device", insert("kubelet", member{name: "dev", typeflag: tar.TypeChar}), "bundle.member-type"},
		{"fifo", insert("kubelet", member{name: "fifo", typeflag: tar.TypeFifo}), "bundle.member-type"},
		{"extra", insert("kubelet", member{name: "extra", body: "x"}), "bundle.unexpected"},
		{"extra at the end", func(ms []member) []member { return append(ms, member{name: "extra"}) },
			"bundle.unexpected"},
		{"duplicate", insert("kubelet", member{name: "Packages", body: "metadata"}), "bundle.duplicate"},
		{"duplicate at the end", func(ms []member) []member { return append(ms, ms[len(ms)-1]) }, "bundle.duplicate"},
		{"case-colliding", insert("kubelet", member{name: "packages", body: "metadata"}), "bundle.unexpected"},
		{"missing", func(ms []member) []member { return slices.Delete(ms, at(ms, "kubelet"), at(ms, "kubelet")+1) },
			"bundle.order"},
		{"missing last", func(ms []member) []member { return ms[:len(ms)-1] }, "bundle.missing"},
		{"reordered", func(ms []member) []member {
			i, j := at(ms, "Packages"), at(ms, "kubelet")
			ms[i], ms[j] = ms[j], ms[i]
			return ms
		}, "bundle.order"},
		{"manifest not first", func(ms []member) []member { ms[0], ms[1] = ms[1], ms[0]; return ms }, "bundle.order"},
		{"changed", body("kubelet", "pr0gram"), "bundle.sum-mismatch"},
		{"longer", body("kubelet", "program and more"), "bundle.member-size"},
		{"sums changed", body("SHA256SUMS", "x"), "bundle.sum-mismatch"},
		{"last changed", body("images.tar.sha256", string(bundle.ImagesSumText(sum("x")))), "bundle.sum-mismatch"},
		{"newer format", func(ms []member) []member {
			ms[0].body = strings.Replace(ms[0].body, `"format": 1`, `"format": 3`, 1)
			return ms
		}, "bundle.format"},
		{"traversal in the manifest", func(ms []member) []member {
			ms[0].body = strings.Replace(ms[0].body, `"addons/net.yml"`, `"addons/../../x"`, 1)
			return ms
		}, "bundle.unsafe-path"},
		{"colliding in the manifest", func(ms []member) []member {
			ms[0].body = strings.Replace(ms[0].body, `"path": "kubelet"`, `"path": "PACKAGES"`, 1)
			return ms
		}, "bundle.duplicate"},
		{"file and directory", func(ms []member) []member {
			ms[0].body = strings.Replace(ms[0].body, `"path": "kubelet"`, `"path": "addons"`, 1)
			return ms
		}, "bundle.duplicate"},
		{"negative size", func(ms []member) []member {
			ms[0].body = strings.Replace(ms[0].body, `"size": 7`, `"size": -7`, 1)
			return ms
		}, "bundle.manifest"},
		{"not JSON", body("manifest.json", "{"), "bundle.manifest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, members := sample(t)
			file := store(t, archive(t, tt.edit(members)))
			_, err := bundle.Verify(context.Background(), file, nil)
			if got := code(t, file, err); got != tt.want {
				t.Errorf("Verify: %v, want %s", err, tt.want)
			}
			outside := t.TempDir()
			dir := filepath.Join(outside, "stage")
			_, err = bundle.Stage(context.Background(), file, dir, nil)
			if got := code(t, file, err); got != tt.want {
				t.Errorf("Stage: %v, want %s", err, tt.want)
			}
			if left, _ := os.ReadDir(outside); len(left) > 1 {
				t.Errorf("outside the stage: %v", left)
			}
			if found, _ := filepath.Glob(filepath.Join(dir, "*", "complete.json")); len(found) > 0 {
				t.Error("the stage counts as complete")
			}
		})
	}
}

func TestHostileImages(t *testing.T) {
	blobs := map[string]string{}
	a := picture("registry.test/a:1", "amd64", "layer a", blobs)
	b := picture("registry.test/b:2", "amd64", "layer b, longer", blobs)
	other := picture("registry.test/b:2", "amd64", "another b", blobs)
	good := imagesTar(t, []image.Image{a, b}, blobs)
	tests := []struct{ name, tarball, want string }{
		{"one missing", imagesTar(t, []image.Image{a}, blobs), "bundle.no-image"},
		{"another digest", imagesTar(t, []image.Image{a, other}, blobs), "bundle.image-digest"},
		{"a blob changed", strings.Replace(good, "layer b, longer", "layer B, longer", 1), "bundle.blob-mismatch"},
		{"a blob renamed", strings.Replace(good, "blobs/sha256/", "blobs/sha512/", 1), "bundle.images-damaged"},
		{"not a tar", strings.Repeat("x", 2048), "bundle.images-damaged"},
		{"empty", "", "bundle.images-damaged"},
		{"something behind", good + strings.Repeat("\x00", 511) + "x", "bundle.images-damaged"},
		{"manifest.json says less", strings.Replace(good, `"registry.test/a:1"],"Layers"`,
			`"registry.test/c:1"],"Layers"`, 1), "bundle.images-damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, members := sample(t)
			m.Members[1].Size = int64(len(tt.tarball))
			text, err := bundle.EncodeManifest(m)
			if err != nil {
				t.Fatal(err)
			}
			members[0].body, members[1].body = string(text), string(bundle.SumsText(text, m))
			members[3].body, members[7].body = tt.tarball, string(bundle.ImagesSumText(sum(tt.tarball)))
			file := store(t, archive(t, members))
			_, err = bundle.Verify(context.Background(), file, nil)
			if got := code(t, file, err); got != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	_, members := sample(t)
	data := archive(t, members)
	for n := 0; n < len(data); n += 1 + n%3 {
		file := store(t, data[:n])
		_, err := bundle.Verify(context.Background(), file, nil)
		if got := code(t, file, err); got != "bundle.truncated" {
			t.Fatalf("cut at %d of %d: %v", n, len(data), err)
		}
	}
}

// TestFlippedAnywhere: no change goes unseen. What remains are flips that unpack to the same bytes: fields of the gzip
// header without meaning, a reference to another copy of the same run.
func TestFlippedAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	_, members := sample(t)
	data := archive(t, members)
	want, err := unpack(data)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		file := store(t, bad)
		_, err := bundle.Verify(context.Background(), file, nil)
		if code(t, file, err) != "" {
			seen++
			continue
		}
		if got, err := unpack(bad); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("byte %d of %d: not seen", i, len(data))
		}
	}
	if seen < len(data)*95/100 {
		t.Fatalf("only %d of %d flips were seen", seen, len(data))
	}
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func TestAfterTheEnd(t *testing.T) {
	_, members := sample(t)
	data := archive(t, members)
	for name, tail := range map[string][]byte{"garbage": []byte("x"), "zeros": make([]byte, 512),
		"second gzip member": data} {
		t.Run(name, func(t *testing.T) {
			file := store(t, append(bytes.Clone(data), tail...))
			_, err := bundle.Verify(context.Background(), file, nil)
			if got := code(t, file, err); got != "bundle.trailing-data" {
				t.Fatal(err)
			}
		})
	}
}

func TestArchivesOfOtherTools(t *testing.T) {
	tests := []struct {
		name    string
		members []member
		layout  string
	}{
		{"seed's flat tar", []member{{name: "conntrack.deb"}, {name: "images.tar"}, {name: "addons/calico.yaml"}},
			"flat"},
		{"typed", []member{{name: "./", typeflag: tar.TypeDir}, {name: "./pkg/", typeflag: tar.TypeDir},
			{name: "pkg/docker.rpm"}, {name: "image/x.tar"}}, "typed"},
		{"anything", []member{{name: "holiday.jpg"}}, "unknown"},
		{"anything, of a directory", []member{{name: "./holiday.jpg"}, {name: "./notes.txt"}}, "unknown"},
		{"a link behind it", []member{{name: "x.deb"}, {name: "y", typeflag: tar.TypeSymlink}}, "flat"},
		{"nothing", nil, "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := store(t, archive(t, tt.members))
			_, err := bundle.Open(file)
			if got := code(t, file, err); got != "bundle.no-manifest" ||
				event.AsFault(err).Args["layout"] != tt.layout {
				t.Fatalf("%v %v", err, event.AsFault(err).Args)
			}
		})
	}
	file := store(t, []byte("not a gzip file at all"))
	if _, err := bundle.Open(file); code(t, file, err) != "bundle.text" {
		t.Fatal(err)
	}
	if _, err := bundle.Open(filepath.Join(t.TempDir(), "none")); event.AsFault(err).Code != "bundle.open" {
		t.Fatal(err)
	}
}

// What people packed with their own commands is described, with what to do about it; it is no attack.
func TestArchivesPackedByHand(t *testing.T) {
	of := func(names ...string) (out []member) {
		for _, n := range names {
			m := member{name: n}
			if strings.HasSuffix(n, "/") {
				m.typeflag = tar.TypeDir
			}
			out = append(out, m)
		}
		return out
	}
	for name, c := range map[string]struct {
		members     []member
		want, found string
	}{
		"tar czf x .":        {of("./", "./images.tar", "./kubelet"), "bundle.by-hand", "./images.tar, ./kubelet"},
		"tar czf x ., typed": {of("./", "./pkg/", "./pkg/a.rpm"), "bundle.by-hand", "./pkg/a.rpm"},
		"tar czf x eggo": {of("eggo/", "eggo/images.tar", "eggo/kubelet"), "bundle.by-hand",
			"eggo/images.tar, eggo/kubelet"},
		"on Windows":        {of(`pkg\a.deb`, `image\images.tar`), "bundle.by-hand", `pkg\a.deb, image\images.tar`},
		"compressed images": {of("kubelet", "images.tar.gz"), "bundle.by-hand", "kubelet, images.tar.gz"},
		"many": {of("./a.deb", "./b.deb", "./c.deb", "./d.deb", "./e.deb", "./f.deb"), "bundle.by-hand",
			"./a.deb, ./b.deb, ./c.deb, ./d.deb, ./e.deb, …"},
		"a bundle again":          {of("./", "./SHA256SUMS", "./manifest.json"), "bundle.order", ""},
		"a bundle in a directory": {of("x/", "x/manifest.json", "x/SHA256SUMS"), "bundle.order", ""},
		"docker save":             {of("blobs/sha256/aa", "manifest.json", "repositories"), "bundle.images", ""},
		"crane":                   {of("sha256:"+strings.Repeat("a", 64), "manifest.json"), "bundle.images", ""},
		"macOS": {of("./._images.tar", "./images.tar", "./.DS_Store", "./._kubelet", "./kubelet", "__MACOSX/x"),
			"bundle.by-hand", "./images.tar, ./kubelet"},
		"an OCI archive":        {of("./oci-layout", "./index.json"), "bundle.images", ""},
		"a path that leads out": {of("../images.tar"), "bundle.unsafe-path", ""},
		"a path of the root":    {of("/etc/images.tar"), "bundle.unsafe-path", ""},
		"out by backslashes":    {of(`..\images.tar`), "bundle.unsafe-path", ""},
		"a link":                {[]member{{name: "images.tar", typeflag: tar.TypeSymlink}}, "bundle.member-type", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := store(t, archive(t, c.members))
			_, err := bundle.Open(file)
			if got := code(t, file, err); got != c.want || event.AsFault(err).Args["found"] != c.found {
				t.Fatalf("%v %v", err, event.AsFault(err).Args)
			}
		})
	}
}

func TestStage(t *testing.T) {
	m, members := sample(t)
	file := store(t, archive(t, members))
	dir := filepath.Join(t.TempDir(), "bundles")
	s, err := bundle.Stage(context.Background(), file, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range members {
		if _, ok := s.Manifest().Member(x.name); !ok {
			continue
		}
		f, err := s.Open(x.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		f.Close()
		sha, n, serr := s.Sum(x.name)
		if err != nil || serr != nil || string(got) != x.body || sha != sum(x.body) || n != int64(len(x.body)) {
			t.Errorf("%s: %q, sum %s of %d bytes, %v %v", x.name, got, sha, n, err, serr)
		}
	}
	if _, err := s.Open("../complete.json"); event.AsFault(err).Code != "bundle.missing" {
		t.Errorf("a member that is not in the manifest: %v", err)
	}

	if !bundle.Finished(file, dir) || bundle.Finished(file, t.TempDir()) || bundle.Finished(dir, dir) {
		t.Error("what is staged and what is not is not told apart")
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Unix(1, 0)); err != nil || bundle.Finished(file, dir) {
		t.Errorf("a file that was changed since counts as verified (%v)", err)
	}
	if err := os.Chtimes(file, time.Time{}, st.ModTime()); err != nil {
		t.Fatal(err)
	}

	// A finished stage is used again, unread; one whose member has another size, or that was cut off, is made again.
	kubelet := filepath.Join(s.Dir(), "members", "kubelet")
	write := func(p, data string) {
		t.Helper()
		if err := os.WriteFile(p, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string { b, _ := os.ReadFile(kubelet); return string(b) }
	again := func() error {
		s.Release() // what is in use is not made again
		s, err = bundle.Stage(context.Background(), file, dir, nil)
		return err
	}
	write(kubelet, "PROGRAM")
	if err := again(); err != nil || read() != "PROGRAM" {
		t.Fatalf("not used again: %q, %v", read(), err)
	}
	write(kubelet, "short")
	if err := again(); err != nil || read() != "program" {
		t.Fatalf("not made again: %q, %v", read(), err)
	}
	write(kubelet, "PROGRAM")
	if err := os.Remove(filepath.Join(s.Dir(), "complete.json")); err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil || read() != "program" {
		t.Fatalf("not made again without its marker: %q, %v", read(), err)
	}
	if err := bundle.CheckArch(m, "arm64"); event.AsFault(err).Code != "bundle.wrong-arch" {
		t.Fatal(err)
	}
}

func TestStageInterrupted(t *testing.T) {
	_, members := sample(t)
	file := store(t, archive(t, members))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := bundle.Stage(ctx, file, dir, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := bundle.Stage(context.Background(), file, dir, nil); err != nil {
		t.Fatal(err)
	}
}

func TestSubsetOfImages(t *testing.T) {
	_, members := sample(t)
	s, err := bundle.Stage(context.Background(), store(t, archive(t, members)), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	blobs := map[string]string{}
	want := imagesTar(t, []image.Image{picture("registry.test/b:2", "amd64", "layer b, longer", blobs)}, blobs)
	for range 2 { // made, then kept
		f, err := s.Images(context.Background(), []string{"registry.test/b:2"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(got) != want || f.SHA256 != sum(want) || f.Size != int64(len(want)) {
			t.Fatalf("%d bytes, %v: %v", len(got), f, err)
		}
	}
	all, err := s.Images(context.Background(), []string{"registry.test/b:2", "registry.test/a:1"})
	if err != nil {
		t.Fatal(err)
	}
	if sha, _, _ := s.Sum("images.tar"); all.SHA256 != sha {
		t.Error("all images are not images.tar")
	}
	if _, err := s.Images(context.Background(),
		[]string{"registry.test/none:1"}); event.AsFault(err).Code != "bundle.no-image" {
		t.Error(err)
	}
}

func TestNeeds(t *testing.T) {
	m, _ := sample(t)
	names := func(ms []bundle.Member) (out []string) {
		for _, x := range ms {
			out = append(out, x.Path)
		}
		return out
	}
	if got := names(m.Needs(bundle.ControlPlane)); !slices.Equal(got, []string{"images.tar", "addons/net.yml"}) {
		t.Errorf("control plane: %v", got)
	}
	if got := names(m.Needs(bundle.Worker)); !slices.Equal(got,
		[]string{"socat_1_amd64.deb", "images.tar", "Packages", "kubelet"}) {
		t.Errorf("worker: %v", got)
	}
	if got := names(m.Needs(bundle.Etcd)); len(got) != 0 {
		t.Errorf("etcd: %v", got)
	}
}
