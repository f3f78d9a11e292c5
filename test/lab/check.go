package lab

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Problem is something that this machine lacks.
type Problem struct {
	What string // what is missing
	Fix  string // what to do about it; "" when nothing can be done on this machine
}

// Problems is an error that lists everything at once.
type Problems []Problem

func (p *Problems) Error() string {
	var b strings.Builder
	b.WriteString("this machine cannot run the lab:")
	for _, x := range *p {
		b.WriteString("\n  - " + x.What)
		if x.Fix != "" {
			b.WriteString("\n    " + x.Fix)
		}
	}
	return b.String()
}

// hostProgram is a program, and the Debian package that has it.
// hostPrograms are what the lab calls, and the Debian package that has each.
type hostProgram struct{ program, pkg string }

var hostPrograms = []hostProgram{
	{"systemd-nspawn", "systemd-container"}, {"mmdebstrap", "mmdebstrap"}, {"ip", "iproute2"}, {"ss", "iproute2"},
	{"mke2fs", "e2fsprogs"}, {"mount", "mount"}, {"unshare", "util-linux"}, {"nsenter", "util-linux"},
	{"setsid", "util-linux"},
	{"ssh", "openssh-client"}, {"ssh-keygen", "openssh-client"}, {"depmod", "kmod"}, {"nft", "nftables"},
	{"tar", "tar"},
}

// withSbin has the directories of system programs on PATH too: a plain user's PATH, or cron's, lacks them.
func withSbin(path string) string {
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if !slices.Contains(filepath.SplitList(path), dir) {
			path += ":" + dir
		}
	}
	return path
}

// MissingPackages are the Debian packages that the lab needs and whose programs are not there.
func MissingPackages() []string { return missingOf(hostPrograms) }

func missingOf(list []hostProgram) []string {
	var missing []string
	for _, p := range list {
		if !programExists(p.program) && !slices.Contains(missing, p.pkg) {
			missing = append(missing, p.pkg)
		}
	}
	return missing
}

func programExists(name string) bool {
	for _, dir := range filepath.SplitList(withSbin(os.Getenv("PATH"))) {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// foreignPrograms run programs of the other architecture.
func foreignPrograms() []hostProgram {
	return []hostProgram{{"qemu-" + qemuName(OtherArch()) + "-static", "qemu-user-static"}, {"arch-test", "arch-test"}}
}

// Install installs the Debian packages that are missing, with the machine's own apt, and says so.
func (l *Lab) Install(ctx context.Context) error {
	wanted := hostPrograms
	for _, d := range l.wanted {
		wanted = append(wanted[:len(wanted):len(wanted)], d.programs()...)
	}
	return l.install(ctx, missingOf(wanted))
}

// programs are what nodes of that kind need besides.
func (d Disk) programs() (list []hostProgram) {
	if d.VM != "" {
		list = vmPrograms(d.VM)
	}
	if d.Family == Foreign || d.VM == OtherArch() {
		list = append(list, foreignPrograms()...)
	}
	return list
}

// vmPrograms run a virtual machine of an architecture.
func vmPrograms(arch string) []hostProgram {
	pkg := map[string]string{"amd64": "qemu-system-x86", "arm64": "qemu-system-arm"}[arch]
	return []hostProgram{{qemuSystem(arch), pkg}}
}

// Provide installs the Debian package that has a program, if the program is not there: for what is not the lab's own
// need.
func (l *Lab) Provide(ctx context.Context, program, pkg string) error {
	return l.install(ctx, missingOf([]hostProgram{{program, pkg}}))
}

func (l *Lab) install(ctx context.Context, missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	if os.Geteuid() != 0 {
		return &Problems{{"not root, and these packages are missing: " + strings.Join(missing, " "), "run it as root"}}
	}
	if !programExists("apt-get") {
		return &Problems{{"these programs' packages are missing: " + strings.Join(missing, " "),
			"this is no Debian: install them by hand"}}
	}
	lists, err := filepath.Glob("/var/lib/apt/lists/*_Packages*")
	if err != nil {
		return err
	}
	if len(lists) == 0 {
		l.say("fetching the package lists (apt-get update)")
		if err := apt(ctx, "update"); err != nil {
			return err
		}
	}
	l.say("installing the Debian packages that are needed: %s", strings.Join(missing, " "))
	install := append([]string{"install", "--yes", "--no-install-recommends", "--no-upgrade"}, missing...)
	if err := apt(ctx, install...); err == nil {
		return nil
	}
	// The lists may be older than the archive.
	l.say("that failed; fetching the package lists and trying again")
	if err := apt(ctx, "update"); err != nil {
		return err
	}
	return apt(ctx, install...)
}

func apt(ctx context.Context, args ...string) error {
	c := program(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	c.Env = append(c.Env, "DEBIAN_FRONTEND=noninteractive")
	return c.run()
}

// Check finds what this machine lacks; it changes nothing.
func (l *Lab) Check(ctx context.Context) Problems {
	var found Problems
	add := func(what, fix string) { found = append(found, Problem{what, fix}) }
	if runtime.GOOS != "linux" {
		add("the system is "+runtime.GOOS, "the lab needs Linux")
		return found
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		add("the architecture is "+runtime.GOARCH, "nodes are made for amd64 and arm64")
	}
	if os.Geteuid() != 0 {
		add("not root", "run it as root: it makes namespaces, mounts and cgroups")
		return found // the rest would only look like missing kernel features
	}
	if missing := MissingPackages(); len(missing) > 0 {
		add("packages are missing: "+strings.Join(missing, " "), "'lab install' or 'lab up' installs them")
	}
	if _, err := aptSources("/", nodeSuite); err != nil {
		add(err.Error(), "add Debian "+nodeSuite+" to /etc/apt/sources.list.d")
	}
	for _, what := range missingKernel(ctx) {
		add(what, "this kernel, or the container that this machine is, does not have it")
	}
	if err := l.enoughSpace(); err != nil {
		add(err.Error(), "free some, or set EGGO_LAB_DIR")
	}
	if dir := l.elsewhere(); dir != "" {
		add("another lab named "+l.name+" runs from "+dir, "choose another name with LAB=")
	}
	return found
}

// elsewhere is the directory of a running lab that has this one's name and not its directory; "" if there is none.
func (l *Lab) elsewhere() string {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return ""
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if dir := labOf(l.name, strings.Split(string(text), "\x00")); dir != "" && dir != l.dir {
			if _, err := os.Stat(dir); err == nil { // else it is lost, and this one may bury it
				return dir
			}
		}
	}
	return ""
}

// labOf reads the lab's directory out of the command line of one of its nspawns or qemus.
func labOf(name string, args []string) string {
	if len(args) == 0 {
		return ""
	}
	if strings.HasPrefix(filepath.Base(args[0]), "qemu-system-") {
		return labOfQEMU(name, args)
	}
	if filepath.Base(args[0]) != "systemd-nspawn" {
		return ""
	}
	dir, ours := "", false
	for _, a := range args {
		if m, ok := strings.CutPrefix(a, "--machine="+name+"-"); ok {
			_, err := nodeNumber(m)
			ours = err == nil
		}
		if d, ok := strings.CutPrefix(a, "--directory="); ok { // LAB/nodes/nK/root
			dir = filepath.Dir(filepath.Dir(filepath.Dir(d)))
		}
	}
	if !ours {
		return ""
	}
	return dir
}

func labOfQEMU(name string, args []string) string {
	dir, ours := "", false
	for i := 1; i < len(args); i++ {
		if m, ok := strings.CutPrefix(args[i], name+"-"); ok && args[i-1] == "-name" {
			_, err := nodeNumber(m)
			ours = err == nil
		}
		if d, ok := strings.CutPrefix(args[i], "file="); ok && args[i-1] == "-drive" { // LAB/nodes/nK/disk.img,...
			d, _, _ = strings.Cut(d, ",")
			dir = filepath.Dir(filepath.Dir(filepath.Dir(d)))
		}
	}
	if !ours {
		return ""
	}
	return dir
}

// missingKernel tries the kernel features that nodes need.
func missingKernel(ctx context.Context) []string {
	var missing []string
	if hs, err := hierarchies(); err != nil {
		missing = append(missing, "cgroups: "+err.Error())
	} else if m := missingControllers(hs); len(m) > 0 {
		missing = append(missing, "cgroup hierarchies: "+strings.Join(m, ", "))
	}
	for _, ns := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		if _, err := os.Stat("/proc/self/ns/" + ns); err != nil {
			missing = append(missing, ns+" namespaces")
		}
	}
	if f, err := os.Open("/proc/filesystems"); err == nil {
		defer func() { _ = f.Close() }()
		var have []string
		for sc := bufio.NewScanner(f); sc.Scan(); {
			fields := strings.Fields(sc.Text())
			have = append(have, fields[len(fields)-1])
		}
		for _, fs := range []string{"ext4", "overlay", "tmpfs"} {
			if !slices.Contains(have, fs) && program(ctx, "modprobe", "-q", fs).run() != nil {
				missing = append(missing, "the file system "+fs)
			}
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		missing = append(missing, "loop devices (/dev/loop-control)")
	}
	if !programExists("unshare") || !programExists("ip") {
		return missing
	}
	for _, try := range []struct{ what, script string }{
		{"permission to make mount and network namespaces (CAP_SYS_ADMIN)", "true"},
		{"bridges", "ip link add try0 type bridge"},
		{"veth links", "ip link add try0 type veth peer name try1"},
		{"vxlan links", "ip link add try0 type vxlan id 1 dstport 8472 local 127.0.0.1"},
	} {
		if err := program(ctx, "unshare", "--mount", "--net", "--", "sh", "-c", try.script).run(); err != nil {
			missing = append(missing, try.what)
		}
	}
	return missing
}
