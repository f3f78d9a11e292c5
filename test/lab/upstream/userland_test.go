package upstream

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"
)

// deb is a Debian package with the given members.
func deb(t *testing.T, members ...member) string {
	t.Helper()
	var data, out bytes.Buffer
	z := gzip.NewWriter(&data)
	if err := writeTar(z, members, released); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	out.WriteString("!<arch>\n")
	for _, m := range []struct{ name, body string }{{"debian-binary", "2.0\n"}, {"control.tar", "odd"},
		{"data.tar.gz", data.String()}} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", m.name, 0, 0, 0, "100644", len(m.body), m.body)
		if len(m.body)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func sha(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// archive fills a mirror with a suite of packages that is signed with a new key, and returns a builder for it.
func archive(t *testing.T, debs map[string]string, paragraphs map[string]string) (*mirror, *builder) {
	t.Helper()
	m, d := newMirror(t)
	var index string
	for name, body := range debs {
		m.files["/d/pool/"+name+".deb"] = body
		index += fmt.Sprintf("Package: %s\nVersion: 1\n%sFilename: pool/%s.deb\nSHA256: %s\n\n", name, paragraphs[name],
			name, sha(body))
	}
	var packed, signed bytes.Buffer
	z, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(index)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha(packed.String())
	m.files["/d/dists/bookworm/main/binary-amd64/by-hash/SHA256/"+sum] = packed.String()
	key, err := openpgp.NewEntity("test", "", "test@example.org", nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := clearsign.Encode(&signed, key.PrivateKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(w, "Suite: bookworm\nSHA256:\n %s %d main/binary-amd64/Packages.xz\n", sum, packed.Len())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m.files["/d/dists/bookworm/InRelease"] = signed.String()
	ring := filepath.Join(t.TempDir(), "keys.gpg")
	f, err := os.Create(ring)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Serialize(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := testBuilder(t)
	b.debian = d
	b.spec = &Spec{}
	b.spec.Packages.Repositories = []Repository{{URL: "http://deb.debian.org/debian", Suites: []string{"bookworm"},
		Components: []string{"main"}, Keyring: ring}}
	return m, b
}

func twoPackages(t *testing.T) (*mirror, *builder) {
	t.Helper()
	return archive(t, map[string]string{
		"tool": deb(t, member{name: "./usr/", dir: true},
			member{name: "./usr/bin/tool", mode: 0o755, data: []byte("#!/bin/sh\n")},
			member{name: "./etc/tool", link: "/usr/share/base"}),
		"base":   deb(t, member{name: "./usr/share/base", mode: 0o644, data: []byte("base")}),
		"unused": deb(t, member{name: "./usr/bin/unused", mode: 0o755, data: []byte("x")}),
	}, map[string]string{"tool": "Depends: missing | base (>= 1), absent\n"})
}

func TestPackagesComeWithWhatTheyDependOn(t *testing.T) {
	_, b := twoPackages(t)
	got, err := b.userland(t.Context(), "amd64", "tool")
	if err != nil {
		t.Fatal(err)
	}
	files, err := got.pick("amd64", []string{"usr/bin/tool"}, []string{"etc/*"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	if d := cmp.Diff([]string{"etc/tool", "usr/bin/tool", "usr/share/base"}, names); d != "" {
		t.Error(d)
	}
	if _, ok := got["usr/bin/unused"]; ok {
		t.Error("a package that nobody asked for was unpacked")
	}
	for _, c := range [][]string{{"usr/bin/none"}, nil} {
		if _, err := got.pick("amd64", c, []string{"no/*"}); err == nil {
			t.Error("what is not there was picked")
		}
	}
	if _, err := b.userland(t.Context(), "amd64", "nothing"); err == nil {
		t.Error("a package that is not there was found")
	}
}

func TestWhatIsNotWhatDebianSignedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *mirror)
		want   string
	}{
		"a changed release": {func(m *mirror) {
			m.files["/d/dists/bookworm/InRelease"] = strings.Replace(m.files["/d/dists/bookworm/InRelease"],
				"Suite: bookworm", "Suite: bookwork", 1)
		}, "signature"},
		"an unsigned release": {func(m *mirror) { m.files["/d/dists/bookworm/InRelease"] = "Suite: bookworm\n" },
			"not signed"},
		"a changed package": {func(m *mirror) { m.files["/d/pool/tool.deb"] += "x" }, "sha256"},
		"a changed index": {func(m *mirror) {
			for p := range m.files {
				if strings.Contains(p, "by-hash") {
					m.files[p] += "x"
				}
			}
		}, "sha256"},
	} {
		m, b := twoPackages(t)
		c.change(m)
		_, err := b.userland(t.Context(), "amd64", "tool")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(b.debian.cache, "debian", "pool", "tool.deb")); len(left) != 0 {
			t.Errorf("%s: the cache keeps it", name)
		}
	}
}

func TestAProgramBringsItsLoaderAndLibraries(t *testing.T) {
	const program = "/bin/sh"
	body, err := os.ReadFile(program)
	if err != nil {
		t.Skip(err)
	}
	f, err := elf.NewFile(bytes.NewReader(body))
	if err != nil {
		t.Skip(err)
	}
	libs, err := f.ImportedLibraries()
	if err != nil || len(libs) == 0 {
		t.Skip("the machine's shell is static")
	}
	fs := tree{"bin/sh": {name: "bin/sh", data: body}}
	arch := runtime.GOARCH
	if _, err := fs.pick(arch, []string{"bin/sh"}, nil); err == nil ||
		!strings.Contains(err.Error(), "library "+libs[0]) {
		t.Errorf("without its libraries: %v", err)
	}
	want := map[string]bool{"bin/sh": true}
	for _, l := range libs {
		fs["usr/lib/"+triplet(arch)+"/"+l] = member{name: "usr/lib/" + triplet(arch) + "/" + l, link: "real-" + l}
		fs["usr/lib/"+triplet(arch)+"/real-"+l] = member{name: "usr/lib/" + triplet(arch) + "/real-" + l,
			data: []byte("lib")}
		want["usr/lib/"+triplet(arch)+"/"+l], want["usr/lib/"+triplet(arch)+"/real-"+l] = true, true
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			ld := strings.Trim(string(b), "/\x00")
			fs[ld], want[ld] = member{name: ld, data: []byte("ld")}, true
		}
	}
	got, err := fs.pick(arch, []string{"bin/sh"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, m := range got {
		have[m.name] = true
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Error(d)
	}
}

func TestLinksThatGoRoundAreNoticed(t *testing.T) {
	fs := tree{"a": {name: "a", link: "b"}, "b": {name: "b", link: "/a"}}
	if _, err := fs.follow("a"); err == nil {
		t.Error("an endless link was followed")
	}
}

func TestHardLinksOfAPackageAreFiles(t *testing.T) {
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for _, h := range []*tar.Header{{Name: "./a", Typeflag: tar.TypeReg, Size: 1, Mode: 0o755},
		{Name: "./b", Typeflag: tar.TypeLink, Linkname: "./a", Mode: 0o755}} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size == 1 {
			if _, err := w.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	pkg := fmt.Sprintf("!<arch>\n%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", "data.tar", 0, 0, 0, "100644", data.Len(),
		data.String())
	fs := tree{}
	if err := fs.unpack([]byte(pkg)); err != nil || string(fs["b"].data) != "x" {
		t.Errorf("%v %+v", err, fs)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("!<arch>\ndata.tar        0           0     0     100644  10        `\n0123456789"))
	f.Add([]byte("!<arch>\ndebian-binary   0           0     0     100644  -1        `\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fs := tree{}
		_ = fs.unpack(b)
		for p := range fs {
			if strings.HasPrefix(p, "/") || strings.Contains("/"+p+"/", "/../") {
				t.Errorf("a file outside: %q", p)
			}
		}
	})
}
