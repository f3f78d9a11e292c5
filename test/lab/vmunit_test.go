package lab

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The disks of nodes in namespaces keep their recipe: a lab that is updated does not make them again.
func TestTheKindOfADiskDecidesItsCache(t *testing.T) {
	l := &Lab{root: "/x"}
	seen := map[string]Disk{}
	for _, d := range []Disk{{Debian, ""}, {RPM, ""}, {Debian13, ""}, {Foreign, ""}, {Debian, "amd64"},
		{Debian, "arm64"}, {Debian13, "amd64"}, {RPM, "arm64"}} {
		home := l.rootfs(d).home()
		if other, ok := seen[home]; ok {
			t.Errorf("%v and %v have one cache: %s", d, other, home)
		}
		seen[home] = d
	}
	for d, want := range map[Disk]string{{Debian, ""}: "", {Debian13, ""}: "debian13-", {Debian, "arm64"}: "vm_arm64-",
		{Debian13, "amd64"}: "vm_amd64_debian13-"} {
		if got := l.rootfs(d).prefix(); got != want {
			t.Errorf("the caches of %v begin with %q, not %q", d, got, want)
		}
	}
	if r := (rootfs{arch: "amd64", disk: Disk{Family: Debian}}); strings.Contains(strings.Join(r.arguments("/t"), " "),
		"linux-image") || r.recipe() == (rootfs{arch: "amd64", disk: Disk{Debian, "amd64"}}).recipe() {
		t.Errorf("a node in a namespace gets a kernel: %v", r.arguments("/t"))
	}
	for _, arch := range []string{"amd64", "arm64"} {
		args := rootfs{arch: arch, disk: Disk{Debian13, arch}}.arguments("/t")
		if all := strings.Join(args, " "); !strings.Contains(all, ",linux-image-cloud-"+arch) ||
			!strings.Contains(all, "--architectures="+arch) || !slices.Contains(args, "trixie") {
			t.Errorf("%s: %v", arch, args)
		}
	}
}

func TestADiskIsWhatItWasMadeAs(t *testing.T) {
	l := &Lab{dir: t.TempDir()}
	l.OfDebian13("n1", "n2")
	l.OfVM("arm64", "n2", "n3")
	for node, want := range map[string]Disk{"n1": {Debian13, ""}, "n2": {Debian13, "arm64"}, "n3": {Debian, "arm64"},
		"n4": {Debian, ""}} {
		if got := l.Disk(node); got != want {
			t.Errorf("%s is to be %v, not %v", node, got, want)
		}
	}
	for name, text := range map[string]string{"disk.img": "", "family": "debian\n", "vm": "amd64\n"} {
		if err := os.MkdirAll(l.nodeDir("n1"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, l.file("n1", name), text)
	}
	if got := l.Disk("n1"); got != (Disk{Debian, "amd64"}) || !l.IsVM("n1") {
		t.Errorf("n1 has the disk of %v", got)
	}
	if err := l.mark("n1", "turned", true); err != nil || l.IsVM("n1") {
		t.Errorf("a node that was turned into a namespace is a virtual machine: %v", err)
	}
	if err := errors.Join(l.mark("n1", "turned", false), l.mark("n1", "turned", false)); err != nil || !l.IsVM("n1") {
		t.Errorf("a node that was turned back is none: %v", err)
	}
}

func TestTheMachineAsQemuIsGivenIt(t *testing.T) {
	v := vmOf{Node: "eggo-n2", Arch: "amd64", Dir: "/x/labs/eggo/nodes/n2", Port: "eggo-n2", MAC: "02:00:0a:63:00:0c",
		Address: "10.99.0.12", Gateway: "10.99.0.254", Hostname: "n2", MemoryMiB: 2560}
	for _, c := range []struct {
		arch string
		kvm  bool
		want []string
	}{
		{"amd64", false, []string{"qemu-system-x86_64", "-M q35", "-cpu max,", "-accel tcg",
			"console=ttyS0 no_timer_check tsc=reliable mitigations=off"}},
		{"amd64", true, []string{"qemu-system-x86_64", "-cpu host", "-accel kvm"}},
		{"arm64", false, []string{"qemu-system-aarch64", "-M virt", "-cpu cortex-a72", "console=ttyAMA0"}},
	} {
		v.Arch, v.KVM = c.arch, c.kvm
		all := strings.Join(v.command(), " ")
		for _, w := range append(c.want, "-name eggo-n2", "-m 2560",
			"ip=10.99.0.12::10.99.0.254:255.255.255.0:n2:eth0:none", "ifname=eggo-n2", "mac=02:00:0a:63:00:0c") {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %q in %s", c.arch, w, all)
			}
		}
		args := append([]string{"/usr/bin/" + v.command()[0]}, v.command()[1:]...)
		if dir := labOf("eggo", args); dir != "/x/labs/eggo" {
			t.Errorf("%s: it is of %q", c.arch, dir)
		}
		if dir := labOf("egg", args); dir != "" {
			t.Errorf("%s: another lab takes it for its own: %s", c.arch, dir)
		}
	}
}

func TestPackagesOfAKindOfNode(t *testing.T) {
	var got []string
	for _, p := range (Disk{Debian, OtherArch()}).programs() {
		got = append(got, p.pkg)
	}
	system := map[string]string{"amd64": "qemu-system-x86", "arm64": "qemu-system-arm"}
	if diff := cmp.Diff([]string{system[OtherArch()], "qemu-user-static", "arch-test"}, got); diff != "" {
		t.Error(diff)
	}
	if p := (Disk{Debian, runtime.GOARCH}).programs(); len(p) != 1 || p[0].pkg != system[runtime.GOARCH] {
		t.Errorf("%v", p)
	}
	if p := (Disk{Family: Debian}).programs(); len(p) != 0 {
		t.Errorf("a node in a namespace needs %v", p)
	}
}

// The other side is a few lines: the protocol with a real qemu is in TestVirtualMachine.
func TestCommandsToQemu(t *testing.T) {
	for _, c := range []struct {
		name string
		says []string // before each request
		want string
	}{
		{"done", []string{`{"QMP": {"version": {}}}`, `{"return": {}}`,
			`{"event": "RTC_CHANGE"}` + "\n" + `{"return": {}}`}, ""},
		{"refused", []string{`{"QMP": {}}`, `{"return": {}}`,
			`{"error": {"class": "GenericError", "desc": "no such link"}}`},
			"qemu refuses set_link: no such link"},
		{"gone", []string{`{"QMP": {}}`, `{"return": {}}`}, "qemu does not answer set_link"},
		{"somebody else", []string{`{}`}, "qemu does not greet"},
	} {
		here, there := net.Pipe()
		asked := make(chan []string, 1)
		go func() {
			var lines []string
			in := bufio.NewScanner(there)
			for i, s := range c.says {
				if i > 0 {
					if !in.Scan() {
						break
					}
					lines = append(lines, in.Text())
				}
				_, _ = there.Write([]byte(s + "\n"))
			}
			if len(lines) == 1 && in.Scan() {
				lines = append(lines, in.Text())
			}
			_ = there.Close()
			asked <- lines
		}()
		err := execute(here, "set_link", map[string]any{"name": cableID, "up": false})
		_ = here.Close()
		if lines := <-asked; c.want == "" && (err != nil || len(lines) != 2 ||
			lines[1] != `{"arguments":{"name":"cable","up":false},"execute":"set_link"}`) {
			t.Errorf("%s: %v %q", c.name, err, lines)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestFilesOfAVirtualMachine(t *testing.T) {
	list := "99\td\t755\t0:0\t/\x00\x00" + "99\tf\t4755\t0:0\t/usr/bin/su\x00\x00" +
		"99\tl\t777\t0:0\t/bin\x00usr/bin\x00" + "99\tf\t600\t1000:1000\t/home/ops/a\tb\nc\x00\x00" +
		"5\td\t755\t0:0\t/mnt\x00\x00" + "99\td\t755\t0:0\t/var/log\x00\x00" +
		"99\tf\t644\t0:0\t/gone\x00\x00" + "99\tp\t644\t0:0\t/pipe\x00\x00"
	sums := "aa  /usr/bin/su\x00" + "bb  /home/ops/a\tb\nc\x00"
	got, err := parseFiles(list, sums)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{"/", "dir 0755 0:0"}, {"/usr/bin/su", "file 4755 0:0 aa"}, {"/bin", "link 0777 0:0 -> usr/bin"},
		{"/home/ops/a\tb\nc", "file 0600 1000:1000 bb"}, {"/pipe", "other 0644 0:0"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := parseFiles("find: what?\x00\x00", ""); err == nil {
		t.Error("something else is taken for a list of files")
	}
}

func TestARemoteShellRunsOneLineAfterAnother(t *testing.T) {
	sh := &remoteShell{cmd: command{exec.CommandContext(t.Context(), "sh")}, token: "end"}
	if err := sh.start(); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"echo one; echo two": "one\ntwo\n",
		"printf 'a\\0b e n d'": "a\x00b e n d", "cat": "", "exit 0": "", "true": ""} {
		if out, err := sh.run(line); err != nil || out != want {
			t.Errorf("%s: %q %v", line, out, err)
		}
	}
	out, err := sh.run("echo some; echo wrong >&2; exit 3")
	if out != "some\n" || err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%q %v", out, err)
	}
	if out, err := sh.run("echo after"); err != nil || out != "after\n" {
		t.Errorf("after an error: %q %v", out, err)
	}
	if err := sh.close(); err != nil {
		t.Error(err)
	}
	if _, err := sh.run("echo"); err == nil {
		t.Error("a shell that is gone runs a command")
	}
}

func TestHowManyTimesAsLong(t *testing.T) {
	for _, c := range []struct{ here, there, want float64 }{{100, 1550, 15.5}, {100, 90, 1}, {3, 100, 33.3}} {
		if got := timesAsLong(c.here, c.there); got != c.want {
			t.Errorf("%g and %g: %g", c.here, c.there, got)
		}
	}
	for text, ok := range map[string]bool{"12\n": true, "0": false, "x": false, "": false} {
		if _, err := nanoseconds(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	l := &Lab{dir: t.TempDir()}
	if err := os.MkdirAll(l.nodeDir("n1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{"": 1, "12.5\n": 12.5, "0.5": 1, "much": 1} {
		write(t, filepath.Join(l.nodeDir("n1"), "slowness"), text)
		if got := l.Slowness("n1"); got != want {
			t.Errorf("%q: %g", text, got)
		}
	}
}
