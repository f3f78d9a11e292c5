package lab

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

// The passwords of every node; they protect nothing.
const (
	RootPassword = "eggo-root"
	OpsUser      = "ops"
	OpsPassword  = "eggo-ops"
)

const (
	nodeSuite = "bookworm" // of the archives that this machine has; those of others have the same addresses
	// nodePackages is what a plain Debian server has. No container runtime, etcd, Kubernetes, nginx or CNI
	// plugin is among them, nor kmod, iptables, conntrack, socat, ethtool: the bundle must bring what it needs.
	nodePackages = "systemd,systemd-sysv,dbus,libpam-systemd,openssh-server,sudo,iproute2,iputils-ping,procps," +
		"tar,gzip,ca-certificates,curl,hostname,util-linux,mount,netbase,openssl,less,vim-tiny,apt,e2fsprogs"
	// debian13Packages are what a server of Debian 13 has beside: its systemd loads the library for kernel modules only
	// if it is there, and says that the machine is degraded if it is not.
	debian13Packages = "libkmod2"
	// rpmPackages make a node of the rpm family out of it.
	rpmPackages = "dnf,rpm"
	// vmPackages give a node a kernel of its own, as a server has it. nftables goes again: see vm.sh.
	vmPackages = "initramfs-tools,udev,apparmor,nftables,linux-image-cloud-"
	// extrasHook fetches packages into directories below /usr/lib/lab/packages of a virtual machine, with what they
	// need, and does not install them: for scenarios about the kernel's side of them.
	extrasHook = `set -eu; cd "$1"; extra() { dir=usr/lib/lab/packages/$1; shift; mkdir -p $dir; ` +
		`rm -f var/cache/apt/archives/*.deb; APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get -q -y ` +
		`--no-install-recommends --download-only install "$@"; mv var/cache/apt/archives/*.deb $dir/; }; ` +
		`extra chrony chrony; extra nfs nfs-common nfs-kernel-server; ` +
		`extra selinux selinux-policy-default selinux-utils policycoreutils`
	// unwantedDocs keeps manuals and translations out of the nodes' disks.
	unwantedDocs = "/usr/share/doc/* /usr/share/man/* /usr/share/locale/*"
)

//go:embed files/customize.sh
var customizeScript string

//go:embed files/rpm.sh
var rpmScript string

//go:embed files/foreign.sh
var foreignScript string

//go:embed files/vm.sh
var vmScript string

//go:embed files/initramfs.sh
var initramfsScript string

// Family is what a node is to an installer: whose package manager it has and what its os-release says.
type Family string

// The families. Debian is what nodes are when nothing else is said; an RPM node has Debian's files too, but is
// openEuler by all that tells.
const (
	Debian Family = "debian"
	RPM    Family = "rpm"
	// Debian13 is the release after the one that nodes usually have.
	Debian13 Family = "debian13"
	// Foreign is a Debian of the other architecture. qemu's user emulation runs its programs, PID 1 too, on this
	// machine's kernel.
	Foreign Family = "foreign"
)

// Disk describes how a node's disk is made.
type Disk struct {
	Family Family
	// VM is the architecture of a virtual machine, whose disk has a kernel; "" for a node that runs on this machine's.
	VM string
}

// suite is the release of Debian that a family's files are of.
func (f Family) suite() string {
	if f == Debian13 {
		return "trixie"
	}
	return nodeSuite
}

// OtherArch is the architecture of foreign nodes.
func OtherArch() string { return map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH] }

// machine is what qemu calls the architecture of programs that it has to run; "" for a native one.
func (r rootfs) machine() string {
	if r.arch == runtime.GOARCH {
		return ""
	}
	return qemuName(r.arch)
}

func qemuName(arch string) string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
}

//go:embed files/emulate.sh
var emulateScript string

// program runs one that runs programs of the root file system's architecture.
func (r rootfs) program(ctx context.Context, name string, args ...string) command {
	if m := r.machine(); m != "" {
		return program(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "--", "sh", "-c",
			emulateScript, "sh", m, name}, args...)...)
	}
	return program(ctx, name, args...)
}

// recipe is the hash of everything that decides what is in the root file system, but for the archive's state
// on the day that it is built.
func (r rootfs) recipe() string {
	arch, family := r.arch, r.disk.Family
	parts := []string{"1", arch, family.suite(), nodePackages, unwantedDocs, customizeScript, RootPassword, OpsUser,
		OpsPassword}
	if family == RPM {
		parts = append(parts, rpmPackages, rpmScript)
	}
	if family == Debian13 {
		parts = append(parts, debian13Packages)
	}
	if family == Foreign {
		parts = append(parts, foreignScript)
	}
	if r.disk.VM != "" {
		parts = append(parts, vmPackages, vmScript, r.initramfs(), extrasHook)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// rootfs is the cache of node disks of one kind: one directory per recipe with the tree and an image per disk size.
type rootfs struct {
	dir  string // of all recipes
	arch string
	disk Disk
	say  func(format string, args ...any)
}

// initramfs returns the script that selects the modules of the initramfs. Debian 13 configures the network there if the
// kernel's command line has an address, and waits three minutes for a link without a driver.
func (r rootfs) initramfs() string {
	if r.disk.Family == Debian13 {
		return initramfsScript + `echo virtio_net >>"$1/usr/share/initramfs-tools/modules.d/lab"` + "\n"
	}
	return initramfsScript
}

// kind is how the directories of the recipes of one kind of disk begin.
func (r rootfs) kind() string {
	var words []string
	if r.disk.VM != "" {
		words = append(words, "vm", r.disk.VM)
	}
	if r.disk.Family != Debian {
		words = append(words, string(r.disk.Family))
	}
	return strings.Join(words, "_")
}

// prefix of the directories of the kind's recipes.
func (r rootfs) prefix() string {
	if r.kind() == "" {
		return ""
	}
	return r.kind() + "-"
}

func (r rootfs) home() string { return filepath.Join(r.dir, r.prefix()+r.recipe()) }

// image returns the path of a fresh node disk of the given size, making it (and the tree it is made of,
// one to three minutes) when the cache does not have it.
func (r rootfs) image(ctx context.Context, gib int) (string, error) {
	img := filepath.Join(r.home(), fmt.Sprintf("disk-%dg.img", gib))
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(r.dir, "."+r.prefix()+"lock"))
	if err := lock.Lock(); err != nil { // somebody else may be building the same tree: wait and take theirs
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if _, err := os.Stat(img); err == nil {
		return img, nil
	}
	tree := filepath.Join(r.home(), "root")
	if _, err := os.Stat(tree); err != nil {
		if err := r.build(ctx, tree); err != nil {
			return "", err
		}
	}
	r.say("making a disk of %d GiB from the root file system", gib)
	tmp := img + ".part"
	_ = os.Remove(tmp)
	err := program(ctx, "mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-L", "node",
		"-E", "lazy_itable_init=1,lazy_journal_init=1", "-d", tree, tmp, fmt.Sprintf("%dG", gib)).run()
	if err != nil {
		_ = os.Remove(tmp)
		return "", err
	}
	return img, os.Rename(tmp, img)
}

// build bootstraps Debian from the machine's own apt sources.
func (r rootfs) build(ctx context.Context, tree string) error {
	family := r.disk.Family
	sources, err := aptSources("/", family.suite())
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, s := range sources {
		fmt.Fprintln(&list, s.line())
	}
	kernel := ""
	if r.disk.VM != "" {
		kernel = ", with a kernel for " + r.disk.VM
	}
	r.say("building the nodes' root file system (Debian %s, for the %s family%s), one to three minutes (under "+
		"emulation ten)", family.suite(), family, kernel)
	tmp := tree + ".part"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(r.home(), 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(r.home(), "build.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if err := r.bootstrap(ctx, tmp, list.String(), log); err != nil {
		_ = os.RemoveAll(tmp)
		return fmt.Errorf("building the root file system: %w (see %s)", err, log.Name())
	}
	r.forgetOthers()
	return os.Rename(tmp, tree)
}

// forgetOthers throws trees of the kind's other recipes away: nodes have copies, nothing refers to them.
func (r rootfs) forgetOthers() {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		kind, _, other := strings.Cut(e.Name(), "-")
		if ours := other && kind == r.kind() || !other && r.kind() == ""; ours && e.IsDir() &&
			e.Name() != filepath.Base(r.home()) {
			_ = os.RemoveAll(filepath.Join(r.dir, e.Name()))
		}
	}
}

// contents are the packages of the kind, and the script that makes a node of their tree.
func (r rootfs) contents() (packages, script string) {
	packages, script = nodePackages, customizeScript
	switch r.disk.Family {
	case RPM:
		packages, script = packages+","+rpmPackages, script+rpmScript
	case Debian13:
		packages += "," + debian13Packages
	case Foreign:
		script += foreignScript
	}
	if r.disk.VM != "" {
		packages, script = packages+","+vmPackages+r.arch, script+vmScript
	}
	return packages, script
}

// arguments are those of mmdebstrap.
func (r rootfs) arguments(tree string, options ...string) []string {
	packages, _ := r.contents()
	args := []string{"--variant=minbase", "--mode=root", "--format=directory", "--architectures=" + r.arch,
		`--aptopt=Acquire::Languages "none"`, "--include=" + packages}
	if r.disk.VM != "" {
		args = append(args, "--essential-hook="+r.initramfs(), "--customize-hook="+extrasHook)
	}
	for glob := range strings.FieldsSeq(unwantedDocs) {
		args = append(args, "--dpkgopt=path-exclude="+glob)
	}
	for _, option := range options {
		args = append(args, "--aptopt="+option)
	}
	return append(args, r.disk.Family.suite(), tree, "-")
}

func (r rootfs) bootstrap(ctx context.Context, tree, sources string, log io.Writer) error {
	c := r.program(ctx, "mmdebstrap", r.arguments(tree, r.aptProxies(ctx)...)...).stdin([]byte(sources))
	c.Stdout, c.Stderr = log, log
	if err := c.Run(); err != nil {
		return fmt.Errorf("mmdebstrap: %w", err)
	}
	_, script := r.contents()
	c = r.program(ctx, "chroot", tree, "/bin/sh").stdin([]byte(script))
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "ROOT_PASSWORD=" + RootPassword,
		"OPS_PASSWORD=" + OpsPassword}
	c.Stdout, c.Stderr = log, log
	if err := c.Run(); err != nil {
		return fmt.Errorf("customizing: %w", err)
	}
	return nil
}

// aptProxies are the machine's own settings for reaching its archives; mmdebstrap does not read them by itself.
func (r rootfs) aptProxies(ctx context.Context) []string {
	out, err := program(ctx, "apt-config", "dump").output()
	if err != nil {
		return nil
	}
	var options []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, " ")
		if strings.HasPrefix(strings.ToLower(key), "acquire::http") &&
			strings.HasSuffix(strings.ToLower(key), "::proxy") && value != `"";` {
			options = append(options, strings.TrimSuffix(line, ";"))
		}
	}
	return options
}

// BuildRootfs makes the disk that nodes of a kind are copied from, if the cache does not have it, and returns its path.
func (l *Lab) BuildRootfs(ctx context.Context, d Disk) (string, error) {
	l.of([]string{""}, func(w *Disk) { *w = d }) // what its programs need on this machine
	if err := l.Install(ctx); err != nil {
		return "", err
	}
	if err := l.enoughSpace(); err != nil {
		return "", err
	}
	return l.rootfs(d).image(ctx, l.diskGiB)
}
