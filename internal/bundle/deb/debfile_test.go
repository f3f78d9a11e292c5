package deb

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const someControl = "Package: a\nVersion: 1:2\nArchitecture: amd64\nDepends: b (>= 1)\nDescription: a\n more of it\n"

// debFile makes a .deb whose control.tar is compressed as ext says.
func debFile(t testing.TB, ext, control string) []byte {
	t.Helper()
	var tarball bytes.Buffer
	var z io.WriteCloser
	var err error
	switch ext {
	case ".gz":
		z = gzip.NewWriter(&tarball)
	case ".xz":
		z, err = xz.NewWriter(&tarball)
	case ".zst":
		z, err = zstd.NewWriter(&tarball)
	default:
		z = nopCloser{&tarball}
	}
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, f := range [][2]string{{"./md5sums", "none\n"}, {"./control", control}} {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Size: int64(len(f[1])), Mode: 0o644,
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return ar("debian-binary", "2.0\n", "control.tar"+ext, tarball.String(), "data.tar.xz", "data")
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func ar(members ...string) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for i := 0; i+1 < len(members); i += 2 {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", members[i], 0, 0, 0, "100644", len(members[i+1]),
			members[i+1])
		if len(members[i+1])%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func TestCheckDeb(t *testing.T) {
	want := &Package{Name: "a", Version: "1:2", Arch: "amd64", Filename: "pool/a_2_amd64.deb"}
	for _, ext := range []string{"", ".gz", ".xz", ".zst"} {
		if err := CheckDeb(bytes.NewReader(debFile(t, ext, someControl)), want); err != nil {
			t.Errorf("%q: %v", ext, err)
		}
	}
	good := debFile(t, ".gz", someControl)
	for name, c := range map[string]struct {
		file []byte
		code string
	}{
		"another version": {debFile(t, ".gz", strings.Replace(someControl, "1:2", "1:3", 1)), "deb.mismatch"},
		"another package": {debFile(t, ".gz", strings.Replace(someControl, "a", "b", 2)), "deb.mismatch"},
		"another architecture": {debFile(t, ".gz", strings.Replace(someControl, "amd64", "arm64", 1)),
			"deb.wrong-arch"},
		"cut off":         {good[:200], "deb.file"},
		"nothing":         {nil, "deb.file"},
		"no control":      {ar("debian-binary", "2.0\n", "data.tar", "x"), "deb.file"},
		"of format 3":     {ar("debian-binary", "3.0\n", "control.tar", "x"), "deb.file"},
		"another archive": {ar("x", "2.0\n"), "deb.file"},
		"a size beyond bounds": {append(ar("debian-binary", "2.0\n"),
			fmt.Sprintf("%-48s%-10s`\n", "control.tar", "9999999999")...), "deb.file"},
		"two paragraphs":      {debFile(t, ".gz", someControl+"\n"+someControl), "deb.file"},
		"unknown compression": {ar("debian-binary", "2.0\n", "control.tar.lz", "x"), "deb.file"},
	} {
		if code := faultCode(CheckDeb(bytes.NewReader(c.file), want)); code != c.code {
			t.Errorf("%s: %q, want %q", name, code, c.code)
		}
	}
}

func TestAddFiles(t *testing.T) {
	dir := fstest.MapFS{
		"a_2_amd64.deb": {Data: debFile(t, ".xz", someControl)},
		"b_1_all.deb": {Data: debFile(t, ".zst",
			"Package: b\nVersion: 1\nArchitecture: all\nSize: 1\nDescription: b\n")},
		"c_1_arm64.deb": {Data: debFile(t, ".gz", "Package: c\nVersion: 1\nArchitecture: arm64\nDescription: c\n")},
		"README":        {Data: []byte("no package")},
	}
	x := NewIndex("amd64")
	if err := x.AddFiles(context.Background(), dir, Repository{URL: "file:/srv", Priority: 900}); err != nil {
		t.Fatal(err)
	}
	list, err := x.Closure([]string{"a"})
	if err != nil || names(list) != "a=1:2 b=1" || x.Len() != 2 {
		t.Fatalf("%v %v", list, err)
	}
	for _, p := range list {
		if p.Size != int64(len(dir[p.File()].Data)) || p.Filename != "./"+p.File() || p.Repository != "file:/srv" {
			t.Errorf("%+v", p)
		}
	}
	for _, name := range []string{"bad.deb", "evil;name.deb"} {
		err := NewIndex("amd64").AddFiles(context.Background(),
			fstest.MapFS{name: {Data: dir["a_2_amd64.deb"].Data[:strings.Index(name, ".")*20]}}, Repository{})
		if faultCode(err) != "deb.file" {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := x.AddFiles(ctx, dir, Repository{}); err == nil {
		t.Error("went on after its context's end")
	}
}

// TestDpkgsDeb reads what dpkg-deb makes.
func TestDpkgsDeb(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("needs dpkg-deb")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "p/DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}
	control := strings.Replace(someControl, "Description", "Maintainer: x <x@example.org>\nDescription", 1)
	if err := os.WriteFile(filepath.Join(dir, "p/DEBIAN/control"), []byte(control), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, z := range []string{"none", "gzip", "xz", "zstd"} {
		out, err := exec.Command("dpkg-deb", "--uniform-compression", "-Z"+z, "-b", filepath.Join(dir, "p"),
			filepath.Join(dir, "p.deb")).CombinedOutput()
		if err != nil {
			if z == "zstd" {
				continue // dpkg of older releases has none
			}
			t.Fatalf("%s: %v %s", z, err, out)
		}
		x := NewIndex("amd64")
		if err := x.AddFiles(context.Background(), os.DirFS(dir), Repository{}); err != nil || x.Len() != 1 {
			t.Fatalf("%s: %v", z, err)
		}
	}
}

func FuzzControl(f *testing.F) {
	for _, ext := range []string{"", ".gz", ".xz", ".zst"} {
		f.Add(debFile(f, ext, someControl))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ReadControl(bytes.NewReader(data)); err == nil && len(s) == 0 {
			t.Fatal("an empty control file was taken")
		}
	})
}

func FuzzBaseline(f *testing.F) {
	f.Add("libc6\t1\tamd64\tinstall ok installed\n# c\nmawk=1\n")
	f.Add("Package: libc6\nVersion: 1\nStatus: install ok installed\nArchitecture: amd64\nDepends: a | b\n")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ReadBaseline(strings.NewReader(text))
		if err != nil {
			return
		}
		list, err := index(t, "a 1 Depends=libc6 (>= 2)", "libc6 3",
			"mawk 2").Resolve(Request{Roots: []string{"a"}, Baseline: b})
		if err == nil && len(list) > 2 {
			t.Fatalf("%v", list)
		}
	})
}
