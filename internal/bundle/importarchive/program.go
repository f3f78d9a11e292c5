package importarchive

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// program is an executable of the archive.
type program struct {
	member
	name    string
	version string // "" if nothing in it tells
	dynamic bool   // it needs libraries of the node
	script  bool   // no ELF file
}

// use is where a well-known program goes and who needs it.
type use struct {
	dst   string
	roles []bundle.Role
}

const binDir, cniDir = "/usr/local/bin", "/opt/cni/bin"

// useOf is the place of a program by its name. One that is not known is only installed where deploy.yaml lists it.
func useOf(name string) use {
	nodes := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	switch name {
	case "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "coredns", "helm":
		return use{binDir, []bundle.Role{bundle.ControlPlane}}
	case "kubelet", "kube-proxy", "kubeadm", "crictl", "ctr", "containerd", "containerd-shim-runc-v2", "runc",
		"crun", "nerdctl", "docker", "dockerd", "docker-init", "docker-proxy", "cri-dockerd", "conntrack", "socat",
		"ethtool":
		return use{binDir, nodes}
	case "etcd", "etcdctl", "etcdutl":
		return use{binDir, []bundle.Role{bundle.Etcd}}
	case "nginx":
		return use{binDir, []bundle.Role{bundle.LoadBalancer}}
	case "bandwidth", "bridge", "dhcp", "dummy", "firewall", "host-device", "host-local", "ipvlan", "loopback",
		"macvlan", "portmap", "ptp", "sbr", "static", "tap", "tuning", "vlan", "vrf", "flannel", "calico",
		"calico-ipam":
		return use{cniDir, nodes}
	}
	return use{dst: binDir}
}

// packageRoles says which nodes need a well-known package. Others are installed as dependencies, or where deploy.yaml
// lists them. etcd is none: it has what Eggo starts itself or, as in Debian 12, depends on the package that has it.
func packageRoles(name string) []bundle.Role {
	nodes := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	switch name {
	case "containerd", "containerd.io", "runc", "docker", "docker-ce", "docker-ce-cli", "docker.io", "docker-engine",
		"docker-runc", "moby", "iSulad", "cri-o", "cri-tools", "cri-dockerd", "iptables", "iptables-nft", "nftables",
		"conntrack", "conntrack-tools", "socat", "ethtool", "ebtables", "ipset", "ipvsadm", "kmod", "libcgroup",
		"containernetworking-plugins":
		return nodes
	case "coredns":
		return []bundle.Role{bundle.ControlPlane}
	case "nginx", "nginx-mod-stream", "libnginx-mod-stream":
		return []bundle.Role{bundle.LoadBalancer}
	}
	return nil
}

// roles of the nodes that install a package by itself.
func (p pkg) roles() []bundle.Role {
	if p.starts {
		return nil // its service would run beside Eggo's
	}
	return packageRoles(p.name)
}

// kubernetesPrograms are released together.
func kubernetesPrograms() []string {
	return []string{"kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubectl",
		"kubeadm"}
}

// readPrograms reads the headers of the programs.
func (s *source) readPrograms(ctx context.Context) error {
	var errs []error
	for i := range s.programs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p := &s.programs[i]
		if p.script = !isELF(p.file); p.script {
			continue
		}
		machine, err := p.inspect()
		if err != nil {
			errs = append(errs, s.damaged(p.member.name, err))
			continue
		}
		s.votes(machine, p.member.name)
	}
	return errors.Join(errs...)
}

func isELF(file string) bool {
	magic := make([]byte, len(elf.ELFMAG))
	err := withFile(file, func(f *os.File) error {
		_, err := io.ReadFull(f, magic)
		return err
	})
	return err == nil && string(magic) == elf.ELFMAG
}

// inspect reads the ELF header and what the Go toolchain recorded. Nothing is executed.
func (p *program) inspect() (machine string, err error) {
	defer func() {
		if x := recover(); x != nil { // what reads these headers trusts some numbers in them
			err = fmt.Errorf("%v", x)
		}
	}()
	err = withFile(p.file, func(f *os.File) error {
		e, err := elf.NewFile(f)
		if err != nil {
			return err
		}
		machine = e.Machine.String()
		p.dynamic = slices.ContainsFunc(e.Progs, func(x *elf.Prog) bool { return x.Type == elf.PT_INTERP })
		if info, err := buildinfo.Read(f); err == nil {
			p.version = recorded(info)
		}
		if p.version == "" && slices.Contains(kubernetesPrograms(), p.name) {
			p.version, err = linked(io.NewSectionReader(f, 0, p.size))
		}
		return err
	})
	return machine, err
}

var (
	release = regexp.MustCompile(`^v\d{1,4}\.\d{1,4}\.\d{1,4}(-(alpha|beta|rc)\.\d{1,3})?$`)
	ldflag  = regexp.MustCompile(`\.(?:gitVersion|[vV]ersion)=v?(\d{1,4}\.\d{1,4}\.\d{1,4}[\w.+-]{0,40})(?:["' ]|$)`)
)

// recorded is the version of a program in the record of the Go toolchain: that which the linker set, else that of the
// module of its main package, else that of etcd's API, which has the version of its server.
func recorded(info *buildinfo.BuildInfo) string {
	for _, x := range info.Settings {
		if m := ldflag.FindStringSubmatch(x.Value); x.Key == "-ldflags" && m != nil {
			return "v" + m[1]
		}
	}
	if m := info.Main; release.MatchString(m.Version) && strings.HasPrefix(info.Path, m.Path) {
		return m.Version
	}
	for _, d := range info.Deps {
		if release.MatchString(d.Version) && (info.Path == d.Path || strings.HasPrefix(info.Path, d.Path+"/")) ||
			strings.HasPrefix(info.Path, "go.etcd.io/etcd/") && strings.HasPrefix(d.Path, "go.etcd.io/etcd/api/") &&
				release.MatchString(d.Version) {
			return d.Version
		}
	}
	return ""
}

// text of a version that the linker set ends with a zero byte; other texts of Go do not.
var setByLinker = regexp.MustCompile(`[\x00-\x1f\x7f-\xff](v1\.\d{1,3}\.\d{1,3}(?:[-+][0-9A-Za-z.+-]{1,40})?)\x00`)

// linked searches a program of Kubernetes for the version that its linker set; "" if there is none, or more than one.
func linked(r io.Reader) (string, error) {
	const chunk, overlap = 1 << 20, 64
	buf := make([]byte, 0, chunk+overlap)
	found := ""
	for {
		n, err := io.ReadFull(r, buf[len(buf):chunk])
		buf = buf[:len(buf)+n]
		for _, m := range setByLinker.FindAllSubmatch(buf, -1) {
			v := string(m[1])
			if strings.HasPrefix(v, "v1.0.") { // of something that it is linked with
				continue
			}
			if found != "" && found != v {
				return "", nil
			}
			found = v
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return found, nil
		case err != nil:
			return "", err
		}
		keep := copy(buf[:overlap], buf[len(buf)-overlap:])
		buf = buf[:keep]
	}
}

// votes notes that something is for an architecture, in whatever words it says so.
func (s *source) votes(arch, what string) {
	switch arch = strings.TrimPrefix(arch, "linux/"); arch {
	case "all", "noarch", "":
		return
	case "x86_64", "EM_X86_64":
		arch = "amd64"
	case "aarch64", "EM_AARCH64", "arm64/v8":
		arch = "arm64"
	}
	if s.seen == nil {
		s.seen = map[string]string{}
	}
	if _, there := s.seen[arch]; !there {
		s.seen[arch] = what
	}
}
