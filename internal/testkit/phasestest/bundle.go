package phasestest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// Version of the Kubernetes in the bundle.
const Version = "v1.34.2"

// Flannel is the bundle's network plugin, with another pod network than the cluster's, as upstream ships it.
const Flannel = `---
kind: Namespace
apiVersion: v1
metadata:
  name: kube-flannel
---
kind: ConfigMap
apiVersion: v1
metadata:
  name: kube-flannel-cfg
  namespace: kube-flannel
data:
  net-conf.json: |
    {"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: kube-flannel-ds
  namespace: kube-flannel
spec:
  selector: {matchLabels: {app: flannel}}
  template:
    metadata: {labels: {app: flannel}}
    spec: {containers: [{name: kube-flannel, image: "registry.test/flannel:v0.28.4"}]}
`

// NewEtcd is the version of Kubernetes whose bundle has another minor of etcd than all others.
const NewEtcd = "v1.35.7"

// WithKubeadm is a build whose bundle has kubeadm and its images beside the programs.
const WithKubeadm = "kubeadm"

// member of the archive.
type member struct{ name, body string }

// WriteBundle writes a whole small bundle: programs that do nothing, three packages, three images, the network plugin.
func WriteBundle(path string) error { return WriteBundleWithout(path) }

// WriteBundleWithout leaves out programs by their names.
func WriteBundleWithout(path string, absent ...string) error {
	return writeBundle(path, Version, "", absent)
}

// writeBundle writes one of a version whose programs are of another build, if one is named: other bytes. Those of
// broken do not start.
func writeBundle(path, version, build string, absent []string, broken ...string) error {
	both := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	cp := []bundle.Role{bundle.ControlPlane}
	m := &bundle.Manifest{Format: bundle.FormatVersion, Name: "sim", Arch: "amd64", Kubernetes: version,
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Install: []bundle.Package{{Name: "containerd", Roles: both}, {Name: "conntrack", Roles: both},
			{Name: "nginx", Roles: []bundle.Role{bundle.LoadBalancer}}}}
	var payload []member
	add := func(e bundle.Member, body string) {
		if slices.Contains(absent, e.Name) {
			return
		}
		e.Size, e.SHA256 = int64(len(body)), hexSum([]byte(body))
		if e.Kind == bundle.Images {
			e.SHA256 = ""
		}
		m.Members = append(m.Members, e)
		payload = append(payload, member{e.Path, body})
	}
	var packages strings.Builder
	pkg := "1.2-3"
	if version != Version {
		pkg = "1.3-1"
	}
	debs := [][2]string{{"containerd", "runc (>= 1.1)"}, {"runc", ""}, {"conntrack", ""}, {"nginx", ""}}
	programs := map[string][]bundle.Role{"kube-apiserver": cp, "kube-controller-manager": cp,
		"kube-scheduler": cp, "kubectl": cp,
		"kubelet": both, "kube-proxy": both, "etcd": {bundle.Etcd}, "etcdctl": {bundle.Etcd}}
	if build == WithDocker {
		m.Install = append(m.Install, bundle.Package{Name: "docker.io", Roles: both})
		debs = append(debs, [2]string{"docker.io", "containerd (>= 1.4)"})
		programs["cri-dockerd"] = both
	}
	if name, _, _ := strings.Cut(build, " "); name == WithCoreDNS || name == WithKubeadm {
		programs[name] = cp
	}
	for _, p := range debs {
		file := p[0] + "_" + pkg + "_amd64.deb"
		fmt.Fprintf(&packages, "Package: %s\nVersion: %s\nArchitecture: amd64\nFilename: %s\n", p[0], pkg, file)
		if p[1] != "" {
			fmt.Fprintf(&packages, "Depends: %s\n", p[1])
		}
		packages.WriteString("\n")
		add(bundle.Member{Path: file, Kind: bundle.Deb, Name: p[0], Version: pkg}, "package "+p[0])
	}
	add(bundle.Member{Path: "Packages", Kind: bundle.Metadata, Name: "apt"}, packages.String())
	add(bundle.Member{Path: "addons/kube-flannel.yml", Kind: bundle.Addon, Name: "kube-flannel.yml", Roles: cp},
		Flannel)
	for name, roles := range programs {
		text := strings.TrimSpace("program " + name + " " + build)
		if slices.Contains(broken, name) {
			text = "broken " + text
		}
		is := "1"
		if name == "etcd" && version == NewEtcd {
			is = "2"
		}
		add(bundle.Member{Path: name, Kind: bundle.Binary, Name: name, Version: is, Roles: roles,
			Dst: "/usr/local/bin", Mode: 0o755}, text)
	}
	add(bundle.Member{Path: "etcdutl", Kind: bundle.Binary, Name: "etcdutl", Version: "1",
		Roles: []bundle.Role{bundle.Etcd}, Dst: "/usr/local/bin", Mode: 0o755}, etcdutl)
	for _, name := range []string{"bridge", "portmap"} {
		add(bundle.Member{Path: "cni/" + name, Kind: bundle.Binary, Name: "cni-" + name, Version: "1", Roles: both,
			Dst: "/opt/cni/bin", Mode: 0o755}, "plugin "+name)
	}
	tarball, err := images(m, both, imagesOf(version, build))
	if err != nil {
		return err
	}
	add(bundle.Member{Path: bundle.ImagesName, Kind: bundle.Images, Name: "images"}, tarball)
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		return err
	}
	all := append([]member{{bundle.ManifestName, string(text)}, {bundle.SumsName, string(bundle.SumsText(text, m))}},
		payload...)
	return archive(path, append(all, member{bundle.ImagesSumName,
		string(bundle.ImagesSumText(hexSum([]byte(tarball))))}))
}

// imagesOf are three images, and those of kubeadm where the build has it.
func imagesOf(version, build string) []string {
	out := []string{"registry.test/pause:3.10.1", "registry.test/coredns/coredns:v1.12.1",
		"registry.test/flannel:v0.28.4"}
	if strings.HasPrefix(build, WithKubeadm) {
		for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"} {
			out = append(out, "registry.k8s.io/"+name+":"+version)
		}
		out = append(out, "registry.k8s.io/etcd:3.6.5-0")
	}
	return out
}

// images adds images to the manifest and returns images.tar.
func images(m *bundle.Manifest, roles []bundle.Role, names []string) (string, error) {
	blobs := map[string]string{}
	put := func(s, mediaType string) image.Descriptor {
		d := "sha256:" + hexSum([]byte(s))
		blobs[d] = s
		return image.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(s))}
	}
	var all []image.Image
	for _, name := range names {
		config := put(`{"architecture":"amd64","os":"linux","created":"1970-01-01T00:00:00Z"}`,
			"application/vnd.oci.image.config.v1+json")
		layer := put("layer of "+name, "application/vnd.oci.image.layer.v1.tar+gzip")
		doc, err := json.Marshal(image.Document{SchemaVersion: 2,
			MediaType: "application/vnd.oci.image.manifest.v1+json", Config: config, Layers: []image.Descriptor{layer}})
		if err != nil {
			return "", err
		}
		im := image.Image{Names: []string{name}, Platform: image.Platform{OS: "linux", Architecture: "amd64"},
			Config: config, Layers: []image.Descriptor{layer},
			Manifest: put(string(doc), "application/vnd.oci.image.manifest.v1+json")}
		all = append(all, im)
		m.Images = append(m.Images, bundle.Image{Name: name, Digest: im.Manifest.Digest, Size: im.Size(), Roles: roles,
			Platform: "linux/amd64", Layers: []string{layer.Digest}})
	}
	l, err := image.Plan(all)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = l.Write(context.Background(), &b, func(d string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(blobs[d])), nil
	})
	return b.String(), err
}

func archive(path string, members []member) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, m := range members {
		if err := t.WriteHeader(&tar.Header{Name: m.name, Typeflag: tar.TypeReg, Mode: 0o644,
			Size: int64(len(m.body))}); err != nil {
			return err
		}
		if _, err := io.WriteString(t, m.body); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(path), b.Bytes(), 0o600)
}
