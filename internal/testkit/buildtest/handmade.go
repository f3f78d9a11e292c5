package buildtest

import (
	"context"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/mholt/archives"
)

// Handmade writes what the manual of the original eggo has people pack: packages, programs of Kubernetes v1.34.2, a
// manifest, a script and images, flat or in directories.
func Handmade(dir, arch string, typed bool) error {
	at := func(kind, name string) string {
		if typed {
			return kind + "/" + name
		}
		if kind == "addons" {
			return "addons/" + name
		}
		return name
	}
	files := map[string][]byte{
		at("pkg", "socat_1.7.4-1+deb12u1_"+arch+".deb"): Deb("socat", "1.7.4-1+deb12u1", arch),
		at("pkg", "containerd_1.7.24_"+arch+".deb"):     Deb("containerd", "1.7.24", arch),
		at("pkg", "mylib_1.0_all.deb"):                  Deb("mylib", "1.0", "all"),
		at("bin", "mytool"):                             ELF(arch, "mytool"),
		at("file", "motd.txt"):                          []byte("welcome\n"),
		at("dir", "extra/a.conf"):                       []byte("a = 1\n"),
	}
	for _, n := range []string{"kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy",
		"kubectl", "etcd", "etcdctl"} {
		files[at("bin", n)] = ELF(arch, n+"\x00v1.34.2\x00")
	}
	net := "file/flannel.yaml"
	if !typed {
		net = "addons/flannel.yaml"
	}
	files[net] = []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n" +
		"spec: {containers: [{name: a, image: registry.test/flannel:1}]}\n")
	for n, data := range files {
		to := filepath.Join(dir, n)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			return err
		}
	}
	images := filepath.Join(dir, at("image", "images.tar"))
	if err := os.MkdirAll(filepath.Dir(images), 0o755); err != nil {
		return err
	}
	return Save(images, arch, "registry.test/pause:3.10.1", "registry.test/coredns:v1.12.1", "registry.test/flannel:1")
}

// Save writes images of an architecture as docker save does.
func Save(file, arch string, names ...string) error {
	cfg := &v1.ConfigFile{OS: "linux", Architecture: arch}
	img, err := mutate.ConfigFile(empty.Image, cfg)
	if err != nil {
		return err
	}
	all := map[name.Reference]v1.Image{}
	for _, n := range names {
		ref, err := name.ParseReference(n)
		if err != nil {
			return err
		}
		all[ref] = img
	}
	return tarball.MultiRefWriteToFile(file, all)
}

// Pack makes an archive of the content of a directory, in the format that the file's name shows.
func Pack(file, dir string) error {
	ctx := context.Background()
	format, _, err := archives.Identify(ctx, filepath.Base(file), nil)
	if err != nil {
		return err
	}
	list, err := archives.FilesFromDisk(ctx, nil, map[string]string{dir + string(filepath.Separator): ""})
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return format.(archives.Archiver).Archive(ctx, f, list)
}
