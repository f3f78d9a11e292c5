package deb

import (
	"bytes"
	"fmt"
	"io"
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

	"github.com/ulikunitz/xz"

	"github.com/eggo-k8s/eggo/assets"
)

// suites of the archive that the default spec packs from.
var suites = []struct{ url, suite string }{
	{"http://deb.debian.org/debian", "bookworm"},
	{"http://deb.debian.org/debian", "bookworm-updates"},
	{"http://deb.debian.org/debian-security", "bookworm-security"},
}

// TestClosureIsApts holds the closure against apt's own answer in an empty root, which is the truth that a node will apply.
func TestClosureIsApts(t *testing.T) {
	if os.Getenv("EGGO_E2E") == "" {
		t.Skip("EGGO_E2E=1 asks the Debian mirror")
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("needs apt-get")
	}
	rootSets := [][]string{
		{"containerd", "runc", "iptables", "conntrack", "socat", "ethtool", "kmod"},
		{"docker.io", "nfs-common"},
		{"ceph-common", "glusterfs-client"},
		{"systemd", "openssh-server", "sudo"},
		{"keepalived", "haproxy", "lvm2"},
		{"qemu-system-x86", "libvirt-daemon-system"},
		{"postgresql", "mariadb-server", "default-mta"},
		{"nginx", "python3", "chrony", "ipvsadm", "ipset"},
	}
	for _, arch := range []string{"amd64", "arm64"} {
		idx := liveIndex(t, arch)
		apt := newApt(t, arch)
		for _, roots := range rootSets {
			t.Run(arch+"/"+strings.Join(roots, ","), func(t *testing.T) {
				got, err := idx.Closure(roots)
				if err != nil {
					t.Fatal(err)
				}
				var ours []string
				for _, p := range got {
					ours = append(ours, p.File())
				}
				want := apt.closure(t, roots)
				slices.Sort(ours)
				if len(want) < len(roots) {
					t.Fatalf("apt chose only %v", want)
				}
				for _, w := range want {
					if !slices.Contains(ours, w) {
						t.Errorf("apt has and we lack %s", w)
					}
				}
				for _, o := range ours {
					if !slices.Contains(want, o) {
						t.Errorf("we have and apt lacks %s", o)
					}
				}
				t.Logf("%d packages", len(want))
			})
		}
	}
}

func get(t *testing.T, url string) []byte {
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

func liveIndex(t *testing.T, arch string) *Index {
	t.Helper()
	ring, err := assets.Keyring("debian-archive-keyring.gpg")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeyring(ring)
	if err != nil {
		t.Fatal(err)
	}
	idx := NewIndex(arch)
	for _, s := range suites {
		base := s.url + "/dists/" + s.suite + "/"
		rel, err := ParseRelease(get(t, base+"InRelease"), keys, s.suite, arch, time.Now(), true)
		if err != nil {
			t.Fatal(err)
		}
		file, _, _, _, err := rel.PackagesFile("main", arch)
		if err != nil {
			t.Fatal(err)
		}
		r, err := xz.NewReader(bytes.NewReader(get(t, base+file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := idx.Add(r, s.url); err != nil {
			t.Fatal(err)
		}
	}
	return idx
}

// apt is apt-get with a root of its own in which nothing is installed.
type apt struct{ conf string }

func newApt(t *testing.T, arch string) apt {
	t.Helper()
	root := t.TempDir()
	for _, d := range []string{"etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := assets.Keyring("debian-archive-keyring.gpg")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, s := range suites {
		fmt.Fprintf(&sources, "deb [signed-by=%s/keys.gpg] %s %s main\n", root, s.url, s.suite)
	}
	conf := fmt.Sprintf(`Dir "%[1]s"; Dir::State "%[1]s/var/lib/apt"; Dir::State::status "%[1]s/var/lib/dpkg/status"; Dir::Cache "%[1]s/var/cache/apt";
Dir::Etc "%[1]s/etc/apt"; APT::Architecture "%[2]s"; APT::Architectures { "%[2]s"; }; APT::Install-Recommends "false"; APT::Sandbox::User "root";
APT::Get::List-Cleanup "false"; Acquire::Languages "none"; Acquire::Check-Valid-Until "false"; Dir::Bin::methods "/usr/lib/apt/methods";
`, root, arch)
	for name, data := range map[string]string{"keys.gpg": string(ring), "etc/apt/sources.list": sources.String(), "apt.conf": conf, "var/lib/dpkg/status": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	a := apt{filepath.Join(root, "apt.conf")}
	a.run(t, "update")
	return a
}

func (a apt) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+a.conf, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("apt-get %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// closure is what apt would fetch: the names of the files, sorted.
func (a apt) closure(t *testing.T, roots []string) []string {
	t.Helper()
	out := a.run(t, append([]string{"install", "--print-uris", "-qq", "-y", "--no-install-recommends"}, roots...)...)
	var list []string
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
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
