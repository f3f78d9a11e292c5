package upstream

import (
	"context"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The images that kubeadm asks for beside pause and CoreDNS: static pods of the control plane, etcd, kube-proxy.

// componentRecipe makes the image of a component of the control plane, which is one program.
func componentRecipe(name string) imageRecipe {
	return imageRecipe{"registry.k8s.io/" + name + ":", name, "1", false, dockerTypes,
		func(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
			img, err := b.componentImage(ctx, name, tag, arch)
			if err != nil {
				return img, err
			}
			img.layers = append([]imageLayer{{"COPY users", usersOfImage()}}, img.layers...)
			return img, nil
		}}
}

func usersOfImage() []member {
	return []member{
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "tmp", dir: true, mode: 0o1777},
	}
}

// componentImage has a program of Kubernetes in /usr/local/bin, as upstream's have, and nothing else.
func (b *builder) componentImage(ctx context.Context, name, version, arch string) (platformImage, error) {
	m, released, err := b.kubernetesModule(ctx, version)
	if err != nil {
		return platformImage{}, err
	}
	out := b.output(name, arch)
	if err := b.goBuild(ctx, m, arch, out, kubernetesVersionFlags(version, released),
		"k8s.io/kubernetes/cmd/"+name); err != nil {
		return platformImage{}, err
	}
	file := "usr/local/bin/" + name
	return platformImage{
		arch: arch, created: released,
		layers: []imageLayer{{"COPY " + name + " /" + file, []member{program(file, out)}}},
		config: v1.Config{Entrypoint: []string{"/" + file}, WorkingDir: "/", Env: []string{searchPath}},
	}, nil
}

func kubeProxyImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	img, err := b.componentImage(ctx, "kube-proxy", tag, arch)
	if err != nil {
		return img, err
	}
	tree, err := b.userland(ctx, arch, "iptables", "nftables", "conntrack", "kmod", "netbase")
	if err != nil {
		return img, err
	}
	user, err := tree.pick(arch,
		[]string{"usr/sbin/xtables-nft-multi", "usr/sbin/xtables-legacy-multi", "usr/sbin/nft", "usr/sbin/conntrack",
			"bin/kmod"},
		[]string{"usr/lib/" + triplet(arch) + "/xtables/*.so", "etc/protocols", "etc/services", "etc/ethertypes"})
	if err != nil {
		return img, err
	}
	user = append(append(user, iptablesLinks()...), usersOfImage()...)
	user = append(user, member{name: "run", dir: true}, member{name: "sbin/modprobe", link: "../bin/kmod"})
	img.layers = append([]imageLayer{{"RUN iptables, nftables, conntrack, kmod", user}}, img.layers...)
	return img, nil
}

// etcdImage is of the release that the tag names: 3.6.5-0 is the first image of v3.6.5.
func etcdImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	release, _, _ := strings.Cut(tag, "-")
	version := "v" + release
	members := []member{}
	for _, prog := range []string{"etcd", "etcdctl", "etcdutl"} {
		out := b.output(prog, arch)
		if err := b.etcdProgram(ctx, prog, version, arch, out); err != nil {
			return platformImage{}, err
		}
		members = append(members, program(filepath.Join("usr/local/bin", prog), out))
	}
	p, err := b.download(ctx, "go.etcd.io/etcd/server/v3", version)
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{{"COPY users", usersOfImage()}, {"COPY etcd etcdctl etcdutl /usr/local/bin/", members}},
		config: v1.Config{WorkingDir: "/", Env: []string{searchPath},
			ExposedPorts: map[string]struct{}{"2379/tcp": {}, "2380/tcp": {}, "4001/tcp": {}, "7001/tcp": {}}},
	}, err
}
