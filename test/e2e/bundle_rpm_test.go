package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// forge makes, signs and serves rpms: a vendor with a repository for each architecture.
type forge struct {
	dir string // served
	key string // the vendor's public key
	url string
}

// rpmSpecs are the vendor's packages; ARCH is where a package for each architecture stands. app needs a package by its
// file, one by what it provides and, because lib is there, one by a rich dependency; nothing needs spare.
var rpmSpecs = map[string]string{
	"app": `BuildArch: ARCH
Requires: /opt/vendor/libexec/helper
Requires: vendor(abi) >= 2
Requires: (glue if lib)
Requires: (tool-a or tool-b)
%post -p <lua>
local f = io.open("/opt/vendor/installed", "w") f:write("by its scriptlet\n") f:close()
%files
/opt/vendor/app`,
	"lib":     "Epoch: 1\nBuildArch: ARCH\nProvides: vendor(abi) = 2.1\n%files\n/opt/vendor/lib",
	"helper":  "BuildArch: ARCH\n%files\n/opt/vendor/libexec/helper",
	"glue":    "BuildArch: noarch\n%files\n/opt/vendor/glue",
	"tool-a":  "BuildArch: noarch\nRequires: nobody-has-this\n%files\n/opt/vendor/tool-a",
	"tool-b":  "BuildArch: noarch\n%files\n/opt/vendor/tool-b",
	"spare":   "BuildArch: noarch\n%files\n/opt/vendor/spare",
	"foreign": "BuildArch: OTHER\n%files\n/opt/vendor/foreign",
}

// chosenRPMs is what installing app must bring.
var chosenRPMs = []string{"app", "glue", "helper", "lib", "tool-b"}

func newForge(t *testing.T) *forge {
	t.Helper()
	if os.Getenv("EGGO_E2E") != "1" {
		t.Skip("needs a Linux machine and root: run it by make e2e")
	}
	need(t, "rpmbuild", "rpm", "rpm", "rpm", "dnf", "dnf", "createrepo_c", "createrepo-c", "modifyrepo_c",
		"createrepo-c", "gpg", "gpg", "gpg-agent", "gpg-agent")
	f := &forge{dir: t.TempDir()}
	srv := httptest.NewServer(http.FileServer(http.Dir(f.dir)))
	t.Cleanup(srv.Close)
	f.url = srv.URL
	// A short path: the agent's socket is in it.
	home, err := os.MkdirTemp("", "gpg")
	must(t, "keys", err)
	t.Cleanup(func() {
		_, _ = attempt(t.Context(), []string{"GNUPGHOME=" + home}, "gpgconf", "--kill", "all")
		os.RemoveAll(home)
	})
	t.Setenv("GNUPGHOME", home)
	for _, who := range []string{"vendor", "stranger"} {
		program(t, "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", who+"@eggo.test", "rsa2048",
			"sign", "never")
	}
	f.key = filepath.Join(f.dir, "KEY")
	must(t, "key", os.WriteFile(f.key, []byte(program(t, "gpg", "--armor", "--export", "vendor@eggo.test")), 0o644))
	return f
}

// build builds packages for an architecture into a directory of the server, unsigned.
func (f *forge) build(t *testing.T, arch, into string, names ...string) string {
	t.Helper()
	top, out := t.TempDir(), filepath.Join(f.dir, into)
	for _, name := range names {
		body := strings.NewReplacer("ARCH", uname(arch), "OTHER", uname(otherThan(arch))).Replace(rpmSpecs[name])
		target := uname(arch)
		if strings.Contains(body, "BuildArch: noarch") {
			target = "noarch"
		} else if name == "foreign" {
			target = uname(otherThan(arch))
		}
		head, tail, _ := strings.Cut(body, "%")
		head = strings.ReplaceAll(head, "BuildArch: "+target+"\n",
			map[bool]string{true: "BuildArch: noarch\n"}[target == "noarch"])
		file := tail[strings.LastIndex(tail, "\n")+1:]
		text := fmt.Sprintf("Name: %s\nVersion: 1.0\nRelease: 1\nSummary: of a test\nLicense: MIT\nAutoReqProv: no\n"+
			"%s%%description\nOf a test.\n%%install\nmkdir -p %%{buildroot}%s\n"+
			"echo %s >%%{buildroot}%s\n%%%s\n", name, head, filepath.Dir(file), name, file, tail)
		spec := filepath.Join(top, name+".spec")
		must(t, name, os.WriteFile(spec, []byte(text), 0o644))
		program(t, "rpmbuild", "-bb", "--quiet", "--target", target, "--define", "_topdir "+top, "--define",
			"_rpmdir "+out, "--define", "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
			"--define", "debug_package %{nil}", "--define", "__os_install_post %{nil}", "--define",
			"_build_id_links none", spec)
	}
	return out
}

// sign signs every package of a directory.
func (f *forge) sign(t *testing.T, dir, who string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.rpm"))
	must(t, dir, err)
	program(t, "rpmsign", append([]string{"--define", "_gpg_name " + who + "@eggo.test", "--define",
		"__gpg /usr/bin/gpg", "--addsign"}, files...)...)
}

// publish makes the metadata of a directory and signs it.
func (f *forge) publish(t *testing.T, dir, who string) {
	t.Helper()
	program(t, "createrepo_c", "--quiet", dir)
	f.signRepomd(t, dir, who)
}

func (f *forge) signRepomd(t *testing.T, dir, who string) {
	t.Helper()
	md := filepath.Join(dir, "repodata", "repomd.xml")
	program(t, "gpg", "--batch", "--yes", "--quiet", "--local-user", who+"@eggo.test", "--detach-sign", "--armor",
		"--output", md+".asc", md)
}

// spec writes a spec that installs a package from a repository of the server.
func (f *forge) spec(t *testing.T, dir, repository, install string) string {
	t.Helper()
	file := filepath.Join(dir, repository+".yaml")
	text := fmt.Sprintf(`version: 1
name: rpms
kubernetes: v1.34.2
os: {family: rpm, id: openEuler, release: "24.03"}
packages:
  repositories:
    - {type: rpm, url: "%s/%s-{uname}", keyring: "%s"}
  install:
    - {name: %s, roles: [worker]}
`, f.url, repository, f.key, install)
	must(t, repository, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestRPMBundle: rpms that a vendor signs are packed for both architectures with their closure; what comes out is
// verified, unpacked with plain tar, and installed offline by dnf and by rpm, which check every signature, into empty
// roots.
func TestRPMBundle(t *testing.T) {
	f := newForge(t)
	s := newStand(t)
	must(t, "build", s.Build(t.Context()))
	w := &workshop{Stand: s}
	for _, arch := range []string{"amd64", "arm64"} {
		dir := f.build(t, arch, "good-"+uname(arch), "app", "lib", "helper", "glue", "tool-a", "tool-b", "spare")
		f.sign(t, dir, "vendor")
		f.publish(t, dir, "vendor")
	}
	out := filepath.Join(s.Dir, "rpms")
	w.packs(t, 0, "-f", f.spec(t, s.Dir, "good", "app"), "--arch", "amd64,arm64", "-o", out)
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			file := filepath.Join(out, "rpms-"+arch+".tar.gz")
			w.runs(t, 0, "verify", file)
			dir := filepath.Join(t.TempDir(), "unpacked")
			unpack(t, file, dir)
			packages, err := filepath.Glob(filepath.Join(dir, "*.rpm"))
			must(t, "packages", err)
			if len(packages) != len(chosenRPMs) {
				t.Errorf("the bundle has %v, want %v", packages, chosenRPMs)
			}
			f.byDNF(t, arch, dir)
			f.byRPM(t, arch, packages)
		})
	}
	t.Run("refused", func(t *testing.T) { f.refused(t, w) })
}

// byDNF lets dnf, which knows nothing but the unpacked bundle and the vendor's key, install into an empty root.
func (f *forge) byDNF(t *testing.T, arch, dir string) {
	root, private := t.TempDir(), t.TempDir()
	must(t, "dnf.conf", os.WriteFile(filepath.Join(private, "dnf.conf"),
		[]byte("[main]\nplugins=0\nreposdir="+private+"\nvarsdir="+private+"\nlogdir="+private+"\n"), 0o644))
	args := []string{"--config", filepath.Join(private, "dnf.conf"), "--installroot", root, "--releasever", "24.03",
		"--disablerepo=*", "--repofrompath=eggo,file://" + dir,
		"--setopt=eggo.gpgcheck=1", "--setopt=eggo.gpgkey=file://" + f.key, "--setopt=localpkg_gpgcheck=1",
		"--setopt=cachedir=" + private + "/cache", "--assumeyes"}
	foreign := arch != runtime.GOARCH
	if foreign { // its scriptlets are not for this machine
		args = append(args, "--forcearch="+uname(arch), "--setopt=tsflags=noscripts")
	}
	// no network, not even loopback
	said, err := attempt(t.Context(), nil, "unshare",
		append([]string{"--net", "dnf"}, append(args, "install", "app")...)...)
	if err != nil {
		t.Fatalf("dnf: %v\n%s", err, said)
	}
	f.installed(t, root, arch, !foreign)

	// The same with a key that signed nothing: dnf does check.
	other := filepath.Join(private, "OTHER")
	must(t, "key", os.WriteFile(other, []byte(program(t, "gpg", "--armor", "--export", "stranger@eggo.test")), 0o644))
	for i, a := range args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(a, root, t.TempDir()), "file://"+f.key, "file://"+other)
	}
	if said, err := attempt(t.Context(), nil, "dnf", append(args, "install", "app")...); err == nil ||
		!strings.Contains(said, "GPG") {
		t.Errorf("dnf with a stranger's key: %v\n%s", err, said)
	}
}

// byRPM lets plain rpm check and install all packages of the bundle into an empty root.
func (f *forge) byRPM(t *testing.T, arch string, packages []string) {
	root := t.TempDir()
	program(t, "rpm", "--root", root, "--initdb")
	program(t, "rpm", "--root", root, "--import", f.key)
	// Not below the root, for that is where rpm would look for the packages.
	checked := program(t, "rpm", append([]string{"--dbpath", dbpath(t, root), "-K"}, packages...)...)
	if n := strings.Count(checked, "digests signatures OK"); n != len(packages) {
		t.Errorf("rpm -K finds %d of %d good:\n%s", n, len(packages), checked)
	}
	args := []string{"--root", root, "-U"}
	foreign := arch != runtime.GOARCH
	if foreign {
		args = append(args, "--ignorearch", "--noscripts")
	}
	program(t, "rpm", append(args, packages...)...)
	f.installed(t, root, arch, !foreign)
}

// dbpath is the database of a root, wherever this rpm keeps it.
func dbpath(t *testing.T, root string) string {
	t.Helper()
	return filepath.Join(root, strings.TrimSpace(program(t, "rpm", "--eval", "%{_dbpath}")))
}

// installed wants exactly the closure of app in a root, of the architecture, its files, and what its scriptlet did.
func (f *forge) installed(t *testing.T, root, arch string, scripts bool) {
	t.Helper()
	var want []string
	for _, name := range chosenRPMs {
		a := uname(arch)
		if strings.Contains(rpmSpecs[name], "noarch") {
			a = "noarch"
		}
		want = append(want, name+"."+a)
	}
	got := program(t, "sh", "-c", `rpm --root "$1" -qa --qf '%{NAME}.%{ARCH}\n' | grep -v ^gpg-pubkey | sort`, "sh",
		root)
	if strings.Join(want, "\n") != strings.TrimSpace(got) {
		t.Errorf("installed is %s, want %v", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(root, "opt/vendor/libexec/helper")); string(text) != "helper\n" {
		t.Errorf("the helper is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(root, "opt/vendor/installed")); (err == nil) != scripts {
		t.Errorf("what the scriptlet makes: %v, want it to have run: %v", err, scripts)
	}
	program(t, "rpm", "--root", root, "-V", "app", "lib", "helper")
}

// refused are repositories that are not what they should be, each by the fault that names it.
func (f *forge) refused(t *testing.T, w *workshop) {
	arch := runtime.GOARCH
	for _, c := range []struct {
		name    string
		make    func(t *testing.T, dir string)
		install string
		words   []string
	}{
		{"unsigned", func(t *testing.T, dir string) { f.publish(t, dir, "vendor") }, "spare",
			[]string{"rpm.unsigned", "spare-1.0-1.noarch.rpm"}},
		{"tampered", func(t *testing.T, dir string) {
			f.sign(t, dir, "vendor")
			spoil(t, filepath.Join(dir, "spare-1.0-1.noarch.rpm"))
			f.publish(t, dir, "vendor") // the metadata is that of the tampered file
		}, "spare", []string{"rpm.digest", "spare-1.0-1.noarch.rpm"}},
		{"stranger", func(t *testing.T, dir string) {
			f.sign(t, dir, "stranger")
			f.publish(t, dir, "vendor")
		}, "spare", []string{"rpm.unknown-key", "spare-1.0-1.noarch.rpm"}},
		{"repomd", func(t *testing.T, dir string) {
			f.sign(t, dir, "vendor")
			f.publish(t, dir, "stranger")
		}, "spare", []string{"rpm.repomd-signature", "repomd.xml"}},
		{"swapped", func(t *testing.T, dir string) { // after the metadata was made
			f.sign(t, dir, "vendor")
			f.publish(t, dir, "vendor")
			spoil(t, filepath.Join(dir, "spare-1.0-1.noarch.rpm"))
		}, "spare", []string{"fetch.sum-mismatch", "spare-1.0-1.noarch.rpm"}},
		{"elsewhere", func(t *testing.T, dir string) {
			f.sign(t, dir, "vendor")
			f.publish(t, dir, "vendor")
		}, "foreign", []string{"rpm.no-package", "foreign", uname(arch)}},
		{"lying", func(t *testing.T, dir string) { // the metadata says it is of this architecture
			f.sign(t, dir, "vendor")
			program(t, "createrepo_c", "--quiet", dir)
			primary := filepath.Join(t.TempDir(), "primary.xml")
			text := program(t, "sh", "-c", `zcat "$1"/repodata/*-primary.xml.gz`, "sh", dir)
			text = strings.ReplaceAll(text, "<arch>"+uname(otherThan(arch))+"</arch>", "<arch>"+uname(arch)+"</arch>")
			must(t, "primary.xml", os.WriteFile(primary, []byte(text), 0o644))
			program(t, "modifyrepo_c", "--mdtype=primary", primary, filepath.Join(dir, "repodata"))
			f.signRepomd(t, dir, "vendor")
		}, "foreign", []string{"rpm.mismatch", "foreign-0:1.0-1." + uname(otherThan(arch))}},
		{"incomplete", func(t *testing.T, dir string) {
			f.sign(t, dir, "vendor")
			f.publish(t, dir, "vendor")
		}, "tool-a", []string{"rpm.unresolvable", "nobody-has-this", "tool-a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.make(t, f.build(t, arch, c.name+"-"+uname(arch), "spare", "foreign", "tool-a"))
			out := filepath.Join(w.Dir, "out-"+c.name)
			got := w.packs(t, 1, "-f", f.spec(t, w.Dir, c.name, c.install), "--arch", arch, "-o", out)
			if err := got.Has(c.words...); err != nil {
				t.Errorf("%v:\n%s", err, got.Out)
			}
			t.Logf("it says: %s", tail(got.Out, 3))
			if left, err := filepath.Glob(filepath.Join(out, "*.tar.gz*")); len(left) > 0 || err != nil {
				t.Errorf("there is a bundle: %v %v", left, err)
			}
		})
	}
}

// spoil changes the last byte of a file.
func spoil(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, file, err)
	data[len(data)-1] ^= 1
	must(t, file, os.WriteFile(file, data, 0o644))
}
