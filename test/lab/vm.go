package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

//go:embed files/qemu.sh
var qemuScript string

//go:embed files/port.sh
var portScript string

// vmCPUs is the number of processors that kubeadm requires of a control plane.
const vmCPUs = 2

// inVM are the virtual machines of qemu-system.
type inVM struct{ l *Lab }

func qemuSystem(arch string) string { return "qemu-system-" + qemuName(arch) }

// takeKernel gives the kernel that is on the mounted disk, and its initramfs, to qemu, as a boot loader does.
const takeKernel = `v=$(ls -v "$1/root/boot" | sed -n s/^vmlinuz-//p | tail -n 1)
cp "$1/root/boot/vmlinuz-$v" "$1/vmlinuz"
cp "$1/root/boot/initrd.img-$v" "$1/initrd"
`

func (k inVM) prepare(ctx context.Context, node string) error {
	l := k.l
	if err := l.install(ctx, missingOf(vmPrograms(l.Disk(node).VM))); err != nil {
		return err
	}
	if err := l.secondDisk(node); err != nil {
		return err
	}
	keys, err := l.visit(ctx, node, newSeed(), takeKernel)
	if err != nil {
		return err
	}
	return l.recordHostKeys(node, keys)
}

// secondDisk gives a virtual machine an empty disk beside the one that it boots from: /dev/vdb.
func (l *Lab) secondDisk(node string) error {
	f, err := os.OpenFile(l.file(node, "second.img"), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(l.diskGiB)<<30), f.Close())
}

// KernelOptions has a virtual machine boot with further options of its kernel from the next start of its qemu on, which
// a reboot from inside is not.
func (l *Lab) KernelOptions(node, options string) error {
	return os.WriteFile(l.file(node, "kernel-options"), []byte(options+"\n"), 0o644)
}

func (k inVM) supervision(ctx context.Context, node string) (supervision, error) {
	l := k.l
	n, err := nodeNumber(node)
	if err != nil {
		return supervision{}, err
	}
	v := vmOf{Node: l.name + "-" + node, Arch: l.Disk(node).VM, Dir: l.nodeDir(node), Port: l.netns(node),
		MAC: l.subnet.mac(n), MemoryMiB: l.memory, Address: l.subnet.Node(n), Gateway: l.subnet.Gateway(),
		Hostname: node}
	if v.Options, err = readText(l.file(node, "kernel-options")); err != nil {
		return supervision{}, err
	}
	if v.KVM, err = l.kvm(ctx, v.Arch, filepath.Join(v.Dir, "vmlinuz")); err != nil {
		return supervision{}, err
	}
	how := "emulated"
	if v.KVM {
		how = "by KVM"
	}
	l.say("%s boots as a virtual machine (%s, %s)", node, v.Arch, how)
	return supervision{qemuScript, [][2]string{{"QEMU", shell.QuoteAll(v.command())}},
		map[string]string{"port.sh": portScript}}, nil
}

// vmOf is a virtual machine as qemu is given it.
type vmOf struct {
	Node, Arch, Dir, Port, MAC, Address, Gateway, Hostname, Options string
	MemoryMiB                                                       int
	KVM                                                             bool
}

// qemuMachine is a machine of an architecture, without its devices. An emulated one has no features that cost time and
// give nothing: a fifth level of page tables, protection of memory from the kernel, a timer that is read by a device.
func qemuMachine(arch string, kvm bool) []string {
	machine := map[string]string{"amd64": "q35,hpet=off", "arm64": "virt"}[arch]
	cpu := map[string]string{"amd64": "max,la57=off,smap=off,pku=off,svm=off", "arm64": "cortex-a72"}[arch]
	accelerator := "tcg,thread=multi,tb-size=512"
	if kvm {
		cpu, accelerator = "host", "kvm"
	}
	return []string{qemuSystem(arch), "-M", machine, "-cpu", cpu, "-accel", accelerator,
		"-nodefaults", "-no-user-config", "-display", "none"}
}

// kernelOptions are those of an architecture. An emulated processor may be too slow for the check whether a timer
// works, after which an amd64 kernel panics; its time stamp counter is this machine's, but a kernel that is not
// told so reads a slow device instead, at every look at the clock; and it has no caches to read secrets from.
func kernelOptions(arch string, kvm bool) string {
	options := map[string]string{"amd64": "console=ttyS0", "arm64": "console=ttyAMA0"}[arch]
	if kvm {
		return options
	}
	if arch == "amd64" {
		options += " no_timer_check tsc=reliable"
	}
	return options + " mitigations=off"
}

// command is the command line of qemu, which runs in the node's directory.
func (v vmOf) command() []string {
	kernel := strings.TrimSpace(fmt.Sprintf("root=/dev/vda rootflags=noatime,discard rw %s net.ifnames=0 "+
		"ip=%s::%s:255.255.255.0:%s:eth0:none %s", kernelOptions(v.Arch, v.KVM), v.Address, v.Gateway, v.Hostname,
		v.Options))
	port := "ifname=" + v.Port + ",script=" + filepath.Join(v.Dir, "port.sh") + ",downscript=no"
	disk := func(id string) []string {
		return []string{"-drive", "file=" + filepath.Join(v.Dir, id+".img") +
			",if=none,id=" + id + ",format=raw,cache=writeback,discard=unmap", "-device", "virtio-blk-pci,drive=" + id}
	}
	return slices.Concat(qemuMachine(v.Arch, v.KVM), []string{
		"-name", v.Node, "-smp", fmt.Sprint(vmCPUs), "-m", fmt.Sprint(v.MemoryMiB),
		"-chardev", "file,id=console,path=console.log,append=on", "-serial", "chardev:console",
		"-qmp", "unix:qmp,server=on,wait=off",
		"-kernel", "vmlinuz", "-initrd", "initrd", "-append", kernel,
		"-netdev", "tap,id=" + cableID + "," + port,
		"-device", "virtio-net-pci,netdev=" + cableID + ",romfile=,mac=" + v.MAC,
		"-device", "virtio-rng-pci", "-rtc", "base=utc,clock=host"}, disk("disk"), disk("second"))
}

// cableID is qemu's name of the node's link.
const cableID = "cable"

// pid is the node's qemu.
func (k inVM) pid(node string) (int, bool) {
	qemu, ok := recordedProcess(k.l.file(node, "qemu.pid"))
	return qemu.pid, ok
}

// powerOff presses the power button, and asks systemd, where a machine's kernel has no driver for the button.
func (k inVM) powerOff(node string) {
	l := k.l
	ctx, cancel := context.WithTimeout(context.Background(), k.patient(10*time.Second))
	defer cancel()
	if _, err := l.Run(ctx, node, "systemctl --no-block poweroff"); err == nil {
		return
	}
	if err := l.qmp(node, "system_powerdown", nil); err != nil {
		l.say("the power button of %s: %v", node, err)
	}
}

func (k inVM) kill(node string) {
	if qemu, ok := recordedProcess(k.l.file(node, "qemu.pid")); ok {
		qemu.signal(syscall.SIGKILL)
	}
}

// plug has the machine see its link lose the carrier, too.
func (k inVM) plug(ctx context.Context, node string, in bool) error {
	if err := k.l.port(ctx, node, in); err != nil {
		return err
	}
	return k.l.qmp(node, "set_link", map[string]any{"name": cableID, "up": in})
}

// slow puts a token bucket at each end.
func (k inVM) slow(ctx context.Context, node, rate string) error {
	l := k.l
	if err := program(ctx, "tc", append([]string{"-n", l.switchNetns()}, bucket(l.netns(node), rate)...)...).
		run(); err != nil {
		return err
	}
	_, err := l.Run(ctx, node, "tc "+strings.Join(bucket("eth0", rate), " "))
	return err
}

func (k inVM) look(ctx context.Context, node string) (view, error) {
	sh, err := k.l.openShell(ctx, node)
	return remote{sh}, err
}

// patient: programs under emulation take ten times as long and more, and all of a machine waits for them.
func (k inVM) patient(limit time.Duration) time.Duration { return 6 * limit }
