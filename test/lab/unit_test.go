package lab

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAptListsGiveTheirDebLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"plain", "deb http://a/debian bookworm main contrib\n", []string{"deb http://a/debian bookworm main contrib"}},
		{"signed", "deb [arch=amd64 signed-by=/k.gpg] http://a bookworm main # here\n",
			[]string{"deb [signed-by=/k.gpg] http://a bookworm main"}},
		{"comments and sources", "# deb http://a x main\ndeb-src http://a x main\n\n", nil},
		{"no components", "deb http://a ./\n", nil},
		{"option never closed", "deb [arch=amd64 http://a x main\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(parseAptList(c.text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStanzasGiveOneSourcePerSuite(t *testing.T) {
	text := `Types: deb deb-src
# an old snapshot
URIs: http://a/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/k.gpg

Types: deb
URIs: http://b/
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: http://c/
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----
`
	want := []string{"deb [signed-by=/usr/share/keyrings/k.gpg] http://a/debian bookworm main",
		"deb [signed-by=/usr/share/keyrings/k.gpg] http://a/debian bookworm-updates main",
		"deb http://c/ bookworm main"}
	if diff := cmp.Diff(want, lines(parseDeb822(text))); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyTheDistributionsArchivesAreUsed(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "etc/apt/sources.list"),
		"deb http://a bookworm main contrib\ndeb http://other stable main\n")
	write(t, filepath.Join(root, "etc/apt/sources.list.d/s.sources"),
		"Types: deb\nURIs: http://s\nSuites: bookworm-security\nComponents: main\n")
	got, err := aptSources(root, "bookworm")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"deb http://a bookworm main", "deb http://s bookworm-security main"},
		lines(got)); diff != "" {
		t.Error(diff)
	}
	// Another release has the same archives.
	got, err = aptSources(root, "trixie")
	if diff := cmp.Diff([]string{"deb http://a trixie main", "deb http://s trixie-security main"},
		lines(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := aptSources(t.TempDir(), "trixie"); err == nil || !strings.Contains(err.Error(), "trixie") {
		t.Errorf("no archive is configured, and the error is %v", err)
	}
}

func FuzzAptSources(f *testing.F) {
	f.Add("deb [a=b] http://a x main\nTypes: deb\nURIs: u\nSuites: s\n t\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range append(parseAptList(text), parseDeb822(text)...) {
			if strings.Contains(s.line(), "\n") {
				t.Errorf("%q gives a source of more than one line: %q", text, s.line())
			}
		}
	})
}

func lines(sources []aptSource) []string {
	var out []string
	for _, s := range sources {
		out = append(out, s.line())
	}
	return out
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryLabHasItsSubnet(t *testing.T) {
	free, err := chooseSubnet(DefaultName, nil)
	if err != nil || free.String() != "10.99.0.0/24" {
		t.Fatalf("the default lab has %v, %v", free, err)
	}
	one, err := chooseSubnet("one", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := chooseSubnet("one", nil)
	if one != again || one == free {
		t.Errorf("lab one has %v, then %v; the default lab has %v", one, again, free)
	}
	moved, err := chooseSubnet("one", []netip.Prefix{one.Prefix})
	if err != nil || moved == one {
		t.Errorf("%v is taken and lab one has %v, %v", one, moved, err)
	}
	if _, err := chooseSubnet("one", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}); err == nil {
		t.Error("all of 10/8 is taken and lab one still has a subnet")
	}
	if got := []string{free.Host(), free.Gateway(), free.Node(1), free.mac(1)}; !slices.Equal(got,
		[]string{"10.99.0.1", "10.99.0.254", "10.99.0.11", "02:00:0a:63:00:0b"}) {
		t.Errorf("addresses are %v", got)
	}
}

func TestALabKeepsItsSubnetAndOthersKeepAway(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(Options{Name: "aa", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(Options{Name: "aa", Dir: dir})
	if err != nil || again.Subnet() != a.Subnet() {
		t.Errorf("lab aa had %v and now has %v, %v", a.Subnet(), again.Subnet(), err)
	}
	for _, name := range []string{"b", "c", "d", "e2"} {
		other, err := Open(Options{Name: name, Dir: dir})
		if err != nil || other.Subnet().Overlaps(a.Subnet().Prefix) {
			t.Errorf("lab %s has %v beside %v, %v", name, other.Subnet(), a.Subnet(), err)
		}
	}
}

func TestNamesThatCannotBe(t *testing.T) {
	for _, name := range []string{"A", "1a", "a-b", "../x", "toolonglab", "a b"} {
		if _, err := Open(Options{Name: name, Dir: t.TempDir()}); err == nil {
			t.Errorf("a lab may be called %q", name)
		}
	}
	for _, node := range []string{"", "n", "n0", "n01", "n201", "n1x", "m1", "n-1", "../n1"} {
		if k, err := nodeNumber(node); err == nil {
			t.Errorf("%q is node %d", node, k)
		}
	}
	if k, err := nodeNumber("n200"); err != nil || k != 200 {
		t.Errorf("n200 is %d, %v", k, err)
	}
}

func TestHierarchiesOfBothKinds(t *testing.T) {
	hybrid := `30 29 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/pids,cpuset rw - cgroup cgroup rw,pids,cpuset
34 30 0:30 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
35 30 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
36 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
37 30 0:32 /docker/x /mnt/part rw - cgroup2 cgroup2 rw
`
	hs := parseHierarchies(hybrid)
	if len(hs) != 6 {
		t.Fatalf("%d hierarchies: %v", len(hs), hs)
	}
	if m := missingControllers(hs); len(m) > 0 {
		t.Errorf("a hybrid machine lacks %v", m)
	}
	if m := missingControllers(hs[:4]); !slices.Equal(m, []string{"name=systemd", "a cgroup2 mount"}) {
		t.Errorf("controllers alone lack %v", m)
	}
	file, word, _, err := freezer(hs, "eggo-lab.x/n1")
	if err != nil || file != "/sys/fs/cgroup/freezer/eggo-lab.x/n1/freezer.state" || word != "FROZEN" {
		t.Errorf("freezer: %s %s %v", file, word, err)
	}
	v2 := []hierarchy{{dir: "/sys/fs/cgroup", v2: true, controllers: []string{"cpuset", "cpu", "io", "memory", "pids"}}}
	if m := missingControllers(v2); len(m) > 0 {
		t.Errorf("a cgroup2 machine lacks %v", m)
	}
	if file, word, _, err := freezer(v2, "g"); err != nil || file != "/sys/fs/cgroup/g/cgroup.freeze" || word != "1" {
		t.Errorf("freezer: %s %s %v", file, word, err)
	}
}

func TestAProcessIsMoreThanItsNumber(t *testing.T) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skip("no /proc here")
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	f, err := statFields(string(stat))
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(stat), " ")
	file := filepath.Join(t.TempDir(), "pid")
	for _, c := range []struct {
		name, text string
		alive      bool
	}{
		{"this one", pid + " " + f[19] + " " + string(boot), true},
		{"the number reused", pid + " " + f[19] + "1 " + string(boot), false},
		{"before the machine rebooted", pid + " " + f[19] + " 00000000-0000-0000-0000-000000000000", false},
		{"PID 1", "1 0 " + string(boot), false},
		{"cut short", pid, false},
		{"empty", "", false},
	} {
		write(t, file, c.text)
		if _, alive := recordedProcess(file); alive != c.alive {
			t.Errorf("%s: alive is %v", c.name, alive)
		}
	}
	if _, alive := recordedProcess(file + ".none"); alive {
		t.Error("a process that was never recorded is alive")
	}
}

func TestNamesWithParenthesesInStat(t *testing.T) {
	f, err := statFields("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n")
	if err != nil || f[0] != "S" || f[1] != "1" || f[19] != "4711" {
		t.Errorf("%v %v", f, err)
	}
	for _, bad := range []string{"", "7 (a", "7 (a) S 1"} {
		if _, err := statFields(bad); err == nil {
			t.Errorf("%q is taken for a stat", bad)
		}
	}
	for status, want := range map[string]int{"NSpid:\t812\t1\n": 1, "NSpid:\t812\n": 0, "Name:\tx\n": 0,
		"NSpid:\t9\t7\t3\n": 3} {
		if got := innermostPid(status); got != want {
			t.Errorf("%q: %d, not %d", status, got, want)
		}
	}
}

func TestWhoseLabANodeIs(t *testing.T) {
	args := []string{"/usr/bin/systemd-nspawn", "--quiet", "--directory=/x/labs/eggo/nodes/n2/root",
		"--machine=eggo-n2"}
	if dir := labOf("eggo", args); dir != "/x/labs/eggo" {
		t.Errorf("it is of %q", dir)
	}
	for _, other := range []string{"egg", "eggo2", ""} {
		if dir := labOf(other, args); dir != "" {
			t.Errorf("lab %q takes it for its own: %s", other, dir)
		}
	}
	if labOf("eggo", []string{"vi", "--machine=eggo-n1"}) != "" {
		t.Error("an editor is a node")
	}
}

func TestKernelConfigSaysWhatIsBuiltIn(t *testing.T) {
	got := parseKernelConfig("# CONFIG_IP_VS is not set\nCONFIG_VETH=y\nCONFIG_OVERLAY_FS=m\nother\n")
	if diff := cmp.Diff(map[string]string{"VETH": "y", "OVERLAY_FS": "m"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMountsDoNotDependOnTheBoot(t *testing.T) {
	before := parseMounts("1 0 7:0 / / rw - ext4 /dev/loop0 rw\n2 1 0:5 /.#proc-kmsg83715a9339885ea4//deleted " +
		"/proc/kmsg rw - tmpfs tmpfs rw\n3 1 0:9 / /run/user/0 rw - tmpfs t rw\n")
	after := parseMounts("1 0 7:3 / / rw - ext4 /dev/loop3 rw\n2 1 0:5 /.#proc-kmsg647cf6d75814eba2//deleted " +
		"/proc/kmsg rw - tmpfs tmpfs rw\n")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if len(after) != 2 {
		t.Errorf("%d mounts: %v", len(after), after)
	}
}

func TestDiffNamesEveryChange(t *testing.T) {
	before := Snapshot{Sections: map[string][]Entry{
		"files":  {{"/a", "file 0644"}, {"/gone", "dir"}},
		"units":  {{"x.service", "enabled"}},
		"mounts": {{"/m", "ext4"}, {"/m", "tmpfs"}}}}
	if d := Diff(before, before); len(d) != 0 {
		t.Errorf("a node differs from itself: %v", d)
	}
	after := Snapshot{Sections: map[string][]Entry{
		"files":  {{"/a", "file 0600"}, {"/new", "link"}},
		"users":  {{"etcd", "999"}},
		"mounts": {{"/m", "ext4"}}}}
	var got []string
	for _, d := range Diff(before, after) {
		got = append(got, d.String())
	}
	want := []string{"files: ~ /a: file 0644 -> file 0600", "files: - /gone dir", "files: + /new link",
		"mounts: ~ /m: ext4; tmpfs -> ext4", "units: - x.service enabled", "users: + etcd 999"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExclusionsLeaveTheirNeighboursIn(t *testing.T) {
	for path, want := range map[string]bool{"/var/log": true, "/var/lib/dpkg": true, "/tmp/systemd-private-x-y": true,
		"/tmp": false, "/tmp/x": false,
		"/var/lib": false, "/etc/passwd": false, "/home/ops/.bash_history": true, "/var/lib/kubelet": false} {
		if excluded(path) != want {
			t.Errorf("%s: excluded is %v", path, !want)
		}
	}
	var b bytes.Buffer
	s := Snapshot{Excluded: exclusions, Sections: map[string][]Entry{"links": {{"eth0", "up"}, {"lo", ""}}}}
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "not listed: /var/log (logs)\n") ||
		!strings.HasSuffix(b.String(), "\n[links]\neth0\tup\nlo\n") {
		t.Error(b.String())
	}
}

func TestErrorsShowTheLastWordsAndNoScripts(t *testing.T) {
	err := program(t.Context(), "sh", "-c", "echo one; echo two >&2; exit 3\n# the rest of a long script").run()
	if err == nil || !strings.Contains(err.Error(), "exit status 3: two") ||
		strings.Contains(err.Error(), "long script") {
		t.Errorf("error: %v", err)
	}
	p := Problems{{"not root", "run it as root"}, {"no bridges", ""}}
	if want := "this machine cannot run the lab:\n  - not root\n    run it as root\n  - no bridges"; p.Error() != want {
		t.Errorf("%q", p.Error())
	}
}

// Trees of recipes that are no more go, each family's own alone.
func TestOldTreesOfOneFamilyGo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"0123456789ab", "rpm-0123456789ab", "foreign-0123456789ab", "vm_arm64-0123456789ab"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		disk Disk
		left []string
	}{{Disk{Family: Foreign}, []string{"0123456789ab", "rpm-0123456789ab", "vm_arm64-0123456789ab"}},
		{Disk{Family: Debian}, []string{"rpm-0123456789ab", "vm_arm64-0123456789ab"}},
		{Disk{Debian13, "arm64"}, []string{"rpm-0123456789ab", "vm_arm64-0123456789ab"}},
		{Disk{Debian, "arm64"}, []string{"rpm-0123456789ab"}}, {Disk{Family: RPM}, nil}} {
		rootfs{dir: dir, arch: "amd64", disk: c.disk}.forgetOthers()
		entries, err := os.ReadDir(dir)
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if err != nil || !slices.Equal(left, c.left) {
			t.Errorf("%v: %v %v, want %v", c.disk, left, err, c.left)
		}
	}
}
