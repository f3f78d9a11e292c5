package e2e

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// TestDebBundlesForBothArchitectures: the packages of the default spec are packed for both architectures from the
// machine's own mirror. Its own architecture's are installed on nodes by the cluster tests. For each, apt takes them
// from the bundle's Packages alone into an empty root of that architecture, and what comes out is of that architecture;
// with make e2e-full a whole foreign system runs under qemu's emulation, and its own apt and dpkg install them.
func TestDebBundlesForBothArchitectures(t *testing.T) {
	w := newWorkshop(t)
	need(t, "dpkg-deb", "dpkg", "apt-get", "apt")
	var names []string
	spec := w.spec(t, "debs", func(doc map[string]any) {
		only(doc, "packages")
		text, err := yaml.Marshal(doc["packages"])
		must(t, "packages", err)
		var p struct{ Install []struct{ Name string } }
		must(t, "packages", yaml.Unmarshal(text, &p))
		for _, x := range p.Install {
			names = append(names, x.Name)
		}
	})
	out := w.pack(t, spec, "amd64,arm64")
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			file := filepath.Join(out, "debs-"+arch+".tar.gz")
			w.runs(t, 0, "verify", file)
			dir := filepath.Join(t.TempDir(), "unpacked")
			unpack(t, file, dir)
			a, err := bundle.Open(file)
			must(t, "bundle", err)
			aptIntoEmpty(t, arch, dir, names, a.Manifest())
		})
	}
	t.Run("foreign system", func(t *testing.T) {
		full(t)
		arch := otherThan(nativeArch(t))
		dir := filepath.Join(t.TempDir(), "unpacked")
		unpack(t, filepath.Join(out, "debs-"+arch+".tar.gz"), dir)
		foreignSystem(t, arch, dir, names, "http://"+w.front.Addr+"/deb.debian.org/debian")
	})
}

func nativeArch(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(program(t, "dpkg", "--print-architecture"))
}

// aptIntoEmpty has an apt of its own world, where nothing is installed and only the bundle is known, choose and take
// what the names need: all of the bundle's packages and no other. They are laid out without their scripts; every
// program among them is of the architecture.
func aptIntoEmpty(t *testing.T, arch, dir string, names []string, m *bundle.Manifest) {
	world := t.TempDir()
	for _, d := range []string{"etc/apt/apt.conf.d", "etc/apt/preferences.d", "state/lists/partial",
		"cache/archives/partial", "root"} {
		must(t, d, os.MkdirAll(filepath.Join(world, d), 0o755))
	}
	must(t, "status", os.WriteFile(filepath.Join(world, "status"), nil, 0o644))
	must(t, "sources", os.WriteFile(filepath.Join(world, "etc/apt/sources.list"),
		[]byte("deb [trusted=yes] copy:"+dir+" ./\n"), 0o644))
	conf := filepath.Join(world, "apt.conf")
	must(t, "apt.conf", os.WriteFile(conf, fmt.Appendf(nil,
		`Dir "%[1]s/"; Dir::Etc "%[1]s/etc/apt"; Dir::State "%[1]s/state"; Dir::State::status "%[1]s/status"; Dir::Cache "%[1]s/cache";
Dir::Bin::Methods "/usr/lib/apt/methods"; APT::Architecture "%[2]s"; APT::Architectures "%[2]s"; APT::Install-Recommends "false"; APT::Sandbox::User "root";
`, world, arch), 0o644))
	apt := func(args ...string) string {
		t.Helper()
		said, err := attempt(t.Context(), []string{"APT_CONFIG=" + conf}, "unshare",
			append([]string{"--net", "apt-get", "-q", "-y"}, args...)...)
		if err != nil {
			t.Fatalf("apt-get %v: %v\n%s", args, err, tail(said, 40))
		}
		return said
	}
	apt("update")
	apt(append([]string{"install", "--download-only"}, names...)...)
	taken, err := filepath.Glob(filepath.Join(world, "cache/archives/*.deb"))
	must(t, "what apt took", err)
	var want, got []string
	for _, x := range m.Members {
		if x.Kind == bundle.Deb {
			want = append(want, x.Name)
		}
	}
	for _, f := range taken {
		name, _, _ := strings.Cut(filepath.Base(f), "_")
		got = append(got, name)
		program(t, "dpkg-deb", "--extract", f, filepath.Join(world, "root"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("apt takes\n%v, in the bundle are\n%v", got, want)
	}
	machine, programs := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch], 0
	must(t, "what is in the packages", filepath.WalkDir(filepath.Join(world, "root"),
		func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			f, err := elf.Open(path)
			if err != nil {
				return nil // no program
			}
			defer f.Close()
			if programs++; f.Machine != machine {
				t.Errorf("%s is for %s", path, f.Machine)
			}
			return nil
		}))
	t.Logf("%d packages with %d programs and libraries", len(got), programs)
}

// foreignScript runs in namespaces of its own, with emulation registered for them alone. It makes a Debian of another
// architecture, as a node would be, and has its apt install from the bundle, without a network.
const foreignScript = `set -eu
mount -t proc proc /proc
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
cat "$BINFMT" >/proc/sys/fs/binfmt_misc/register
mmdebstrap --quiet --mode=root --variant=apt --architectures="$ARCH" "$CODENAME" "$ROOT" "deb $MIRROR $CODENAME main"
mkdir "$ROOT/bundle"
mount --bind "$DIR" "$ROOT/bundle"
mount --rbind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
unshare --net chroot "$ROOT" sh -c "$INSIDE"
`

// foreignSystem installs the packages in a whole system of another architecture.
func foreignSystem(t *testing.T, arch, dir string, names []string, mirror string) {
	need(t, "mmdebstrap", "mmdebstrap", "qemu-"+uname(arch)+"-static", "qemu-user-static", "arch-test", "arch-test")
	root := t.TempDir()
	must(t, "root", os.Chmod(root, 0o755)) // apt's own user looks in
	c := exec.CommandContext(t.Context(), "sh", "-c", foreignScript)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "ARCH="+arch, "CODENAME=bookworm", "ROOT="+root, "DIR="+dir,
		"MIRROR="+mirror,
		"BINFMT=/usr/lib/binfmt.d/qemu-"+uname(arch)+".conf",
		"INSIDE=DIR=/bundle\n"+flatApt+"apt install "+strings.Join(names, " ")+
			"\ndpkg --audit\necho installed on $(dpkg --print-architecture) $(uname -m)\nrunc --version\nsocat -V\n")
	ids := []syscall.SysProcIDMap{{Size: 65536}}
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true}
	said, err := c.CombinedOutput()
	if err != nil && strings.Contains(string(said), "binfmt_misc") {
		t.Skipf("this kernel has no emulation for a user namespace: %v\n%s", err, tail(string(said), 5))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(string(said), 60))
	}
	if want := "installed on " + arch + " " + uname(arch); !strings.Contains(string(said), want) {
		t.Errorf("it does not say %q:\n%s", want, said)
	}
	t.Log(tail(string(said), 12))
	list := program(t, "dpkg-query", "--admindir", filepath.Join(root, "var/lib/dpkg"), "-W", "-f",
		"${Package} ${Architecture} ${db:Status-Status}\n")
	for _, n := range names {
		if !strings.Contains(list, n+" "+arch+" installed\n") {
			t.Errorf("%s is not installed:\n%s", n, list)
		}
	}
}
