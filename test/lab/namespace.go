package lab

import (
	"context"
	_ "embed"
	"fmt"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

//go:embed files/namespace.sh
var namespaceScript string

//go:embed files/init.sh
var initScript string

// inNamespace are the nodes of systemd-nspawn.
type inNamespace struct{ l *Lab }

// prepare writes the node's init and the modules of the running kernel.
func (k inNamespace) prepare(ctx context.Context, node string) error {
	release, err := kernelRelease()
	if err != nil {
		return err
	}
	s := newSeed()
	s.add("usr/lib/lab/", 0o755, 0, "")
	s.add("usr/lib/lab/init", 0o755, 0, initScript)
	marker := k.l.file(node, "kernel")
	known, err := readText(marker)
	if err != nil {
		return err
	}
	if known != release {
		if err := addKernel(ctx, k.l.nodeDir(node), release, s); err != nil {
			return fmt.Errorf("describing the kernel to %s: %w", node, err)
		}
	}
	keys, err := k.l.visit(ctx, node, s, "")
	if err != nil {
		return err
	}
	if err := k.l.recordHostKeys(node, keys); err != nil {
		return err
	}
	return renameio.WriteFile(marker, []byte(release), 0o644)
}

func (k inNamespace) supervision(_ context.Context, node string) (supervision, error) {
	n, err := nodeNumber(node)
	l := k.l
	return supervision{namespaceScript, [][2]string{{"MACHINE", l.name + "-" + node}, {"HOSTNAME", node},
		{"NETNS", l.netns(node)}, {"EMULATE", l.rootfs(l.Disk(node)).machine()}, {"MAC", l.subnet.mac(n)},
		{"ADDRESS", l.subnet.Node(n)}, {"GATEWAY", l.subnet.Gateway()}},
		map[string]string{"emulate.sh": emulateScript}}, err
}

// pid is the node's systemd.
func (k inNamespace) pid(node string) (int, bool) {
	if nspawn, ok := recordedProcess(k.l.file(node, "nspawn.pid")); ok {
		return nspawn.init()
	}
	return 0, false
}

func (k inNamespace) powerOff(node string) {
	if nspawn, ok := recordedProcess(k.l.file(node, "nspawn.pid")); ok {
		nspawn.signal(syscall.SIGTERM) // nspawn tells systemd
	}
}

func (k inNamespace) kill(node string) {
	if nspawn, ok := recordedProcess(k.l.file(node, "nspawn.pid")); ok {
		if pid, ok := nspawn.init(); ok {
			_ = syscall.Kill(pid, syscall.SIGKILL) // with PID 1 its whole namespace dies
		}
		nspawn.signal(syscall.SIGKILL)
	}
}

func (k inNamespace) plug(ctx context.Context, node string, in bool) error {
	return k.l.port(ctx, node, in)
}

// slow puts a token bucket at each end.
func (k inNamespace) slow(ctx context.Context, node, rate string) error {
	for _, end := range [][]string{{k.l.switchNetns(), k.l.netns(node)}, {k.l.netns(node), "eth0"}} {
		if err := program(ctx, "tc", append([]string{"-n", end[0]}, bucket(end[1], rate)...)...).run(); err != nil {
			return err
		}
	}
	return nil
}

func (k inNamespace) look(ctx context.Context, node string) (view, error) {
	pid, err := k.l.PID1(node)
	return inside{ctx, pid}, err
}

func (k inNamespace) slowness(context.Context, string) (float64, error) { return 1, nil }

func (k inNamespace) patient(limit time.Duration) time.Duration { return limit }
