package upstream

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The releases of runtimes that a spec may name beside what the default one does.
var (
	containerdURL = regexp.MustCompile(
		`^https://github\.com/containerd/containerd/releases/download/(v2[\d.]+)/containerd-[\d.]+-linux-(amd64|arm64)\.tar\.gz(\.sha256sum)?$`)
	criDockerURL = regexp.MustCompile(
		`^https://github\.com/Mirantis/cri-dockerd/releases/download/(v[\d.]+)/cri-dockerd-[\d.]+\.(amd64|arm64)\.tgz$`)
)

// runtimeJob is the job of a runtime's URL.
func runtimeJob(id string, urls []string) job {
	u := urls[0]
	j := job{id: id, needs: urls, recipe: "1"}
	if m := containerdURL.FindStringSubmatch(u); m != nil {
		j.title = "containerd " + m[1] + " " + m[2]
		j.run = func(ctx context.Context, b *builder) (made, error) { return b.containerd(ctx, u, m[1], m[2]) }
		return j
	}
	m := criDockerURL.FindStringSubmatch(u)
	j.title = "cri-dockerd " + m[1] + " " + m[2]
	j.run = func(ctx context.Context, b *builder) (made, error) { return b.criDocker(ctx, u, m[1], m[2]) }
	return j
}

// containerd builds the release archive of containerd 2.
func (b *builder) containerd(ctx context.Context, url, version, arch string) (made, error) {
	const mod = "github.com/containerd/containerd/v2"
	p, err := b.download(ctx, mod, version)
	if err != nil {
		return made{}, err
	}
	m := goModule{name: "containerd-" + version, version: "1.24.3", require: []moduleVersion{{mod, version}}}
	names := []string{"containerd", "containerd-shim-runc-v2", "ctr"}
	var packages []string
	members := []member{{name: "bin/", dir: true}}
	for _, n := range names {
		packages = append(packages, mod+"/cmd/"+n)
		members = append(members, member{name: "bin/" + n, source: filepath.Join(b.tmp, n), mode: 0o755})
	}
	if err := b.goBuild(ctx, m, arch, b.tmp+"/", "-X "+mod+"/version.Version="+version, packages...); err != nil {
		return made{}, err
	}
	archive := filepath.Join(b.tmp, "archive")
	if err := writeArchive(archive, members, p.Time); err != nil {
		return made{}, err
	}
	files, err := b.publish(archive, strings.TrimSuffix(url, ".sha256sum"), ".sha256sum",
		func(sum, name string) string { return sum + "  " + name + "\n" })
	return made{files: files}, err
}

// criDocker builds the release archive of cri-dockerd, with the replacements of its own go.mod.
func (b *builder) criDocker(ctx context.Context, url, version, arch string) (made, error) {
	const mod = "github.com/Mirantis/cri-dockerd"
	p, err := b.download(ctx, mod, version)
	if err != nil {
		return made{}, err
	}
	out, err := b.goRun(ctx, b.dir, b.host, "mod", "edit", "-json", p.GoMod)
	if err != nil {
		return made{}, err
	}
	var file modFile
	if err := json.Unmarshal(out, &file); err != nil {
		return made{}, err
	}
	m := goModule{name: "cri-dockerd-" + version, version: file.Go, require: []moduleVersion{{mod, version}}}
	if sums, err := os.ReadFile(filepath.Join(p.Dir, "go.sum")); err == nil {
		m.files = map[string][]byte{"go.sum": sums} // of replaced modules that the checksum database does not have
	}
	for _, r := range file.Replace {
		m.others = append(m.others, replacement{r.Old.Path, moduleVersion{r.New.Path, r.New.Version}})
	}
	flags := "-X " + mod + "/cmd/version.Version=" + strings.TrimPrefix(version, "v")
	if err := b.goBuild(ctx, m, arch, filepath.Join(b.tmp, "cri-dockerd"), flags, mod); err != nil {
		return made{}, err
	}
	archive := filepath.Join(b.tmp, "archive")
	members := []member{{name: "cri-dockerd/", dir: true},
		{name: "cri-dockerd/cri-dockerd", source: filepath.Join(b.tmp, "cri-dockerd"), mode: 0o755}}
	if err := writeArchive(archive, members, p.Time); err != nil {
		return made{}, err
	}
	files, err := b.publish(archive, url, "", nil)
	return made{files: files}, err
}
