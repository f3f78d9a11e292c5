package phasestest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

//go:embed fakes
var fakes embed.FS

// tools of this machine that scripts may use on a simulated node; everything else there is a fake or is missing, so
// that no script can reach this machine's own services, packages or packet filter.
var tools = []string{"sh", "awk", "sed", "grep", "head", "tail", "stat", "sha256sum", "mktemp", "flock", "tar", "gzip",
	"cat", "mkdir", "mv", "rm", "rmdir", "cp", "ln",
	"chmod", "ls", "dirname", "basename", "wc", "sort", "uniq", "tr", "cut", "find", "date", "timeout", "sleep",
	"touch", "tee", "dd", "env", "bash", "realpath", "readlink", "base64"}

// applets are those of the tools of which a static busybox, where this machine has one, does what scripts need. They
// are called some hundred times in a deploy, and most of the time of a call goes into linking the program to its
// libraries.
var applets = []string{"awk", "sed", "grep", "tail", "sha256sum", "mktemp", "cat", "mkdir", "mv", "rmdir", "cp", "ln",
	"chmod", "dirname", "basename", "wc", "sort", "uniq", "tr", "cut", "touch", "tee", "readlink"}

// small are the fakes that share a file.
var small = []string{"uname", "df", "ss", "journalctl", "umount", "sync", "userdel", "groupdel", "useradd", "id"}

// own are the beginnings of the paths that are the node's own.
var own = []string{"etc", "usr", "opt", "run", "sys", "root", "var/lib", "var/log", "proc/sys", "proc/filesystems",
	"proc/swaps", "proc/cgroups", "proc/mounts", "proc/uptime"}

// within puts the node's own paths of a script below root. A path that follows a letter, a variable or a closing brace
// is the rest of another one. A regular expression would do, and takes a third of the time of all tests with the race
// detector.
func within(root, script string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(script, '/')
		if i < 0 {
			b.WriteString(script)
			return b.String()
		}
		begins := i == 0 && b.Len() == 0
		if i > 0 {
			begins = !word(script[i-1]) && !strings.ContainsRune(".})*-", rune(script[i-1]))
		}
		b.WriteString(script[:i])
		script = script[i+1:]
		if begins && slices.ContainsFunc(own, func(p string) bool {
			rest, ok := strings.CutPrefix(script, p)
			return ok && (rest == "" || !word(rest[0]))
		}) {
			b.WriteString(root)
		}
		b.WriteByte('/')
	}
}

// word says whether a byte is one of a word's.
func word(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// harmless stands before every script: a sync costs a process for each line of a node's record, and tests need none.
const harmless = "sync() { :; }\n"

// inside makes functions of the fakes that are as they were installed: a process less for each call. A fake runs in a
// shell of its own then, too, with the options that a script of its own would have.
func (n *Node) inside() string {
	var b strings.Builder
	for _, f := range []string{"systemctl", "ip", "modprobe", "dpkg", "uname", "df", "ss", "journalctl"} {
		file := f
		if slices.Contains(small, f) {
			file = "small"
		}
		ours, err := fakes.ReadFile("fakes/" + file)
		if err != nil {
			continue
		}
		if is, err := os.ReadFile(filepath.Join(n.dir, "bin", f)); err == nil && bytes.Equal(is, ours) {
			fmt.Fprintf(&b, `%s() ( set +euf; unset IFS; fake=%[1]s; . "$SIM/bin/%s" ); `, f, file)
		}
	}
	return b.String()
}

// Node is one simulated machine: a directory that stands for its file systems, another for the state of its fakes.
type Node struct {
	name, dir   string
	dial        func(ctx context.Context, from, addr string) (net.Conn, error)
	running, up sync.Mutex

	mu   sync.Mutex
	down error
	seen []shell.Command
}

var _ node.Host = (*Node)(nil)

// NewNode makes a bare machine under dir behind whose ports nobody listens.
func NewNode(dir, name, address string) (*Node, error) {
	n := &Node{name: name, dir: dir, dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		return nil, refused(addr)
	}}
	return n, n.install(address)
}

// Name is the node's name.
func (n *Node) Name() string { return n.name }

// Path is where a path of the node stands on this machine.
func (n *Node) Path(p string) string { return filepath.Join(n.dir, "root", p) }

// State is a file of the fakes' state: active/UNIT, enabled/UNIT, broken/UNIT (then what it holds is left of the
// disk, and lines MOUNT FREE of others), dpkg/PACKAGE.status, listening (as ss -Hltnp prints).
func (n *Node) State(p string) string { return filepath.Join(n.dir, "state", p) }

// Commands are the scripts that ran, in order.
func (n *Node) Commands() []shell.Command {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]shell.Command{}, n.seen...)
}

// PowerOff makes everything fail with err; nil ends that.
func (n *Node) PowerOff(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = err
}

func (n *Node) enter(c *shell.Command) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c != nil && n.down == nil {
		n.seen = append(n.seen, *c)
	}
	return n.down
}

// Run runs the script with the real shell in the node's directory.
func (n *Node) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	if err := n.enter(&c); err != nil {
		return shell.Result{}, err
	}
	n.running.Lock()
	defer n.running.Unlock()
	root := filepath.Join(n.dir, "root")
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", n.inside()+harmless+within(root, c.Script))
	cmd.Dir = n.dir
	cmd.Env = []string{"SIM=" + n.dir, "LC_ALL=C", "HOME=" + n.dir,
		"PATH=" + filepath.Join(n.dir, "bin") + ":" + n.Path("/usr/bin") + ":" + n.Path("/usr/sbin")}
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	r := shell.Result{Stdout: n.strip(out.Bytes()), Stderr: n.strip(stderr.Bytes())}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		r.Status, err = exit.ExitCode(), nil
	}
	return r, err
}

// strip makes the node's own paths of this machine's.
func (n *Node) strip(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(filepath.Join(n.dir, "root")), nil)
}

// Upload writes a file as internal/remote does: beside its place, renamed when the sum is right.
func (n *Node) Upload(ctx context.Context, u shell.Upload) (bool, error) {
	if err := n.enter(nil); err != nil {
		return false, err
	}
	n.up.Lock()
	defer n.up.Unlock()
	path := n.Path(u.Path)
	if have, err := os.ReadFile(path); err == nil && hexSum(have) == u.SHA256 {
		i, err := os.Stat(path)
		if err == nil && i.Mode().Perm() == os.FileMode(u.Mode) {
			return false, nil
		}
		return true, os.Chmod(path, os.FileMode(u.Mode))
	}
	src, err := u.Open()
	if err != nil {
		return false, err
	}
	defer src.Close()
	part, err := os.OpenFile(path+".eggo-part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return false, event.NewFault(event.ClassFailed, "ssh.upload-failed", err, "path", path).On(n.name)
	}
	defer part.Close()
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(part, h), src)
	switch {
	case err != nil:
		return false, err
	case ctx.Err() != nil:
		return false, ctx.Err()
	case size != u.Size || hex.EncodeToString(h.Sum(nil)) != u.SHA256:
		return false, fmt.Errorf("%s: %d bytes of %d, or another sum", u.Path, size, u.Size)
	}
	if err := part.Chmod(os.FileMode(u.Mode)); err != nil {
		return false, err
	}
	return true, os.Rename(path+".eggo-part", path)
}

// Dial opens a connection as from the node.
func (n *Node) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if err := n.enter(nil); err != nil {
		return nil, err
	}
	return n.dial(ctx, n.name, addr)
}

func hexSum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// install makes the machine as it is before anything is deployed: Debian 12, bare.
func (n *Node) install(address string) error {
	files := map[string]string{
		"root/etc/os-release": "ID=debian\nID_LIKE=\nVERSION_ID=12\n" +
			"VERSION_CODENAME=bookworm\nPRETTY_NAME='Debian GNU/Linux 12 (bookworm)'\n",
		"root/etc/machine-id": hexSum([]byte(n.name))[:32] + "\n",
		"root/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n" +
			"me:x:1000:1000::/home/me:/bin/sh\n",
		"root/etc/group":                               "root:x:0:\nme:x:1000:\n",
		"root/etc/hosts":                               "127.0.0.1 localhost\n192.0.2.1 router\n",
		"root/etc/resolv.conf":                         "nameserver 192.0.2.53\n",
		"root/etc/systemd/system/own.service":          "[Service]\nExecStart=/usr/bin/own\n",
		"root/usr/local/bin/own":                       "a program of somebody else\n",
		"root/usr/bin/.keep":                           "",
		"root/usr/sbin/.keep":                          "",
		"root/lib/systemd/system/.keep":                "",
		"root/opt/.keep":                               "",
		"root/run/systemd/system/.keep":                "",
		"root/sys/fs/cgroup/cgroup.controllers":        "cpuset cpu io memory hugetlb pids\n",
		"root/proc/sys/kernel/hostname":                n.name + "\n",
		"root/proc/sys/net/ipv4/ip_forward":            "0\n",
		"root/proc/sys/net/netfilter/nf_conntrack_max": "65536\n",
		"root/proc/uptime":                             "3600.00 3600.00\n",
		"root/proc/filesystems":                        "nodev\tsysfs\nnodev\tproc\n\text4\n",
		"root/proc/swaps":                              "Filename\tType\tSize\tUsed\tPriority\n",
		"root/proc/mounts":                             "/dev/sim / ext4 rw 0 0\n",
		"root/proc/cgroups":                            "#subsys_name\thierarchy\tnum_cgroups\tenabled\n",
		"root/var/lib/.keep":                           "",
		"root/var/log/syslog":                          "",
		"state/address":                                address + "\n",
		"state/free":                                   "50000000000\n",
		"state/active/own.service":                     "",
		"state/enabled/own.service":                    "",
		"state/journal/.keep":                          "",
		"state/broken/.keep":                           "",
		"state/dpkg/.keep":                             "",
		"packages/containerd.files": "755 /usr/bin/containerd\n755 /usr/bin/ctr\n644 " +
			"/lib/systemd/system/containerd.service\n644 /etc/containerd/config.toml\n",
		"packages/containerd.dirs": "/etc/containerd\n",
		"tmp/.keep":                "",
		"packages/containerd.unit": "containerd.service\n",
		"packages/containerd/usr/bin/containerd": "#!/bin/sh\necho containerd " +
			"github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1\n",
		"packages/containerd/etc/containerd/config.toml":            "version = 2\n",
		"packages/containerd/lib/systemd/system/containerd.service": "[Service]\nExecStart=/usr/bin/containerd\n",
		"packages/docker.io.files": "755 /usr/sbin/dockerd\n755 /usr/bin/docker\n644 " +
			"/usr/lib/systemd/system/docker.service\n",
		"packages/docker.io.unit":                                  "docker.service\n",
		"packages/docker.io.group":                                 "docker:x:104:\n",
		"packages/docker.io/usr/sbin/dockerd":                      "dockerd\n",
		"packages/docker.io/usr/lib/systemd/system/docker.service": "[Service]\nExecStart=/usr/sbin/dockerd -H fd://\n",
		"root/usr/lib/systemd/system/.keep":                        "",
		"packages/runc.files":                                      "755 /usr/sbin/runc\n",
		"packages/runc/usr/sbin/runc":                              "runc\n",
		"packages/nginx.files":                                     "755 /usr/sbin/nginx\n",
		"packages/nginx/usr/sbin/nginx": "#!/bin/sh\necho 'configure arguments: " +
			"--modules-path=/usr/lib/nginx/modules --with-stream=dynamic'\n",
		"packages/conntrack.files":              "755 /usr/sbin/conntrack\n",
		"packages/conntrack/usr/sbin/conntrack": "conntrack\n",
		"packages/conntrack.passwd":             "_conntrack:x:102:103::/nonexistent:/usr/sbin/nologin\n",
		"packages/conntrack.group":              "_conntrack:x:103:\n",
	}
	for path, text := range files {
		if err := write(filepath.Join(n.dir, path), text, 0o644); err != nil {
			return err
		}
	}
	return n.programs()
}

// programs puts fakes and tools into the node's only directory of programs.
func (n *Node) programs() error {
	bin := filepath.Join(n.dir, "bin")
	entries, err := fakes.ReadDir("fakes")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fakes.ReadFile("fakes/" + e.Name())
		if err != nil {
			return err
		}
		to := filepath.Join(bin, e.Name())
		switch e.Name() {
		case "ctr":
			to = filepath.Join(n.dir, "packages/containerd/usr/bin/ctr")
		case "docker":
			to = filepath.Join(n.dir, "packages/docker.io/usr/bin/docker")
		}
		if err := write(to, string(text), 0o755); err != nil {
			return err
		}
	}
	for _, name := range small {
		if err := os.Symlink("small", filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	box := busybox()
	for _, name := range tools {
		real, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if slices.Contains(box.has, name) && slices.Contains(applets, name) {
			real = box.path
		}
		if err := os.Symlink(real, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}

// box is a program that is many tools, by the name that it is called by.
type box struct {
	path string
	has  []string
}

// busybox is that of this machine; none where there is none.
func busybox() box {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return box{}
	}
	list, err := exec.Command(path, "--list").Output()
	if err != nil {
		return box{}
	}
	return box{path, strings.Fields(string(list))}
}

func write(path, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

// Runs is what a unit that runs was started from: the beginning of its program; "" of one that does not run.
func (n *Node) Runs(unit string) string {
	data, _ := os.ReadFile(n.State("active/" + unit))
	return string(data)
}

// active says whether a unit runs on the node.
func (n *Node) active(unit string) bool {
	_, err := os.Stat(n.State("active/" + unit))
	return err == nil
}

// listens reports whether the load balancer's configuration has the port.
func (n *Node) listens(port string) bool {
	conf, err := os.ReadFile(n.Path("/etc/eggo/nginx-lb.conf"))
	return err == nil && bytes.Contains(conf, []byte("listen "+port+" "))
}

// refused returns the error of a dial to a port on which nothing listens.
func refused(addr string) error {
	return event.NewFault(event.ClassFailed, "ssh.forward-failed",
		fmt.Errorf("connect to %s: connection refused", addr), "addr", addr)
}

// idle is a connection on which nothing is ever said.
func idle() net.Conn {
	a, b := net.Pipe()
	go func() {
		_ = b.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.Copy(io.Discard, b)
		_ = b.Close()
	}()
	return a
}
