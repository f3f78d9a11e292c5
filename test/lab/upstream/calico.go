package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The images and the manifest of Calico. The module proxy has no release of it, but a commit of the branch of v3.28,
// whose own manifests name v3.28.5.
const (
	calicoModule  = "github.com/projectcalico/calico"
	calicoCommit  = "v1.11.0-cni-plugin.0.20250813170300-a0db560f0520"
	calicoRelease = "v3.28.5"
	// the module of its types is a directory of the repository, which is also published by itself
	calicoAPI       = "github.com/projectcalico/api"
	calicoAPICommit = "v0.0.0-20240708202104-e3f70b269c2c"
	calicoPlugins   = "v1.7.1" // of containernetworking/plugins, which the CNI image carries beside its own
)

var calicoURL = regexp.MustCompile(
	`^https://raw\.githubusercontent\.com/projectcalico/calico/(v[\d.]+)/manifests/calico-vxlan\.yaml$`)

// calicoOf is an error unless the release is the one that can be had.
func calicoOf(release string) error {
	if release != calicoRelease {
		return fmt.Errorf("the lab's upstream has Calico %s alone, not %s", calicoRelease, release)
	}
	return nil
}

// calico builds programs of Calico, and gives their files by name.
func (b *builder) calico(ctx context.Context, arch string, packages ...string) (map[string]string, published, error) {
	p, err := b.download(ctx, calicoModule, calicoCommit)
	if err != nil {
		return nil, p, err
	}
	text, err := b.goRun(ctx, b.dir, b.host, "mod", "edit", "-json", p.GoMod)
	if err != nil {
		return nil, p, err
	}
	var mod modFile
	if err := json.Unmarshal(text, &mod); err != nil {
		return nil, p, err
	}
	m := goModule{name: "calico", version: mod.Go, require: []moduleVersion{{calicoModule, calicoCommit}},
		replace: []moduleVersion{{calicoAPI, calicoAPICommit}}}
	for _, r := range mod.Replace {
		if !strings.HasPrefix(r.New.Path, ".") {
			m.others = append(m.others, replacement{r.Old.Path, moduleVersion{r.New.Path, r.New.Version}})
		}
	}
	flags := "-X " + calicoModule + "/node/pkg/lifecycle/startup.VERSION=" + calicoRelease +
		" -X " + calicoModule + "/node/buildinfo.GitVersion=" + calicoRelease +
		" -X main.VERSION=" + calicoRelease
	out := map[string]string{}
	for _, name := range packages {
		file := b.output(filepath.Base(name), arch)
		if err := b.goBuild(ctx, m, arch, file, flags, calicoModule+"/"+name); err != nil {
			return nil, p, err
		}
		out[filepath.Base(name)] = file
	}
	return out, p, nil
}

// calicoNodeImage has upstream's programs, scripts and services, and runit, which supervises them, of Debian. Without
// BIRD, which only BGP needs.
func calicoNodeImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	if err := calicoOf(tag); err != nil {
		return platformImage{}, err
	}
	out, p, err := b.calico(ctx, arch, "node/cmd/calico-node", "node/cmd/mountns")
	if err != nil {
		return platformImage{}, err
	}
	tree, err := b.userland(ctx, arch, "runit", "iptables", "ipset", "conntrack", "iproute2", "kmod", "netbase",
		"busybox-static")
	if err != nil {
		return platformImage{}, err
	}
	user, err := tree.pick(arch, []string{"usr/bin/runsvdir", "usr/bin/runsv", "usr/sbin/xtables-nft-multi",
		"usr/sbin/xtables-legacy-multi", "usr/sbin/ipset", "usr/sbin/conntrack", "bin/ip", "bin/kmod"},
		[]string{"usr/lib/" + triplet(arch) + "/xtables/*.so", "etc/protocols", "etc/services", "etc/ethertypes"})
	if err != nil {
		return platformImage{}, err
	}
	busy, err := tree.busybox("sh", "cat", "cp", "env", "grep", "ls", "mkdir", "rm", "sed", "sleep", "test", "which")
	if err != nil {
		return platformImage{}, err
	}
	user = append(append(append(user, iptablesLinks()...), busy...), usersOfImage()...)
	user = append(user, member{name: "run", dir: true}, member{name: "sbin/modprobe", link: "../bin/kmod"},
		member{name: "usr/bin/which", link: "../../bin/busybox"})
	files, err := directory(filepath.Join(p.Dir, "node", "filesystem"))
	if err != nil {
		return platformImage{}, err
	}
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{
			{"RUN runit, iptables, ipset, conntrack, iproute2, kmod, busybox", user},
			{"COPY filesystem/", files},
			{"COPY calico-node mountns /bin/", []member{program("bin/calico-node", out["calico-node"]),
				program("bin/mountns", out["mountns"])}},
		},
		config: v1.Config{Cmd: []string{"start_runit"}, Env: []string{searchPath, "SVDIR=/etc/service/enabled"}},
	}, nil
}

// directory are the files below a directory of a module, which has lost their modes: those of sbin and the services are
// programs.
func directory(dir string) ([]member, error) {
	var out []member
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		m := member{name: p, source: filepath.Join(dir, p), mode: 0o644}
		if base := filepath.Base(p); base == "run" || base == "rc.local" || strings.HasPrefix(p, "sbin/") {
			m.mode = 0o755
		}
		out = append(out, m)
		return nil
	})
	return out, err
}

// calicoCNIImage has the plugin under its two names, the program that copies plugins to the node, and the plugins of
// others that its configuration names.
func calicoCNIImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	if err := calicoOf(tag); err != nil {
		return platformImage{}, err
	}
	out, p, err := b.calico(ctx, arch, "cni-plugin/cmd/calico", "cni-plugin/cmd/install")
	if err != nil {
		return platformImage{}, err
	}
	const mod, at = "github.com/containernetworking/plugins", "opt/cni/bin/"
	members := []member{program(at+"calico", out["calico"]), program(at+"calico-ipam", out["calico"]),
		program(at+"install", out["install"])}
	m := goModule{name: "calico-plugins", version: "1.24.0", require: []moduleVersion{{mod, calicoPlugins}}}
	for _, name := range []string{"main/loopback", "ipam/host-local", "meta/bandwidth", "meta/portmap", "meta/tuning"} {
		file := b.output(filepath.Base(name), arch)
		if err := b.goBuild(ctx, m, arch, file, "", mod+"/plugins/"+name); err != nil {
			return platformImage{}, err
		}
		members = append(members, program(at+filepath.Base(name), file))
	}
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{{"COPY users", usersOfImage()}, {"COPY /opt/cni/bin", members}},
		config: v1.Config{Cmd: []string{"/opt/cni/bin/install"}, WorkingDir: "/opt/cni/bin",
			Env: []string{"PATH=/opt/cni/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
	}, nil
}

func calicoControllersImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	if err := calicoOf(tag); err != nil {
		return platformImage{}, err
	}
	out, p, err := b.calico(ctx, arch, "kube-controllers/cmd/kube-controllers", "kube-controllers/cmd/check-status")
	if err != nil {
		return platformImage{}, err
	}
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{{"COPY users", append(usersOfImage(), member{name: "status", dir: true, mode: 0o777})},
			{"COPY kube-controllers check-status /usr/bin/", []member{
				program("usr/bin/kube-controllers", out["kube-controllers"]),
				program("usr/bin/check-status", out["check-status"])}}},
		config: v1.Config{Entrypoint: []string{"/usr/bin/kube-controllers"}, User: "999", WorkingDir: "/",
			Env: []string{searchPath}},
	}, nil
}

// calicoManifest takes Calico's manifest for VXLAN out of its module, which is the file of the release.
func (b *builder) calicoManifest(ctx context.Context, url, release string) (made, error) {
	if err := calicoOf(release); err != nil {
		return made{}, err
	}
	p, err := b.download(ctx, calicoModule, calicoCommit)
	if err != nil {
		return made{}, err
	}
	body, err := os.ReadFile(filepath.Join(p.Dir, "manifests", "calico-vxlan.yaml"))
	if err != nil {
		return made{}, err
	}
	if want := "docker.io/calico/node:" + release; !bytes.Contains(body, []byte(want)) {
		return made{}, fmt.Errorf("calico-vxlan.yaml does not name %s", want)
	}
	return b.served(url, body)
}
