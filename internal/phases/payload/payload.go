// Package payload says what a node gets of its bundle: programs and files and where they are placed, packages, images,
// manifests. What deploy.yaml lists for a role comes before what the bundle's manifest says.
package payload

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
)

// Payload is what nodes get of their bundles.
type Payload struct {
	*inventory.Nodes
	// Executed are the names of the binaries that services of ours on a node execute.
	Executed func(config.Node) []string
}

// Placed is a member of the bundle with its place on a node.
type Placed struct {
	bundle.Member
	Dst  string       // directory
	File string       // absolute path; of a binary that a service executes the link to its version
	Use  nodepath.Use // Listed when deploy.yaml names the place
	// Executed: a service of ours on the node executes it.
	Executed bool
}

// Binary is one that a service executes.
func (p Placed) Binary() node.Binary {
	return node.Binary{Link: p.File, File: node.VersionedPath(path.Base(p.File), p.SHA256), SHA256: p.SHA256}
}

// wants says whether one of the node's roles is among roles.
func wants(n config.Node, roles []bundle.Role) bool {
	return slices.ContainsFunc(roles, n.Has)
}

// Members are the programs and files that the node's roles need: the manifest says, and a list in deploy.yaml for a
// role overrides it for that role.
func (r *Payload) Members(n config.Node, m *bundle.Manifest) []Placed {
	var out []Placed
	there := map[string]bool{}
	equipped := r.Equipped(n)
	add := func(mem bundle.Member, dst string, use nodepath.Use) {
		if dst == layout.CNIBinDir {
			dst = r.CNIDir()
		}
		if equipped && use != nodepath.Listed && (dst == r.CNIDir() || mem.Kind == bundle.Binary &&
			config.OfRuntime(path.Base(mem.Path))) {
			return // the container runtime and the network of the node stay what they are
		}
		p := Placed{Member: mem, Dst: dst, File: path.Join(dst, path.Base(mem.Path)), Use: use}
		if p.Mode == 0 {
			p.Mode = 0o755
			if mem.Kind != bundle.Binary {
				p.Mode = 0o644
			}
		}
		p.Executed = mem.Kind == bundle.Binary && slices.Contains(r.Executed(n), path.Base(p.File))
		if !there[p.File] {
			there[p.File] = true
			out = append(out, p)
		}
	}
	for _, role := range n.Roles {
		list := r.Cluster.Packages[role]
		if !Overrides(list) {
			for _, mem := range m.Members {
				if target := m.Target(mem); target != "" && slices.Contains(mem.Roles, role) &&
					!(mem.Kind == bundle.Binary && (config.OfOtherRuntime(r.Cluster.Runtime, mem.Name) ||
						r.Cluster.OfOtherDriver(mem.Name))) {
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

// Binaries are those of the bundle among names, on a node whose service executes them.
func (r *Payload) Binaries(n config.Node, names ...string) []node.Binary {
	b := r.BundleOf(n)
	if b == nil {
		return nil
	}
	var out []node.Binary
	for _, p := range r.Members(n, b.Manifest()) {
		if p.Executed && slices.Contains(names, path.Base(p.File)) {
			out = append(out, p.Binary())
		}
	}
	return out
}

// Packages are the names that the node's package manager is asked for.
func (r *Payload) Packages(n config.Node, m *bundle.Manifest) []string {
	var out []string
	if r.Equipped(n) { // it has what it needs, from wherever that came
		return nil
	}
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
		if Overrides(list) {
			continue
		}
		for _, p := range m.Install {
			if slices.Contains(p.Roles, role) && !config.OfOtherRuntime(r.Cluster.Runtime, p.Name) {
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
		if wants(n, im.Roles) && !r.Cluster.WithoutImage(im.Name) || slices.ContainsFunc(r.Listed(n, "image"),
			func(name string) bool { return config.MeansImage(name, im.Name) }) {
			out = append(out, im)
		}
	}
	return out
}

// DNSProgram is where CoreDNS is on the control planes: a program of the bundle, or what a package of the name brings;
// "" without either.
func (r *Payload) DNSProgram(n config.Node, m *bundle.Manifest) string {
	for _, p := range r.Members(n, m) {
		if p.Kind == bundle.Binary && path.Base(p.File) == "coredns" {
			return p.File
		}
	}
	if slices.Contains(r.Packages(n, m), "coredns") {
		return "/usr/bin/coredns"
	}
	return ""
}

// Override lays config-extra-args over a component's own flags (for etcd: environment variables), key by key. The keys
// of flags carry no dashes.
func (r *Payload) Override(component string, flags map[string]string) map[string]string {
	out := maps.Clone(flags)
	if out == nil {
		out = map[string]string{}
	}
	for _, e := range r.Cluster.ExtraArgs {
		if e.Component != component {
			continue
		}
		for k, v := range e.Args {
			out[strings.TrimPrefix(k, "--")] = v
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

// Overrides says whether a role's list stands in place of what the bundle's manifest says. Additions do not, nor do
// lists of images, manifests and scripts alone.
func Overrides(list []config.Package) bool {
	return slices.ContainsFunc(list, func(p config.Package) bool {
		return !p.Addition && slices.Contains([]string{"pkg", "repo", "binary", "file", "dir"}, p.Type)
	})
}

// targets are the members of the bundle that a package of the list means, each with the directory that it goes to.
func targets(p config.Package, m *bundle.Manifest, add func(bundle.Member, string)) {
	for _, x := range m.Members {
		switch {
		case p.Type == "pkg" || !p.Means(m, x):
		case x.Kind == bundle.Addon && p.Name == config.AllAddons:
			add(x, path.Join(p.Dst, "addons"))
		case x.Kind == bundle.ExtraDir:
			add(x, path.Join(p.Dst, path.Dir(m.Rel(x))))
		default:
			add(x, p.Dst)
		}
	}
}

// Listed are the names of a type in the lists of the node's roles, each once.
func (r *Payload) Listed(n config.Node, kind string) []string {
	var out []string
	for _, role := range n.Roles {
		for _, p := range r.Cluster.Packages[role] {
			if p.Type == kind && !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// Manifests are the packages of type yaml of all roles, in the order of the machines: they are the cluster's, not a
// machine's.
func (r *Payload) Manifests() []string {
	var out []string
	for _, n := range r.Cluster.Nodes {
		for _, name := range r.Listed(n, "yaml") {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Program is where the bundle's program of that name is placed on the node; "" when the bundle has none for it.
func (r *Payload) Program(n config.Node, name string) string {
	b := r.BundleOf(n)
	if b == nil {
		return ""
	}
	return r.ProgramIn(n, b.Manifest(), name)
}

// ProgramIn is where the program of that name of a bundle is placed on the node; "" when the bundle has none for it.
func (r *Payload) ProgramIn(n config.Node, m *bundle.Manifest, name string) string {
	for _, p := range r.Members(n, m) {
		if path.Base(p.File) == name {
			return p.File
		}
	}
	return ""
}

// ProgramPath is where a service's program is: where the bundle or a list of deploy.yaml places it.
func (r *Payload) ProgramPath(n config.Node, name string) string {
	if at := r.Program(n, name); at != "" {
		return at
	}
	return layout.BinDir + name
}

// CNIDir is the directory of CNI plugins: /opt/cni/bin, where network plugins install theirs, unless deploy.yaml does
// not list it.
func (r *Payload) CNIDir() string {
	if d := r.Cluster.CNIBinDirs; len(d) > 0 && !slices.Contains(d, layout.CNIBinDir) {
		return d[0]
	}
	return layout.CNIBinDir
}

// CNIDirs are all directories where plugins are searched.
func (r *Payload) CNIDirs() []string {
	if d := r.Cluster.CNIBinDirs; len(d) > 0 {
		return d
	}
	return []string{layout.CNIBinDir}
}

// RuntimeEndpoint is the runtime's CRI socket for the kubelet.
func (r *Payload) RuntimeEndpoint() string {
	if r.Cluster.RuntimeEndpoint != "" {
		return r.Cluster.RuntimeEndpoint
	}
	return layout.CRISocket
}
