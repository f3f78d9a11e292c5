package lab

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// seed is what makes one node out of the common disk: a tar of files that are written over it before its first
// boot.
type seed struct {
	buf bytes.Buffer
	w   *tar.Writer
	err error
}

func newSeed() *seed {
	s := &seed{}
	s.w = tar.NewWriter(&s.buf)
	return s
}

// add writes a file owned by uid; a path that ends in a slash is a directory.
func (s *seed) add(path string, mode int64, uid int, content string) {
	if s.err != nil {
		return
	}
	h := &tar.Header{Name: path, Mode: mode, Uid: uid, Gid: uid, Size: int64(len(content)), ModTime: time.Now(),
		Typeflag: tar.TypeReg}
	if strings.HasSuffix(path, "/") {
		h.Typeflag, h.Size = tar.TypeDir, 0
	}
	if s.err = s.w.WriteHeader(h); s.err == nil {
		_, s.err = io.WriteString(s.w, content)
	}
}

func (s *seed) bytes() ([]byte, error) {
	if s.err == nil {
		s.err = s.w.Close()
	}
	return s.buf.Bytes(), s.err
}

// visitScript mounts a node's disk where nobody else sees it, unpacks stdin over it if it is not empty, and
// prints the public host keys. Before leaveScript another one may do something with $1/root.
const (
	visitScript = `set -e
mount -o loop,noatime "$1/disk.img" "$1/root"
tar --extract --file=- --directory="$1/root" --no-overwrite-dir --same-permissions
cat "$1/root"/etc/ssh/ssh_host_*_key.pub
`
	leaveScript = `umount "$1/root"`
)

// visit writes files to the disk of a node that is off, runs a script there and returns its public host keys.
func (l *Lab) visit(ctx context.Context, node string, s *seed, script string) ([]string, error) {
	text, err := s.bytes()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.file(node, "root"), 0o755); err != nil {
		return nil, err
	}
	if err := l.diskReleased(node); err != nil {
		return nil, err
	}
	out, err := program(ctx, "unshare", "--mount", "--propagation", "private", "--",
		"sh", "-c", visitScript+script+leaveScript, "sh", l.nodeDir(node)).stdin(text).output()
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(out), "\n"), l.diskReleased(node)
}

// diskReleased waits until no loop device has the node's disk: two mounts of one disk would destroy it.
func (l *Lab) diskReleased(node string) error {
	return until(20*time.Second, "the disk of "+node+" to be released",
		func() bool { return len(loopsOf(l.disk(node))) == 0 })
}

// loopsOf lists the loop devices over files whose path starts with the prefix.
func loopsOf(prefix string) []string {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil
	}
	var loops []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), prefix) {
			loops = append(loops, strings.Split(f, "/")[3])
		}
	}
	return loops
}

// makeNode gives the node a fresh disk with names and keys of its own.
func (l *Lab) makeNode(ctx context.Context, node string) (err error) {
	k, err := nodeNumber(node)
	if err != nil {
		return err
	}
	if err := l.enoughSpace(); err != nil {
		return err
	}
	disk := l.Disk(node)
	if err := l.install(ctx, missingOf(disk.programs())); err != nil {
		return err
	}
	image, err := l.rootfs(disk).image(ctx, l.diskGiB)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.nodeDir(node), 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil { // half a node is none
			_ = os.RemoveAll(l.nodeDir(node))
		}
	}()
	for name, text := range map[string]string{"family": string(disk.Family), "vm": disk.VM} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(l.file(node, name), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	if err := program(ctx, "cp", "--sparse=always", "--reflink=auto", image, l.disk(node)).run(); err != nil {
		return err
	}
	s := newSeed()
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	public, err := os.ReadFile(l.IdentityFile() + ".pub")
	if err != nil {
		return err
	}
	s.add("etc/machine-id", 0o444, 0, hex.EncodeToString(id)+"\n")
	s.add("etc/hostname", 0o644, 0, node+"\n")
	s.add("etc/hosts", 0o644, 0, "127.0.0.1\tlocalhost\n127.0.1.1\t"+node+
		"\n\n::1\tlocalhost ip6-localhost ip6-loopback\n")
	// Nobody answers there. Not a loopback address: CoreDNS would refuse to forward to itself.
	s.add("etc/resolv.conf", 0o644, 0, "nameserver "+l.subnet.Host()+"\n")
	s.add("root/.ssh/", 0o700, 0, "")
	s.add("root/.ssh/authorized_keys", 0o600, 0, string(public))
	s.add("home/"+OpsUser+"/.ssh/", 0o700, 1000, "")
	s.add("home/"+OpsUser+"/.ssh/authorized_keys", 0o600, 1000, string(public))
	if err := hostKeys(ctx, l.nodeDir(node), node, s); err != nil {
		return err
	}
	keys, err := l.visit(ctx, node, s, "")
	if err != nil {
		return err
	}
	if err := l.recordHostKeys(node, keys); err != nil {
		return err
	}
	l.say("%s has a fresh disk (%s family) and the address %s", node, disk.Family, l.subnet.Node(k))
	return nil
}

// hostKeys adds the host keys of a plain sshd. They are on the node's disk and nowhere else.
func hostKeys(ctx context.Context, dir, node string, s *seed) error {
	tmp, err := os.MkdirTemp(dir, "keys")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	for _, kind := range []string{"ed25519", "ecdsa"} {
		name := "ssh_host_" + kind + "_key"
		file := filepath.Join(tmp, name)
		if err := program(ctx, "ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "root@"+node, "-f",
			file).run(); err != nil {
			return err
		}
		private, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		public, err := os.ReadFile(file + ".pub")
		if err != nil {
			return err
		}
		s.add("etc/ssh/"+name, 0o600, 0, string(private))
		s.add("etc/ssh/"+name+".pub", 0o644, 0, string(public))
	}
	return nil
}

// addKernel seeds /lib/modules of the running kernel: a kernel that has everything built in still answers
// "modprobe overlay" with success when it can read that it is built in, and fails for what is not there.
func addKernel(ctx context.Context, dir, release string, s *seed) error {
	builtin, err := builtinModules(ctx)
	if err != nil || len(builtin) == 0 {
		return err
	}
	tmp, err := os.MkdirTemp(dir, "modules")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	modules := filepath.Join(tmp, "lib/modules", release)
	if err := os.MkdirAll(modules, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"modules.order": "",
		"modules.builtin": strings.Join(builtin, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(modules, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := program(ctx, "depmod", "--basedir", tmp, release).run(); err != nil {
		return err
	}
	files, err := os.ReadDir(modules)
	if err != nil {
		return err
	}
	s.add("usr/lib/modules/", 0o755, 0, "")
	s.add("usr/lib/modules/"+release+"/", 0o755, 0, "")
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(modules, f.Name()))
		if err != nil {
			return err
		}
		s.add("usr/lib/modules/"+release+"/"+f.Name(), 0o644, 0, string(text))
	}
	return nil
}

// nodeModules are what container networks and runtimes ask the kernel for, and the setting that says whether
// it has them.
var nodeModules = []struct{ path, config string }{
	{"fs/overlayfs/overlay", "OVERLAY_FS"}, {"net/bridge/bridge", "BRIDGE"},
	{"net/bridge/br_netfilter", "BRIDGE_NETFILTER"},
	{"drivers/net/vxlan/vxlan", "VXLAN"}, {"drivers/net/veth", "VETH"}, {"drivers/net/dummy", "DUMMY"},
	{"net/ipv4/ipip", "NET_IPIP"}, {"drivers/net/wireguard/wireguard", "WIREGUARD"}, {"kernel/configs", "IKCONFIG"},
	{"net/netfilter/nf_conntrack", "NF_CONNTRACK"}, {"net/netfilter/nf_nat", "NF_NAT"},
	{"net/netfilter/nf_tables", "NF_TABLES"},
	{"net/netfilter/nft_compat", "NFT_COMPAT"}, {"net/netfilter/x_tables", "NETFILTER_XTABLES"},
	{"net/ipv4/netfilter/ip_tables", "IP_NF_IPTABLES"}, {"net/ipv4/netfilter/iptable_filter", "IP_NF_FILTER"},
	{"net/ipv4/netfilter/iptable_nat", "IP_NF_NAT"}, {"net/ipv4/netfilter/iptable_mangle", "IP_NF_MANGLE"},
	{"net/netfilter/ipset/ip_set", "IP_SET"}, {"net/netfilter/ipvs/ip_vs", "IP_VS"},
	{"net/netfilter/ipvs/ip_vs_rr", "IP_VS_RR"},
	{"net/netfilter/ipvs/ip_vs_wrr", "IP_VS_WRR"}, {"net/netfilter/ipvs/ip_vs_sh", "IP_VS_SH"},
	{"net/netfilter/xt_addrtype", "NETFILTER_XT_MATCH_ADDRTYPE"},
	{"net/netfilter/xt_comment", "NETFILTER_XT_MATCH_COMMENT"},
	{"net/netfilter/xt_conntrack", "NETFILTER_XT_MATCH_CONNTRACK"}, {"net/netfilter/xt_mark", "NETFILTER_XT_MARK"},
	{"net/netfilter/xt_multiport", "NETFILTER_XT_MATCH_MULTIPORT"},
	{"net/netfilter/xt_statistic", "NETFILTER_XT_MATCH_STATISTIC"},
	{"net/netfilter/xt_MASQUERADE", "NETFILTER_XT_TARGET_MASQUERADE"},
	{"net/netfilter/xt_REDIRECT", "NETFILTER_XT_TARGET_REDIRECT"},
}

// builtinModules lists what the running kernel has built in, as paths of modules.builtin. Nodes cannot load
// modules, so where the kernel has them as modules, this machine loads them first.
func builtinModules(ctx context.Context) ([]string, error) {
	config, err := kernelConfig()
	if err != nil {
		return nil, err
	}
	var have []string
	for _, m := range nodeModules {
		switch config[m.config] {
		case "m":
			if program(ctx, "modprobe", "-q", filepath.Base(m.path)).run() == nil {
				have = append(have, "kernel/"+m.path+".ko")
			}
		case "y":
			have = append(have, "kernel/"+m.path+".ko")
		}
	}
	slices.Sort(have)
	return have, nil
}

// kernelConfig reads the configuration of the running kernel; it is empty on a machine that does not tell.
func kernelConfig() (map[string]string, error) {
	if f, err := os.Open("/proc/config.gz"); err == nil {
		defer func() { _ = f.Close() }()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(z)
		return parseKernelConfig(string(text)), err
	}
	release, err := kernelRelease()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile("/boot/config-" + release)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return parseKernelConfig(string(text)), err
}

func parseKernelConfig(text string) map[string]string {
	config := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name, is := strings.CutPrefix(name, "CONFIG_"); ok && is {
			config[name] = value
		}
	}
	return config
}

func kernelRelease() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text)), err
}

func (l *Lab) recordHostKeys(node string, keys []string) error {
	return renameio.WriteFile(l.file(node, "hostkeys"), []byte(strings.Join(keys, "\n")+"\n"), 0o644)
}
