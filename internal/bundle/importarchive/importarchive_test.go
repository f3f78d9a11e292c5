package importarchive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/importarchive"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// handmade packs the tree of the test, changed, and gives the archive.
func handmade(t *testing.T, name, arch string, typed bool, change func(dir string)) string {
	t.Helper()
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	must(t, buildtest.Handmade(tree, arch, typed))
	if change != nil {
		change(tree)
	}
	file := filepath.Join(dir, name)
	must(t, buildtest.Pack(file, tree))
	return file
}

func adopted(t *testing.T, o importarchive.Options, files ...string) (*importarchive.Result, error) {
	t.Helper()
	if o.Name == "" {
		o.Name = "eggo"
	}
	w, err := importarchive.New(o)
	must(t, err)
	defer w.Close()
	for _, f := range files {
		if err := w.Read(t.Context(), f, nil); err != nil {
			return nil, err
		}
	}
	return w.Build(t.Context(), nil)
}

func codes(a *bundle.Adopted) []string {
	var out []string
	for _, u := range a.Unverified {
		out = append(out, u.Code)
	}
	slices.Sort(out)
	return out
}

// What people packed by hand becomes a bundle that verifies, from each layout and each format of an archive.
func TestAHandmadeArchiveBecomesABundle(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed bool
	}{{"old.tar.gz", false}, {"old.tar.xz", true}, {"old.zip", true}, {"old.tar", false}, {"old.tar.zst", true}} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "new", "out")
			res, err := adopted(t, importarchive.Options{Out: out}, handmade(t, c.name, "amd64", c.typed, nil))
			must(t, err)
			file := filepath.Join(out, "eggo-amd64.tar.gz")
			report, err := bundle.Verify(t.Context(), file, nil)
			must(t, err)
			m := report.Manifest
			if m.Kubernetes != "v1.34.2" || m.OS.Codename != "bookworm" || m.Adopted.File != c.name ||
				(m.Layout == bundle.Typed) != c.typed || len(m.Images) != 3 || len(res.Bundles) != 1 {
				t.Errorf("%+v", m)
			}
			want := []string{"adopt.files", "adopt.os-read", "adopt.packages", "adopt.programs", "adopt.source",
				"adopt.unsigned", "adopt.versions"}
			if got := codes(m.Adopted); !slices.Equal(got, want) {
				t.Errorf("findings %v, want %v", got, want)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".eggo-adopt-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			needs := map[string]bool{}
			for _, e := range m.Needs(bundle.ControlPlane) {
				needs[e.Name] = true
			}
			if !needs["kubelet"] || !needs["flannel.yaml"] || !needs["socat"] || needs["etcd"] || needs["mytool"] {
				t.Errorf("a control plane needs %v", needs)
			}
		})
	}
}

// rewritten packs the tar of an archive again with other names, as other commands and programs write them.
func rewritten(t *testing.T, file string, name func(string) string) string {
	t.Helper()
	old, err := os.ReadFile(file)
	must(t, err)
	var b bytes.Buffer
	r, w := tar.NewReader(bytes.NewReader(old)), tar.NewWriter(&b)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		h.Name = name(h.Name)
		must(t, w.WriteHeader(h))
		_, err = io.Copy(w, r)
		must(t, err)
	}
	must(t, w.Close())
	must(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

// It does not matter whether a directory was packed, or its content, and on which system; bundle.Open sends people here
// with such archives.
func TestHowAnArchiveWasPacked(t *testing.T) {
	for name, path := range map[string]func(string) string{
		"tar czf x .":               func(n string) string { return "./" + n },
		"tar czf x eggo":            func(n string) string { return "eggo/" + n },
		"tar czf x /root/eggo/eggo": func(n string) string { return "./root/eggo/eggo/" + n },
		"a name that is twice":      func(n string) string { return "kubelet/" + n },
		"on Windows":                func(n string) string { return strings.ReplaceAll(n, "/", `\`) },
		"a directory, on Windows":   func(n string) string { return `eggo\` + strings.ReplaceAll(n, "/", `\`) },
	} {
		for _, typed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				file := rewritten(t, handmade(t, "old.tar", "amd64", typed, nil), path)
				res, err := adopted(t, importarchive.Options{Out: t.TempDir()}, file)
				must(t, err)
				report, err := bundle.Verify(t.Context(), res.Bundles[0].Path, nil)
				must(t, err)
				m := report.Manifest
				if (m.Layout == bundle.Typed) != typed || len(m.Images) != 3 || len(m.Install) == 0 ||
					!slices.ContainsFunc(m.Members, func(e bundle.Member) bool { return e.Name == "mytool" }) {
					t.Errorf("%+v", m)
				}
			})
		}
	}
}

// What macOS adds to archives is not taken for packages, programs and files.
func TestArchivesOfMacOS(t *testing.T) {
	beside := func(dir string) {
		for _, name := range []string{".DS_Store", "._kubelet", "._images.tar", "._socat_1.7.4-1+deb12u1_amd64.deb",
			"extra/._a.conf", "__MACOSX/._a.deb", "__MACOSX/extra/b.deb"} {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			put(t, name, []byte("\x00\x05\x16\x07"))(dir)
		}
	}
	var all []string
	for _, change := range []func(string){nil, beside} {
		file := handmade(t, "old.zip", "amd64", false, change)
		res, err := adopted(t, importarchive.Options{Out: t.TempDir()}, file)
		must(t, err)
		var names []string
		for _, m := range res.Manifests {
			for _, e := range m.Members {
				names = append(names, e.Path)
			}
		}
		all = append(all, strings.Join(names, " "))
	}
	if all[0] != all[1] {
		t.Errorf("%s\nwant %s", all[1], all[0])
	}
}

// Images that were compressed are images; an archive of anything else stays a file.
func TestCompressedImages(t *testing.T) {
	for _, name := range []string{"images.tar.gz", "images.tgz", "my-images-amd64.tar.gz"} {
		file := handmade(t, "old.tar.gz", "amd64", false, func(dir string) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			data, err := os.ReadFile(filepath.Join(dir, "images.tar"))
			must(t, err)
			_, err = z.Write(data)
			must(t, err)
			must(t, z.Close())
			put(t, name, b.Bytes())(dir)
			put(t, "cni-plugins.tgz", b.Bytes())(dir)
			remove(t, "images.tar")(dir)
		})
		res, err := adopted(t, importarchive.Options{Out: t.TempDir()}, file)
		must(t, err)
		for _, m := range res.Manifests {
			if len(m.Images) != 3 || !slices.ContainsFunc(m.Members, func(e bundle.Member) bool {
				return e.Path == "cni-plugins.tgz"
			}) {
				t.Errorf("%s: %+v", name, m)
			}
		}
	}
}

// The manual's own example has the programs in packages: those that Eggo starts are taken out of them.
func TestProgramsAreTakenOutOfPackages(t *testing.T) {
	file := handmade(t, "old.tar.gz", "amd64", false, func(dir string) {
		remove(t, "kubelet", "kube-proxy", "etcd", "etcdctl")(dir)
		kubelet := func(version string) string { return string(buildtest.ELF("amd64", "\x00"+version+"\x00")) }
		put(t, "kubernetes-node_1.34.2_amd64.deb", buildtest.DebOf("kubernetes-node", "1.34.2", "amd64",
			map[string]string{"./usr/bin/kubelet": kubelet("v1.34.2"), "./usr/bin/kube-proxy": kubelet("v1.34.2"),
				"./usr/share/doc/kubelet": "text", "./usr/bin/kube-scheduler": "not this one"}))(dir)
		put(t, "kubernetes-node_1.33.1_amd64.deb", buildtest.DebOf("kubernetes-node", "1.33.1", "amd64",
			map[string]string{"./usr/bin/kubelet": kubelet("v1.33.1")}))(dir)
		put(t, "etcd_3.6.4_amd64.deb", buildtest.DebOf("etcd", "3.6.4", "amd64",
			map[string]string{"./usr/bin/etcd": kubelet("v1.2.3"), "./usr/bin/etcdctl": kubelet("v1.2.3")}))(dir)
	})
	out := t.TempDir()
	res, err := adopted(t, importarchive.Options{Out: out}, file)
	must(t, err)
	m := res.Manifests[filepath.Join(out, "eggo-amd64.tar.gz")]
	i := slices.IndexFunc(m.Members, func(e bundle.Member) bool { return e.Path == "kubelet" })
	if i < 0 || m.Members[i].Version != "v1.34.2" || m.Kubernetes != "v1.34.2" {
		t.Errorf("%+v", m.Members)
	}
	for _, p := range m.Install {
		if p.Name == "etcd" || p.Name == "kubernetes-node" {
			t.Errorf("%s is installed by itself", p.Name)
		}
	}
	want := []string{"adopt.files", "adopt.older", "adopt.os-read", "adopt.packages", "adopt.programs", "adopt.source",
		"adopt.taken", "adopt.unsigned", "adopt.versions"}
	if got := codes(m.Adopted); !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
}

// Packages with programs that Eggo starts are not installed by themselves, though the archive has these as files: their
// services would run beside Eggo's. They stay in the bundle, for others that depend on them.
func TestPackagesOfProgramsThatAreFilesToo(t *testing.T) {
	program := string(buildtest.ELF("amd64", "\x00v1.2.3\x00"))
	for name, c := range map[string]struct {
		etcd          map[string]string // the files of the package of this name
		spare, others string
	}{
		"etcd in it": {map[string]string{"./usr/bin/etcd": program},
			"etcd, etcd-server, kubelet", "etcd-docs, mylib"},
		"etcd depends on it": {map[string]string{"./usr/share/doc/etcd/README": "see etcd-server\n"},
			"etcd-server, kubelet", "etcd, etcd-docs, mylib"},
	} {
		t.Run(name, func(t *testing.T) {
			packages := map[string]map[string]string{
				"etcd":        c.etcd,
				"etcd-server": {"./usr/bin/etcd": program, "./lib/systemd/system/etcd.service": "[Service]\n"},
				"etcd-docs":   {"./usr/share/doc/bin/README": "text\n"},
				"kubelet":     {"./usr/bin/kubelet": program},
				"kubernetes":  {"./usr/bin/kubelet": program, "./usr/bin/kubeadm": program}, // kubeadm is taken
			}
			file := handmade(t, "old.tar.gz", "amd64", true, func(dir string) {
				for name, data := range packages {
					put(t, "pkg/"+name+"_1_amd64.deb", buildtest.DebOf(name, "1", "amd64", data))(dir)
				}
			})
			out := t.TempDir()
			res, err := adopted(t, importarchive.Options{Out: out}, file)
			must(t, err)
			m := res.Manifests[filepath.Join(out, "eggo-amd64.tar.gz")]
			for name := range packages {
				if slices.ContainsFunc(m.Install, func(p bundle.Package) bool { return p.Name == name }) {
					t.Errorf("%s is installed by itself", name)
				}
				if !slices.ContainsFunc(m.Members, func(e bundle.Member) bool {
					return e.Kind == bundle.Deb && e.Name == name
				}) {
					t.Errorf("the bundle has no %s", name)
				}
			}
			told := map[string]string{}
			for _, u := range m.Adopted.Unverified {
				told[u.Code] = u.Args["names"]
			}
			for code, want := range map[string]string{"adopt.spare": c.spare, "adopt.taken": "kubeadm",
				"adopt.packages": c.others} {
				if told[code] != want {
					t.Errorf("%s of %q, want %q", code, told[code], want)
				}
			}
		})
	}
}

// What an archive lacks is listed in the manifest; it is no fault.
func TestWhatAnArchiveLacksIsListed(t *testing.T) {
	file := handmade(t, "old.tar.gz", "arm64", true, func(dir string) {
		write := func(name string, data []byte) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		}
		must(t, os.Remove(filepath.Join(dir, "pkg", "socat_1.7.4-1+deb12u1_arm64.deb")))
		write("pkg/mylib_0.9_all.deb", buildtest.Deb("mylib", "0.9\nDepends: other | third", "all"))
		write("bin/kubelet", buildtest.ELF("arm64", "kubelet"))
		write("bin/kubectl", buildtest.ELF("arm64", "\x00v1.33.1\x00"))
		write("bin/hello", []byte("#!/bin/sh\n"))
		write("image/more.tar", nil)
		must(t, buildtest.Save(filepath.Join(dir, "image", "more.tar"), "arm64", "registry.test/flannel:1"))
		must(t, buildtest.Save(filepath.Join(dir, "image", "images.tar"), "arm64", "registry.test/flannel:1"))
		write("README", []byte("read me\n"))
		must(t, os.Remove(filepath.Join(dir, "bin", "kube-proxy")))
		must(t, os.Remove(filepath.Join(dir, "file", "flannel.yaml")))
		write("bin/dynamic", dynamic())
		must(t, buildtest.Save(filepath.Join(dir, "image", "unnamed.tar"), "arm64", "registry.test/x@sha256:"+
			strings.Repeat("0", 64)))
	})
	out := t.TempDir()
	res, err := adopted(t, importarchive.Options{Out: out, Kubernetes: "v1.34.1"}, file)
	must(t, err)
	m := res.Manifests[filepath.Join(out, "eggo-arm64.tar.gz")]
	want := []string{"adopt.differ", "adopt.dynamic", "adopt.files", "adopt.ignored", "adopt.image-twice",
		"adopt.needs", "adopt.no-addon", "adopt.no-image", "adopt.no-program", "adopt.older", "adopt.os-unknown",
		"adopt.packages", "adopt.programs", "adopt.scripts", "adopt.source", "adopt.unnamed", "adopt.unsigned",
		"adopt.version-given",
		"adopt.versions"}
	if got := codes(m.Adopted); !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
	if m.Kubernetes != "v1.34.1" || m.OS.ID != "" {
		t.Errorf("%+v", m)
	}
}

// A Kubernetes that is newer than this release knows is adopted, with a warning, as a deploy installs it with one.
func TestAVersionThatThisReleaseDoesNotKnow(t *testing.T) {
	for version, warned := range map[string]bool{
		fmt.Sprintf("v1.%d.0", bundle.OldestMinor): false, fmt.Sprintf("v1.%d.9", bundle.NewestMinor): false,
		fmt.Sprintf("v1.%d.0", bundle.NewestMinor+1): true,
	} {
		out := t.TempDir()
		res, err := adopted(t, importarchive.Options{Out: out}, handmade(t, "old.tar.gz", "amd64", true,
			put(t, "bin/kubelet", buildtest.ELF("amd64", "\x00"+version+"\x00"))))
		must(t, err)
		is := slices.ContainsFunc(res.Warnings, func(m event.Msg) bool {
			return m.Key == "adopt.warn.kubernetes-new" && m.Args["version"] == version &&
				m.Args["file"] == "old.tar.gz"
		})
		if got := res.Manifests[filepath.Join(out, "eggo-amd64.tar.gz")].Kubernetes; got != version || is != warned {
			t.Errorf("%s: %s %v", version, got, res.Warnings)
		}
	}
}

// dynamic is a program for arm64 that names an interpreter.
func dynamic() []byte {
	b := buildtest.ELF("arm64", "")
	binary.LittleEndian.PutUint64(b[32:], 64) // where the program headers are
	binary.LittleEndian.PutUint16(b[54:], 56) // their size
	binary.LittleEndian.PutUint16(b[56:], 1)
	program := make([]byte, 56)
	program[0] = byte(elf.PT_INTERP)
	return append(b, program...)
}

// A disk that would get full is reported before the bundle is written, and what was unpacked is removed.
func TestADiskThatIsTooSmall(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	_, err := adopted(t, importarchive.Options{Out: out, Free: func(string) (int64, error) { return 1000, nil }},
		handmade(t, "old.tar.gz", "amd64", false, nil))
	if f := event.AsFault(err); err == nil || f.Code != "adopt.no-space" || f.Class != event.ClassFailed {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// raw writes a tar.gz of headers as they are.
func raw(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		must(t, w.WriteHeader(&h))
		_, err := io.CopyN(w, zeros{}, h.Size)
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	file := filepath.Join(t.TempDir(), "old.tar.gz")
	must(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func remove(t *testing.T, names ...string) func(string) {
	return func(dir string) {
		for _, n := range names {
			must(t, os.RemoveAll(filepath.Join(dir, n)))
		}
	}
}

func put(t *testing.T, name string, data []byte) func(string) {
	return func(dir string) { must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600)) }
}

func names(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, filepath.Base(p))
	}
	return out
}

func cutFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, data[:len(data)*2/3], 0o600))
	return file
}

// between ends a plain tar where its last member does: there is no block of zeros after it.
func between(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(rewritten(t, file, func(n string) string { return n }))
	must(t, err)
	must(t, os.Truncate(file, int64(len(data)-1024)))
	return file
}

// Each bad archive has one clear code, and nothing is written.
func TestBadArchivesAreRefused(t *testing.T) {
	make := func(change func(string)) string { return handmade(t, "old.tar.gz", "amd64", false, change) }
	file := func(name string, size int64) tar.Header { return tar.Header{Name: name, Mode: 0o644, Size: size} }
	rpm := []byte("\xed\xab\xee\xdb")
	var many []tar.Header
	for range 3 {
		many = append(many, file("images.tar", 1))
	}
	plain := filepath.Join(t.TempDir(), "notes.txt")
	must(t, os.WriteFile(plain, []byte("not an archive\n"), 0o600))
	for _, c := range []struct {
		code, file string
		o          importarchive.Options
	}{
		{"adopt.damaged", cutFile(t, make(nil)), importarchive.Options{}},
		{"adopt.damaged", cutFile(t, handmade(t, "old.tar.xz", "amd64", true, nil)), importarchive.Options{}},
		{"adopt.damaged", cutFile(t, handmade(t, "old.zip", "amd64", true, nil)), importarchive.Options{}},
		{"adopt.damaged", between(t, handmade(t, "old.tar", "amd64", true, nil)), importarchive.Options{}},
		{"adopt.open", filepath.Join(t.TempDir(), "missing.tar.gz"), importarchive.Options{}},
		{"adopt.open", t.TempDir(), importarchive.Options{}},
		{"adopt.format", plain, importarchive.Options{}},
		{"adopt.no-images", make(remove(t, "images.tar")), importarchive.Options{}},
		{"adopt.arch", make(nil), importarchive.Options{Arch: "arm64"}},
		{"adopt.mixed", make(put(t, "other", buildtest.ELF("arm64", "x"))), importarchive.Options{}},
		{"adopt.no-kubelet", make(remove(t, "kubelet")), importarchive.Options{}},
		{"adopt.no-version", make(put(t, "kubelet", buildtest.ELF("amd64", "x"))), importarchive.Options{}},
		{"adopt.version", make(nil), importarchive.Options{Kubernetes: "v1.30.1"}},
		{"adopt.kubernetes-old", make(put(t, "kubelet", buildtest.ELF("amd64", "\x00v1.29.14\x00"))),
			importarchive.Options{}},
		{"adopt.kubernetes-old", make(put(t, "kubelet", buildtest.ELF("amd64", "x"))),
			importarchive.Options{Kubernetes: "v1.29.1"}},
		{"adopt.os", make(nil), importarchive.Options{OS: bundle.OS{Family: "rpm", ID: "centos", Release: "9"}}},
		{"adopt.member", make(put(t, "images.tar", []byte("no tar"))), importarchive.Options{}},
		{"adopt.member", make(put(t, "bad_1_all.deb", []byte("no deb"))), importarchive.Options{}},
		{"adopt.member", make(put(t, "kubelet_1_amd64.deb", buildtest.DebOf("kubelet", "1", "amd64",
			map[string]string{"./usr/bin/kubeadm": ""}))), importarchive.Options{}},
		{"adopt.families", make(put(t, "x.rpm", rpm)), importarchive.Options{}},
		{"adopt.layout", raw(t, file("packages/notes.txt", 1)), importarchive.Options{}},
		{"adopt.path", raw(t, file(`..\images.tar`, 1)), importarchive.Options{}},
		{"adopt.duplicate", raw(t, file(`a\b`, 1), file("a/b", 1)), importarchive.Options{}},
		{"adopt.duplicate", raw(t, file("x/x.deb", 1), file("x/pkg/x.deb", 1)), importarchive.Options{}},
		{"adopt.path", raw(t, file("../images.tar", 1)), importarchive.Options{}},
		{"adopt.path", raw(t, file("/etc/images.tar", 1)), importarchive.Options{}},
		{"adopt.type", raw(t, tar.Header{Name: "images.tar", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}),
			importarchive.Options{}},
		{"adopt.type", raw(t, file("a", 1), tar.Header{Name: "images.tar", Typeflag: tar.TypeLink, Linkname: "a"}),
			importarchive.Options{}},
		{"adopt.duplicate", raw(t, many...), importarchive.Options{}},
		{"adopt.duplicate", raw(t, file("a", 1), file("A", 1)), importarchive.Options{}},
		{"adopt.duplicate", raw(t, file("a", 1), file("a/b", 1)), importarchive.Options{}},
		{"adopt.duplicate", raw(t, file("x.deb", 1), file("pkg/x.deb", 1)), importarchive.Options{}},
		{"adopt.no-arch", make(func(dir string) {
			for _, n := range []string{"kube*", "etcd*", "mytool", "containerd*", "socat*"} {
				list, _ := filepath.Glob(filepath.Join(dir, n))
				remove(t, names(list)...)(dir)
			}
			must(t, buildtest.Save(filepath.Join(dir, "images.tar"), "", "registry.test/pause:3"))
		}), importarchive.Options{}},
		{"adopt.no-images", make(func(dir string) {
			must(t, buildtest.Save(filepath.Join(dir, "images.tar"), "amd64", "registry.test/x@sha256:"+
				strings.Repeat("0", 64)))
		}), importarchive.Options{}},
		{"bundle.ratio", raw(t, file("images.tar", 80<<20)), importarchive.Options{}},
	} {
		t.Run(c.code, func(t *testing.T) {
			home := t.TempDir()
			c.o.Out = filepath.Join(home, "out")
			_, err := adopted(t, c.o, c.file)
			if f := event.AsFault(err); err == nil || f.Code != c.code || f.Class != event.ClassBundle {
				t.Fatalf("%+v, want %s", f, c.code)
			}
			if left, _ := os.ReadDir(home); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// An image of another architecture, an archive without anything that has one, two for the same, and a bundle.
func TestArchivesThatDoNotGoTogether(t *testing.T) {
	good := handmade(t, "old.tar.gz", "amd64", true, nil)
	other := handmade(t, "other.tar.gz", "amd64", false, nil)
	out := t.TempDir()
	_, err := adopted(t, importarchive.Options{Out: out}, good, other)
	if f := event.AsFault(err); err == nil || f.Code != "adopt.same-arch" {
		t.Fatal(err)
	}
	if _, err := adopted(t, importarchive.Options{Out: out}, good); err != nil {
		t.Fatal(err)
	}
	_, err = adopted(t, importarchive.Options{Out: t.TempDir()}, filepath.Join(out, "eggo-amd64.tar.gz"))
	if f := event.AsFault(err); err == nil || f.Code != "adopt.is-bundle" {
		t.Fatal(err)
	}
	must(t, os.Rename(good, filepath.Join(out, "eggo-amd64.tar.gz")))
	_, err = adopted(t, importarchive.Options{Out: out}, filepath.Join(out, "eggo-amd64.tar.gz"))
	if f := event.AsFault(err); err == nil || f.Code != "adopt.same-file" {
		t.Fatal(err)
	}
}

// What a killed run left is removed by the next one; what a run uses is not.
func TestLeftoversOfKilledRunsAreRemoved(t *testing.T) {
	out := t.TempDir()
	old := filepath.Join(out, ".eggo-adopt-1")
	must(t, os.Mkdir(old, 0o700))
	must(t, os.WriteFile(filepath.Join(old, "lock"), nil, 0o600))
	first, err := importarchive.New(importarchive.Options{Out: out})
	must(t, err)
	defer first.Close()
	second, err := importarchive.New(importarchive.Options{Out: out})
	must(t, err)
	defer second.Close()
	if left, _ := filepath.Glob(filepath.Join(out, ".eggo-adopt-*")); len(left) != 2 || slices.Contains(left, old) {
		t.Error(left)
	}
}

// Whatever an archive holds, it is refused or adopted, and nothing is written beside it.
func FuzzAnArchive(f *testing.F) {
	dir := f.TempDir()
	if err := buildtest.Handmade(filepath.Join(dir, "tree"), "amd64", true); err != nil {
		f.Fatal(err)
	}
	for _, n := range []string{"a.tar", "a.tar.gz", "a.zip"} {
		if err := buildtest.Pack(filepath.Join(dir, n), filepath.Join(dir, "tree")); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		home := t.TempDir()
		file := filepath.Join(home, "old")
		must(t, os.WriteFile(file, data, 0o600))
		w, err := importarchive.New(importarchive.Options{Out: filepath.Join(home, "out"), Name: "eggo"})
		must(t, err)
		err = w.Read(t.Context(), file, nil)
		w.Close()
		if f := event.AsFault(err); err != nil && f.Class != event.ClassBundle {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(home); len(left) != 1 {
			t.Errorf("left behind: %v", left)
		}
	})
}
