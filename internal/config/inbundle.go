package config

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// AllAddons is the name under which the manual copies the bundle's whole directory of addons, as a "binary".
const AllAddons = "addons"

// IsURL reports whether a package of type yaml is one of the network, not of the bundle.
func IsURL(name string) bool { return strings.Contains(name, "://") }

// StartedPrograms are those without which a machine of the role does not come up: services, and what makes static pods.
// They are for who has no driver at hand; a test holds the drivers' lists against them.
func (c *Cluster) StartedPrograms(r bundle.Role) []string {
	switch {
	case !c.ByKubeadm():
	case r == bundle.ControlPlane:
		return []string{"kubelet", DriverKubeadm}
	case r == bundle.Worker:
		return []string{"kubelet"}
	}
	switch r {
	case bundle.ControlPlane:
		return []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"}
	case bundle.Worker:
		return []string{"kubelet", "kube-proxy"}
	case bundle.Etcd:
		return []string{"etcd"}
	case bundle.LoadBalancer:
	}
	return nil
}

// ToolPrograms are those that people expect on a machine of a role, and that no service is.
func ToolPrograms(r bundle.Role) []string {
	switch r {
	case bundle.ControlPlane:
		return []string{"kubectl"}
	case bundle.Etcd:
		return []string{"etcdctl"}
	case bundle.Worker, bundle.LoadBalancer:
	}
	return nil
}

// In reports whether the bundle has what the package means, whatever machine it is for.
func (p Package) In(m *bundle.Manifest) bool {
	switch {
	case p.Type == "repo", p.Type == "yaml" && IsURL(p.Name), p.Type == "binary" && p.Name == AllAddons:
		return true
	case p.Type == "image":
		return slices.ContainsFunc(m.Images, func(i bundle.Image) bool { return MeansImage(p.Name, i.Name) })
	case p.Type == "yaml":
		_, ok := ManifestIn(m, p.Name)
		return ok
	case p.Type == "shell":
		_, ok := ScriptIn(m, p.Name)
		return ok
	}
	return slices.ContainsFunc(m.Members, func(x bundle.Member) bool { return p.Means(m, x) })
}

// Means reports whether a package of type pkg, binary, file or dir means this member of the bundle, or it is a part of
// what the package means.
func (p Package) Means(m *bundle.Manifest, x bundle.Member) bool {
	named := x.Name == p.Name || path.Base(x.Path) == p.Name
	switch x.Kind {
	case bundle.Deb, bundle.RPM:
		return p.Type == "pkg" && x.Name == p.Name
	case bundle.Binary, bundle.ExtraFile:
		return (p.Type == "binary" || p.Type == "file") && named
	case bundle.Addon:
		return p.Type == "binary" && p.Name == AllAddons || p.Type == "file" && (named || m.Rel(x) == p.Name)
	case bundle.ExtraDir:
		return (p.Type == "binary" || p.Type == "dir") && x.Name == p.Name
	case bundle.Metadata, bundle.Images, bundle.SBOM:
	}
	return false
}

// MeansImage reports whether a list names an image of the bundle: by its whole name, by its last part, or all of them
// as images.tar.
func MeansImage(name, image string) bool {
	repo, tag := image, ""
	if i := strings.LastIndexByte(image, ':'); i >= 0 && !strings.Contains(image[i:], "/") {
		repo, tag = image[:i], image[i+1:]
	}
	base := path.Base(repo)
	return name == image || name == base || name == base+":"+tag || name == repo || name == bundle.ImagesName
}

// ManifestIn is the path of the member that a manifest's name means: an addon, else a file of that name.
func ManifestIn(m *bundle.Manifest, name string) (string, bool) {
	at := m.Layout.Place(bundle.Addon, name)
	for _, x := range m.Members {
		if x.Path == at || x.Kind == bundle.ExtraFile && path.Base(x.Path) == name {
			return x.Path, true
		}
	}
	return at, false
}

// ScriptIn is the file of the bundle that a script's name means.
func ScriptIn(m *bundle.Manifest, name string) (bundle.Member, bool) {
	for _, x := range m.Members {
		if (x.Kind == bundle.ExtraFile || x.Kind == bundle.Binary) && (x.Name == name || path.Base(x.Path) == name) {
			return x, true
		}
	}
	return bundle.Member{}, false
}

// choicesIn are the names that the bundle has for a type of package.
func choicesIn(m *bundle.Manifest, kind string) []string {
	kinds := map[string][]bundle.Kind{
		"pkg": {bundle.Deb, bundle.RPM}, "binary": {bundle.Binary, bundle.ExtraDir},
		"file": {bundle.ExtraFile, bundle.Addon}, "dir": {bundle.ExtraDir},
		"yaml": {bundle.Addon, bundle.ExtraFile}, "shell": {bundle.ExtraFile},
	}[kind]
	var out []string
	for _, x := range m.Members {
		if slices.Contains(kinds, x.Kind) && (kind != "shell" || strings.HasSuffix(x.Path, "sh")) {
			name := x.Name
			if x.Kind == bundle.Addon {
				name = m.Rel(x)
			}
			out = append(out, name)
		}
	}
	if kind == "image" {
		for _, i := range m.Images {
			out = append(out, i.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MissingFrom compares what the deploy.yaml names with what the bundle of one architecture has, before any machine is
// asked (of several bundles for one architecture, a manifest of all that they have together): packages of every type of
// roles that have a machine of that architecture; addons and manifests, which are applied from the bundle of the first
// control plane; the pause image, where pods run. Each missing thing is an error at its line.
func (c *Cluster) MissingFrom(m *bundle.Manifest) Problems {
	var out Problems
	missing := func(key, value string, has []string) {
		at := nearest(c.given, key)
		out = append(out, Problem{
			File: c.file, Line: at.line, Col: at.col, Key: key, Code: "config.not-in-bundle", Severity: event.Error,
			Args: map[string]string{"key": key, "value": clip(value), "arch": m.Arch,
				"choices": clip(strings.Join(has, ", "))},
		})
	}
	here := func(role bundle.Role) bool {
		return slices.ContainsFunc(c.With(role), func(n Node) bool { return n.Arch == m.Arch })
	}
	first := c.With(bundle.ControlPlane)
	applies := len(first) > 0 && first[0].Arch == m.Arch
	for _, a := range c.Addons {
		if _, ok := ManifestIn(m, a.Filename); applies && !ok {
			missing("addons", a.Filename, choicesIn(m, "yaml"))
		}
	}
	told := map[string]bool{}
	for _, role := range slices.Sorted(maps.Keys(c.Packages)) {
		for _, p := range c.Packages[role] {
			wanted := here(role)
			if p.Type == "yaml" {
				wanted = applies && len(c.With(role)) > 0
			}
			if id := p.key + " " + p.Name; wanted && !told[id] && !p.In(m) {
				told[id] = true
				missing(p.key, p.Name, choicesIn(m, p.Type))
			}
		}
	}
	if c.PauseImage != "" && (here(bundle.ControlPlane) || here(bundle.Worker)) &&
		!slices.ContainsFunc(m.Images, func(i bundle.Image) bool { return i.Name == c.PauseImage }) {
		missing("pause-image", c.PauseImage, choicesIn(m, "image"))
	}
	return out.Sorted()
}
