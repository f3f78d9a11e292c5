package deb

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ulikunitz/xz"
)

// hard are root sets with alternatives, virtual packages and conflicts.
var hard = []string{
	"containerd runc iptables conntrack socat ethtool kmod",
	"docker.io nfs-common",
	"ceph-common glusterfs-client",
	"systemd openssh-server sudo",
	"keepalived haproxy lvm2",
	"qemu-system-x86 libvirt-daemon-system",
	"postgresql mariadb-server default-mta",
	"nginx python3 chrony ipvsadm ipset",
	"apache2 php",
	"python3-all",
	"default-jdk-headless golang",
	"podman buildah",
	"firewalld",
	"ufw nftables",
	"exim4 mailutils",
	"systemd-resolved systemd-timesyncd",
	"sysvinit-core openssh-server",
	"openrc cron",
	"gnome-core",
	"task-kde-desktop",
	"kubernetes-client etcd-server",
	"build-essential debhelper",
	"postfix mutt",
	"network-manager wpasupplicant",
	"samba winbind",
	"logrotate rsyslog cron-daemon-common",
	"libreoffice-writer",
	"ruby-full nodejs npm",
	"linux-image-cloud-amd64 grub-efi-amd64",
	"dbus-user-session policykit-1",
}

// TestClosureIsApts holds the closure against apt's own answer in an empty root, which is the truth that a node will
// apply: hand-picked sets and random ones from the archive, for two architectures. Where the answers differ, apt must
// be able to install ours from nothing but our packages.
func TestClosureIsApts(t *testing.T) {
	if os.Getenv("EGGO_E2E_FULL") != "1" {
		t.Skip("asks this machine's apt mirror: EGGO_E2E_FULL=1 runs it")
	}
	needApt(t)
	for _, arch := range []string{"amd64", "arm64"} {
		live := liveIndex(t, arch)
		apt := newApt(t, arch, live.sources)
		sets := slices.Clone(hard)
		for i := range 40 {
			sets = append(sets, strings.Join(random(live.Index, rand.New(rand.NewPCG(uint64(i), 7)), 1+i%6), " "))
		}
		equal, refused := 0, 0
		for _, set := range sets {
			roots := strings.Fields(strings.ReplaceAll(set, "-amd64", "-"+arch))
			t.Run(arch+"/"+strings.Join(roots, ","), func(t *testing.T) {
				want, problem := apt.closure(t, roots)
				chosen, err := live.Closure(roots)
				switch {
				case problem == "" && err != nil:
					t.Fatalf("apt has an answer (%d packages), we have none: %v", len(want), Problems(err)[0].Args)
				case problem != "" && err != nil:
					refused++
					return
				case problem != "":
					t.Logf("apt has no answer: %s", problem)
					consistent(t, arch, chosen, roots)
					return
				}
				if same(t, chosen, want) {
					equal++
				} else {
					consistent(t, arch, chosen, roots)
				}
			})
		}
		t.Logf("%s: %d sets, %d equal, %d refused by both", arch, len(sets), equal, refused)
		if equal+refused < len(sets)*95/100 {
			t.Errorf("too many differ")
		}
	}
}

// same compares a closure with apt's list of files.
func same(t *testing.T, chosen []*Package, want []string) bool {
	t.Helper()
	var ours []string
	for _, p := range chosen {
		ours = append(ours, p.File())
	}
	slices.Sort(ours)
	if slices.Equal(ours, want) {
		return true
	}
	for _, w := range want {
		if !slices.Contains(ours, w) {
			t.Logf("apt has and we lack %s", w)
		}
	}
	for i, o := range ours {
		if !slices.Contains(want, o) {
			t.Logf("we have and apt lacks %s (%v)", o, chosen[min(i, len(chosen)-1)].Chain)
		}
	}
	return false
}

// consistent asks apt to install the roots from nothing but the chosen packages.
func consistent(t *testing.T, arch string, chosen []*Package, roots []string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Packages"), []byte(flatRepository(chosen)), 0o644); err != nil {
		t.Fatal(err)
	}
	apt := newApt(t, arch, "deb [trusted=yes] file:"+dir+" ./\n")
	if got, problem := apt.closure(t, roots); problem != "" {
		t.Errorf("apt cannot install %v from our %d packages: %s", roots, len(chosen), problem)
	} else if len(got) != len(chosen) {
		t.Logf("apt takes %d of our %d packages", len(got), len(chosen))
	}
}

// random picks names from the archive.
func random(x *Index, r *rand.Rand, n int) []string {
	var names []string
	for len(names) < n {
		if c := x.names[r.IntN(len(x.names))]; c.entries >= 0 && !slices.Contains(names, c.text) {
			names = append(names, c.text)
		}
	}
	return names
}

type live struct {
	*Index
	sources string // for apt
}

// liveIndex reads what this machine's own apt sources have of Debian.
func liveIndex(t *testing.T, arch string) live {
	t.Helper()
	entries, err := ParseSources(os.DirFS("/"))
	if err != nil {
		t.Fatal(err)
	}
	l := live{Index: NewIndex(arch)}
	for _, e := range entries {
		e, ok := e.For(arch)
		if !ok || e.Flat || !strings.HasPrefix(e.URL, "http") || len(e.SignedBy) != 1 {
			continue
		}
		ring, err := os.ReadFile(e.SignedBy[0])
		if err != nil {
			t.Fatal(err)
		}
		keys, err := ReadKeyring(ring)
		if err != nil {
			t.Fatal(err)
		}
		l.add(t, e, keys)
	}
	if l.Len() < 10000 {
		t.Skip("this machine's apt sources have no Debian archive")
	}
	return l
}

func (l *live) add(t *testing.T, e SourceEntry, keys openpgp.EntityList) {
	t.Helper()
	check := Check{Suite: e.Suite, Arch: l.arch, Keys: keys, Now: time.Now(), IgnoreExpiry: true}
	rel, err := check.InRelease(get(t, e.Base()+"InRelease"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range e.Components {
		file, _, _, _, err := rel.PackagesFile(c, l.arch)
		if err != nil {
			t.Fatal(err)
		}
		r, err := xz.NewReader(bytes.NewReader(get(t, e.Base()+file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Index.Add(r, e.URL); err != nil {
			t.Fatal(err)
		}
	}
	l.sources += fmt.Sprintf("deb [signed-by=%s] %s %s %s\n", e.SignedBy[0], e.URL, e.Suite,
		strings.Join(e.Components, " "))
}

func get(t testing.TB, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, resp.Status, err)
	}
	return data
}

func needApt(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("needs apt-get")
	}
}

// apt is apt-get with a root of its own in which nothing is installed.
type apt struct{ root string }

func newApt(t *testing.T, arch, sources string) apt {
	t.Helper()
	root := t.TempDir()
	for _, d := range []string{"etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d",
		"var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	conf := fmt.Sprintf(
		`Dir "%[1]s"; Dir::State "%[1]s/var/lib/apt"; Dir::State::status "%[1]s/var/lib/dpkg/status"; Dir::Cache "%[1]s/var/cache/apt";
Dir::Etc "%[1]s/etc/apt"; APT::Architecture "%[2]s"; APT::Architectures { "%[2]s"; }; APT::Install-Recommends "false"; APT::Sandbox::User "";
APT::Get::List-Cleanup "false"; Acquire::Languages "none"; Acquire::Check-Valid-Until "false"; Dir::Bin::methods "/usr/lib/apt/methods";
APT::Get::Upgrade-By-Source-Package "false";
`, root, arch)
	for name, data := range map[string]string{"etc/apt/sources.list": sources, "apt.conf": conf,
		"var/lib/dpkg/status": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := apt{root}
	if out, err := a.run("update"); err != nil {
		t.Fatalf("apt-get update: %v\n%s", err, out)
	}
	return a
}

func (a apt) run(args ...string) (string, error) {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(a.root, "apt.conf"), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// closure is what apt would fetch: the names of the files, sorted; or why it would not.
func (a apt) closure(t *testing.T, roots []string) (files []string, problem string) {
	t.Helper()
	out, err := a.run(append([]string{"install", "--print-uris", "-qq", "-y", "--no-install-recommends"}, roots...)...)
	if err != nil {
		return nil, out
	}
	for _, line := range strings.Split(out, "\n") {
		f := strings.Fields(line)
		if len(f) < 3 || // the fourth, an MD5 sum, is there only where the archive has one
			!strings.HasPrefix(f[0], "'") {
			continue
		}
		name, err := url.PathUnescape(path.Base(strings.Trim(f[0], "'")))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	slices.Sort(files)
	return files, ""
}
