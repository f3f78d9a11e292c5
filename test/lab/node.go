package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

//go:embed files/supervise.sh
var superviseScript string

// State is what can be seen of a node from outside.
type State string

// The states of a node.
const (
	Off      State = "off"
	On       State = "on"
	Frozen   State = "frozen"
	Cut      State = "cut"      // on, with its cable pulled
	Starting State = "starting" // its supervisor lives, its PID 1 does not yet or no more
)

// Node is one line of List.
type Node struct {
	Name    string
	Address string
	State   State
	PID     int    // of the node's PID 1 on this machine, or of its qemu; 0 when off
	Disk    int64  // bytes that the disk takes up on this machine
	VM      string // the architecture of a virtual machine; "" for a node in a namespace
	// Slowness is how many times as long as on this machine a program runs, as measured at the last boot.
	Slowness float64
}

func sortNodes(nodes []string) {
	slices.SortFunc(nodes, func(a, b string) int {
		x, _ := nodeNumber(a)
		y, _ := nodeNumber(b)
		return x - y
	})
}

func (l *Lab) supervisor(node string) (process, bool) {
	return recordedProcess(l.file(node, "supervisor.pid"))
}

// PID1 is the node's systemd as this machine numbers it, or the qemu of a virtual machine.
func (l *Lab) PID1(node string) (int, error) {
	if pid, ok := l.kind(node).pid(node); ok {
		return pid, nil
	}
	return 0, fmt.Errorf("%s is not running", node)
}

func (l *Lab) mustRun(node string) error {
	if _, err := nodeNumber(node); err != nil {
		return err
	}
	_, err := l.PID1(node)
	return err
}

// List shows the nodes that have a disk.
func (l *Lab) List() ([]Node, error) {
	names, err := l.Nodes()
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, name := range names {
		n := Node{Name: name, State: Off, Slowness: l.Slowness(name)}
		if l.IsVM(name) {
			n.VM = l.Disk(name).VM
		}
		if n.Address, err = l.Address(name); err != nil {
			return nil, err
		}
		var st syscall.Stat_t
		if err := syscall.Stat(l.disk(name), &st); err == nil {
			n.Disk = st.Blocks * 512
		}
		if _, ok := l.supervisor(name); ok {
			n.State = Starting
			if n.PID, err = l.PID1(name); err == nil {
				switch {
				case l.frozen(name):
					n.State = Frozen
				case l.exists(name, "cut"):
					n.State = Cut
				default:
					n.State = On
				}
			}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// Up boots n1 to nN and waits until systemd has finished starting and ssh answers. Nodes that run are
// left alone, nodes that have a disk keep it.
func (l *Lab) Up(ctx context.Context, n int) error {
	if n < 1 || n > MaxNodes {
		return fmt.Errorf("%d nodes: must be 1 to %d", n, MaxNodes)
	}
	var nodes []string
	for k := 1; k <= n; k++ {
		nodes = append(nodes, fmt.Sprintf("n%d", k))
	}
	if err := l.Install(ctx); err != nil {
		return err
	}
	if problems := l.Check(ctx); len(problems) > 0 {
		return &problems
	}
	return l.locked(ctx, func() error { return l.up(ctx, nodes) })
}

// nodesOn are the named nodes and those that run.
func (l *Lab) nodesOn(named []string) (int, error) {
	nodes, err := l.Nodes()
	if err != nil {
		return 0, err
	}
	n := len(named)
	for _, node := range nodes {
		if _, on := l.supervisor(node); on && !slices.Contains(named, node) {
			n++
		}
	}
	return n, nil
}

func (l *Lab) up(ctx context.Context, nodes []string) error {
	n, err := l.nodesOn(nodes)
	if err != nil {
		return err
	}
	if err := l.inotify().hold(ctx, l.dir, n); err != nil {
		return err
	}
	if err := l.identity(ctx); err != nil {
		return err
	}
	if err := l.netUp(ctx); err != nil {
		return err
	}
	var started []string
	for _, node := range nodes {
		if _, ok := l.supervisor(node); ok {
			l.say("%s is on already", node)
			continue
		}
		if !l.exists(node, "disk.img") {
			if err := l.makeNode(ctx, node); err != nil {
				return fmt.Errorf("%s: %w", node, err)
			}
		}
		if err := l.boot(ctx, node); err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
		started = append(started, node)
	}
	if err := l.writeAccess(); err != nil {
		return err
	}
	return l.each(started, func(node string) error {
		if l.exists(node, "cut") {
			l.say("%s boots with its cable pulled: not waiting for it", node)
			return nil
		}
		return l.ready(ctx, node, "")
	})
}

// each does something to all nodes at once; the first error stands.
func (l *Lab) each(nodes []string, fn func(string) error) error {
	var group errgroup.Group
	for _, node := range nodes {
		group.Go(func() error {
			if err := fn(node); err != nil {
				return fmt.Errorf("%s: %w", node, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// boot starts the node's supervisor, which outlives this process.
func (l *Lab) boot(ctx context.Context, node string) error {
	k := l.kind(node)
	if err := k.prepare(ctx, node); err != nil {
		return err
	}
	how, err := k.supervision(ctx, node)
	if err != nil {
		return err
	}
	hs, err := hierarchies()
	if err != nil {
		return err
	}
	var dirs []string
	for _, h := range hs {
		dirs = append(dirs, h.dir)
	}
	var settings strings.Builder
	for _, v := range append([][2]string{{"HIERARCHIES", strings.Join(dirs, " ")}, {"CGROUP", l.nodeCgroup(node)},
		{"SWITCH", l.switchNetns()}, {"PORT", l.netns(node)}}, how.vars...) {
		fmt.Fprintf(&settings, "%s=%s\n", v[0], shell.Quote(v[1]))
	}
	files := map[string]string{"settings": settings.String(), "supervise.sh": superviseScript + "\n" + how.script}
	maps.Copy(files, how.files)
	for name, text := range files {
		if err := renameio.WriteFile(l.file(node, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	log, err := os.Create(l.ConsoleLog(node))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// Not bound to the context: the node is to outlive whoever asked for it.
	c := program(context.WithoutCancel(ctx), "setsid", "--fork", "sh", l.file(node, "supervise.sh"), l.nodeDir(node))
	c.Stdout, c.Stderr, c.Dir = log, log, "/"
	if err := c.Run(); err != nil {
		return err
	}
	return until(10*time.Second, "the supervisor", func() bool { _, ok := l.supervisor(node); return ok })
}

// ready waits until the node has finished starting, in a boot other than the one that is named.
func (l *Lab) ready(ctx context.Context, node, otherThan string) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.kind(node).patient(5*time.Minute))
	defer cancel()
	var state, last string
	for {
		if _, ok := l.supervisor(node); !ok {
			return fmt.Errorf("it did not start; the end of %s:%s", l.ConsoleLog(node),
				lastWords(readTail(l.ConsoleLog(node))))
		}
		if log := readTail(l.ConsoleLog(node)); strings.Contains(log, "Kernel panic - not syncing") {
			return fmt.Errorf("its kernel panicked; the end of %s:%s", l.ConsoleLog(node), lastWords(log))
		}
		out, err := l.Run(ctx, node, "cat /proc/sys/kernel/random/boot_id; systemctl is-system-running --wait; true")
		if boot, rest, _ := strings.Cut(out, "\n"); err == nil && boot != otherThan &&
			strings.TrimSpace(rest) != "stopping" {
			state = strings.TrimSpace(rest)
			break
		} else if err != nil {
			last = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %s", time.Since(began).Round(time.Second), last)
		case <-time.After(100 * time.Millisecond):
		}
	}
	took := time.Since(began).Round(100 * time.Millisecond)
	if err := l.measure(ctx, node); err != nil {
		return err
	}
	if state == "running" {
		l.say("%s is running (%s)", node, took)
		return nil
	}
	failed, err := l.Run(ctx, node, "systemctl --failed --plain --no-legend --no-pager")
	if err != nil {
		return err
	}
	l.say("%s is %s (%s): %s", node, state, took, strings.Join(strings.Fields(failed), " "))
	return nil
}

func readTail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Start boots a node that is off and has a disk, and waits until it is ready.
func (l *Lab) Start(ctx context.Context, node string) error {
	if _, err := nodeNumber(node); err != nil {
		return err
	}
	if !l.exists(node, "disk.img") {
		return fmt.Errorf("%s has no disk: up makes it", node)
	}
	return l.locked(ctx, func() error { return l.up(ctx, []string{node}) })
}

// Reboot has the node reboot itself and waits until it is back.
func (l *Lab) Reboot(ctx context.Context, node string) error {
	if err := l.mustRun(node); err != nil {
		return err
	}
	boot, err := l.Run(ctx, node, "cat /proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	// The connection may break before the answer comes: the new boot is the proof.
	_, _ = l.Run(ctx, node, "systemctl reboot")
	return l.ready(ctx, node, strings.TrimSpace(boot))
}

// Stop has the node power itself off; one that does not within 30 s (a virtual machine: three minutes) is killed.
func (l *Lab) Stop(ctx context.Context, node string) error {
	if _, err := nodeNumber(node); err != nil {
		return err
	}
	return l.locked(ctx, func() error { return l.stop(node) })
}

func (l *Lab) stop(node string) error {
	if _, ok := l.supervisor(node); ok && !l.frozen(node) {
		k := l.kind(node)
		k.powerOff(node)
		gone := func() bool { _, ok := l.supervisor(node); return !ok }
		if until(k.patient(30*time.Second), node, gone) == nil {
			return l.bury(node)
		}
		l.say("%s does not power off, killing it", node)
	}
	return l.kill(node)
}

// Kill ends the whole process tree of the node at once, as a power cut does. Its disk stays.
func (l *Lab) Kill(ctx context.Context, node string) error {
	if err := l.mustRun(node); err != nil {
		return err
	}
	return l.locked(ctx, func() error { return l.kill(node) })
}

func (l *Lab) kill(node string) error {
	// The supervisor first, or it would take this for a node that ended and clean up beside us.
	if p, ok := l.supervisor(node); ok {
		p.signal(syscall.SIGKILL)
	}
	l.kind(node).kill(node)
	return l.bury(node)
}

// bury removes what a node that ended leaves behind on this machine; most of it its supervisor took away.
func (l *Lab) bury(node string) error {
	err := errors.Join(sweepCgroup(l.nodeCgroup(node)), l.diskReleased(node))
	ctx := context.Background()
	if netnsExists(l.switchNetns()) {
		_ = program(ctx, "ip", "-n", l.switchNetns(), "link", "del", l.netns(node)).run() // gone with its peer
	}
	if netnsExists(l.netns(node)) {
		err = errors.Join(err, program(ctx, "ip", "netns", "del", l.netns(node)).run())
	}
	for _, f := range []string{"supervisor.pid", "nspawn.pid", "qemu.pid"} {
		_ = os.Remove(l.file(node, f))
	}
	return err
}

// Freeze stops every process of the node where it is, Thaw lets them go on. A frozen node's kernel still
// answers to ping and completes TCP handshakes, and nothing more; a virtual machine stands still as a whole.
func (l *Lab) Freeze(node string) error {
	if err := l.mustRun(node); err != nil {
		return err
	}
	return l.setFrozen(node, true)
}

// Thaw undoes Freeze.
func (l *Lab) Thaw(node string) error {
	if err := l.mustRun(node); err != nil {
		return err
	}
	return l.setFrozen(node, false)
}

// Wipe gives the node a fresh disk and other host keys; it is running afterwards if it was before.
func (l *Lab) Wipe(ctx context.Context, node string) error {
	if _, err := nodeNumber(node); err != nil {
		return err
	}
	return l.locked(ctx, func() error {
		_, on := l.supervisor(node)
		if err := l.kill(node); err != nil {
			return err
		}
		disk := l.Disk(node)
		l.of([]string{node}, func(d *Disk) { *d = disk })
		if err := os.RemoveAll(l.nodeDir(node)); err != nil {
			return err
		}
		if !on {
			return errors.Join(l.makeNode(ctx, node), l.writeAccess())
		}
		return l.up(ctx, []string{node})
	})
}

// Down powers every node off and removes network and cgroups; with wipe also the disks, the keys and the
// lab's directory. The root file system stays in its cache.
func (l *Lab) Down(ctx context.Context, wipe bool) error {
	if dir := l.elsewhere(); dir != "" {
		return fmt.Errorf("the lab of that name that runs here belongs to %s (EGGO_LAB_DIR)", dir)
	}
	return l.locked(ctx, func() error {
		nodes, err := l.Nodes()
		if err != nil {
			return err
		}
		end := l.stop
		if wipe { // what is thrown away need not be put in order first
			end = l.kill
		}
		if err := l.each(nodes, end); err != nil {
			return err
		}
		if err := errors.Join(sweepCgroup(l.cgroup()), l.netDown(ctx)); err != nil {
			return err
		}
		if loops := loopsOf(l.dir + string(filepath.Separator)); len(loops) > 0 {
			return fmt.Errorf("loop devices %s still hold disks of the lab", strings.Join(loops, ", "))
		}
		if err := l.inotify().release(ctx, l.dir); err != nil {
			return err
		}
		l.say("%d nodes are off", len(nodes))
		if !wipe {
			return nil
		}
		return os.RemoveAll(l.dir)
	})
}
