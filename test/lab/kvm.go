package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// kvmLimit is how long a stock kernel may take from its start to the panic for want of a disk: a second, with KVM.
const kvmLimit = 10 * time.Second

// kvm reports whether /dev/kvm runs the kernel of a virtual machine: there are machines where the device is there and
// a stock kernel hangs. It is tried once for a kernel and a boot of this machine.
func (l *Lab) kvm(ctx context.Context, arch, kernel string) (bool, error) {
	if _, err := os.Stat("/dev/kvm"); err != nil || arch != runtime.GOARCH {
		return false, nil
	}
	text, err := os.ReadFile(kernel)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(text)
	known := filepath.Join("/run/eggo-lab", "kvm-"+hex.EncodeToString(sum[:6]))
	if answer, err := os.ReadFile(known); err == nil {
		return strings.TrimSpace(string(answer)) == "yes", nil
	}
	answer := "no"
	if runsByKVM(ctx, arch, kernel) {
		answer = "yes"
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return answer == "yes", errors.Join(os.MkdirAll(filepath.Dir(known), 0o755),
		os.WriteFile(known, []byte(answer+"\n"), 0o644))
}

// runsByKVM boots the kernel without a disk: it panics, and with panic=-1 it reboots at once, which ends qemu.
func runsByKVM(ctx context.Context, arch, kernel string) bool {
	ctx, cancel := context.WithTimeout(ctx, kvmLimit)
	defer cancel()
	args := append(qemuMachine(arch, true), "-m", "512", "-no-reboot", "-serial", "stdio", "-kernel", kernel, "-append",
		"panic=-1 "+kernelOptions(arch, true))
	c := program(ctx, args[0], args[1:]...)
	c.WaitDelay = time.Second
	out, err := c.output()
	return err == nil && strings.Contains(out, "Kernel panic - not syncing")
}
