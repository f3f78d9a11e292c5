package lock

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var sum = strings.Repeat("0a", 32)

func full() *Lock {
	l := New("eggo", "v1.34.2")
	blob := Blob{MediaType: "application/vnd.oci.image.layer.v1.tar+gzip", Digest: "sha256:" + sum, Size: 3}
	l.Arches["arm64"] = &Set{
		Packages: &Packages{Inputs: sum, Repositories: []Repository{{URL: "https://r.test", Suite: "s", SHA256: sum}},
			Packages: []Package{{Name: "socat", Version: "1:2-3", Arch: "arm64", URL: "https://r.test/socat.deb",
				SHA256: sum, Size: 1, Trust: "metadata", Meta: "Package: socat\n"}}},
		Files: []File{{Name: "etcd", URL: "https://a.test/e.tgz", SHA256: sum, Size: 2, Trust: "checksum",
			Picked: []Picked{{Member: "./etcd", Name: "etcd", SHA256: sum, Size: 2}}}},
		Addons: []Addon{{Name: "net.yaml", Inputs: sum, Trust: "local",
			Files: []AddonFile{{Path: "net.yaml", SHA256: sum, Size: 1}}, Images: []string{"r.test/a:1"}}},
		Images: []Image{{Name: "r.test/a:1", Names: []string{"r.test/a:1"}, Manifest: blob, Config: blob,
			Layers: []Blob{blob}}},
	}
	return l
}

// TestRoundTrip: a lock is what was written, and writing it again neither changes its bytes nor its time.
func TestRoundTrip(t *testing.T) {
	file := filepath.Join(t.TempDir(), Name)
	if l, err := Read(file); l != nil || err != nil {
		t.Fatalf("a lock that is not there: %v, %v", l, err)
	}
	if err := full().Write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1, 0)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	l, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(file); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("%v\n%s\n%s", err, text, again)
	}
	if st, err := os.Stat(file); err != nil || !st.ModTime().Equal(old) {
		t.Error("an unchanged lock was written")
	}
	set := l.Set("arm64")
	if _, ok := set.File("etcd", "https://a.test/e.tgz"); !ok {
		t.Error("the file is not found")
	}
	if _, ok := set.File("etcd", "https://b.test/e.tgz"); ok {
		t.Error("a file of another address is found")
	}
	if _, ok := set.Addon("net.yaml", sum); !ok {
		t.Error("the addon is not found")
	}
	if _, ok := set.Image("r.test/a:1", ""); !ok {
		t.Error("the image is not found")
	}
	if x := (*Lock)(nil).Set("amd64"); x == nil || len(x.Images) > 0 {
		t.Error("no lock pins nothing")
	}
}

// TestRefused: a lock that somebody wrote by hand, or that was cut off.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, Name)
	if err := full().Write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	for name, bad := range map[string]string{
		"cut off":            good[:len(good)/2],
		"empty":              "",
		"of another version": strings.Replace(good, `"version": 2`, `"version": 1`, 1),
		"an unknown key":     strings.Replace(good, `"version": 2`, `"version": 2, "more": 1`, 1),
		"an architecture":    strings.Replace(good, `"arm64": {`, `"mips": {`, 1),
		"null":               `{"version": 2, "name": "a", "kubernetes": "v1.34.2", "architectures": {"amd64": null}}`,
		"an endless size":    strings.Replace(good, `"size": 3`, `"size": 9223372036854775807`, 1),
		"a size":             strings.Replace(good, `"size": 3`, `"size": -3`, 1),
		"an escape":          strings.Replace(good, "net.yaml", `\u001b[31m`, 1),
		"no names":           strings.Replace(good, `"names"`, `"names": [], "layers"`, 1),
	} {
		if bad == good {
			t.Errorf("%s: the test changes nothing", name)
			continue
		}
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file)
		if err == nil || event.AsFault(err).Code != "lock.read" || event.AsFault(err).Class != event.ClassUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse([]byte(strings.ReplaceAll(good, sum, strings.ToUpper(sum)))); err == nil {
		t.Error("sums in upper case are taken")
	}
}

// TestNotWritten: what could not be read again never replaces a good lock.
func TestNotWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), Name)
	if err := full().Write(file); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Set){
		"an escape":         func(s *Set) { s.Addons[0].Images[0] = "r.test/\x1b[31m" },
		"a sum":             func(s *Set) { s.Files[0].SHA256 = "" },
		"too many bytes":    func(s *Set) { s.Packages.Packages[0].Meta = strings.Repeat("x", MaxSize) },
		"a password":        func(s *Set) { s.Packages.Packages[0].URL = "https://u:p@r.test/socat.deb" },
		"Latin-1":           func(s *Set) { s.Packages.Packages[0].Meta = "Maintainer: J\xf6rg\n" },
		"keys unpinned":     func(s *Set) { s.Packages.Repositories[0] = Repository{URL: "https://r.test/keys"} },
		"an addon unpinned": func(s *Set) { s.Addons[0].URL = "https://r.test/a.yaml" },
		"an image unnamed":  func(s *Set) { s.Images[0].Names = nil },
	} {
		l := full()
		change(l.Arches["arm64"])
		if err := l.Write(file); err == nil || event.AsFault(err).Code != "lock.write" ||
			strings.Contains(fmt.Sprint(err), "u:p@") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Read(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInputs(t *testing.T) {
	a, err := Inputs("x", []string{"a", "b"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := Inputs("x", []string{"a", "b"}, 3); a != b {
		t.Error("the same question has two sums")
	}
	if b, _ := Inputs("x", []string{"ab"}, 3); a == b {
		t.Error("two questions have one sum")
	}
}

func FuzzParse(f *testing.F) {
	file := filepath.Join(f.TempDir(), Name)
	if err := full().Write(file); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version": 2, "architectures": {"amd64": {"packages": {"packages": [{}]}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse(data)
		if err != nil {
			return
		}
		out := filepath.Join(t.TempDir(), Name)
		if err := l.Write(out); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(out); err != nil {
			t.Fatalf("what was read and written cannot be read: %v", err)
		}
	})
}
