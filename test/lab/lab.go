package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

const (
	// DefaultName is the lab that is meant when none is named.
	DefaultName = "eggo"
	// DefaultDiskGiB is the size of a node's disk; it is sparse, so only what is written takes space.
	DefaultDiskGiB = 24
	// DefaultMemoryMiB is the memory of a virtual machine: enough for a control plane.
	DefaultMemoryMiB = 2560
	// MaxNodes bounds the nodes of one lab: nK has the address .10+K.
	MaxNodes = 200
	// minFree is what must be free beneath the lab directory before a node gets a disk.
	minFree = 5 << 30
)

// Options say which lab is meant. The zero value is the default lab in the default place.
type Options struct {
	// Name: $LAB, else "eggo". One to eight of a-z and 0-9, a letter first: it becomes part of link names.
	Name string
	// Dir is where disks and caches are kept: $EGGO_LAB_DIR, else eggo-lab in the user's cache directory.
	Dir string
	// Out gets one line per thing that is done; nil discards them.
	Out io.Writer
	// DiskGiB is the size of disks made from now on; 0 is DefaultDiskGiB.
	DiskGiB int
	// MemoryMiB is the memory of virtual machines that boot from now on; 0 is DefaultMemoryMiB.
	MemoryMiB int
}

// Lab is a set of nodes on one network. Its methods may be called from several processes: they wait for
// each other.
type Lab struct {
	name    string
	root    string // shared by all labs
	dir     string // of this lab
	subnet  Subnet
	out     io.Writer
	diskGiB int
	memory  int             // MiB of virtual machines
	wanted  map[string]Disk // of nodes that are to be something else than Debian
}

var nameRule = regexp.MustCompile(`^[a-z][a-z0-9]{0,7}$`)

// Open returns the lab that the options name and makes its directory. It boots nothing; a lab that is
// new gets its subnet here.
func Open(o Options) (*Lab, error) {
	l := &Lab{name: first(o.Name, os.Getenv("LAB"), DefaultName), root: first(o.Dir, os.Getenv("EGGO_LAB_DIR")),
		out: o.Out, diskGiB: o.DiskGiB, memory: o.MemoryMiB}
	if !nameRule.MatchString(l.name) {
		return nil, fmt.Errorf("lab name %q: must be one to eight of a-z and 0-9, a letter first", l.name)
	}
	if l.root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		l.root = filepath.Join(cache, "eggo-lab")
	}
	var err error
	if l.root, err = filepath.Abs(l.root); err != nil {
		return nil, err
	}
	if l.out == nil {
		l.out = io.Discard
	}
	if l.diskGiB == 0 {
		l.diskGiB = DefaultDiskGiB
	}
	if l.diskGiB < 1 || l.diskGiB > 1024 {
		return nil, fmt.Errorf("disk size %d GiB: must be 1 to 1024", l.diskGiB)
	}
	if l.memory == 0 {
		l.memory = DefaultMemoryMiB
	}
	if l.memory < 512 {
		return nil, fmt.Errorf("memory %d MiB: must be 512 or more", l.memory)
	}
	l.dir = filepath.Join(l.root, "labs", l.name)
	return l, l.settle()
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// OfRPM has the named nodes be of the rpm family when they get their disk. One that has a disk keeps it, with the
// family that it has.
func (l *Lab) OfRPM(nodes ...string) { l.of(nodes, func(d *Disk) { d.Family = RPM }) }

// OfDebian13 has the named nodes be of Debian 13 when they get their disk.
func (l *Lab) OfDebian13(nodes ...string) { l.of(nodes, func(d *Disk) { d.Family = Debian13 }) }

// OfForeign has the named nodes be of the other architecture, run by qemu's emulation, when they get their disk.
func (l *Lab) OfForeign(nodes ...string) { l.of(nodes, func(d *Disk) { d.Family = Foreign }) }

// OfVM has the named nodes be virtual machines of an architecture when they get their disk: amd64 or arm64.
func (l *Lab) OfVM(arch string, nodes ...string) { l.of(nodes, func(d *Disk) { d.VM = arch }) }

func (l *Lab) of(nodes []string, change func(*Disk)) {
	if l.wanted == nil {
		l.wanted = map[string]Disk{}
	}
	for _, n := range nodes {
		d := Disk{Family: Debian}
		if w, ok := l.wanted[n]; ok {
			d = w
		}
		change(&d)
		l.wanted[n] = d
	}
}

// Disk returns what the node's disk was made as, or will be.
func (l *Lab) Disk(node string) Disk {
	if !l.exists(node, "disk.img") {
		if d, ok := l.wanted[node]; ok {
			return d
		}
		return Disk{Family: Debian}
	}
	family, _ := readText(l.file(node, "family"))
	vm, _ := readText(l.file(node, "vm"))
	d := Disk{Family(strings.TrimSpace(family)), strings.TrimSpace(vm)}
	if d.Family != RPM && d.Family != Foreign && d.Family != Debian13 {
		d.Family = Debian
	}
	return d
}

// readText reads a file of the lab's own; "" if it is not there.
func readText(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// settle gives the lab its subnet: the recorded one, or one that no other lab and no link of the machine has.
func (l *Lab) settle() error {
	if err := os.MkdirAll(filepath.Join(l.dir, "nodes"), 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(l.root, ".subnets"))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	file := filepath.Join(l.dir, "lab.json")
	if text, err := os.ReadFile(file); err == nil {
		var kept struct{ Subnet Subnet }
		if err := json.Unmarshal(text, &kept); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		l.subnet = kept.Subnet
		return nil
	}
	taken, err := l.takenSubnets()
	if err != nil {
		return err
	}
	if l.subnet, err = chooseSubnet(l.name, taken); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"name": l.name, "subnet": l.subnet})
	if err != nil {
		return err
	}
	return renameio.WriteFile(file, append(text, '\n'), 0o644)
}

// locked runs fn while no other process changes this lab.
func (l *Lab) locked(ctx context.Context, fn func() error) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(l.root, "labs", "."+l.name+".lock"))
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return fn()
}

func (l *Lab) say(format string, args ...any) {
	_, _ = fmt.Fprintf(l.out, "lab "+l.name+": "+format+"\n", args...)
}

// Name is the lab's name.
func (l *Lab) Name() string { return l.name }

// Dir holds everything of this lab: disks, keys, ssh_config, known_hosts, console logs.
func (l *Lab) Dir() string { return l.dir }

// Subnet is the lab's network.
func (l *Lab) Subnet() Subnet { return l.subnet }

// HostAddress is the address of this machine in the lab's network.
func (l *Lab) HostAddress() string { return l.subnet.Host() }

// Address is the node's address. The node need not exist.
func (l *Lab) Address(node string) (string, error) {
	k, err := nodeNumber(node)
	if err != nil {
		return "", err
	}
	return l.subnet.Node(k), nil
}

// SSHConfig is the path of an ssh_config(5) with every node; KnownHosts has their host keys, read from
// their disks; IdentityFile is the private key that root and ops accept, mode 0600.
func (l *Lab) SSHConfig() string    { return filepath.Join(l.dir, "ssh_config") }
func (l *Lab) KnownHosts() string   { return filepath.Join(l.dir, "known_hosts") }
func (l *Lab) IdentityFile() string { return filepath.Join(l.dir, "id_ed25519") }

// ConsoleLog is where the node's console and its supervisor write.
func (l *Lab) ConsoleLog(node string) string { return filepath.Join(l.nodeDir(node), "console.log") }

func (l *Lab) nodeDir(node string) string { return filepath.Join(l.dir, "nodes", node) }
func (l *Lab) netns(node string) string   { return l.name + "-" + node }
func (l *Lab) switchNetns() string        { return l.name + "-sw" }
func (l *Lab) hostLink() string           { return l.name + "-h0" }
func (l *Lab) cgroup() string             { return "eggo-lab." + l.name }
func (l *Lab) nodeCgroup(n string) string { return l.cgroup() + "/" + n }
func (l *Lab) disk(node string) string    { return filepath.Join(l.nodeDir(node), "disk.img") }
func (l *Lab) file(node, f string) string { return filepath.Join(l.nodeDir(node), f) }
func (l *Lab) exists(node, f string) bool { _, err := os.Stat(l.file(node, f)); return err == nil }
func (l *Lab) rootfs(d Disk) rootfs {
	arch := runtime.GOARCH
	if d.VM != "" {
		arch = d.VM
	} else if d.Family == Foreign {
		arch = OtherArch()
	}
	return rootfs{filepath.Join(l.root, "rootfs"), arch, d, l.say}
}

// enoughSpace refuses to make another disk on a nearly full file system: sparse disks that cannot grow
// break nodes in ways that look like anything else.
func (l *Lab) enoughSpace() error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(l.root, &st); err != nil {
		return err
	}
	if free := int64(st.Bavail) * st.Bsize; free < minFree {
		return fmt.Errorf("only %.1f GiB are free beneath %s, the lab wants %d GiB", float64(free)/(1<<30), l.root,
			minFree>>30)
	}
	return nil
}

// nodeNumber is K of nK.
func nodeNumber(node string) (int, error) {
	k := 0
	digits, ok := strings.CutPrefix(node, "n")
	if ok {
		if _, err := fmt.Sscanf(digits, "%d", &k); err != nil || fmt.Sprint(k) != digits {
			ok = false
		}
	}
	if !ok || k < 1 || k > MaxNodes {
		return 0, fmt.Errorf("node %q: must be n1 to n%d", node, MaxNodes)
	}
	return k, nil
}

// Nodes are the nodes that have a disk, in order.
func (l *Lab) Nodes() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(l.dir, "nodes"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, e := range entries {
		if _, err := nodeNumber(e.Name()); err == nil {
			nodes = append(nodes, e.Name())
		}
	}
	sortNodes(nodes)
	return nodes, nil
}
