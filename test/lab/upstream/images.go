package upstream

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const flannelModule = "github.com/flannel-io/flannel"

//go:embed programs/pause/main.go
var pauseSource []byte

// imageRecipe makes one architecture of an image whose name has the prefix.
type imageRecipe struct {
	prefix, title, recipe string
	kubernetes            bool // built from the module of the spec's Kubernetes, whatever the tag says
	types                 mediaTypes
	build                 func(ctx context.Context, b *builder, tag, arch string) (platformImage, error)
}

// imageRecipes are the images that can be made. Kubernetes' registry serves Docker's media types and GitHub's those of
// OCI, as they do in the world, so that a builder meets both.
func imageRecipes() []imageRecipe {
	return []imageRecipe{
		{"registry.k8s.io/pause:", "pause", "2", false, dockerTypes, pauseImage},
		{"registry.k8s.io/coredns/coredns:", "CoreDNS", "2", false, dockerTypes, corednsImage},
		{"ghcr.io/flannel-io/flannel:", "flannel", "2", false, ociTypes, flannelImage},
		{"ghcr.io/flannel-io/flannel-cni-plugin:", "flannel CNI plugin", "1", false, ociTypes,
			flannelPluginImage},
		{"registry.k8s.io/e2e-test-images/agnhost:", "agnhost", "2", true, dockerTypes, agnhostImage},
		componentRecipe("kube-apiserver"), componentRecipe("kube-controller-manager"),
		componentRecipe("kube-scheduler"),
		{"registry.k8s.io/kube-proxy:", "kube-proxy", "1", false, dockerTypes, kubeProxyImage},
		{"docker.io/calico/node:", "calico-node", "1", false, ociTypes, calicoNodeImage},
		{"docker.io/calico/cni:", "Calico CNI plugin", "2", false, ociTypes, calicoCNIImage},
		{"docker.io/calico/kube-controllers:", "Calico controllers", "1", false, ociTypes,
			calicoControllersImage},
		{"registry.k8s.io/etcd:", "etcd", "1", false, dockerTypes, etcdImage},
	}
}

// imageJobs lists the jobs for the images of the spec.
func imageJobs(spec *Spec, arches []string) ([]job, error) {
	var jobs []job
	for _, n := range spec.ImageNames() {
		j, err := imageJob(spec, n, arches)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func imageJob(spec *Spec, image string, arches []string) (job, error) {
	recipes := imageRecipes()
	if spec.suite {
		recipes = suiteRecipes()
	}
	for _, r := range recipes {
		tag, ok := strings.CutPrefix(image, r.prefix)
		if !ok {
			continue
		}
		recipe := r.recipe + " " + spec.OS.Codename
		if r.kubernetes {
			recipe += " " + spec.toolsVersion()
		}
		arches := withHost(arches)
		return job{
			id:     "image-" + strings.NewReplacer("/", "_", ":", "_").Replace(image),
			title:  "image " + r.title + " " + tag + " " + strings.Join(arches, "+"),
			recipe: recipe + " " + strings.Join(arches, "+"),
			more:   recipe + " " + strings.Join(allArches[:], "+"),
			needs:  []string{image},
			run: func(ctx context.Context, b *builder) (made, error) {
				s := newStore(b.dir)
				var platforms []platformImage
				for _, a := range arches {
					p, err := r.build(ctx, b, tag, a)
					if err != nil {
						return made{}, fmt.Errorf("%s: %w", a, err)
					}
					platforms = append(platforms, p)
				}
				err := s.index(image, platforms, r.types)
				return s.made(), err
			},
		}, nil
	}
	return job{}, fmt.Errorf("the lab's upstream has no recipe for the image %s", image)
}

// withHost returns the architectures and this machine's, in a fixed order: an image that is made again for another
// architecture keeps this machine's.
func withHost(arches []string) []string {
	all := append([]string{runtime.GOARCH}, arches...)
	slices.Sort(all)
	return slices.Compact(all)
}

// searchPath is the environment that images usually carry.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// output is a new file name for a program in the temporary directory of the job.
func (b *builder) output(name, arch string) string { return filepath.Join(b.tmp, name+"-"+arch) }

func program(name, source string) member { return member{name: name, source: source, mode: 0o755} }

func pauseImage(ctx context.Context, b *builder, _, arch string) (platformImage, error) {
	out := b.output("pause", arch)
	m := goModule{name: "pause", version: "1.24.0", files: map[string][]byte{"main.go": pauseSource}}
	if err := b.goBuild(ctx, m, arch, out, "", "."); err != nil {
		return platformImage{}, err
	}
	return platformImage{
		// its source has no release, so its date is made up
		arch: arch, created: time.Date(2025, time.June, 1, 0, 0, 0, 0, time.UTC),
		layers: []imageLayer{{"COPY pause /pause", []member{program("pause", out)}}},
		config: v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535", WorkingDir: "/",
			Env: []string{searchPath}},
	}, nil
}

// netBindService is the file capability CAP_NET_BIND_SERVICE (bit 10), permitted and effective, as struct vfs_cap_data
// of revision 2: CoreDNS listens on port 53 without being root.
const netBindService = "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

const corednsPath = "github.com/coredns/coredns"

// cloudPlugins are the lines of CoreDNS's list of plugins that import the libraries of clouds and of tracers, a third
// of what CoreDNS is compiled from. No cluster uses them.
var cloudPlugins = regexp.MustCompile(`(?m)^.*coredns/plugin/(azure|clouddns|dnssec|etcd|route53|trace)"\n`)

// corednsMain is the main package of CoreDNS, without the list of plugins.
const corednsMain = `package main

import "github.com/coredns/coredns/coremain"

func main() { coremain.Run() }
`

// buildCoreDNS compiles CoreDNS into the file out and returns when its version was released.
func (b *builder) buildCoreDNS(ctx context.Context, version, arch, out string) (time.Time, error) {
	p, err := b.download(ctx, corednsPath, version)
	if err != nil {
		return time.Time{}, err
	}
	plugins, err := os.ReadFile(filepath.Join(p.Dir, "core", "plugin", "zplugin.go"))
	if err != nil {
		return time.Time{}, err
	}
	plugins = bytes.Replace(cloudPlugins.ReplaceAll(plugins, nil), []byte("package plugin"), []byte("package main"), 1)
	m := goModule{name: "coredns-" + version, version: "1.24.0", require: []moduleVersion{{corednsPath, version}}}
	m.files = map[string][]byte{"main.go": []byte(corednsMain), "plugins.go": plugins}
	return p.Time, b.goBuild(ctx, m, arch, out, "", ".")
}

func corednsImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	out := b.output("coredns", arch)
	released, err := b.buildCoreDNS(ctx, tag, arch, out)
	coredns := program("coredns", out)
	coredns.xattrs = map[string]string{"security.capability": netBindService}
	return platformImage{
		arch: arch, created: released,
		layers: []imageLayer{
			{"COPY users", usersOfImage()},
			{"COPY /coredns /coredns", []member{coredns}},
		},
		config: v1.Config{
			Entrypoint: []string{"/coredns"}, User: "nonroot:nonroot", WorkingDir: "/", Env: []string{searchPath},
			ExposedPorts: map[string]struct{}{"53/tcp": {}, "53/udp": {}},
		},
	}, err
}

// unpublishedBackends are the lines of flannel's main package that import backends which cannot be built here: of
// clouds, whose libraries are not all on the module proxy, and udp, which needs cgo.
var unpublishedBackends = regexp.MustCompile(`(?m)^.*pkg/backend/(alivpc|awsvpc|gce|tencentvpc|udp)"\n`)

func flannelImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	p, err := b.download(ctx, flannelModule, tag)
	if err != nil {
		return platformImage{}, err
	}
	main, err := os.ReadFile(filepath.Join(p.Dir, "main.go"))
	if err != nil {
		return platformImage{}, err
	}
	out := b.output("flanneld", arch)
	m := goModule{name: "flannel-" + tag, version: "1.24.0", require: []moduleVersion{{flannelModule, tag}}}
	m.files = map[string][]byte{"main.go": unpublishedBackends.ReplaceAll(main, nil)}
	if err := b.goBuild(ctx, m, arch, out, "-X "+flannelModule+"/pkg/version.Version="+tag, "."); err != nil {
		return platformImage{}, err
	}
	tree, err := b.userland(ctx, arch, "iptables", "iproute2", "busybox-static", "netbase")
	if err != nil {
		return platformImage{}, err
	}
	user, err := tree.pick(arch,
		[]string{"usr/sbin/xtables-nft-multi", "usr/sbin/xtables-legacy-multi", "bin/ip"},
		[]string{"usr/lib/" + triplet(arch) + "/xtables/*.so", "etc/protocols", "etc/services", "etc/ethertypes"})
	if err != nil {
		return platformImage{}, err
	}
	user = append(user, iptablesLinks()...)
	user = append(user, member{name: "run", dir: true}, member{name: "tmp", dir: true, mode: 0o1777})
	busy, err := tree.busybox("sh", "cp", "ls", "cat", "mkdir", "mv", "rm", "ln", "chmod", "grep", "sed", "sleep",
		"test")
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{
			{"RUN iptables, iproute2, busybox", append(user, busy...)},
			{"COPY flanneld /opt/bin/flanneld", []member{program("opt/bin/flanneld", out),
				program("opt/bin/mk-docker-opts.sh", filepath.Join(p.Dir, "dist", "mk-docker-opts.sh"))}},
		},
		config: v1.Config{Entrypoint: []string{"/opt/bin/flanneld"}, Env: []string{searchPath}},
	}, err
}

// iptablesLinks are the names of iptables; the plain ones, which Debian sets by its alternatives, mean nf_tables as on
// the nodes.
func iptablesLinks() []member {
	var out []member
	for _, f := range []string{"iptables", "ip6tables"} {
		for _, verb := range []string{"", "-save", "-restore"} {
			out = append(out,
				member{name: "usr/sbin/" + f + verb, link: "xtables-nft-multi"},
				member{name: "usr/sbin/" + f + "-nft" + verb, link: "xtables-nft-multi"},
				member{name: "usr/sbin/" + f + "-legacy" + verb, link: "xtables-legacy-multi"})
		}
	}
	return out
}

// flannelPluginVersion is the last release of containernetworking/plugins that has flannel's plugin. Its own
// repository, from which the image's tag comes, is not on the module proxy.
const flannelPluginVersion = "v0.9.1"

func flannelPluginImage(ctx context.Context, b *builder, _, arch string) (platformImage, error) {
	const mod = "github.com/containernetworking/plugins"
	out := b.output("flannel", arch)
	m := goModule{name: "flannel-plugin", version: "1.24.0", require: []moduleVersion{{mod, flannelPluginVersion}}}
	flags := "-X " + mod + "/pkg/utils/buildversion.BuildVersion=" + flannelPluginVersion
	if err := b.goBuild(ctx, m, arch, out, flags, mod+"/plugins/meta/flannel"); err != nil {
		return platformImage{}, err
	}
	p, err := b.download(ctx, mod, flannelPluginVersion)
	if err != nil {
		return platformImage{}, err
	}
	tree, err := b.userland(ctx, arch, "busybox-static")
	if err != nil {
		return platformImage{}, err
	}
	busy, err := tree.busybox("sh", "cp", "ls")
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{{"RUN busybox", busy}, {"COPY flannel /flannel", []member{program("flannel", out)}}},
		config: v1.Config{Entrypoint: []string{"/bin/sh"}, Env: []string{searchPath}},
	}, err
}

func agnhostImage(ctx context.Context, b *builder, _, arch string) (platformImage, error) {
	programs, p, err := b.agnhost(ctx, arch)
	if err != nil {
		return platformImage{}, err
	}
	user, err := b.agnhostUserland(ctx, arch)
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{{"RUN curl, iproute2, busybox", user}, {"ADD agnhost agnhost", programs}},
		config: agnhostConfig(),
	}, err
}

func agnhostConfig() v1.Config {
	return v1.Config{
		Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}, Env: []string{searchPath},
		ExposedPorts: map[string]struct{}{"80/tcp": {}, "8080/tcp": {}, "8081/tcp": {}, "9376/tcp": {},
			"5000/tcp": {}},
	}
}

// agnhost builds the program, and gives the module of Kubernetes that it is of.
func (b *builder) agnhost(ctx context.Context, arch string) ([]member, published, error) {
	m, _, err := b.kubernetesModule(ctx, b.spec.toolsVersion())
	if err != nil {
		return nil, published{}, err
	}
	p, err := b.download(ctx, "k8s.io/kubernetes", b.spec.toolsVersion())
	if err != nil {
		return nil, p, err
	}
	version, err := os.ReadFile(filepath.Join(p.Dir, "test", "images", "agnhost", "VERSION"))
	if err != nil {
		return nil, p, err
	}
	out := b.output("agnhost", arch)
	m.name = "agnhost-" + b.spec.toolsVersion()
	err = b.goBuild(ctx, m, arch, out, "-X main.Version="+strings.TrimSpace(string(version)),
		"k8s.io/kubernetes/test/images/agnhost")
	return []member{program("agnhost", out), {name: "agnhost-2", link: "agnhost"}}, p, err
}

func (b *builder) agnhostUserland(ctx context.Context, arch string) ([]member, error) {
	tree, err := b.userland(ctx, arch, "curl", "iproute2", "busybox-static", "netbase")
	if err != nil {
		return nil, err
	}
	user, err := tree.pick(arch, []string{"usr/bin/curl", "bin/ip", "bin/ss"},
		[]string{"etc/protocols", "etc/services"})
	if err != nil {
		return nil, err
	}
	busy, err := tree.busybox("sh", "ash", "cp", "ls", "cat", "echo", "mkdir", "mv", "rm", "grep", "sed", "sleep",
		"test", "env", "hostname",
		"nslookup", "wget", "nc", "ping", "ps", "id", "head", "tail", "wc", "date", "true", "false", "seq", "dd",
		"stat", "kill")
	return append(append(user, busy...), agnhostFiles()...), err
}

// agnhostFiles are the directories and the users of the image.
func agnhostFiles() []member {
	return []member{
		{name: "uploads", dir: true}, {name: "tmp", dir: true, mode: 0o1777},
		{name: "etc/passwd", mode: 0o644,
			data: []byte("root:x:0:0:root:/root:/bin/sh\n" +
				"user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n")},
		{name: "etc/group", mode: 0o644,
			data: []byte("root:x:0:\nuser-defined-in-image:x:1000:\n" +
				"group-defined-in-image:x:50000:user-defined-in-image\n")},
	}
}
