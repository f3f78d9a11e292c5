package phases

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/nodepath"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// placed is a member of the bundle with its place on a node.
type placed struct {
	bundle.Member
	Dst  string       // directory
	File string       // absolute path; of a binary that a service executes the link to its version
	Use  nodepath.Use // Listed when deploy.yaml names the place
	// executed: a service of ours on the node executes it.
	executed bool
}

// binary is one that a service executes.
func (p placed) binary() node.Binary {
	return node.Binary{Link: p.File, File: node.VersionedPath(path.Base(p.File), p.SHA256), SHA256: p.SHA256}
}

// wants says whether one of the node's roles is among roles.
func wants(n config.Node, roles []bundle.Role) bool {
	return slices.ContainsFunc(roles, n.Has)
}

// Members are the programs and files that the node's roles need: the manifest says, and a list in deploy.yaml for a role overrides it for
// that role.
func (r *Payload) Members(n config.Node, m *bundle.Manifest) []placed {
	var out []placed
	there := map[string]bool{}
	add := func(mem bundle.Member, dst string, use nodepath.Use) {
		if dst == layout.CNIBinDir {
			dst = r.CNIDir()
		}
		p := placed{Member: mem, Dst: dst, File: path.Join(dst, path.Base(mem.Path)), Use: use}
		if p.Mode == 0 {
			p.Mode = 0o755
			if mem.Kind != bundle.Binary {
				p.Mode = 0o644
			}
		}
		p.executed = mem.Kind == bundle.Binary && slices.Contains(r.Executed(n), path.Base(p.File))
		if !there[p.File] {
			there[p.File] = true
			out = append(out, p)
		}
	}
	for _, role := range n.Roles {
		list := r.Cluster.Packages[role]
		if !overrides(list) {
			for _, mem := range m.Members {
				if target := m.Target(mem); target != "" && slices.Contains(mem.Roles, role) {
					add(mem, path.Dir(target), bundle.UseOf(mem.Kind))
				}
			}
		}
		for _, p := range list {
			targets(p, m, func(mem bundle.Member, dst string) { add(mem, dst, nodepath.Listed) })
		}
	}
	return out
}

// executed are the names of the binaries that services of ours on the node execute. All others lie at their places as
// files.
func (r *run) executed(n config.Node) []string {
	var out []string
	if n.Has(bundle.Etcd) {
		out = append(out, "etcd")
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, "kube-apiserver", "kube-controller-manager", "kube-scheduler")
		if r.DNSBinary() {
			out = append(out, "coredns")
		}
	}
	if nodes.IsKubelet(n) {
		out = append(append(out, "kubelet", "kube-proxy"), r.runtime().executes()...)
	}
	return out
}

// Binaries are those of the bundle among names, on a node whose service executes them.
func (r *Payload) Binaries(n config.Node, names ...string) []node.Binary {
	b := r.BundleOf(n)
	if b == nil {
		return nil
	}
	var out []node.Binary
	for _, p := range r.Members(n, b.Manifest()) {
		if p.executed && slices.Contains(names, path.Base(p.File)) {
			out = append(out, p.binary())
		}
	}
	return out
}

// CheckLinks is CheckTargets for the links that a service's start may switch: since they were made somebody may have
// changed the directories that they are in.
func (r *Payload) CheckLinks(ctx context.Context, n config.Node, nd *node.Node, svc node.Service) error {
	b := r.BundleOf(n)
	if len(svc.Binaries) == 0 || b == nil {
		return nil
	}
	return r.CheckTargets(ctx, nd, slices.DeleteFunc(r.Members(n, b.Manifest()), func(p placed) bool {
		return !slices.ContainsFunc(svc.Binaries, func(b node.Binary) bool { return p.executed && b.Link == p.File })
	}))
}

// Packages are the names that the node's package manager is asked for.
func (r *Payload) Packages(n config.Node, m *bundle.Manifest) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, role := range n.Roles {
		list := r.Cluster.Packages[role]
		for _, p := range list {
			if p.Type == "pkg" {
				add(p.Name)
			}
		}
		if overrides(list) {
			continue
		}
		for _, p := range m.Install {
			if slices.Contains(p.Roles, role) {
				add(p.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Images are those that the node's roles need.
func (r *Payload) Images(n config.Node, m *bundle.Manifest) []bundle.Image {
	var out []bundle.Image
	for _, im := range m.Images {
		if wants(n, im.Roles) || slices.ContainsFunc(r.Listed(n, "image"), func(name string) bool { return config.MeansImage(name, im.Name) }) {
			out = append(out, im)
		}
	}
	return out
}

// PauseImage is the one that deploy.yaml names, else the bundle's.
func (r *Payload) PauseImage(m *bundle.Manifest) string {
	if r.Cluster.PauseImage != "" {
		return r.Cluster.PauseImage
	}
	return findImage(m, "pause")
}

// DNSImage is CoreDNS in the bundle, in the version that deploy.yaml names, if it does.
func (r *Payload) DNSImage(m *bundle.Manifest) string {
	im := findImage(m, "coredns")
	v := r.Cluster.DNS.ImageVersion
	if v == "" {
		return im
	}
	repo, tag, _ := cutTag(im)
	if strings.TrimPrefix(tag, "v") == strings.TrimPrefix(v, "v") {
		return im
	}
	return repo + ":" + v
}

func findImage(m *bundle.Manifest, base string) string {
	for _, im := range m.Images {
		if repo, _, _ := cutTag(im.Name); path.Base(repo) == base {
			return im.Name
		}
	}
	return base
}

func cutTag(image string) (repo, tag string, ok bool) {
	i := strings.LastIndexByte(image, ':')
	if i < 0 || strings.Contains(image[i:], "/") {
		return image, "", false
	}
	return image[:i], image[i+1:], true
}

// AddonFiles are the manifests to apply, in order: those that deploy.yaml lists, else the network plugin's.
func (r *Payload) AddonFiles(m *bundle.Manifest) []string {
	var out []string
	for _, a := range r.Cluster.Addons {
		out = append(out, a.Filename)
	}
	if plugin := r.networkAddon(m); plugin != "" && !slices.Contains(out, plugin) {
		out = append([]string{plugin}, out...)
	}
	for _, name := range r.Manifests() {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// networkAddon is the bundle's manifest for the network plugin: the one that NetworkYamlPath names, else the addon whose name contains the
// plugin's.
func (r *Payload) networkAddon(m *bundle.Manifest) string {
	if at := r.Cluster.PluginArgs["NetworkYamlPath"]; at != "" {
		if member := m.Layout.Place(bundle.Addon, path.Base(at)); slices.ContainsFunc(m.Members, func(x bundle.Member) bool { return x.Path == member }) {
			return path.Base(at)
		}
		return at
	}
	for _, mem := range m.Members {
		if mem.Kind == bundle.Addon && strings.Contains(path.Base(mem.Path), r.Cluster.NetworkPlugin) {
			return m.Rel(mem)
		}
	}
	return r.Cluster.NetworkPlugin + ".yaml"
}
