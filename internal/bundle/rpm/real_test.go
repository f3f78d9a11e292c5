package rpm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/sassoftware/go-rpmutils"
)

// specs of the packages that the tests build: name, version-release, architecture, then lines of the preamble; "file
// /path" is a file in it.
var specs = [][]string{
	{"app", "2.0~rc1-1", "aarch64", "Requires: libone >= 1.0", "Requires: (tool-a or tool-b)",
		"Requires: /opt/deep/libexec/helper", "Requires: (extra if libone)",
		"Recommends: never", "file /usr/bin/app"},
	{"libone", "1.0^git5-3", "aarch64", "Epoch: 1", "Provides: one(abi) = 3", "file /usr/lib64/libone.so.1"},
	{"libone", "0.9-1", "aarch64", "Epoch: 1", "file /usr/lib64/libone.so.1"},
	{"tool-a", "1-1", "noarch", "Requires: missing-thing"},
	{"tool-b", "1+2-1", "noarch", "Conflicts: tool-a", "file /usr/bin/tool-b"},
	{"helper", "1-1", "aarch64", "file /opt/deep/libexec/helper", "file /etc/helper & co.conf"},
	{"extra", "3-1", "noarch", "Obsoletes: extra-old < 3", "Provides: extra-old = 3"},
	{"extra-old", "2-1", "noarch"},
	{"never", "1-1", "noarch"},
}

func needRpm(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds packages")
	}
	for _, tool := range []string{"rpmbuild", "rpm", "createrepo_c", "dnf"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s (Debian: rpm, dnf, createrepo-c)", tool)
		}
	}
	if err := exec.Command("dnf", "download", "--help").Run(); err != nil {
		t.Skip("needs dnf download (Debian: dnf-plugins-core)")
	}
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// buildAll builds the packages into a directory.
func buildAll(t *testing.T) string {
	t.Helper()
	top, out := t.TempDir(), t.TempDir()
	for i, s := range specs {
		e := ParseEVR(s[1])
		var b, install, files strings.Builder
		fmt.Fprintf(&b, "Name: %s\nVersion: %s\nRelease: %s\nSummary: The %s & <others>\nLicense: MIT\n", s[0],
			e.Version, e.Release, s[0])
		if s[2] == "noarch" {
			b.WriteString("BuildArch: noarch\n")
		}
		for _, l := range s[3:] {
			p, ok := strings.CutPrefix(l, "file ")
			if !ok {
				b.WriteString(l + "\n")
				continue
			}
			fmt.Fprintf(&install, "mkdir -p \"%%{buildroot}%s\"\necho %s > \"%%{buildroot}%s\"\n", filepath.Dir(p),
				s[0], p)
			fmt.Fprintf(&files, "\"%s\"\n", p)
		}
		fmt.Fprintf(&b, "%%description\nIt is %s.\n%%install\n%s%%files\n%s", s[0], &install, &files)
		spec := filepath.Join(top, fmt.Sprintf("%d.spec", i))
		if err := os.WriteFile(spec, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		tool(t, "rpmbuild", "-bb", "--quiet", "--target", s[2], "--define", "_topdir "+top, "--define", "_rpmdir "+out,
			"--define", "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
			"--define", "debug_package %{nil}", "--define", "__os_install_post %{nil}", "--define",
			"_build_id_links none", spec)
	}
	return out
}

// key makes an RSA key and its armoured public half.
func key(t testing.TB) (*openpgp.Entity, []byte) {
	t.Helper()
	e, err := openpgp.NewEntity("Builder", "", "builder@repo.test",
		&packet.Config{RSABits: 2048, Algorithm: packet.PubKeyAlgoRSA,
			Time: func() time.Time { return time.Now().Add(-time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err == nil {
		err = e.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return e, b.Bytes()
}

func signFile(t testing.TB, path string, e *openpgp.Entity) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := rpmutils.SignRpmFile(f, path, e.PrivateKey, nil); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// open reads a repository as build does: signature, index, packages.
func open(t *testing.T, dir string, keys openpgp.EntityList, e *openpgp.Entity) (*Index, *Repomd) {
	t.Helper()
	data := readFile(t, filepath.Join(dir, RepomdPath))
	var sig bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&sig, e, bytes.NewReader(data), nil); err != nil {
		t.Fatal(err)
	}
	if err := VerifyRepomd(data, sig.Bytes(), keys, dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := VerifyRepomd(append(data, ' '), sig.Bytes(), keys, dir, time.Now()); err == nil {
		t.Error("a changed repomd.xml was accepted")
	}
	md, err := ParseRepomd(data, dir)
	if err != nil {
		t.Fatal(err)
	}
	x := NewIndex("aarch64")
	entry, _ := md.Choose(Primary)
	readEntry(t, dir, entry, func(in *checkedReader) error { return x.Add(in, dir, DefaultPriority) })
	return x, md
}

func readEntry(t *testing.T, dir string, e Entry, read func(*checkedReader) error) {
	t.Helper()
	in, err := e.Open(bytes.NewReader(readFile(t, filepath.Join(dir, e.Location))))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := read(in.(*checkedReader)); err != nil {
		t.Fatal(err)
	}
}

// TestRealPackages goes the whole way with rpm's and dnf's own tools: packages built for another architecture and
// signed, a repository made of them, the closure, and the bundle's own metadata from which dnf installs into an empty
// root, offline and with gpgcheck.
func TestRealPackages(t *testing.T) {
	needRpm(t)
	dir := buildAll(t)
	entity, public := key(t)
	keys, err := ReadKeyring(public, "k", "r")
	if err != nil {
		t.Fatal(err)
	}
	rpms, _ := filepath.Glob(filepath.Join(dir, "*.rpm"))
	if len(rpms) != len(specs) {
		t.Fatalf("%d packages of %d", len(rpms), len(specs))
	}
	if _, err := Verify(bytes.NewReader(readFile(t, rpms[0])), "x.rpm", keys, time.Now()); faultOf(err) == nil ||
		faultOf(err).Code != "rpm.unsigned" {
		t.Errorf("unsigned: %v", err)
	}
	for _, r := range rpms {
		signFile(t, r, entity)
	}
	var closure []*Package
	for _, compression := range []string{"gz", "xz"} {
		tool(t, "createrepo_c", "--quiet", "--no-database", "--general-compress-type", compression, dir)
		x, md := open(t, dir, keys, entity)
		roots := []string{"app", "extra-old"}
		wanted, err := x.Wanted(t.Context(), roots, Options{})
		if err != nil || !slices.Equal(wanted, []string{"/opt/deep/libexec/helper"}) {
			t.Fatalf("wanted %v, %v", wanted, err)
		}
		lists, _ := md.Choose(Filelists)
		readEntry(t, dir, lists, func(in *checkedReader) error { return x.AddFilelists(in, dir, wanted) })
		if wanted, err := x.Wanted(t.Context(), roots, Options{}); err != nil || len(wanted) > 0 {
			t.Fatalf("still wanted %v, %v", wanted, err)
		}
		if closure, err = x.Closure(t.Context(), roots, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, p := range closure {
		names = append(names, p.String())
	}
	want := []string{"app-2.0~rc1-1.aarch64", "extra-3-1.noarch", "helper-1-1.aarch64", "libone-1:1.0^git5-3.aarch64",
		"tool-b-1+2-1.noarch"}
	if !slices.Equal(names, want) {
		t.Fatalf("closure %v", names)
	}
	dnfDownloads(t, dir, want)

	bundle := t.TempDir()
	for _, p := range closure {
		data := readFile(t, filepath.Join(dir, p.Location))
		h, err := Verify(bytes.NewReader(data), p.File(), keys, time.Now())
		if err == nil {
			err = h.Match(p)
		}
		if err != nil {
			t.Fatal(err)
		}
		if sum256(data) != p.SHA256 || int64(len(data)) != p.Size || h.Start != p.HeaderStart || h.End != p.HeaderEnd {
			t.Errorf("%s: sum, size or header's place are others than the metadata's", p)
		}
		local, err := ReadPackage(bytes.NewReader(data), p.Location, p.FileTime)
		if err != nil {
			t.Fatal(err)
		}
		local.files = p.files // the repository has only some of them
		if got, want := MetaOf(local), MetaOf(p); got != want {
			t.Errorf("the file itself says\n%s\nand the repository\n%s", got, want)
		}
		writeFile(t, filepath.Join(bundle, p.File()), data)
	}
	metas := make([]string, 0, len(closure))
	for _, p := range closure {
		metas = append(metas, MetaOf(p))
	}
	meta, err := RepodataFromMetas(metas)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range meta {
		writeFile(t, filepath.Join(bundle, name), data)
	}
	writeFile(t, filepath.Join(bundle, "key.asc"), public)
	dnfInstalls(t, bundle, want)
}

// dnfArgs are those of a dnf that knows nothing of this machine.
func dnfArgs(t *testing.T, repo string) []string {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "log"), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{"--quiet", "-y", "--forcearch", "aarch64", "--releasever", "1", "--installroot", root,
		"--disablerepo=*", "--repofrompath=eggo,file://" + repo,
		"--setopt=install_weak_deps=False", "--setopt=reposdir=/dev/null",
		"--setopt=cachedir=" + filepath.Join(root, "cache"), "--setopt=logdir=" + filepath.Join(root, "log")}
}

func dnfDownloads(t *testing.T, dir string, want []string) {
	t.Helper()
	out := tool(t, "dnf", append(dnfArgs(t, dir), "download", "--resolve", "--alldeps", "--url", "app")...)
	for _, w := range want {
		name, _, _ := strings.Cut(w, "-1")
		if !strings.Contains(out, "/"+name) {
			t.Errorf("dnf does not want %s:\n%s", w, out)
		}
	}
	// It takes weak dependencies ("never") whatever the setting says; dnf install does not.
	if strings.Contains(out, "tool-a") {
		t.Errorf("dnf wants more:\n%s", out)
	}
}

func dnfInstalls(t *testing.T, bundle string, want []string) {
	t.Helper()
	args := append(dnfArgs(t, bundle), "--setopt=eggo.gpgcheck=1",
		"--setopt=eggo.gpgkey=file://"+filepath.Join(bundle, "key.asc"))
	root := args[slices.Index(args, "--installroot")+1]
	if os.Geteuid() != 0 { // dnf install wants to be root even to be asked
		tmp := t.TempDir()
		job := dnfJob{Arch: "aarch64", Tmp: tmp, Root: filepath.Join(tmp, "root"),
			Repos: []dnfRepo{{bundle, DefaultPriority}}, Roots: [][]string{{"app", "extra-old"}}}
		if got := askDnf(t, needDnf(t), []dnfJob{job})[0][0]; !slices.Equal(got.Files, want) {
			t.Errorf("dnf chooses %v %s", got.Files, got.Error)
		}
		t.Log("not root: dnf was only asked what it would install")
		return
	}
	tool(t, "dnf", append(args, "install", "app", "extra-old")...)
	out := tool(t, "rpm", "--root", root, "-qa", "--qf",
		"%{NAME}-%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}.%{ARCH}\n")
	got := slices.DeleteFunc(strings.Fields(out), func(s string) bool { return strings.HasPrefix(s, "gpg-pubkey") })
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("installed are %v", got)
	}
	baseline := tool(t, "rpm", "--root", root, "-qa", "--qf",
		`%{NAME}\t%{EPOCH}:%{VERSION}-%{RELEASE}\t%{ARCH}\n`)
	list, err := ReadBaseline(strings.NewReader(baseline))
	if err != nil || len(list) != len(want) {
		t.Errorf("baseline: %v %v", list, err)
	}
}
