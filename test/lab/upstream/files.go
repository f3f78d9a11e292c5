package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Where upstream publishes its files. {v} of the spec may be any version; what is built follows it.
var (
	kubernetesURL = regexp.MustCompile(
		`^https://dl\.k8s\.io/release/(v1\.\d+\.\d+)/bin/linux/(amd64|arm64)/([a-z-]+)(\.sha256)?$`)
	etcdURL = regexp.MustCompile(
		`^(https://github\.com/etcd-io/etcd/releases/download/(v[\d.]+)/)(?:etcd-v[\d.]+-linux-(amd64|arm64)\.tar\.gz|SHA256SUMS)$`)
	pluginsURL = regexp.MustCompile(
		`^https://github\.com/containernetworking/plugins/releases/download/(v[\d.]+)/cni-plugins-linux-(amd64|arm64)-v[\d.]+\.tgz(\.sha256)?$`)
	flannelURL = regexp.MustCompile(
		`^https://github\.com/flannel-io/flannel/releases/download/(v[\d.]+)/kube-flannel\.yml$`)
	corednsURL = regexp.MustCompile(
		`^https://github\.com/coredns/coredns/releases/download/(v[\d.]+)/coredns_[\d.]+_linux_(amd64|arm64)\.tgz(\.sha256)?$`)
)

// fileJobs groups the URLs of one architecture into jobs, in the order in which they first appear.
func fileJobs(urls []string) ([]job, error) {
	var order []string
	groups := map[string][]string{}
	arch := archOf(urls)
	for _, u := range urls {
		id := ""
		switch {
		case kubernetesURL.MatchString(u):
			m := kubernetesURL.FindStringSubmatch(u)
			id = "kubernetes-" + m[1] + "-" + m[2]
			if m[3] == "kubeadm" { // by itself: specs with it and specs without it share what else is in the cache
				id = "kubeadm-" + m[1] + "-" + m[2]
			}
		case etcdURL.MatchString(u):
			id = "etcd-" + etcdURL.FindStringSubmatch(u)[2] + "-" + arch
		case pluginsURL.MatchString(u):
			m := pluginsURL.FindStringSubmatch(u)
			id = "cni-plugins-" + m[1] + "-" + m[2]
		case flannelURL.MatchString(u):
			id = "flannel-manifest-" + flannelURL.FindStringSubmatch(u)[1]
		case calicoURL.MatchString(u):
			id = "calico-manifest-" + calicoURL.FindStringSubmatch(u)[1]
		case containerdURL.MatchString(u):
			m := containerdURL.FindStringSubmatch(u)
			id = "containerd-" + m[1] + "-" + m[2]
		case criDockerURL.MatchString(u):
			m := criDockerURL.FindStringSubmatch(u)
			id = "cri-dockerd-" + m[1] + "-" + m[2]
		case corednsURL.MatchString(u):
			m := corednsURL.FindStringSubmatch(u)
			id = "coredns-" + m[1] + "-" + m[2]
		default:
			return nil, fmt.Errorf("the lab's upstream has no recipe for %s", u)
		}
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], u)
	}
	jobs := make([]job, 0, len(order))
	for _, id := range order {
		jobs = append(jobs, fileJob(id, arch, groups[id]))
	}
	return jobs, nil
}

// archOf finds the architecture that a list of URLs is for; checksum files of several architectures do not tell.
func archOf(urls []string) string {
	for _, u := range urls {
		for _, re := range []*regexp.Regexp{kubernetesURL, pluginsURL, containerdURL, criDockerURL, corednsURL} {
			if m := re.FindStringSubmatch(u); m != nil {
				return m[2]
			}
		}
		if m := etcdURL.FindStringSubmatch(u); m != nil && m[3] != "" {
			return m[3]
		}
	}
	return ""
}

func fileJob(id, arch string, urls []string) job {
	j := job{id: id, needs: urls}
	switch u := urls[0]; {
	case strings.HasPrefix(id, "kubernetes-"), strings.HasPrefix(id, "kubeadm-"):
		j.title, j.recipe = "Kubernetes "+kubernetesURL.FindStringSubmatch(u)[1]+" "+arch, "2 "+strings.Join(urls, " ")
		if strings.HasPrefix(id, "kubeadm-") {
			j.title = "kubeadm " + kubernetesURL.FindStringSubmatch(u)[1] + " " + arch
		}
		j.run = func(ctx context.Context, b *builder) (made, error) { return b.kubernetes(ctx, urls) }
	case strings.HasPrefix(id, "etcd-"):
		m := etcdURL.FindStringSubmatch(u)
		j.title, j.recipe = "etcd "+m[2]+" "+arch, "1"
		j.run = func(ctx context.Context, b *builder) (made, error) { return b.etcd(ctx, m[1], m[2], arch) }
	case strings.HasPrefix(id, "cni-plugins-"):
		m := pluginsURL.FindStringSubmatch(u)
		j.title, j.recipe = "CNI plugins "+m[1]+" "+arch, "1"
		j.run = func(ctx context.Context, b *builder) (made, error) { return b.plugins(ctx, u, m[1], arch) }
	case strings.HasPrefix(id, "coredns-"):
		m := corednsURL.FindStringSubmatch(u)
		j.title, j.recipe = "CoreDNS "+m[1]+" "+arch, "2"
		j.run = func(ctx context.Context, b *builder) (made, error) { return b.coredns(ctx, u, m[1], arch) }
	case strings.HasPrefix(id, "calico-manifest-"):
		release := calicoURL.FindStringSubmatch(u)[1]
		j.title, j.recipe = "Calico "+release+" manifest", "1"
		j.run = func(ctx context.Context, b *builder) (made, error) { return b.calicoManifest(ctx, u, release) }
	case strings.HasPrefix(id, "containerd-"), strings.HasPrefix(id, "cri-dockerd-"):
		return runtimeJob(id, urls)
	default:
		version := flannelURL.FindStringSubmatch(u)[1]
		j.title, j.recipe = "flannel "+version+" manifest", "1"
		j.run = func(ctx context.Context, b *builder) (made, error) { return b.flannelManifest(ctx, u, version) }
	}
	return j
}

// kubernetes builds the programs that the URLs name in one run of the go command.
func (b *builder) kubernetes(ctx context.Context, urls []string) (made, error) {
	var packages []string
	first := kubernetesURL.FindStringSubmatch(urls[0])
	programs := map[string]string{}
	for _, u := range urls {
		m := kubernetesURL.FindStringSubmatch(u)
		if programs[m[3]] == "" {
			packages = append(packages, "k8s.io/kubernetes/cmd/"+m[3])
		}
		programs[m[3]] = strings.TrimSuffix(u, m[4])
	}
	mod, released, err := b.kubernetesModule(ctx, first[1])
	if err != nil {
		return made{}, err
	}
	if err := b.goBuild(ctx, mod, first[2], b.tmp+"/", kubernetesVersionFlags(first[1], released),
		packages...); err != nil {
		return made{}, err
	}
	var out made
	for _, p := range packages {
		name := path.Base(p)
		files, err := b.publish(filepath.Join(b.tmp, name), programs[name], ".sha256",
			func(sum, _ string) string { return sum })
		if err != nil {
			return made{}, err
		}
		out.files = append(out.files, files...)
	}
	return out, nil
}

// etcdServer is the main package of the server, which is not in one of the published modules.
const etcdServer = `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`

// etcd builds the release archive and writes the sums of all archives of the release that are there.
func (b *builder) etcd(ctx context.Context, base, version, arch string) (made, error) {
	top := "etcd-" + version + "-linux-" + arch
	members := []member{{name: top + "/", dir: true}}
	for _, prog := range []string{"etcd", "etcdctl", "etcdutl"} {
		if err := b.etcdProgram(ctx, prog, version, arch, filepath.Join(b.tmp, prog)); err != nil {
			return made{}, err
		}
		members = append(members, member{name: top + "/" + prog, source: filepath.Join(b.tmp, prog), mode: 0o755})
	}
	released, err := b.download(ctx, "go.etcd.io/etcd/server/v3", version)
	if err != nil {
		return made{}, err
	}
	archive := filepath.Join(b.tmp, "archive")
	if err := writeArchive(archive, members, released.Time); err != nil {
		return made{}, err
	}
	files, err := b.publish(archive, base+top+".tar.gz", "", nil)
	if err != nil {
		return made{}, err
	}
	sums, err := urlPath(base + "SHA256SUMS")
	if err != nil {
		return made{}, err
	}
	return made{files, []string{sums}}, writeSums(filepath.Join(b.dir, sums), "etcd-*.tar.gz")
}

// etcdutl35 is the etcdutl of every release 3.5, of which etcdctl has a part: the checksum database does not have that
// of later ones.
const etcdutl35 = "v3.5.21"

// etcdProgram builds etcd, etcdctl or etcdutl of a release.
func (b *builder) etcdProgram(ctx context.Context, prog, version, arch, out string) error {
	m := goModule{name: prog + "-" + version, version: "1.24.0"}
	for _, p := range []string{"api/v3", "client/v3", "client/pkg/v3", "pkg/v3", "server/v3"} {
		m.require = append(m.require, moduleVersion{"go.etcd.io/etcd/" + p, version})
	}
	pkg := "."
	if prog == "etcd" {
		m.files = map[string][]byte{"main.go": []byte(etcdServer)}
	} else {
		pkg = "go.etcd.io/etcd/" + prog + "/v3"
		m.require = append(m.require, moduleVersion{pkg, version})
		if strings.HasPrefix(version, "v3.5.") {
			m.replace = []moduleVersion{{"go.etcd.io/etcd/etcdutl/v3", etcdutl35}}
		}
	}
	return b.goBuild(ctx, m, arch, out, "", pkg)
}

// plugins builds all plugins for Linux of a release of containernetworking/plugins, as its own build script does.
func (b *builder) plugins(ctx context.Context, url, version, arch string) (made, error) {
	const mod = "github.com/containernetworking/plugins"
	p, err := b.download(ctx, mod, version)
	if err != nil {
		return made{}, err
	}
	var packages, names []string
	for _, kind := range []string{"meta", "main", "ipam"} {
		dirs, err := os.ReadDir(filepath.Join(p.Dir, "plugins", kind))
		if err != nil {
			return made{}, err
		}
		for _, d := range dirs {
			if d.IsDir() && d.Name() != "windows" {
				packages, names = append(packages, mod+"/plugins/"+kind+"/"+d.Name()), append(names, d.Name())
			}
		}
	}
	m := goModule{name: "plugins-" + version, version: "1.24.0", require: []moduleVersion{{mod, version}}}
	flags := "-X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=" + version
	if err := b.goBuild(ctx, m, arch, b.tmp+"/", flags, packages...); err != nil {
		return made{}, err
	}
	sort.Strings(names)
	members := []member{{name: "./", dir: true}}
	for _, n := range names {
		members = append(members, member{name: "./" + n, source: filepath.Join(b.tmp, n), mode: 0o755})
	}
	for _, n := range []string{"LICENSE", "README.md"} {
		members = append(members, member{name: "./" + n, source: filepath.Join(p.Dir, n), mode: 0o644})
	}
	archive := filepath.Join(b.tmp, "archive")
	if err := writeArchive(archive, members, p.Time); err != nil {
		return made{}, err
	}
	files, err := b.publish(archive, strings.TrimSuffix(url, ".sha256"), ".sha256",
		func(sum, name string) string { return sum + "  " + name + "\n" })
	return made{files: files}, err
}

// coredns builds the release archive of CoreDNS, as the one in its image is built.
func (b *builder) coredns(ctx context.Context, url, version, arch string) (made, error) {
	out := b.output("coredns", arch)
	released, err := b.buildCoreDNS(ctx, version, arch, out)
	if err != nil {
		return made{}, err
	}
	archive := filepath.Join(b.tmp, "archive")
	if err := writeArchive(archive, []member{program("coredns", out)}, released); err != nil {
		return made{}, err
	}
	files, err := b.publish(archive, strings.TrimSuffix(url, ".sha256"), ".sha256",
		func(sum, name string) string { return sum + "  " + name + "\n" })
	return made{files: files}, err
}

// flannelManifest takes flannel's manifest out of its module, which is the file of the release.
func (b *builder) flannelManifest(ctx context.Context, url, version string) (made, error) {
	p, err := b.download(ctx, flannelModule, version)
	if err != nil {
		return made{}, err
	}
	body, err := os.ReadFile(filepath.Join(p.Dir, "Documentation", "kube-flannel.yml"))
	if err != nil {
		return made{}, err
	}
	// On the release's branch the manifest names the release that came before until the release is cut.
	if want := "ghcr.io/flannel-io/flannel:" + version; !bytes.Contains(body, []byte(want)) {
		return made{}, fmt.Errorf("kube-flannel.yml of %s does not name %s", version, want)
	}
	return b.served(url, body)
}

// served writes a file at the place of its URL.
func (b *builder) served(url string, body []byte) (made, error) {
	file, err := urlPath(url)
	if err != nil {
		return made{}, err
	}
	return made{files: []string{file}}, writeFile(filepath.Join(b.dir, file), body)
}

// publish moves a finished file to the place of its URL, the checksum file (sum written by line, which may be nil)
// first.
func (b *builder) publish(file, url, suffix string, line func(sum, name string) string) ([]string, error) {
	dst, err := urlPath(url)
	if err != nil {
		return nil, err
	}
	out := []string{dst}
	if line != nil {
		sum, err := sumFile(file)
		if err != nil {
			return nil, err
		}
		if err := writeFile(filepath.Join(b.dir, dst+suffix), []byte(line(sum, path.Base(url)))); err != nil {
			return nil, err
		}
		out = append(out, dst+suffix)
	}
	return out, place(file, filepath.Join(b.dir, dst))
}

// sumFile is the sha256 of a file in hexadecimal.
func sumFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeSums writes the sums of the files beside path that match pattern, as sha256sum does.
func writeSums(sums, pattern string) error {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(sums), pattern))
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files { // sorted by Glob
		sum, err := sumFile(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, filepath.Base(f))
	}
	return writeFile(sums, []byte(b.String()))
}
